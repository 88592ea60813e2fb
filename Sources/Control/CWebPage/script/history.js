// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// The table of the runs of one job.

import { runLink } from './address.js';
import { ask, runsPath } from './api.js';
import { toast } from './commands.js';
import { button, factList, h, headRow, icon, panel, quote } from './dom.js';
import { outputLine } from './output.js';
import { cause, ending, waiting } from './runs.js';
import { encode, linesOf, NARROW, printable, span } from './text.js';
import { longTime, msOf, timeElement } from './time.js';

/** The details of a run, shown below its row: what it used, which runs it caused, and the end of its output. */
function runDetails({ run_status: run, caused = [] }) {
  const facts = [
    ['Run', run.id], ['Machine', run.machine],
    ['Cause', run.cause_run ? ['after ', runLink(run.cause_run), ` (${printable(run.cause_result)})`] : cause(run)],
    ['Caused', caused.length && h('ul', caused.map((other) => h('li', runLink(other.id, other.job),
      `, ${other.ended ? printable(ending(other)) : waiting(other) ?? 'is running'}`)))], ['Planned', run.scheduled && longTime(msOf(run.scheduled))],
    ['Result', ending(run)],
    ['CPU', run.user_usec + run.system_usec > 0 && `${span(run.user_usec)} user, ${span(run.system_usec)} system`],
    ['Peak memory', run.peak_bytes && `${(run.peak_bytes / 2 ** 20).toFixed(1)}${NARROW}MiB`],
  ];
  const output = linesOf(run.output ?? '');
  return [h('dl.facts', factList(facts)),
    output.length ? h('div.output', { tabindex: 0, role: 'region', 'aria-label': 'Its output' }, output.map((text) => outputLine(text))) : h('p.soft', run.machine ? `Its output is on ${printable(run.machine)}.` : 'It wrote nothing, or none of it is kept.')];
}

/** The table of the ended runs of a job, the latest first. Each row can be opened to show its details. */
export function makeHistory(name, openRun) {
  const body = h('tbody');
  const more = button('Older runs', () => older(), { hidden: true });
  const soft = h('p.soft', { hidden: true }, 'No run of it has ended yet.');
  let table;
  const el = panel('Runs', soft,
    table = h('table.plain-table.history', { hidden: true }, headRow('When', 'How it ended', 'Took', 'Why it ran'), body), more);
  const runs = new Set();
  let next;

  function makeRow(run) {
    const place = h('td', { colspan: 4 });
    const below = h('tr.below', { hidden: true }, place);
    const opener = button(timeElement(run.began ?? run.scheduled), () => open(), { class: 'open', 'aria-expanded': 'false' });
    const row = h('tr', h('td', opener),
      h('td', { class: run.failed ? 'bad' : run.succeeded ? 'fine' : 'soft' }, icon(run.failed ? 'failed' : run.succeeded ? 'finished' : 'stopped'), ' ', quote(ending(run))),
      h('td', run.elapsed_usec ? span(run.elapsed_usec) : '–'), h('td.soft', quote(run.cause ? cause(run) : '')));
    const open = async () => {
      below.hidden = !below.hidden;
      opener.setAttribute('aria-expanded', String(!below.hidden));
      if (below.hidden || place.firstChild) return;
      try {
        const answer = await ask(`/v1/runs/${encode(run.id)}`);
        place.replaceChildren(...runDetails(answer));
      } catch (error) { place.replaceChildren(h('p.soft', quote(error.message))); }
    };
    row.ended = run.ended;
    return { row, below, open };
  }

  /** Adds the runs that are not in the table yet, each at its place. */
  function show(list) {
    for (const run of list) {
      if (runs.has(run.id)) continue;
      const made = makeRow(run);
      runs.add(run.id);
      const after = [...body.children].find((row) => row.ended < run.ended);
      if (after) after.before(made.row, made.below);
      else body.append(made.row, made.below);
      if (run.id === openRun) { openRun = undefined; made.open(); setTimeout(() => made.row.scrollIntoView({ block: 'center' })); }
    }
    soft.hidden = runs.size > 0;
    table.hidden = runs.size === 0;
  }
  async function older() {
    try {
      const answer = await ask(`${runsPath(name)}&limit=20&cursor=${encode(next)}`);
      next = answer.next_cursor;
      show(answer.runs);
      more.hidden = next === undefined;
    } catch (error) { toast(error.message, true); }
  }
  async function look(isFirst) {
    const answer = await ask(`${runsPath(name)}&limit=20`);
    if (isFirst) { next = answer.next_cursor; more.hidden = next === undefined; }
    show(answer.runs);
  }
  return { el, look };
}
