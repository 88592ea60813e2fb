// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// What the daemon says about the output of runs, as lines. Tests call it directly.

import { linesOf, plural } from './text.js';

/** The lines of a stored output, of which neither the time nor the stream is known. `count` is how many lines it had in all. */
export function storedLines(output, run, count) {
  const texts = linesOf(output);
  const first = count === undefined ? undefined : count - texts.length + 1;
  return texts.map((text, index) => ({ text, run, number: first > 0 ? first + index : undefined }));
}

/**
 * The lines of the first answer. The daemon has the last lines with their times and streams, and of a run that ended a stored
 * end of its output, which may begin earlier: then its first lines come before the others.
 */
export function firstLines({ lines, past, written = [] }) {
  const recent = lines.map(asLine);
  if (!past?.output) return recent;
  const count = written.find((one) => one.run === past.id)?.line_count;
  const stored = storedLines(past.output, past.id, count);
  if (!recent.length) return stored;
  const isWhole = recent.at(-1).number - recent[0].number + 1 === recent.length;
  return isWhole && stored.length > recent.length ? [...stored.slice(0, stored.length - recent.length), ...recent] : recent;
}

export const asLine = ({ run, number, at, text, is_error: isError }) => ({ run, number, at, text, isError });

/**
 * Puts a note between lines where some are missing, and at the first line of each run, unless only one is shown.
 *
 * @param last for each run the number of the last line before these; it is updated
 */
export function withNotes(lines, last, isOneRun) {
  const found = [];
  for (const line of lines) {
    const before = last.get(line.run);
    if (before === undefined && !isOneRun) found.push({ head: line.run });
    const from = (before ?? 0) + 1;
    if (line.number > from) found.push({ note: line.number - from === 1 ? `line ${from} is not here` : `lines ${from} to ${line.number - 1} are not here`, run: line.run });
    last.set(line.run, line.number ?? before ?? 0);
    found.push(line);
  }
  return found;
}

/** Says how much of what a run wrote is shown, and where the rest is. */
export function amountWords(shown, { total, isCut, run }) {
  const rest = run ? `; \`journalctl TIMERD_RUN_ID=${run}\` shows what was logged of the rest` : '';
  if (total > shown) return `${shown} of ${total} lines${rest}.`;
  if (isCut) return `The last ${plural(shown, 'line')}, as output-tail keeps them${rest}.`;
  return `${plural(shown, 'line')}.`;
}
