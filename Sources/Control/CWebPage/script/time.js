// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// Times in words, in the time zone of the browser and by the clock of the server.

import { h } from './dom.js';
import { printable, wholeSpan } from './text.js';

export const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

export const DAYS = 'Sun Mon Tue Wed Thu Fri Sat'.split(' ');

const two = (number) => String(number).padStart(2, '0');

export const dayOf = (d) => `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;

export const minuteOf = (d) => `${two(d.getHours())}:${two(d.getMinutes())}`;

export const timeOf = (d) => `${minuteOf(d)}:${two(d.getSeconds())}`;

/** Milliseconds of the monotonic clock: it never jumps, unlike the wall clock. */
export const steady = () => performance.now();

/** Converts an instant of the API to milliseconds since 1970, and back. */
export const msOf = Date.parse;

export const iso = (ms) => new Date(ms).toISOString();

/** How far the server's clock is ahead of the browser's, in milliseconds. */
export const serverClock = { skew: 0 };

/** The time by the server's clock, in milliseconds since 1970. The browser's clock may be wrong. */
export const serverNow = () => Date.now() + serverClock.skew;

/** A short date and time: `14:05:10` for today, `Mon 09:00` within six days, `24 Dec 09:00` in this year. */
export function clock(ms) {
  const d = new Date(ms), now = new Date(serverNow());
  const time = minuteOf(d);
  if (dayOf(d) === dayOf(now)) return d.getSeconds() ? timeOf(d) : time;
  if (Math.abs(ms - now) < 6 * 864e5) return `${DAYS[d.getDay()]} ${time}`;
  const date = `${d.getDate()} ${MONTHS[d.getMonth()]}`;
  return d.getFullYear() === now.getFullYear() ? `${date} ${time}` : `${date} ${d.getFullYear()}`;
}

/** A complete date and time: `Mon 2026-11-23 09:00:00`. */
export function longTime(ms) {
  const d = new Date(ms);
  return `${DAYS[d.getDay()]} ${dayOf(d)} ${timeOf(d)}`;
}

/** An instant of the API as an element: short, with the complete time as its tooltip. */
export function timeElement(text, shown) {
  const ms = msOf(text);
  return h('time', { datetime: text, title: `${longTime(ms)} (${text})` }, shown ?? clock(ms));
}

/** How long it is until an instant, or since then: `in 3 h 5 min`, `4 s ago`. */
export function distanceWords(ms) {
  const away = ms - serverNow();
  return away >= 0 ? `in ${wholeSpan(away * 1e3)}` : `${wholeSpan(-away * 1e3)} ago`;
}

export const ago = (ms) => `${wholeSpan(Math.max(0, serverNow() - ms) * 1e3, 1)} ago`;

/** When a run was due, in milliseconds since 1970. Its identity says so: `backup:20261121T055945.910612Z:1`. */
export function dueOf(id) {
  const [, y, mo, d, h, mi, s] = /:(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d\.\d{3})\d{3}Z:\d+$/.exec(id) ?? [];
  return y ? msOf(`${y}-${mo}-${d}T${h}:${mi}:${s}Z`) : NaN;
}

export const attemptOf = (id) => Number(/:(\d+)$/.exec(id)?.[1] ?? 1);

/**
 * Shows a sentence of timerd. Instants are shown in the reader's time zone, text between backquotes as code, and instead
 * of the identity of a run the time when it was due.
 */
export function sentence(text) {
  const parts = printable(text).split(/(\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z|\b[\w.@-]{1,64}:\d{8}T\d{6}\.\d{6}Z:\d+|`[^`]+`)/);
  return h('bdi', ...parts.map((part, index) => {
    if (index % 2 === 0) return part;
    if (part.startsWith('`')) return h('code', part.slice(1, -1));
    if (/^\d{4}-/.test(part)) return timeElement(part);
    return h('span', { title: part }, `of ${clock(dueOf(part))}${attemptOf(part) > 1 ? ` (attempt ${attemptOf(part)})` : ''}`);
  }));
}

export const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
