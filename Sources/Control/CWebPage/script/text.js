// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// Texts and numbers in words. Nothing here needs a document, and tests call it directly.

/** Returns a function that says whether a text contains every word in a search field. */
export function matcher(field) {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  return (text) => words.every((word) => text.toLowerCase().includes(word));
}

/**
 * Makes text from outside safe to show. Control characters, and those that reverse the direction of the text after them,
 * are written as escapes such as `\x1b`, as timerctl writes them. Tabs are kept.
 */
export function printable(text) {
  return String(text).replace(/[\x00-\x08\x0a-\x1f\x7f-\x9f\u200e\u200f\u061c\u2028-\u202e\u2066-\u2069]/g,
    (c) => '\\x' + c.charCodeAt(0).toString(16).padStart(2, '0'));
}

export const encode = encodeURIComponent;

export const px = (length) => length.toFixed(1);

export const box = (x, y, width, height) => `M${px(x)} ${px(y)}h${px(width)}v${px(height)}h${px(-width)}z`;

export const plural = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`;

/** A space that does not break: a number and its unit stay on one line. */
export const NARROW = '\u00a0';

const UNITS = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];

/** Writes microseconds in at most two units: `3 h 55 min`, `44 s`, `4.1 s`, `870 ms`. */
export function span(usec) {
  if (usec < 1000) return usec <= 0 ? `0${NARROW}s` : `<${NARROW}1${NARROW}ms`;
  if (usec < 1e6) return `${Math.floor(usec / 1e3)}${NARROW}ms`;
  if (usec < 1e7 && usec % 1e6) return `${(Math.floor(usec / 1e5) / 10).toFixed(1)}${NARROW}s`;
  return wholeSpan(usec);
}

/** The same in whole seconds, for times that count up or down on the page: fractions would flicker. */
export function wholeSpan(usec, most = 2) {
  let rest = Math.max(0, Math.floor(usec / 1e6));
  const parts = [];
  for (const [unit, length] of UNITS) {
    if (rest >= length || (unit === 's' && !parts.length)) {
      parts.push(`${Math.floor(rest / length)}${NARROW}${unit}`);
      rest %= length;
    } else if (parts.length) break; // Not `3 d 5 s`: the second unit is the next smaller one, or there is none.
    if (parts.length === most) break;
  }
  return parts.join(' ');
}

export function median(numbers) {
  if (!numbers.length) return undefined;
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

export function linesOf(output) {
  const lines = output.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

export function shellWord(word) {
  return /^[^\s"'\\$`*?;&|<>()\x00-\x1f]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
