// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// View: timeline.

import { jobAddress, jobLink, withQuery, writeQuery } from './address.js';
import { ask, EACH_MAX, listRuns, listUpcoming, Refusal, RUNS_MAX } from './api.js';
import { button, h, headRow, mark, put, quote, s, searchField } from './dom.js';
import { hideTip, showTip } from './frame.js';
import { ROWS_MAX } from './jobrow.js';
import { allJobs } from './model.js';
import { drawAxis, drawLane, drawLoad, LANE } from './picture.js';
import { index, itemAt, itemWords, laneData, limitEach } from './rows.js';
import { matcher, NARROW, plural, printable } from './text.js';
import { clock, iso, longTime, msOf, serverNow } from './time.js';

const HOUR = 36e5;

const RANGES = { '1h': HOUR, '3h': 3 * HOUR, '12h': 12 * HOUR, '24h': 24 * HOUR, '3d': 72 * HOUR, '7d': 168 * HOUR };

/** Which part of the timeline is in the past. */
const PAST_SHARE = 0.75;

export const timelineView = (() => {
  let root, lanes, load, axis, nowLine, summary, table, tableBody, note, range = '3h', search;
  let comingUntil = 0, data = null, width = 0, timer = 0, observer, asked = 0, frame = null, pending = 0, track;
  const laneOf = new Map();

  function make() {
    const buttons = Object.keys(RANGES).map((key) =>
      button(key.replace(/(\d+)/, `$1${NARROW}`), () => { range = key; filter(true); fetchAll(); }, { 'data-range': key, 'aria-pressed': 'false' }));
    search = searchField('Filter jobs', () => { filter(); draw(); });
    summary = h('p.soft', { id: 'timeline-summary' });
    axis = s('svg', { height: 24, 'aria-hidden': 'true' });
    load = s('svg', { height: 44, 'aria-hidden': 'true' });
    lanes = h('div.lanes');
    nowLine = h('div.now', { 'aria-hidden': 'true' });
    note = h('p.empty', { hidden: true });
    tableBody = h('tbody');
    table = h('details.as-table', { ontoggle: drawTable }, h('summary', 'The same as a table'),
      h('div.scroll', { tabindex: 0, role: 'region', 'aria-label': 'The timeline as a table' },
        h('table.plain-table', headRow('Job', 'What', 'When', 'How long', 'How it ended'), tableBody)));
    root = h('div',
      h('div.heading', h('h1', { tabindex: -1 }, 'Timeline'), h('div.segments', { role: 'group', 'aria-label': 'How long a time' }, buttons), search),
      summary,
      h('div.picture', { role: 'group', 'aria-label': 'Timeline of all jobs', 'aria-describedby': 'timeline-summary' },
        h('div.lane.lane-axis', h('span.lane-name'), track = h('div.track', axis)),
        h('div.lane.lane-load', h('span.lane-name.soft', 'runs at once'), h('div.track', load)),
        lanes, nowLine),
      note,
      h('ul.legend', { 'aria-label': 'Signs' }, [['s', 'succeeded'], ['f', 'failed'], ['i', 'stopped, replaced or skipped'], ['l', 'running'], ['next', 'upcoming, with its median duration'], ['skipped', 'skipped'], ['paused', 'paused']]
        .map(([kind, text]) => h('li', s('svg', { width: 22, height: 14, 'aria-hidden': 'true' }, legendSign(kind)), text))),
      table);
  }
  const legendSign = (kind) => s(`path.run-${kind}`, { d: kind === 'skipped' ? 'M11 1v12' : 'M1 2h20v10h-20z' });

  function filter(isStep) {
    writeQuery('timeline', { range: range === '3h' ? '' : range, q: search.value.trim() }, isStep);
    showRange();
  }

  function read({ query, complain }) {
    const wanted = query.get('range') ?? '3h';
    range = Object.hasOwn(RANGES, wanted) ? wanted : '3h';
    if (range !== wanted) complain(`The timeline cannot show “${printable(wanted)}”; this is 3 h.`);
    search.value = query.get('q') ?? '';
    showRange();
  }

  function showRange() {
    for (const one of root.querySelectorAll('[data-range]')) mark(one, 'aria-pressed', String(one.dataset.range === range));
  }

  /** Gets all data for the chosen range. Later, `refresh` gets only what is new. */
  async function fetchAll() {
    const mine = ++asked;
    const since = serverNow() - RANGES[range] * PAST_SHARE;
    try {
      const found = await lookSince(since, since);
      if (mine !== asked) return;
      data = { since, ...found };
      index(data);
      draw();
    } catch (error) {
      if (mine === asked && !(error instanceof Refusal && error.status < 500)) setTimeout(() => mine === asked && fetchAll(), 2000);
      else if (mine === asked) { put(note, printable(error.message)); note.hidden = false; }
    }
  }

  /** Gets the runs and the pauses that ended since these instants, at most 1000 pauses, and the upcoming runs. */
  async function lookSince(since, pausesSince) {
    const [found, coming, { pauses }] = await Promise.all([listRuns(since), listComing(), ask(`/v1/pauses?limit=1000&since=${iso(pausesSince)}`)]);
    return { ...found, coming, pauses };
  }

  /** Says what the picture does not have, and where that begins. */
  function cutWords() {
    const cut = [...data.cut].filter(([, since]) => since > frame.from);
    const names = cut.slice(0, 3).map(([job, since]) => `${job} (complete since ${clock(since)})`).join(', ');
    const past = cut.length ? ` Of ${plural(cut.length, 'job')} with very many runs only the last ${EACH_MAX} and the last ${EACH_MAX} failed ones are shown: ${names}${cut.length > 3 ? ' and others' : ''}.` : '';
    return past + (comingUntil ? ` Of what is due after ${clock(comingUntil)} only the next run of each job is shown.` : '');
  }

  /** Gets the upcoming runs. If there are more than 1000: the first 1000, and for every other job its next run. */
  async function listComing() {
    const end = serverNow() + RANGES[range] * (1 - PAST_SHARE);
    const { upcoming, has_more: hasMore } = await listUpcoming(end, 1000);
    comingUntil = hasMore ? msOf(upcoming.at(-1).at) : 0;
    if (!hasMore) return upcoming;
    const last = upcoming.at(-1).at;
    return [...upcoming, ...(await listUpcoming(end, 1000, '&grouped=1')).upcoming.filter(({ at }) => at > last)];
  }

  /** Gets the runs that ended since the last answer, and the upcoming runs again. */
  async function refresh() {
    if (!data) return;
    const mine = asked;
    const last = data.runs[0]?.ended;
    try {
      const { coming, pauses, brief, ...found } = await lookSince(last ? msOf(last) : data.since, data.since);
      if (mine !== asked || !data) return;
      Object.assign(data, { coming, pauses });
      data.brief = [...data.brief, ...brief];
      const known = new Set(data.runs.slice(0, 2000).map((run) => run.id));
      data.runs = limitEach([...found.runs.filter((run) => !known.has(run.id)), ...data.runs], RUNS_MAX);
      // Skipped runs in a row are one entry, whose count grows: the latest answer replaces the earlier ones.
      const skips = [...found.skipped, ...data.skipped].reverse().map((skip) => [`${skip.job} ${skip.first_scheduled}`, skip]);
      data.skipped = [...new Map(skips).values()].reverse();
      index(data);
      draw();
    } catch { /* The next event starts another attempt. */ }
  }

  function draw() {
    if (!root.isConnected || !width || !data) return;
    const now = serverNow(), length = RANGES[range];
    const from = now - length * PAST_SHARE, to = now + length * (1 - PAST_SHARE);
    const x = (ms) => Math.max(-2, Math.min(width + 2, (ms - from) / length * width));
    frame = { from, to, now, x, length, width };
    drawAxis(axis, frame);
    const matches = matcher(search);
    const shown = [];
    const all = [];
    let failed = 0, done = 0, busy = 0;
    for (const job of allJobs()) {
      if (!matches(job.job)) continue;
      const lane = laneData(data, job, frame);
      for (const run of lane.runs) { all.push(run); if (run.kind !== 'l') done += 1; if (run.kind === 'f') failed += 1; }
      if (lane.runs.length || lane.skips.length || lane.coming.length || lane.pauses.length) { busy += 1; if (busy <= ROWS_MAX) shown.push([job, lane]); }
    }
    const most = drawLoad(load, all, frame);
    const names = new Set(shown.map(([job]) => job.job));
    for (const [name, row] of laneOf) if (!names.has(name)) { row.el.remove(); laneOf.delete(name); }
    shown.forEach(([job, lane], index) => {
      const row = laneOf.get(job.job) ?? makeLane(job.job);
      if (lanes.children[index] !== row.el) lanes.insertBefore(row.el, lanes.children[index] ?? null);
      drawLane(row, job, lane, frame);
    });
    nowLine.style.setProperty('--x', `${x(now)}px`);
    note.hidden = shown.length > 0;
    put(note, search.value ? 'No job matches.' : 'Nothing ran, and nothing is due, within this time.');
    put(summary, `${plural(done, 'run')} from ${clock(Math.max(from, data.since))} until now, ${failed} failed; at most ${most} at once.`
      + cutWords() + (busy > ROWS_MAX ? ` Only ${ROWS_MAX} of ${busy} jobs are shown: filter them.` : ''));
    if (table.open) drawTable();
  }

  /** Opens the page of a run. The identity of one of which only the bar is known is asked for by its end. */
  async function openRun(job, hit) {
    if (hit?.run?.ended) location.hash = jobAddress(job, hit.run.id);
    else if ('sfi'.includes(hit?.kind ?? '?')) {
      const end = Math.floor(hit.end);
      const { runs } = await ask(withQuery('/v1/runs', { job, output: 0, limit: 1, since: iso(end), until: iso(end + 1) })).catch(() => ({ runs: [] }));
      if (runs[0]) location.hash = jobAddress(job, runs[0].id);
    }
  }

  function makeLane(name) {
    const picture = s('svg', { height: LANE, role: 'img', onpointermove: (event) => point(row, event), onpointerleave: hideTip,
      onclick: (event) => openRun(name, hitOf(row, event)) });
    const el = h('div.lane', jobLink(name, 'lane-name', name), h('div.track', picture));
    const row = { el, picture, name };
    laneOf.set(name, row);
    return row;
  }

  const hitOf = (row, event) => itemAt(row.lane, event.clientX - row.picture.getBoundingClientRect().left, frame.x);

  function point(row, event) {
    const item = hitOf(row, event);
    if (!item) return hideTip();
    const [what, when, long, how] = itemWords(item);
    showTip(event, [h('b', row.name), h('div', quote([what, clock(when)].join(' · '))), h('div', quote([long, how].filter(Boolean).join(' · ')))]);
  }

  /** Fills the table below the timeline with the latest 500 items. */
  function drawTable() {
    if (!table.open || !data) return;
    const rows = [];
    for (const [name, { lane }] of laneOf) for (const item of [...lane.runs, ...lane.skips, ...lane.coming.slice(0, 5), ...lane.pauses]) rows.push([name, item]);
    rows.sort((a, b) => b[1].start - a[1].start);
    tableBody.replaceChildren(...rows.slice(0, 500).map(([name, item]) => {
      const [what, when, long, how] = itemWords(item);
      return h('tr', h('td', jobLink(name)), h('td', what), h('td', longTime(when)), h('td', long), h('td', quote(how)));
    }));
  }

  return {
    title: 'Timeline',
    keepsAddress: true,
    mount(place, given) {
      if (!root) make();
      read(given);
      place.append(root);
      observer = new ResizeObserver(() => { if (track.clientWidth !== width) { width = track.clientWidth; draw(); } });
      observer.observe(track);
      width = track.clientWidth;
      fetchAll();
    },
    follow(given) { read(given); fetchAll(); },
    unmount() { observer.disconnect(); hideTip(); asked += 1; clearTimeout(pending); pending = 0; data = null; laneOf.clear(); lanes.replaceChildren(); },
    update(names, events) {
      // At most one request a second, however many runs end.
      if (events === undefined ? names === null : events.some(({ event }) => ['run-ended', 'skipped', 'resumed', 'stopped'].includes(event))) {
        pending ||= setTimeout(() => { pending = 0; refresh(); }, 1000);
      }
      timer = 0;
    },
    tick() { if (--timer <= 0) { timer = Math.max(1, Math.min(30, Math.round(RANGES[range] / 1e3 / Math.max(1, width) / 2))); draw(); } },
  };
})();
