// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// What failed since the evening before, also if it works again, and the last line that each failed job wrote.

import { withQuery } from './address.js';
import { plainLine } from './ansi.js';
import { ask } from './api.js';
import { changed } from './model.js';
import { eveningBefore, spanFrom } from './period.js';
import { printable } from './text.js';
import { clock, iso, msOf, serverNow, steady } from './time.js';

/** For each job that failed since the evening before: how often, and when last, in milliseconds since 1970. Null until it is known. */
let failures = null;
let since = 0;

/** How often a job failed is counted up to this number. */
export const COUNT_MAX = 100;

/** Gets the failures of a span by the job: each has a limit of its own, so that a job that fails often hides no other. */
export async function listFailures(from, until = Infinity) {
  const found = new Map();
  let after = '';
  do {
    const answer = await ask(withQuery('/v1/recent', { count: COUNT_MAX, failed: 1, since: from === undefined ? '' : iso(from), after }));
    for (const { job, end_times: ends } of answer.recent) {
      const inside = ends.filter((end) => end / 1e3 < until);
      if (inside.length) found.set(job, { count: inside.length, isCut: inside.length === COUNT_MAX, last: inside.at(-1) / 1e3 });
    }
    after = answer.next_job;
  } while (after !== undefined);
  return found;
}

/** Gets the failures since the evening before. */
export async function learnFailures() {
  const from = eveningBefore(serverNow());
  failures = await listFailures(from);
  since = from;
}

/** Notes the end of a run that came as an event. */
export function noteFailure({ job, last }) {
  if (!failures || !last?.failed) return;
  const ended = msOf(last.ended ?? last.scheduled);
  const known = failures.get(job) ?? { count: 0, last: 0 };
  if (Math.floor(known.last) < ended) failures.set(job, { count: known.count + 1, last: ended });
}

/** Says how many jobs failed since the evening before, and whether they work again; an empty text if none did. */
export function failureWords(jobs) {
  const failed = jobs.filter(({ job }) => failures?.has(job));
  if (!failed.length) return '';
  const again = failed.filter(({ last }) => last?.failed === false).length;
  const words = again === failed.length ? (again === 1 ? 'it works again' : again === 2 ? 'both work again' : 'all work again')
    : again ? `${again} ${again === 1 ? 'works' : 'work'} again` : failed.length === 1 ? 'it still fails' : failed.length === 2 ? 'both still fail' : 'all still fail';
  return `${failed.length} failed since ${clock(since)}, ${words}`;
}

export const failuresAddress = () => withQuery('#/runs', { time: spanFrom(since), result: 'failed' });

/** For each failed run that was asked for the last line that it wrote. */
const lines = new Map();
/** So many failed jobs are asked for their last line; `timerctl failures` has the same limit. */
const LINES_MAX = 20;
let waiting = [], isAsking = false;
/** At most so many lines are asked for in a minute, however many jobs fail. */
const PER_MINUTE = 60;
let minute = { end: 0, count: 0 };

function isWithinLimit() {
  if (steady() > minute.end) minute = { end: steady() + 60_000, count: 0 };
  return waiting.length < LINES_MAX && ++minute.count <= PER_MINUTE;
}

/**
 * The last line that a failed job wrote; an empty text until it is known, and if there is none. It is asked for once for
 * each run, one job after the other.
 */
export function lastLine({ job, last }) {
  if (!last?.failed) return '';
  const known = lines.get(last.id);
  if (known !== undefined) return known;
  if (isWithinLimit()) {
    lines.set(last.id, '');
    waiting.push([job, last.id]);
    if (!isAsking) askLines();
  }
  return '';
}

async function askLines() {
  isAsking = true;
  while (waiting.length) {
    const [job, id] = waiting.shift();
    try {
      const { runs } = await ask(withQuery('/v1/runs', { job, result: 'failed', limit: 1, lines: 1 }));
      const run = runs.find((one) => one.id === id);
      if (run) { lines.set(id, lineOf(run)); changed(new Set([job])); } else lines.delete(id);
    } catch { lines.delete(id); waiting = []; }
  }
  while (lines.size > 1000) lines.delete(lines.keys().next().value);
  isAsking = false;
}

/** The last line of an output, without colors; of a line that was written over with carriage returns the last state. */
export const lineOf = ({ output = '' }) => printable(plainLine(output.trimEnd().split('\n').at(-1)));
