// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// Lines as a terminal would show them: colors, and carriage returns. Tests call it directly.

/** Of a line that was written over with carriage returns, as progress bars do, what is left. */
export function lastState(line) {
  const parts = line.replace(/\r+$/, '').split('\r');
  return parts.at(-1);
}

const ESCAPE = /\x1b(?:\[([0-9;:]*)([A-Za-z])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9])/g;

/** The text of a line without its escape sequences. */
export const plainLine = (line) => lastState(line).replace(ESCAPE, '');

/** Takes the numbers of one sequence for colors into account. Returns the style after it. */
function styleAfter(style, numbers) {
  const next = { ...style };
  const list = numbers.split(/[;:]/).map(Number);
  for (let i = 0; i < list.length; i += 1) {
    const n = list[i];
    if (n === 0) for (const key in next) delete next[key];
    else if (n === 1) next.bold = true;
    else if (n === 2) next.dim = true;
    else if (n === 4) next.under = true;
    else if (n === 22) { delete next.bold; delete next.dim; } else if (n === 24) delete next.under;
    else if (n >= 30 && n <= 37) next.color = n - 30;
    else if (n >= 90 && n <= 97) next.color = n - 90;
    else if (n === 39) delete next.color;
    else if (n === 38 || n === 48) {
      // Of the other colors those of the first sixteen are shown; the numbers that belong to them are passed over.
      const isIndex = list[i + 1] === 5;
      if (isIndex && n === 38 && list[i + 2] < 16) next.color = list[i + 2] % 8;
      i += isIndex ? 2 : list[i + 1] === 2 ? 4 : 0;
    }
  }
  return next;
}

/** Splits a line into parts of one style: `[{ text, color, bold, dim, under }]`, with colors from 0 to 7. */
export function styledParts(line) {
  let style = {};
  const found = [];
  let at = 0;
  const text = lastState(line);
  const add = (end) => { if (end > at) found.push({ ...style, text: text.slice(at, end) }); };
  for (const match of text.matchAll(ESCAPE)) {
    add(match.index);
    at = match.index + match[0].length;
    if (match[2] === 'm') style = styleAfter(style, match[1]);
  }
  add(text.length);
  return found;
}
