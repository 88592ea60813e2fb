// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// Spans of time by name, such as "last night", in the time zone of the browser. Tests call it directly.

import { dayOf, minuteOf } from './time.js';

export const PERIODS = [['', 'last 24 hours'], ['last-night', 'last night'], ['today', 'today'], ['yesterday', 'yesterday'], ['7d', 'last 7 days'], ['all', 'any time'],
  ['day', 'a day…'], ['span', 'from … to …']];

/** An instant of the day of `now`, or of a day before or after it. */
function at(now, days, hour) {
  const d = new Date(now);
  return new Date(d.getFullYear(), d.getMonth(), d.getDate() + days, hour).getTime();
}

/** The instant of a text such as `2026-11-30T01:00` in the time zone of the browser; undefined for an empty one, NaN for another. */
const instantOf = (text) => (text ? (/^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(text) ? new Date(text).getTime() : NaN) : undefined);

/**
 * Reads a span of time: a name of `PERIODS`, a day such as `2026-11-30`, or two instants with two dots between them, of
 * which one can be left out. Returns the kind of it, and its beginning and end in milliseconds since 1970, which are
 * undefined if there is none; null for another text.
 *
 * @param now the present, in milliseconds since 1970
 */
export function periodOf(text, now) {
  switch (text) {
    case '': return { kind: '', since: now - 864e5 };
    case 'last-night': return { kind: text, since: at(now, -1, 18), until: Math.min(now, at(now, 0, 9)) };
    case 'today': return { kind: text, since: at(now, 0, 0) };
    case 'yesterday': return { kind: text, since: at(now, -1, 0), until: at(now, 0, 0) };
    case '7d': return { kind: text, since: now - 7 * 864e5 };
    case 'all': return { kind: text };
    default:
  }
  if (/^\d{4}-\d\d-\d\d$/.test(text)) {
    const noon = new Date(`${text}T12:00`).getTime();
    return Number.isNaN(noon) ? null : { kind: 'day', since: at(noon, 0, 0), until: at(noon, 1, 0) };
  }
  const parts = text.split('..');
  if (parts.length !== 2 || text === '..') return null;
  const [since, until] = parts.map(instantOf);
  return [since, until].some(Number.isNaN) || since >= until ? null : { kind: 'span', since, until };
}

/** Since when a failure is still of interest in the morning: 18:00 of the day before. */
export const eveningBefore = (now) => at(now, -1, 18);

/** The same as a part of an address. */
export function spanFrom(ms) {
  const d = new Date(ms);
  return `${dayOf(d)}T${minuteOf(d)}..`;
}

/** A pattern of names as a regular expression, for names that the page has already. */
export function expressionOf(pattern) {
  const signs = { '*': '.*', '?': '.' };
  return new RegExp(`^${pattern.replace(/\[!?[^\]]+\]|[^]/g, (part) => signs[part] ?? (part.length > 1 ? part.replace('[!', '[^').replaceAll('\\', '\\\\') : part.replace(/[\\^$+.()|{}[\]]/, '\\$&')))}$`);
}

/** The patterns of names for what a user types: words without a sign of a pattern are parts of names. */
export const patternsOf = (text) => text.split(/[\s,]+/).filter(Boolean).map((word) => (/[*?[]/.test(word) ? word : `*${word}*`)).slice(0, 16);
