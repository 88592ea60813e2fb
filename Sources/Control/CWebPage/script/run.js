// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// View: one run, however old it is.

import { addressOf, jobAddress, jobLink, runLink } from './address.js';
import { ask, Refusal } from './api.js';
import { factList, h, icon, mark, panel, put } from './dom.js';
import { causeOf, ending, verdict, waiting } from './jobwords.js';
import { makeOutput } from './output.js';
import { encode, NARROW, printable, span } from './text.js';
import { ago, longTime, msOf, sentence } from './time.js';

/** What a run used, why it was made, and which runs it caused. */
function runFacts({ run_status: run, caused = [], following_attempt: next, attempt, retries }) {
  const also = (other) => [runLink(other.id, other.job), `, ${other.ended ? printable(ending(other)) : waiting(other) ?? 'is running'}`];
  return factList([
    ['Run', run.id, 'code'], ['Machine', run.machine],
    ['Cause', run.cause_run ? ['after ', runLink(run.cause_run), ` (${printable(run.cause_result)})`] : causeOf(run)],
    ['Due', run.scheduled && longTime(msOf(run.scheduled))], ['Started', run.began && longTime(msOf(run.began))], ['Ended', run.ended && longTime(msOf(run.ended))],
    ['Took', run.elapsed_usec > 0 && span(run.elapsed_usec)], ['Attempt', attempt > 1 && `${attempt}${retries ? ` of at most ${retries + 1}` : ''}`],
    ['CPU', run.user_usec + run.system_usec > 0 && `${span(run.user_usec)} user, ${span(run.system_usec)} system`],
    ['Peak memory', run.peak_bytes && `${(run.peak_bytes / 2 ** 20).toFixed(1)}${NARROW}MiB`],
    ['Next attempt', next && also(next)],
    ['Caused', caused.length && h('ul', caused.map((other) => h('li', also(other))))],
  ]);
}

const SIGN_OF = { f: 'failed', s: 'finished', i: 'stopped' };

export const runView = (() => {
  let name, id, parts, output, timer, isOver;

  function make(place) {
    parts = {
      sign: icon('armed'), word: h('span.word'), facts: h('dl.facts'), title: h('h1', { tabindex: -1 }, 'Run'),
      result: h('bdi'), gone: h('p.empty', { hidden: true }), main: h('div', { hidden: true }),
    };
    output = makeOutput(name, id);
    parts.main.append(h('div.columns', h('div', output.el), h('div', panel('Run', parts.facts))));
    place.append(h('div.job.run',
      h('p.path', h('a', { href: addressOf('') }, 'Jobs'), ' / ', jobLink(name), ' / '),
      h('div.heading', parts.title, h('div.state', parts.sign, parts.word), parts.result), parts.gone, parts.main));
  }

  async function look() {
    clearTimeout(timer);
    const mine = parts;
    let isEnded = true;
    try {
      const answer = await ask(`/v1/runs/${encode(id)}`);
      if (mine !== parts) return;
      isEnded = answer.state === 'ended';
      show(answer);
    } catch (error) {
      if (mine !== parts) return;
      parts.gone.hidden = !(error instanceof Refusal);
      parts.gone.replaceChildren(sentence(`timerd cannot show this run: ${error.message}.`));
      parts.main.hidden = !parts.gone.hidden;
      isEnded = error instanceof Refusal && error.status < 500;
    }
    if (!isEnded && !isOver) timer = setTimeout(look, 2000);
  }

  function show(answer) {
    const { run_status: run, state } = answer;
    parts.main.hidden = false;
    parts.gone.hidden = true;
    put(parts.title, `Run of ${longTime(msOf(run.scheduled))}`);
    const isEnded = state === 'ended';
    parts.sign.show(isEnded ? SIGN_OF[verdict(run)] : state === 'waiting' ? 'waiting' : 'running');
    mark(parts.word.parentNode, 'data-state', isEnded ? (run.failed ? 'failed' : '') : state === 'waiting' ? 'waiting' : 'running');
    put(parts.word, isEnded ? printable(ending(run)) : waiting(run) ?? state);
    put(parts.result, isEnded && run.ended ? ago(msOf(run.ended)) : '');
    const facts = JSON.stringify(answer, (key, value) => (key === 'now' ? undefined : value));
    if (parts.facts.key !== facts) { parts.facts.key = facts; parts.facts.replaceChildren(...runFacts(answer)); }
  }

  return {
    get title() { return `a run of ${name}`; },
    mount(place, { rest }) {
      [name, id] = rest;
      isOver = false;
      make(place);
      look();
      output.look();
    },
    unmount() { isOver = true; clearTimeout(timer); output.stop(); parts = null; },
    update(names) {
      if (names !== null && !names.has(name)) return;
      clearTimeout(timer);
      timer = setTimeout(look, 200);
      output.look();
    },
    get job() { return name; },
    get parent() { return jobAddress(name); },
  };
})();
