// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// A list of very many lines: only those near the visible part are elements.

import { h, put } from './dom.js';

/** So many lines are made at a time, and removed again. */
const CHUNK = 200;
/** How high a line is if it was never shown, in pixels. */
const LINE = 20;
/** So many lines are kept; the first ones are forgotten, which is said. */
export const LINES_MAX = 120_000;

/** @param makeLine makes the element of a line */
export function makeLineList(label, makeLine) {
  const el = h('div.output', { role: 'log', 'aria-live': 'off', tabindex: 0, 'aria-label': label });
  const cut = h('div.line.head', { hidden: true });
  let chunks = [], count = 0, dropped = 0, found;
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) if (isIntersecting) fill(target.chunk); else empty(target.chunk);
  }, { root: el, rootMargin: '1000px 0px' });

  function fill(chunk) {
    if (chunk.isFilled) return;
    chunk.isFilled = true;
    chunk.el.style.height = '';
    chunk.el.replaceChildren(...chunk.lines.map(makeLine));
  }

  /** The lines go, their height stays. While nothing is shown, it is not known. */
  function empty(chunk) {
    if (!chunk.isFilled || !el.clientHeight) return;
    chunk.el.style.height = `${chunk.el.offsetHeight}px`;
    chunk.isFilled = false;
    chunk.el.replaceChildren();
  }

  function newChunk() {
    const chunk = { el: h('div'), lines: [], isFilled: false };
    chunk.el.chunk = chunk;
    chunks.push(chunk);
    el.append(chunk.el);
    observer.observe(chunk.el);
    return chunk;
  }

  function add(lines) {
    for (const line of lines) {
      const chunk = chunks.at(-1)?.lines.length < CHUNK ? chunks.at(-1) : newChunk();
      chunk.lines.push(line);
      if (chunk.isFilled) chunk.el.append(makeLine(line));
      else chunk.el.style.height = `${chunk.lines.length * LINE}px`;
    }
    count += lines.length;
    while (count > LINES_MAX) {
      const first = chunks.shift();
      count -= first.lines.length;
      dropped += first.lines.length;
      observer.unobserve(first.el);
      first.el.remove();
    }
    cut.hidden = !dropped;
    put(cut, `${dropped} earlier lines are not kept here`);
    if (dropped && !cut.isConnected) el.prepend(cut);
    // What was short until now is shown at once, without waiting for the observer.
    if (chunks.length === 1) fill(chunks[0]);
  }

  function clear() {
    for (const chunk of chunks) observer.unobserve(chunk.el);
    chunks = [];
    count = dropped = 0;
    found = undefined;
    el.replaceChildren();
  }

  /** Removes the last lines for which it is true. */
  function dropLast(isMeant) {
    for (let chunk = chunks.at(-1); chunk?.lines.length && isMeant(chunk.lines.at(-1)); ) {
      chunk.lines.pop();
      count -= 1;
      if (chunk.isFilled) chunk.el.lastChild.remove();
    }
  }

  /** Scrolls to a line and marks it, so that a search shows where it is. */
  function show(line) {
    found?.classList.remove('found');
    const chunk = chunks.find((one) => one.lines.includes(line));
    if (!chunk) return;
    fill(chunk);
    found = chunk.el.children[chunk.lines.indexOf(line)];
    found.classList.add('found');
    found.scrollIntoView({ block: 'nearest' });
  }

  return {
    el, add, clear, dropLast, show,
    get lines() { return chunks.flatMap((chunk) => chunk.lines); },
    get count() { return count; },
    get isAtEnd() { return el.scrollHeight - el.scrollTop - el.clientHeight < 40; },
    toEnd() { if (chunks.length) fill(chunks.at(-1)); el.scrollTop = el.scrollHeight; },
    stop() { observer.disconnect(); },
  };
}
