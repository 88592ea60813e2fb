// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// The output of a run, or without one that of a job, while it is written: a viewer for logs.

import { withQuery } from './address.js';
import { plainLine, styledParts } from './ansi.js';
import { ask, jobPath, Refusal } from './api.js';
import { toast } from './commands.js';
import { button, choice, h, panel, put, searchField } from './dom.js';
import { LINES_MAX, makeLineList } from './linelist.js';
import { amountWords, asLine, firstLines, withNotes } from './loglines.js';
import { plural, printable } from './text.js';
import { clock, dueOf, sentence, timeOf } from './time.js';

const styleOf = ({ color, bold, dim, under }) => [color !== undefined && `a${color}`, bold && 'ab', dim && 'ad', under && 'au'].filter(Boolean).join(' ');

function lineElement(line) {
  if (line.head) return h('div.line.head', { title: line.head }, `run of ${clock(dueOf(line.head))}`);
  if (line.note) return h('div.line.head', line.note);
  const at = new Date(line.at ?? NaN);
  const time = h('span.line-time', line.at ? `${timeOf(at)}.${String(at.getMilliseconds()).padStart(3, '0')}` : '');
  const text = h('bdi', styledParts(line.text).map((part) => { const style = styleOf(part); return style ? h('span', { class: style }, printable(part.text)) : printable(part.text); }));
  return h('div', { class: `line${line.isError ? ' err' : ''}${line.isUnfinished ? ' unfinished' : ''}` }, time, line.isError ? h('span.unseen', 'standard error: ') : null, text);
}

/** Shows the output. It polls only while a run is active. */
export function makeOutput(name, run) {
  const list = makeLineList(`Output of ${name}`, lineElement);
  const about = h('p.soft'), found = h('span.soft');
  const search = searchField('Find in the output', () => find(0));
  const stream = choice('Streams', () => redraw(), [['', 'both streams'], ['out', 'standard output'], ['err', 'standard error']]);
  const check = (label, act, isOn) => { const box = h('input', { type: 'checkbox', checked: isOn, onchange: () => act(box.checked) }); return [box, h('label', box, ` ${label}`)]; };
  const [follow, followLabel] = check('Follow', (isOn) => isOn && list.toEnd(), true);
  const mark = (style) => (isOn) => list.el.classList.toggle(style, isOn);
  const tools = h('div.tools', search, button('↑', () => find(-1), { 'aria-label': 'Previous' }), button('↓', () => find(1), { 'aria-label': 'Next' }), found, stream,
    check('Wrap', mark('wrap'), true)[1], check('Times', mark('with-times'))[1], followLabel,
    button('Copy', () => navigator.clipboard.writeText(text(plainLine)).then(() => toast('copied'), () => toast('the browser does not allow to copy', true))), button('Download', download));
  const el = panel('Output', about, tools, list.el);
  let all = [], last = new Map(), cursor = 0, since, timer = 0, isFirst = true, isAsking = false, isOver = false, place = -1;
  list.el.classList.add('wrap');
  search.addEventListener('keydown', (event) => { if (event.key === 'Enter') find(event.shiftKey ? -1 : 1); });
  list.el.addEventListener('scroll', () => { follow.checked = list.isAtEnd; });
  // Lines may come before there is room for them, and the room may change.
  const room = new ResizeObserver(() => { if (follow.checked) list.toEnd(); });
  room.observe(list.el);

  const isShown = (line) => !stream.value || line.head || line.note || (stream.value === 'err') === !!line.isError;
  const text = (say) => list.lines.filter((line) => line.text !== undefined).map((line) => `${say(line.text)}\n`).join('');

  function redraw() {
    list.clear();
    list.add(all.filter(isShown));
    list.toEnd();
    find(0);
  }

  function download() {
    const link = h('a', { href: URL.createObjectURL(new Blob([text((line) => line)], { type: 'text/plain' })), download: `${(run ?? name).replaceAll(':', '_')}.log` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  /** Goes to the next or the previous line with the text; 0: only counts them. */
  function find(step) {
    const wanted = search.value.toLowerCase();
    const hits = wanted ? list.lines.filter((line) => line.text !== undefined && plainLine(line.text).toLowerCase().includes(wanted)) : [];
    place = !step || !hits.length ? -1 : place < 0 ? (step > 0 ? 0 : hits.length - 1) : (place + step + hits.length) % hits.length;
    if (place >= 0) { follow.checked = false; list.show(hits[place]); }
    put(found, !wanted ? '' : place >= 0 ? `${place + 1} of ${hits.length}` : plural(hits.length, 'line'));
  }

  function add(lines) {
    const isFollowing = follow.checked;
    all = all.concat(lines).slice(-LINES_MAX);
    list.add(lines.filter(isShown));
    if (isFollowing) list.toEnd();
  }

  async function look() {
    clearTimeout(timer);
    if (isAsking || isOver) return;
    isAsking = true;
    let isRunning = false;
    try {
      const log = await ask(withQuery(`${jobPath(name)}/log`, { run, after: cursor }));
      if (!isFirst && since !== log.since) {
        // The daemon was restarted, and counts the lines from 1 again: begin from the start.
        [cursor, since, isFirst, isAsking, all, last] = [0, log.since, true, false, [], new Map()];
        list.clear();
        return look();
      }
      isRunning = take(log);
    } catch (error) {
      if (!(error instanceof Refusal)) isRunning = true;
    }
    isAsking = false;
    if (isRunning && !isOver) timer = setTimeout(look, document.hidden ? 5000 : 700);
  }

  /** Takes an answer. Returns whether a run is active. */
  function take(log) {
    since = log.since;
    const lines = isFirst ? firstLines(log) : log.lines.map(asLine);
    cursor = log.cursor;
    isFirst = false;
    // A line that is not ended, such as a prompt, is replaced until it is.
    list.dropLast((line) => line.isUnfinished);
    while (all.at(-1)?.isUnfinished) all.pop();
    const unfinished = (log.unfinished ?? []).map((line) => ({ ...asLine(line), isUnfinished: true }));
    const news = withNotes(lines, last, !!run);
    if (news.length || unfinished.length) add([...news, ...withNotes(unfinished, new Map(last), !!run)]);
    const isRunning = log.active.some((one) => one.began && (!run || one.id === run));
    say(log, isRunning);
    return isRunning;
  }

  function say(log, isRunning) {
    const ids = [...last.keys()];
    const id = run ?? (ids.length === 1 ? ids[0] : undefined);
    const shown = all.filter((line) => line.text !== undefined).length;
    const size = new TextEncoder().encode(log.past?.output ?? '').length;
    const words = shown ? amountWords(shown, { total: log.written.find((one) => one.run === id)?.line_count, isCut: size > 0 && size >= log.output_tail_bytes, run: id })
      : isRunning ? 'Nothing yet.' : run || log.past ? 'It wrote nothing, or none of it is kept.' : 'It has not run yet.';
    const text = `${isRunning ? 'Live: a run is active. ' : ''}${words}`;
    // An answer to a later question does not have the stored output, so that its words stay.
    if (about.said !== text && (isRunning || log.past || !about.said || about.said.startsWith('Live'))) about.replaceChildren(sentence(about.said = text));
    tools.hidden = !shown;
    stream.hidden = !all.some((line) => line.isError !== undefined);
    el.classList.toggle('live', isRunning);
  }
  return { el, look, stop() { isOver = true; clearTimeout(timer); list.stop(); room.disconnect(); } };
}
