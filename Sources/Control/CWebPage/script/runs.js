// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// View: the runs of all jobs that ended, by result, job, time and cause. The server filters them.

import { jobAddress, jobLink, withQuery, writeQuery } from './address.js';
import { ask, Refusal } from './api.js';
import { button, choice, choose, h, headRow, icon, put, quote, searchField } from './dom.js';
import { lineOf, listFailures } from './failures.js';
import { arrangeChildren, endCell } from './history.js';
import { causeOf } from './jobwords.js';
import { jobOf } from './model.js';
import { expressionOf, patternsOf, periodOf, PERIODS, spanFrom } from './period.js';
import { plural, printable, span } from './text.js';
import { clock, iso, msOf, sentence, serverNow, timeElement } from './time.js';

const RESULTS = [['', 'all results'], ['failed', 'failed'], ['succeeded', 'succeeded'], ['other', 'neither succeeded nor failed'], ['skipped', 'not started']];
const CAUSES = [['', 'any cause'], ['schedule', 'by schedule'], ['requested', 'requested by a user'], ['retry', 'further attempts'], ['chain', 'after another job'],
  ['catch-up', 'caught up'], ['resume', 'due during a pause']];
const ORDERS = [['', 'latest first'], ['failed', 'failed first']];
const PAGE = 50;
/** So many rows are kept up to date; more than these are shown as they were. */
const LIVE_MAX = 1000;

