// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// What the timeline draws.

import { mark, s } from './dom.js';
import { pausedBy } from './jobwords.js';
import { drawn } from './pieces.js';
import { box, plural, px } from './text.js';
import { clock, DAYS, minuteOf } from './time.js';

/** Possible distances between the times above the timeline, in minutes. */
const STEPS = [1, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880];

/** The height of the row of one job, in pixels. */
export const LANE = 26;

/** Draws the times above the timeline. */
export function drawAxis(axis, { from, to, x, length, width }) {
  const step = 6e4 * (STEPS.find((step) => length / step / 6e4 * 64 <= width) ?? STEPS.at(-1));
  const offset = new Date(from).getTimezoneOffset() * 6e4;
  const parts = [];
  for (let at = Math.ceil((from - offset) / step) * step + offset; at < to; at += step) {
    const d = new Date(at);
    const text = step >= 864e5 || minuteOf(d) === '00:00' ? `${DAYS[d.getDay()]} ${d.getDate()}` : minuteOf(d);
    parts.push(s('path.grid', { d: `M${px(x(at))} 17v7` }));
    if (x(at) > 14 && x(at) < width - 14) parts.push(s('text', { x: px(x(at)), y: 12, 'text-anchor': 'middle' }, text));
  }
  axis.replaceChildren(...parts);
  axis.setAttribute('width', width);
}

/** Draws how many runs were active at once, and returns the maximum. */
export function drawLoad(load, runs, { from, now, x, width }) {
  const changes = runs.flatMap(({ start, end }) => [[Math.max(start, from), 1], [Math.max(end, start + 1), -1]]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  // For each column of pixels the maximum within it: short peaks stay visible.
  const columns = new Array(Math.ceil(width) + 1).fill(0);
  let count = 0, at = 0, most = 0;
  for (const [when, change] of changes) {
    const column = Math.max(0, Math.min(columns.length - 1, Math.floor(x(when))));
    for (; at < column; at += 1) columns[at] = Math.max(columns[at], count);
    count += change;
    columns[column] = Math.max(columns[column], count);
    most = Math.max(most, count);
  }
  const height = (value) => (40 - value / Math.max(1, most) * 34).toFixed(1);
  const end = Math.min(columns.length - 1, Math.floor(x(now)));
  let path = `M0 40`, last = -1;
  for (let i = 0; i <= end; i += 1) if (columns[i] !== last) { path += `H${i}V${height(columns[i])}`; last = columns[i]; }
  load.setAttribute('width', width);
  load.replaceChildren(s('path.load', { d: `${path}H${end}V40z` }), s('path.grid', { d: `M0 40.5H${width}` }),
    ...(most ? [s('text', { x: 2, y: 10 }, `most: ${most}`)] : []));
  return most;
}

/** Draws the row of a job, if it changed. */
export function drawLane(row, job, lane, { x, now, width }) {
  const paths = { paused: '', s: '', i: '', f: '', l: '', next: '', skipped: '' };
  const tick = (at) => `M${px(x(at))} 4v${LANE - 8}`;
  for (const { start, end } of lane.pauses) paths.paused += box(x(start), 3, Math.max(1, x(end) - x(start)), LANE - 6);
  for (const { start, end, kind } of lane.runs) paths[kind] += box(x(start), 6, Math.max(2.5, x(end) - x(start)), LANE - 12);
  for (const { start, end } of lane.skips) paths.skipped += tick(start) + tick(end);
  let last = -9;
  for (const { start, end, isSkipped } of lane.coming) {
    const a = x(Math.max(start, now));
    if (a - last < 3.5) continue; // Frequent runs would cover each other and look like one long run.
    const length = Math.max(2.5, Math.min(x(end) - a, width - a));
    if (isSkipped) paths.skipped += tick(start);
    else paths.next += box(a, 6.5, length, LANE - 13);
    last = a + (isSkipped ? 0 : length - 2.5);
  }
  row.lane = lane;
  row.picture.setAttribute('width', width);
  const key = Object.values(paths).join('|');
  if (row.key !== key) {
    row.key = key;
    row.picture.replaceChildren(...drawn(paths));
  }
  const failed = lane.runs.filter((run) => run.kind === 'f').length;
  mark(row.picture, 'aria-label', `${job.job}: ${plural(lane.runs.length, 'run')}, ${failed} failed`
    + (lane.skips.length ? `, ${lane.skips.reduce((sum, { skip }) => sum + skip.skipped_count, 0)} skipped` : '') + (job.paused ? `, paused ${pausedBy(job.paused)}` : '')
    + (lane.coming.length && !lane.coming[0].isSkipped ? `, next at ${clock(lane.coming[0].start)}` : ''));
}
