// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// Which view is shown: the address says it.

import { addressOf, parse, remember } from './address.js';
import { $, mark, put } from './dom.js';
import { eventsView } from './events.js';
import { showAbout, showLink, showTitle } from './frame.js';
import { jobView } from './job.js';
import { jobsView } from './jobs.js';
import { runView } from './run.js';
import { runsView } from './runs.js';
import { printable } from './text.js';
import { timelineView } from './timeline.js';

const VIEWS = { '': jobsView, runs: runsView, timeline: timelineView, job: jobView, run: runView, events: eventsView };

export let view = null;

/** Shows the view that the address names. What is wrong with the address is said above it. */
export function route() {
  const address = parse(location.hash);
  let { kind, rest } = address;
  const wrong = [];
  if (address.isBroken) wrong.push('This address is damaged: it is not encoded as addresses are.');
  if (kind === 'job') kind = rest[1] ? 'run' : rest[0] ? 'job' : '';
  if (!Object.hasOwn(VIEWS, kind) || (kind === 'run' && address.kind !== 'job')) {
    wrong.push(`This page has no view “${printable(kind)}”; these are the jobs.`);
    kind = '';
  }
  const next = VIEWS[kind];
  const isSame = next === view && view.follow;
  const given = { rest, query: address.query, complain: (text) => wrong.push(text) };
  if (isSame) view.follow(given);
  else change(next, given);
  if (next.keepsAddress && !wrong.length) remember(kind, location.hash || '#/');
  $('wrong').hidden = wrong.length === 0;
  put($('wrong'), wrong.join(' '));
  showNavigation(kind);
  showTitle(view.title);
}

function change(next, given) {
  const isFirst = view === null;
  view?.unmount?.();
  $('main').replaceChildren();
  view = next;
  view.mount($('main'), given);
  if (isFirst) return;
  scrollTo(0, 0);
  $('main').querySelector('h1')?.focus({ preventScroll: true });
}

/** Marks the view that is shown. The links to the others lead to them as they were left. */
function showNavigation(kind) {
  for (const link of document.querySelectorAll('nav a')) {
    const own = link.dataset.view;
    const isCurrent = own === kind;
    if (isCurrent) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
    mark(link, 'href', isCurrent ? `#/${own}` : addressOf(own));
  }
  document.body.dataset.view = kind;
}

/** Updates everything that is shown; `changed` in model.js has the parameters. */
export function update(names, events) {
  showLink(false);
  view?.update(names, events);
  showTitle(view?.title);
  showAbout();
}
