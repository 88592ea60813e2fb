// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// Charts of one job: how long its runs took, and its last 26 weeks.

import { h, panel, s } from './dom.js';
import { verdict } from './jobwords.js';
import { drawn } from './pieces.js';
import { box, median, plural, printable, px, span } from './text.js';
import { DAYS, MONTHS } from './time.js';

/** A chart of how long the last runs took, with their median. */
export function makeDurations(runs, name) {
  const timed = runs.filter((run) => run.began && run.ended).reverse();
  if (timed.length < 2) return null;
  const lengths = timed.map((run) => run.elapsed_usec ?? 0);
  const longest = Math.max(1, ...lengths);
  const middle = median(lengths);
  const paths = { s: '', f: '', i: '' };
  const width = 600, height = 120, step = width / Math.max(40, timed.length);
  timed.forEach((run, index) => {
    const tall = Math.max(2, lengths[index] / longest * (height - 6));
    paths[verdict(run)] += box(width - (timed.length - index) * step, height - tall, step * 0.72, tall);
  });
  const y = height - Math.max(2, middle / longest * (height - 6));
  const failed = timed.filter((run) => run.failed).length;
  const summary = `Last ${plural(timed.length, 'run')}: median ${span(middle)}, longest ${span(longest)}, ${failed} failed`;
  return panel('Durations', h('p.soft', summary),
    s('svg.durations', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `${summary}; ${name}` },
      drawn(paths),
      s('path.median', { d: `M0 ${px(y)}H${width}`, 'vector-effect': 'non-scaling-stroke' })));
}

export const WEEKS = 26;

/** A calendar of 26 weeks. The color of each day shows how many runs there were, and whether some failed. */
export function makeYear({ days, today, timezone }, name) {
  const byDay = new Map(days.map((day) => [day.day, day]));
  const last = new Date(`${today}T12:00:00Z`);
  const weekday = (last.getUTCDay() + 6) % 7; // 0 is Monday.
  const first = new Date(last.getTime() - ((WEEKS - 1) * 7 + weekday) * 864e5);
  const most = Math.max(1, ...days.map((day) => day.run_count));
  const squares = [], months = [];
  for (let index = 0; index <= (WEEKS - 1) * 7 + weekday; index += 1) {
    const date = new Date(first.getTime() + index * 864e5);
    const key = date.toISOString().slice(0, 10);
    const day = byDay.get(key);
    const week = Math.floor(index / 7);
    if (date.getUTCDate() <= 7 && index % 7 === 0 && week < WEEKS - 1) months.push(s('text', { x: week * 14, y: 9 }, MONTHS[date.getUTCMonth()]));
    const kind = !day ? 'none' : day.failed_count ? (day.failed_count * 2 > day.run_count ? 'bad' : 'some') : !day.run_count ? 'skip' : `ok${Math.ceil(day.run_count / most * 4)}`;
    const text = `${DAYS[date.getUTCDay()]} ${key}: ${day ? [plural(day.run_count, 'run'), day.failed_count ? `${day.failed_count} failed` : '', day.skipped_count ? `${day.skipped_count} skipped` : ''].filter(Boolean).join(', ') : 'no runs'}`;
    squares.push(s('rect', { class: `day-${kind}`, x: week * 14, y: 14 + (index % 7) * 14, width: 11, height: 11, rx: 2 }, s('title', text)));
  }
  const sum = (key) => days.reduce((all, day) => all + (day[key] ?? 0), 0);
  const bad = days.filter((day) => day.failed_count);
  const summary = `${plural(sum('run_count'), 'run')} in 26 weeks, ${bad.length ? `${sum('failed_count')} failed on ${plural(bad.length, 'day')}` : 'none failed'}, ${sum('skipped_count')} skipped`;
  return panel('26 weeks', h('p.soft', summary, timezone ? ` (${printable(timezone)})` : ''),
    s('svg.year', { viewBox: `0 0 ${WEEKS * 14} 112`, role: 'img', 'aria-label': `Calendar of ${name}: ${summary}` }, months, squares),
    bad.length ? h('details', h('summary', 'Days with failed runs'), h('ul', bad.slice(-20).reverse().map((day) => h('li', `${day.day}: ${day.failed_count} of ${plural(day.run_count, 'run')}`)))) : null);
}
