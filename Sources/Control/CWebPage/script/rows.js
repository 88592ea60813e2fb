// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// What the timeline shows of each job.

import { EACH_MAX } from './api.js';
import { ending, pausedBy, verdict } from './jobwords.js';
import { median, printable, span } from './text.js';
import { msOf } from './time.js';

const emptyLane = () => ({ runs: [], skips: [], coming: [], pauses: [] });

/** Groups the data by job, so that drawing does not search through all of it. */
export function index(data) {
  data.of = new Map();
  const of = (job) => data.of.get(job) ?? data.of.set(job, emptyLane()).get(job);
  for (const run of data.runs) {
    if (!run.ended) continue;
    const end = msOf(run.ended);
    of(run.job).runs.push({ run, start: run.began ? msOf(run.began) : end, end, kind: verdict(run) });
  }
  addBrief(data, of);
  for (const skip of data.skipped) of(skip.job).skips.push({ skip, start: msOf(skip.first_scheduled), end: msOf(skip.last_scheduled) });
  for (const { at, job, kind } of data.coming) of(job).coming.push({ start: msOf(at), isSkipped: kind === 'skipped', isRetry: kind === 'retry', isComing: true });
  for (const pause of data.pauses) of(pause.job).pauses.push({ pause, start: msOf(pause.since), end: msOf(pause.ended) });
  for (const [, lane] of data.of) lane.median = median(lane.runs.map(({ start, end }) => end - start));
}

/** Adds the runs of which only a bar is known. `data.cut` has the jobs of which even that has not all, and since when it has. */
function addBrief(data, of) {
  data.cut = new Map();
  for (const { job, runs } of data.brief ?? []) {
    const own = of(job).runs;
    const known = new Set(own.map(({ end }) => Math.floor(end)));
    for (const run of runs) {
      const end = Math.floor(run.end);
      if (!known.has(end)) { known.add(end); own.push(run); }
    }
    if (runs.length >= EACH_MAX && !data.cut.has(job)) data.cut.set(job, runs[0].end);
  }
}

/** Of the latest runs so many of each job, and beside them so many failed ones, in their order. */
export function limitEach(runs, most) {
  const counts = new Map();
  return runs.filter((run) => {
    const key = `${run.failed ? 'f' : ''} ${run.job}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count <= most;
  });
}

/** Everything that the row of a job shows within the chosen range. */
export function laneData(data, job, { from, now }) {
  const known = data.of.get(job.job) ?? emptyLane();
  const active = job.running.filter((run) => run.began && !known.runs.some((past) => past.run?.id === run.id))
    .map((run) => ({ run, start: msOf(run.began), end: now, kind: 'l' }));
  const coming = known.coming.filter(({ start }) => start >= now - 1000).map((run) => ({ ...run, end: run.start + (known.median ?? 0) }));
  const isShown = ({ end }) => end >= from;
  const pauses = known.pauses.filter(isShown);
  if (job.paused) pauses.push({ pause: job.paused, start: msOf(job.paused.since), end: job.paused.until ? msOf(job.paused.until) : Infinity });
  // The status of a job has its latest skip, also if the list of skips was cut before it.
  const skip = job.skipped && { skip: job.skipped, start: msOf(job.skipped.scheduled), end: msOf(job.skipped.at) };
  return { runs: [...known.runs, ...active].filter(isShown), skips: (skip && !known.skips.length ? [skip] : known.skips).filter(isShown), coming, pauses };
}

/** The item at a place, or within 6 pixels of it. Of two items at the same distance, a failed run is chosen. */
export function itemAt(lane, at, x) {
  let best = null, distance = 6;
  const { runs, skips, coming, pauses } = lane;
  for (const item of [...runs, ...skips, ...coming]) {
    const a = x(item.start), b = Math.max(x(item.end), a + 2.5);
    const away = at < a ? a - at : at > b ? at - b : 0;
    if (away < distance || (away === distance && item.kind === 'f')) { best = item; distance = away; }
  }
  return best ?? pauses.find(({ start, end }) => at >= x(start) && at <= x(end) + 1);
}

/** How a run ended of which only a bar is known. */
const ENDINGS = { s: 'succeeded', f: 'failed', i: 'stopped, replaced or skipped' };

/** Says in words what an item is, when it began, how long it took, and how it ended. */
export function itemWords(item) {
  const long = span((item.end - item.start) * 1e3);
  if (item.pause) {
    const { ended, ended_by: by, note } = item.pause;
    return ['pause', item.start, ended ? long : '', pausedBy(item.pause) + (ended && by ? `, ended by ${printable(by)}` : '') + (note ? `: ${printable(note)}` : '')];
  }
  if (item.skip) return [item.skip.skipped_count === 1 ? 'skipped' : `${item.skip.skipped_count} skipped`, item.start, '', printable(item.skip.text)];
  if (item.isComing) return [item.isSkipped ? 'will be skipped' : item.isRetry ? 'upcoming retry' : 'upcoming', item.start, item.end > item.start ? `about ${long}` : '', ''];
  return [item.kind === 'l' ? 'running' : 'run', item.start, long, item.kind === 'l' ? '' : item.run ? printable(ending(item.run)) : ENDINGS[item.kind]];
}
