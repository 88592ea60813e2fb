// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// The output of a job, while its runs write it.

import { ask, jobPath, Refusal } from './api.js';
import { h, panel, put } from './dom.js';
import { linesOf, printable } from './text.js';
import { clock, dueOf } from './time.js';

const LINES_MAX = 2000;

export const outputLine = (text, isError) => h('div', { class: isError ? 'line err' : 'line' }, h('bdi', printable(text)));

/**
 * Shows the output of a run, or without one that of the job, while it is written. It polls only while a run is active.
 */
export function makeOutput(name, run) {
  const lines = h('div.output', { role: 'log', 'aria-live': 'off', tabindex: 0, 'aria-label': `Output of ${name}` });
  const about = h('p.soft');
  const el = panel('Output', about, lines);
  let cursor = 0, since, shownRun, timer = 0, isFirst = true, isAsking = false, isOver = false;

  /** Appends lines. It scrolls down to them only if the reader was at the end. */
  function add(nodes) {
    const atEnd = lines.scrollHeight - lines.scrollTop - lines.clientHeight < 40;
    lines.append(...nodes);
    while (lines.childElementCount > LINES_MAX) lines.firstChild.remove();
    if (atEnd) lines.scrollTop = lines.scrollHeight;
  }
  /** Returns the heading for the first line of each run. */
  function begin(id) {
    if (shownRun === id || run) return [];
    shownRun = id;
    return [h('div.line.head', { title: id }, `run of ${clock(dueOf(id))}`)];
  }

  async function look() {
    clearTimeout(timer);
    if (isAsking || isOver) return;
    isAsking = true;
    let isRunning = false;
    try {
      const query = new URLSearchParams(run && { run });
      if (cursor) query.set('after', cursor);
      const log = await ask(`${jobPath(name)}/log?${query}`);
      if (!isFirst && since !== log.since) {
        // The daemon was restarted, and counts the lines from 1 again: begin from the start.
        [cursor, since, isFirst, isAsking, shownRun] = [0, log.since, true, false, undefined];
        lines.replaceChildren();
        return look();
      }
      since = log.since;
      const nodes = [];
      if (log.lines.length) {
        for (const { run: id, text, is_error: isError } of log.lines) nodes.push(...begin(id), outputLine(text, isError));
      } else if (isFirst && log.past?.output) {
        nodes.push(...begin(log.past.id), ...linesOf(log.past.output).map((text) => outputLine(text)));
      }
      cursor = log.cursor;
      isFirst = false;
      // A line that is not ended, such as a prompt, is replaced until it is.
      for (const node of lines.querySelectorAll('.unfinished')) node.remove();
      for (const { run: id, text, is_error: isError } of log.unfinished ?? []) {
        const node = outputLine(text, isError);
        node.classList.add('unfinished');
        nodes.push(...begin(id), node);
      }
      if (nodes.length) add(nodes);
      isRunning = log.active.some((one) => one.began && (!run || one.id === run));
      put(about, isRunning ? 'Live: a run is active.' : lines.childElementCount ? run ? 'The end of what it wrote.' : 'The end of what its last run wrote.'
        : run ? 'It wrote nothing, or none of it is kept.' : log.past ? 'Its last run wrote nothing, or none of it is kept.' : 'It has not run yet.');
      el.classList.toggle('live', isRunning);
    } catch (error) {
      if (!(error instanceof Refusal)) isRunning = true;
    }
    isAsking = false;
    if (isRunning && !isOver) timer = setTimeout(look, document.hidden ? 5000 : 700);
  }
  return { el, look, stop() { isOver = true; clearTimeout(timer); } };
}
