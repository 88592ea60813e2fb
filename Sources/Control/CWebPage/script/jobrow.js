// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// One row of the table of jobs.

import { actButton } from './acts.js';
import { jobLink } from './address.js';
import { h, icon, mark, put, s } from './dom.js';
import { lastLine } from './failures.js';
import { GLANCE } from './glance.js';
import { ending, hasEnded, hasFailed, isPaused, pausedBy, shortEnding, skipWords, stateWord, waiting } from './jobwords.js';
import { left, model, sinceHeard } from './model.js';
import { drawRecent, incidentSign, remainingBar } from './pieces.js';
import { exactSchedule, nextStart, schedule } from './schedule.js';
import { printable, wholeSpan } from './text.js';
import { ago, clock, msOf } from './time.js';

const NONE = [];

/** The table and the timeline show at most so many rows at first: 10 000 rows take the browser several seconds. */
export const ROWS_MAX = 1000;

/** A row of the table. `show` is called when the status of the job has arrived, and `tick` each second. */
export function makeRow(name, selection) {
  const box = h('input', { type: 'checkbox', 'aria-label': `Select ${name}`, onchange: () => selection(name, box.checked) });
  const about = h('bdi.sub'), failure = h('bdi.sub.last-line');
  const sign = icon('armed');
  const word = h('span.word'), incident = incidentSign();
  const detail = h('bdi.sub');
  const bar = remainingBar('bar-small');
  const rest = h('span'), at = h('span.soft');
  const result = h('span'), when = h('span.sub');
  const recent = s('svg.recent', { viewBox: '0 0 118 22', width: 118, height: 22, role: 'img' });
  const active = h('span');
  const pause = actButton('pause', 'paused', 'Pause', name), resume = actButton('resume', 'resume', 'Resume', name);
  const start = actButton('start', 'armed', 'Start the timer of', name), skip = actButton('skip', 'skip', 'Skip the next run of', name);
  const kill = actButton('kill', 'kill', 'Stop the runs of', name);
  const cell = (kind, ...parts) => h('td', { role: 'cell', class: `c-${kind}` }, parts);
  const el = h('tr', { role: 'row', 'data-job': name },
    cell('select', box),
    cell('job', jobLink(name, 'name', name), about, failure),
    cell('state', h('div.state', sign, word, incident), detail),
    cell('left', bar, h('div.bar-text', rest, at)),
    cell('last', h('div', result), when),
    cell('recent', recent),
    cell('active', active),
    cell('acts', kill, actButton('run', 'running', 'Run', name), pause, resume, start, skip));
  let shownRuns;
  const row = { el, box, name };
  row.tick = (entry) => {
    const { job } = entry;
    const remaining = left(entry);
    bar.show(entry);
    put(rest, remaining === undefined ? (isPaused(job) ? 'kept' : '') : wholeSpan(remaining));
    if (stateWord(job) === 'running') put(detail, GLANCE.running[2](job));
    if (job.last?.ended) put(when, ago(msOf(job.last.ended)));
    put(active, wholeSpan(job.active_usec + (['armed', 'retrying'].includes(job.state) ? sinceHeard(entry) : 0)));
  };
  row.show = (entry) => {
    const { job } = entry;
    const state = stateWord(job);
    el.classList.toggle('failed', hasFailed(job));
    mark(el, 'data-state', state);
    sign.show(state);
    incident.show(job);
    put(word, state);
    const plan = schedule(job);
    put(about, printable(job.description ? `${plan} · ${job.description}` : plan));
    mark(about, 'title', printable([exactSchedule(job) || plan, job.description].filter(Boolean).join('\n')));
    let text = '';
    if (job.paused) text = pausedBy(job.paused) + (job.paused.note ? ` · ${printable(job.paused.note)}` : '');
    else if (job.running.length && state !== 'running') text = waiting(job.running.at(-1)) ?? '';
    else if (job.skips) text = skipWords(job);
    if (state !== 'running') put(detail, text);
    mark(detail, 'title', text);
    const next = isPaused(job) ? undefined : nextStart(job);
    put(at, next === undefined ? '' : clock(next));
    put(result, job.last ? printable(shortEnding(job.last)) : 'never ran');
    mark(result, 'class', !job.last ? 'soft' : hasFailed(job) ? 'bad' : 'fine');
    mark(result, 'title', job.last ? printable(ending(job.last)) : '');
    if (!job.last?.ended) put(when, '');
    const line = lastLine(job);
    put(failure, line);
    mark(failure, 'title', line);
    failure.hidden = !line;
    const isEnded = hasEnded(job);
    resume.hidden = !isPaused(job);
    pause.hidden = !resume.hidden || isEnded;
    start.hidden = !isEnded;
    skip.classList.toggle('away', isEnded);
    kill.classList.toggle('away', job.running.length === 0);
    const runs = model.recent?.get(name) ?? NONE;
    if (runs !== shownRuns) drawRecent(recent, shownRuns = runs);
    row.tick(entry);
  };
  return row;
}
