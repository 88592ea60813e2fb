// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// Which view is shown: the address says it.

import { $ } from './dom.js';
import { eventsView } from './events.js';
import { showAbout, showLink, showTitle } from './frame.js';
import { jobView } from './job.js';
import { jobsView } from './jobs.js';
import { timelineView } from './timeline.js';

const VIEWS = { '': jobsView, timeline: timelineView, job: jobView, events: eventsView };

export let view = null;

/** Shows the view that the address names. */
export function route() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  let [kind, ...rest] = path.split('/');
  try { rest = rest.map(decodeURIComponent); } catch { rest = []; }
  if (kind === 'job' && !rest[0]) kind = '';
  const next = VIEWS[kind] ?? jobsView;
  const isFirst = view === null;
  view?.unmount?.();
  $('main').replaceChildren();
  view = next;
  view.mount($('main'), { rest, query: new URLSearchParams(query) });
  for (const link of document.querySelectorAll('nav a')) {
    if (VIEWS[link.dataset.view === 'jobs' ? '' : link.dataset.view] === view) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  document.body.dataset.view = kind;
  showTitle(view.title);
  if (!isFirst) {
    scrollTo(0, 0);
    $('main').querySelector('h1')?.focus({ preventScroll: true });
  }
}

/** Updates everything that is shown; `changed` in model.js has the parameters. */
export function update(names, events) {
  showLink(false);
  view?.update(names, events);
  showTitle(view?.title);
  showAbout();
}