export const runsView = (() => {
  let root, search, result, time, cause, order, day, from, to, body, table, note, more, about, summary;
  let rows = new Map(), period, most = PAGE, asked = 0, pending = 0;

  function make() {
    const pick = (label, options) => choice(label, () => filter(true), options);
    search = searchField('Jobs, such as db-*', () => filter());
    result = pick('Result', RESULTS);
    time = choice('Time', () => { showFields(); if (time.value !== 'day' && time.value !== 'span') filter(true); else fillFields(); }, PERIODS);
    cause = pick('Cause', CAUSES);
    order = pick('Order', ORDERS);
    const field = (type, label) => h('input', { type, 'aria-label': label, onchange: () => filter(true) });
    [day, from, to] = [field('date', 'Day'), field('datetime-local', 'From'), field('datetime-local', 'To')];
    body = h('tbody');
    table = h('table.plain-table.history', { hidden: true }, headRow('When', 'Job', 'How it ended', 'Took', 'Why it ran'), body);
    [note, about, summary] = [h('p.empty', { hidden: true }), h('p.soft', { role: 'status' }), h('section.panel', { hidden: true })];
    more = button('Older runs', () => { most += PAGE; look(); }, { hidden: true });
    root = h('div.runs', h('div.heading', h('h1', { tabindex: -1 }, 'Runs')),
      h('div.tools', { role: 'search' }, search, result, time, day, from, to, cause, order), summary, about, note, table, more);
  }

  /** The text for the chosen time, as it is in the address. */
  function timeText() {
    if (time.value === 'day') return day.value;
    return time.value === 'span' ? `${from.value}..${to.value}` : time.value;
  }

  function showFields() {
    day.hidden = time.value !== 'day';
    from.hidden = to.hidden = time.value !== 'span';
  }

  /** Puts the last night into fields that are empty, and applies them. */
  function fillFields() {
    const night = periodOf('last-night', serverNow());
    day.value ||= spanFrom(night.since).slice(0, 10);
    if (!from.value && !to.value) [from.value, to.value] = [night.since, night.until].map((ms) => spanFrom(ms).slice(0, 16));
    filter(true);
  }

  function filter(isStep) {
    writeQuery('runs', { job: search.value.trim(), result: result.value, time: timeText(), cause: cause.value, order: order.value }, isStep);
    most = PAGE;
    clearTimeout(pending);
    pending = setTimeout(() => { pending = 0; look(); }, isStep ? 0 : 250);
  }

  function read({ query, complain }) {
    search.value = query.get('job') ?? '';
    for (const [field, key] of [[result, 'result'], [cause, 'cause'], [order, 'order']]) choose(field, query.get(key), complain);
    const text = query.get('time') ?? '';
    const kind = periodOf(text, serverNow())?.kind;
    if (kind === undefined) complain(`“${printable(text)}” is no time that this page knows; these are the last 24 hours.`);
    time.value = kind ?? '';
    if (kind === 'day') day.value = text;
    if (kind === 'span') [from.value, to.value] = text.split('..');
    showFields();
    most = PAGE;
  }

  /** Asks for a part of the runs. */
  function page(limit, other) {
    const iff = (ms) => (ms === undefined ? '' : iso(ms));
    return ask(withQuery('/v1/runs', { limit, lines: 1, match: patternsOf(search.value).join(','), result: result.value, cause: cause.value,
      since: iff(period.since), until: iff(period.until), skipped: result.value || cause.value ? '' : 1, ...other }));
  }

  /** Asks for as many runs as are wanted, in as many requests as that takes. */
  async function pages(wanted, other, isShown = () => true) {
    const found = [];
    let cursor = '';
    while (found.length < wanted && cursor !== undefined) {
      const answer = await page(Math.min(LIVE_MAX, wanted - found.length), { ...other, cursor });
      const skips = (answer.skipped_runs ?? []).map((skip) => ({ skip, job: skip.job, at: skip.at, id: `${skip.job} ${skip.first_scheduled} ${skip.reason}` }));
      found.push(...[...answer.runs.map((run) => ({ run, job: run.job, at: run.ended, id: run.id })), ...skips].filter(isShown).sort((a, b) => (a.at < b.at ? 1 : -1)));
      cursor = answer.next_cursor;
    }
    return { found, hasMore: cursor !== undefined };
  }

  async function wantedRuns() {
    if (order.value !== 'failed' || result.value) return pages(most);
    const failed = await pages(most, { result: 'failed', skipped: '' });
    if (failed.hasMore || failed.found.length >= most) return failed;
    const rest = await pages(most - failed.found.length, {}, ({ run }) => !run?.failed);
    return { found: [...failed.found, ...rest.found], hasMore: rest.hasMore };
  }

  async function look() {
    const mine = ++asked;
    period = periodOf(timeText(), serverNow());
    if (!period) return tell('The end of this time must be after its beginning.');
    try {
      const [{ found, hasMore }] = await Promise.all([wantedRuns(), showSummary(mine)]);
      if (mine === asked) show(found, hasMore);
    } catch (error) {
      if (mine !== asked) return;
      tell(`timerd cannot show these runs: ${error.message}.`);
      if (!(error instanceof Refusal)) pending = setTimeout(() => { pending = 0; look(); }, 2000);
    }
  }

  /** Says a sentence instead of the runs. */
  function tell(text) {
    note.replaceChildren(sentence(text));
    note.hidden = false;
    table.hidden = more.hidden = summary.hidden = true;
    put(about, '');
  }

  function show(found, hasMore) {
    if (!found.length) return tell(`No run ${search.value || result.value || cause.value ? 'matches' : 'ended'} ${periodWords()}.`);
    rows = new Map(found.map((one) => [one.id, one.skip ? skipRow(one.skip) : rows.get(one.id) ?? runRow(one.run)]));
    arrangeChildren(body, [...rows.values()]);
    note.hidden = true;
    table.hidden = false;
    more.hidden = !hasMore;
    put(more, order.value === 'failed' ? 'More runs' : 'Older runs');
    put(about, `${plural(found.length, 'run')} ${periodWords()}${hasMore ? ` are shown, there are more; the oldest of these is from ${clock(msOf(found.at(-1).at))}` : ''}.`);
  }

  function periodWords() {
    const { kind, since, until } = period;
    if (kind === 'span' || kind === 'day') return [since && `since ${clock(since)}`, until && `until ${clock(until)}`].filter(Boolean).join(' ');
    return kind === 'all' ? 'at any time' : `${kind.startsWith('last') || ['today', 'yesterday'].includes(kind) ? '' : 'in the '}${PERIODS.find(([key]) => key === kind)[1]}`;
  }

  function runRow(run) {
    const line = run.failed ? lineOf(run) : '';
    const end = endCell(run);
    if (line) end.append(h('bdi.sub.last-line', { title: line }, line));
    return h('tr', { 'data-job': run.job }, h('td', h('a.open', { href: jobAddress(run.job, run.id) }, timeElement(run.ended))), h('td', jobLink(run.job)), end,
      h('td', run.elapsed_usec ? span(run.elapsed_usec) : '–'), h('td.soft', quote((run.machine ? `on ${printable(run.machine)}, ` : '') + causeOf(run))));
  }

  const skipRow = (skip) => h('tr', { 'data-job': skip.job }, h('td', timeElement(skip.at)), h('td', jobLink(skip.job)),
    h('td.soft', icon('skip'), ` not started${skip.skipped_count > 1 ? ` ${skip.skipped_count} times` : ''}`), h('td', '–'), h('td.soft', quote(skip.text)));

  /** Says for each job how often it failed in this time, and whether it works again. */
  async function showSummary(mine) {
    const patterns = patternsOf(search.value).map(expressionOf);
    const isEmpty = (result.value && result.value !== 'failed') || cause.value;
    const failures = isEmpty ? new Map() : await listFailures(period.since, period.until);
    if (mine !== asked) return;
    const found = [...failures].filter(([name]) => !patterns.length || patterns.some((one) => one.test(name))).sort((a, b) => b[1].last - a[1].last);
    summary.hidden = !found.length;
    const shown = found.slice(0, 12);
    summary.replaceChildren(h('h2', `${plural(found.length, 'job')} failed`), h('ul', shown.map(([name, { count, isCut, last }]) => {
      const known = jobOf(name)?.last;
      const state = known?.failed === false ? ['works again since ', timeElement(known.ended)] : known?.failed ? [h('span.bad', 'still fails')] : ['last ', timeElement(iso(last))];
      return h('li', jobLink(name), `: ${isCut ? 'at least ' : ''}${plural(count, 'failed run')}, `, state);
    })), found.length > 12 ? h('p.soft', `and ${found.length - 12} more`) : '');
  }

  return {
    title: 'Runs',
    keepsAddress: true,
    mount(place, given) {
      if (!root) make();
      read(given);
      place.append(root);
      look();
    },
    follow(given) { read(given); look(); },
    unmount() { asked += 1; clearTimeout(pending); pending = 0; },
    update(names, events) {
      const isNews = events === undefined ? names === null : events.some(({ event }) => event === 'run-ended' || event === 'skipped');
      // At most one request a second, however many runs end; not for a time that is over.
      if (isNews && most <= LIVE_MAX && (period?.until ?? Infinity) >= serverNow()) pending ||= setTimeout(() => { pending = 0; look(); }, 1000);
    },
  };
})();
