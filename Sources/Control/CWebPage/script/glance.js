// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// The four lists at the top of the jobs, and how jobs are filtered and sorted.

import { jobAddress } from './address.js';
import { button, h, mark, put } from './dom.js';
import { failuresAddress, failureWords, lastLine } from './failures.js';
import { activeFor, hasFailed, isActive, isPaused, isRunning, pausedBy, shortEnding, stateWord } from './jobwords.js';
import { allJobs, left, model } from './model.js';
import { nextStart } from './schedule.js';
import { printable, wholeSpan } from './text.js';
import { ago, msOf } from './time.js';

/** The states, the most important first: "failed first" sorts by this order. */
const STATES = ['running', 'waiting', 'retrying', 'paused', 'armed', 'stopped', 'finished'];

export const MATCHES = { failed: hasFailed, incident: (job) => job.incidents, ...Object.fromEntries(STATES.map((state) => [state, (job) => stateWord(job) === state])) };

const never = Number.MAX_VALUE;

const rank = (job) => STATES.indexOf(stateWord(job));

export const SORTS = {
  '': null,
  name: (a, b) => (a.job < b.job ? -1 : 1),
  state: (a, b) => hasFailed(b) - hasFailed(a) || rank(a) - rank(b),
  next: (a, b) => (nextStart(a) ?? never) - (nextStart(b) ?? never),
  last: (a, b) => msOf(b.last?.ended ?? 0) - msOf(a.last?.ended ?? 0),
  active: (a, b) => b.active_usec - a.active_usec,
};

/**
 * The four lists at the top of the page. For each: which jobs are in it, what it says if there is none, and what it says
 * about each job.
 */
export const GLANCE = {
  failed: [(jobs) => jobs.filter(hasFailed).sort(SORTS.last), 'No last run failed.',
    ({ last }) => `${printable(shortEnding(last))}, ${ago(msOf(last.ended ?? last.scheduled))}`],
  running: [(jobs) => jobs.filter(isRunning), 'Nothing is running.', ({ running }) => {
    const run = running.find((run) => run.began && isActive(run));
    return run ? activeFor(run) : 'is being started';
  }],
  paused: [(jobs) => jobs.filter(MATCHES.paused).sort((a, b) => (a.paused?.since < b.paused?.since ? 1 : -1)), 'Nothing is paused.',
    ({ paused }) => (paused ? pausedBy(paused) : '')],
  next: [(jobs) => jobs.filter((job) => !isPaused(job) && nextStart(job) !== undefined).sort(SORTS.next), 'Nothing is due.',
    ({ job }) => `in ${wholeSpan(left(model.jobs.get(job)) ?? 0)}`],
};

const GLANCE_LINES = 4;

export function makeGlance(filterBy) {
  const boxes = Object.keys(GLANCE).map((kind) => {
    const count = h('span.glance-count');
    const parts = [count, h('span.glance-word', kind === 'next' ? 'until the next run' : kind)];
    const head = kind === 'next' ? h('div.glance-head', parts) : button(parts, () => filterBy(kind), { class: 'glance-head', 'aria-pressed': 'false' });
    const lines = Array.from({ length: GLANCE_LINES }, () => {
      const link = h('a'), detail = h('bdi.soft'), note = h('bdi.note');
      return { el: h('li', link, ' ', detail, note), link, detail, note };
    });
    const more = h('li.soft'), since = kind === 'failed' ? h('a') : null;
    return { kind, count, head, lines, more, since, el: h('section', { class: 'glance', 'data-state': kind, 'aria-label': kind }, h('h2', head), h('ul', lines.map((line) => line.el), more, since && h('li', since))) };
  });
  function show() {
    const jobs = allJobs();
    for (const { kind, count, lines, more, since, el } of boxes) {
      const [of, none, say] = GLANCE[kind];
      const found = of(jobs);
      put(count, kind !== 'next' ? String(found.length) : found.length ? wholeSpan(left(model.jobs.get(found[0].job)) ?? 0, 1) : '–');
      el.classList.toggle('none', found.length === 0);
      lines.forEach((line, index) => {
        const job = found[index];
        line.el.hidden = !job;
        if (!job) return;
        put(line.link, job.job);
        mark(line.link, 'href', jobAddress(job.job));
        put(line.detail, say(job));
        put(line.note, kind === 'failed' ? lastLine(job) : kind === 'paused' && job.paused?.note ? printable(job.paused.note) : '');
      });
      const rest = kind === 'next' ? 0 : found.length - GLANCE_LINES;
      more.hidden = found.length > 0 && rest <= 0;
      put(more, found.length ? `and ${rest} more` : none);
      if (!since) continue;
      put(since, failureWords(jobs));
      since.parentNode.hidden = !since.textContent;
      mark(since, 'href', failuresAddress());
    }
  }
  return { el: h('div.board', boxes.map((box) => box.el)), boxes, show };
}
