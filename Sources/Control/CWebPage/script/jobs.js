// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// View: jobs.

import { writeQuery } from './address.js';
import { commandAll } from './commands.js';
import { askPause, askResume } from './dialogs.js';
import { $, button, choice, choose, flag, h, mark, put, searchField } from './dom.js';
import { makeGlance, MATCHES, SORTS } from './glance.js';
import { makeRow, ROWS_MAX } from './jobrow.js';
import { allJobs, model } from './model.js';
import { exactSchedule, schedule } from './schedule.js';
import { matcher, plural } from './text.js';
import { sentence } from './time.js';

/** The table of all jobs. Its elements are kept while another view is shown, so that coming back is fast. */
export const jobsView = (() => {
  const rows = new Map();
  const selected = new Set();
  let root, body, search, stateFilter, sortBy, empty, selectAll, glance, count, more;
  let order = [], most = ROWS_MAX;

  function make() {
    search = searchField('Filter jobs', () => filter());
    stateFilter = choice('State', () => filter(true), [['', 'all states'], ...Object.keys(MATCHES).map((state) => [state])]);
    sortBy = choice('Order', () => filter(true), [['', 'as configured'], ['name', 'by name'], ['state', 'failed first'], ['next', 'next first'], ['last', 'last run first'], ['active', 'most active time first']]);
    glance = makeGlance((kind) => { stateFilter.value = stateFilter.value === kind ? '' : kind; filter(true); });
    count = h('span.soft.count');
    selectAll = h('input', { type: 'checkbox', 'aria-label': 'Select all shown jobs', onchange: () => { for (const name of order) select(name, selectAll.checked); } });
    const head = (kind, text, key) => h('th', { role: 'columnheader', scope: 'col', class: `c-${kind}`, 'data-sort': key },
      key === undefined ? text : button(text, () => { sortBy.value = sortBy.value === key ? '' : key; filter(true); }));
    body = h('tbody', { role: 'rowgroup' });
    empty = h('p.empty', { hidden: true });
    root = h('div',
      h('h1.unseen', { tabindex: -1 }, 'Jobs'), glance.el,
      h('div.tools', { role: 'search' }, search, stateFilter, sortBy, count),
      h('table.table', { role: 'table', 'aria-label': 'Jobs' },
        h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, head('select', selectAll), head('job', 'Job', 'name'), head('state', 'State', 'state'),
          head('left', 'Time left', 'next'), head('last', 'Last run', 'last'), head('recent', 'Last 20'), head('active', 'Active time', 'active'),
          head('acts', h('span.unseen', 'Commands')))),
        body), more = button('', () => { most += ROWS_MAX; arrange(); }), empty);
  }

  function select(name, isOn) {
    if (isOn) selected.add(name); else selected.delete(name);
    const row = rows.get(name);
    if (row) { row.box.checked = isOn; row.el.classList.toggle('selected', isOn); }
    showBulk();
  }

  /** Shows the bar with commands for the selected jobs, or hides it if none is selected. */
  function showBulk() {
    const bar = $('bulk');
    for (const name of selected) if (!model.jobs.has(name)) selected.delete(name);
    bar.hidden = selected.size === 0 || !root.isConnected;
    flag('has-bulk', !bar.hidden);
    if (bar.hidden) return;
    const names = () => [...model.jobs.keys()].filter((name) => selected.has(name));
    if (!bar.firstChild) {
      const command = (text, act) => button(text, () => act(names()));
      const all = (verb, extra) => (names) => commandAll(verb, { jobs: names, ...extra }, names.length).catch(() => {});
      bar.append(h('b'), h('div.buttons', command('Run', all('run')), command('Pause…', askPause), command('Resume…', askResume),
        command('Skip next', all('skip-next', { count: 1 })), command('Retry', all('retry')),
        button('Clear', () => { for (const name of [...selected]) select(name, false); }, { class: 'plain' })));
    }
    put(bar.firstChild, `${selected.size} selected`);
  }

  /** Applies the filters that the user chose, and writes them into the address. */
  function filter(isStep) {
    arrange();
    writeQuery('', { q: search.value.trim(), state: stateFilter.value, sort: sortBy.value }, isStep);
  }

  /** Applies the filters of an address. */
  function read({ query, complain }) {
    if (search.value.trim() !== (query.get('q') ?? '')) search.value = query.get('q') ?? '';
    choose(stateFilter, query.get('state'), complain);
    choose(sortBy, query.get('sort'), complain);
  }

  /** Filters and sorts the rows. */
  function arrange() {
    const matches = matcher(search);
    const state = MATCHES[stateFilter.value];
    const sort = SORTS[sortBy.value];
    let found = allJobs();
    if (state) found = found.filter(state);
    if (search.value) {
      found = found.filter((job) => matches([job.job, job.description, schedule(job), exactSchedule(job), job.paused?.by, job.paused?.note].join(' ')));
    }
    if (sort) found.sort(sort);
    const names = found.slice(0, most).map((job) => job.job);
    for (const [name, row] of rows) if (!model.jobs.has(name)) { row.el.remove(); rows.delete(name); }
    if (names.length !== order.length || names.some((name, index) => name !== order[index] || !rows.has(name))) {
      order = names;
      const focused = document.activeElement;
      body.replaceChildren(...names.map(rowOf));
      // Moving an element takes the focus away from it: give it back.
      if (focused !== document.activeElement && body.contains(focused)) focused.focus({ preventScroll: true });
    }
    for (const box of glance.boxes) if (box.kind !== 'next') mark(box.head, 'aria-pressed', String(stateFilter.value === box.kind));
    for (const th of root.querySelectorAll('th[data-sort]')) {
      mark(th, 'aria-sort', th.dataset.sort !== sortBy.value ? 'none' : ['name', 'next'].includes(sortBy.value) ? 'ascending' : 'descending');
    }
    put(count, found.length === model.jobs.size ? plural(found.length, 'job') : `${found.length} of ${plural(model.jobs.size, 'job')}`);
    more.hidden = found.length <= most;
    put(more, `${ROWS_MAX} more of ${found.length} jobs`);
    empty.hidden = names.length > 0 || model.daemon === null;
    empty.replaceChildren(sentence(model.jobs.size ? 'No job matches.' : 'There are no jobs yet; `timerctl edit` opens the configuration.'));
    root.classList.toggle('none-yet', !model.jobs.size);
    // Before the first answer nothing is known, not even that no job failed.
    glance.el.hidden = model.daemon === null;
    selectAll.checked = names.length > 0 && names.every((name) => selected.has(name));
  }

  function rowOf(name) {
    let row = rows.get(name);
    if (!row) { rows.set(name, row = makeRow(name, select)); row.show(model.jobs.get(name)); }
    return row.el;
  }

  return {
    title: 'Jobs',
    keepsAddress: true,
    mount(place, given) {
      if (!root) make();
      read(given);
      place.append(root);
      this.update(null);
    },
    follow(given) { read(given); arrange(); },
    unmount() { $('bulk').hidden = true; },
    update(names) {
      for (const name of names ?? rows.keys()) {
        const entry = model.jobs.get(name);
        if (entry) rows.get(name)?.show(entry);
      }
      arrange();
      glance.show();
      showBulk();
    },
    tick() {
      for (const name of order) rows.get(name).tick(model.jobs.get(name));
      glance.show();
      if (SORTS[sortBy.value] === SORTS.next) arrange();
    },
    toggle(name) { select(name, !selected.has(name)); },
  };
})();
