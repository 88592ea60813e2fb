// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// The table of the runs of one job.

import { jobAddress } from './address.js';
import { ask, runsPath } from './api.js';
import { toast } from './commands.js';
import { button, h, headRow, icon, panel, quote } from './dom.js';
import { causeOf, ending } from './jobwords.js';
import { span } from './text.js';
import { timeElement } from './time.js';

/** The most rows that are shown here; the view of the runs has all. */
const ROWS_MAX = 1000;
const STEP = 20;

/** The sign and the words for how a run ended. */
export const endCell = (run) => h('td', { class: run.failed ? 'bad' : run.succeeded ? 'fine' : 'soft' },
  icon(run.failed ? 'failed' : run.succeeded ? 'finished' : 'stopped'), ' ', quote(ending(run)));

/** Makes the children of an element those in the list. Children that stay are not touched, so that they keep the focus. */
export function arrangeChildren(parent, list) {
  const wanted = new Set(list);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  list.forEach((child, index) => { if (parent.children[index] !== child) parent.insertBefore(child, parent.children[index] ?? null); });
}

/** The table of the ended runs of a job, the latest first. Each leads to the page of the run. */
export function makeHistory(name) {
  const body = h('tbody');
  const more = button('Older runs', () => { most = Math.min(ROWS_MAX, most + STEP); look().catch((error) => toast(error.message, true)); }, { hidden: true });
  const soft = h('p.soft', { hidden: true }, 'No run of it has ended yet.');
  const table = h('table.plain-table.history', { hidden: true }, headRow('When', 'How it ended', 'Took', 'Why it ran'), body);
  let rows = new Map(), most = STEP;

  const makeRow = (run) => h('tr',
    h('td', h('a.open', { href: jobAddress(name, run.id) }, timeElement(run.began ?? run.scheduled))), endCell(run),
    h('td', run.elapsed_usec ? span(run.elapsed_usec) : '–'), h('td.soft', quote(run.cause ? causeOf(run) : '')));

  async function look() {
    const { runs, next_cursor: next } = await ask(`${runsPath(name)}&limit=${most}`);
    rows = new Map(runs.map((run) => [run.id, rows.get(run.id) ?? makeRow(run)]));
    arrangeChildren(body, [...rows.values()]);
    soft.hidden = runs.length > 0;
    table.hidden = runs.length === 0;
    more.hidden = next === undefined || most === ROWS_MAX;
  }
  return { el: panel('Runs', soft, table, more), look };
}
