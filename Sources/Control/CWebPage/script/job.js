// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// View: one job.

import { act } from './acts.js';
import { addressOf, jobLink, nameOf, withQuery } from './address.js';
import { ask, jobPath, listUpcoming, runsPath } from './api.js';
import { makeDurations, makeYear, WEEKS } from './charts.js';
import { button, factList, h, icon, mark, panel, put, quote } from './dom.js';
import { makeHistory } from './history.js';
import { hasEnded, hasFailed, isPaused, shortEnding, stateWord } from './jobwords.js';
import { jobOf, left, model, sinceHeard } from './model.js';
import { makeOutput } from './output.js';
import { incidentSign, remainingBar } from './pieces.js';
import { attemptFirst, conditionWords, exactSchedule, followWords, nextStart, schedule, windowWords } from './schedule.js';
import { encode, printable, shellWord, span, wholeSpan } from './text.js';
import { clock, distanceWords, longTime, msOf, sentence, steady, timeElement } from './time.js';

export const jobView = (() => {
  let name, parts, output, history, timers, isGone;

  function make(place) {
    const sign = icon('armed');
    parts = {
      sign, word: h('span.word'), failed: h('bdi.bad'), incident: incidentSign(), description: h('bdi'), plan: h('bdi.soft'),
      bar: remainingBar('bar-big'), rest: h('div.rest'), restWords: h('bdi'), note: h('bdi.note'), passed: h('span'), at: h('span'),
      why: h('ul.why'), told: h('ul'), slots: h('ul'), acts: h('div.buttons'), facts: h('dl.facts'), next: h('section.panel', { hidden: true }),
      charts: h('div'), main: h('div.columns'), hero: h('section.hero', { 'aria-label': 'Remaining time' }),
      gone: h('p.empty', { hidden: true }),
    };
    output = makeOutput(name);
    history = makeHistory(name);
    parts.hero.append(h('div.hero-top', parts.rest, h('div.rest-words', parts.restWords, parts.note)), parts.bar, h('div.bar-text', parts.passed, parts.at));
    parts.main.append(h('div', panel('Why', parts.why, h('p', h('a', { class: 'soft', href: withQuery('#/events', { q: name }) }, 'Its events'), ' · ', h('a', { class: 'soft', href: withQuery('#/runs', { job: name, time: 'all' }) }, 'Its runs'))), parts.slotsPanel = panel('Slots', parts.slots), parts.toldPanel = panel('Notifications', parts.told), output.el, history.el),
      h('div', parts.next, parts.charts, panel('Definition', parts.facts)));
    place.append(h('div.job',
      h('p.path', h('a', { href: addressOf('') }, 'Jobs'), ' / '),
      h('div.heading', h('h1', { tabindex: -1 }, name), h('div.state', sign, parts.word, parts.incident), parts.failed),
      h('p.lead', parts.description, parts.plan), parts.hero, parts.acts, parts.gone, parts.main));
  }

  function show() {
    const entry = model.jobs.get(name);
    isGone = !entry && model.daemon !== null;
    parts.gone.hidden = !isGone;
    if (isGone) put(parts.gone, `There is no job ${name}. It may have been removed from the configuration.`);
    for (const part of [parts.hero, parts.acts, parts.main]) part.hidden = !entry;
    if (!entry) return;
    const { job } = entry;
    const state = stateWord(job);
    parts.sign.show(state);
    parts.incident.show(job);
    mark(parts.word.parentNode, 'data-state', state);
    put(parts.word, state);
    put(parts.failed, hasFailed(job) ? `last run: ${printable(shortEnding(job.last))}` : '');
    const plan = schedule(job);
    put(parts.description, printable(job.description ?? ''));
    put(parts.plan, printable(job.description ? ` — ${plan}` : plan));
    showActs(job);
    showFacts(job);
    const next = `${job.next} ${job.next_attempt} ${job.skips}`;
    if (parts.nextOf !== next) { parts.nextOf = next; later('next', 100, lookNext); }
    tick();
  }

  function showActs(job) {
    const hasRuns = job.running.length > 0;
    const ended = hasEnded(job);
    const wanted = [
      ['run', 'Run now', 'running'], isPaused(job) ? ['resume', 'Resume', 'resume', 'main'] : ['pause', 'Pause…', 'paused'], isPaused(job) && ['pause', 'Change the pause…', 'paused'],
      !ended && ['skip', 'Skip next', 'skip'], job.skips && ['unskip', 'Do not skip'], hasFailed(job) && !hasRuns && ['retry', 'Retry', 'retrying'],
      hasRuns && ['kill', 'Stop its runs…', 'kill'], ended ? ['start', 'Start the timer', 'armed'] : ['stop', 'Stop the timer…', 'stopped'],
    ].filter(Boolean);
    const key = wanted.map(([verb]) => verb).join();
    if (parts.acts.key === key) return;
    const focused = parts.acts.contains(document.activeElement) ? document.activeElement.dataset.act : undefined;
    parts.acts.key = key;
    parts.acts.replaceChildren(...wanted.map(([verb, text, sign, kind]) => button([sign ? icon(sign) : null, text], () => act(verb, name), { class: kind, 'data-act': verb })));
    // The buttons were replaced. Give the focus to the same button, or to the opposite one: after Pause it is Resume.
    if (focused) (parts.acts.querySelector(`[data-act=${focused}]`) ?? parts.acts.querySelector('[data-act=pause],[data-act=resume]'))?.focus();
  }

  function showFacts(job) {
    const policy = Object.entries(job.policy ?? {}).map(([key, value]) => {
      const isSpan = key.endsWith('_usec');
      if (key === 'slot_uses') return `slots ${value.map(({ slot, weight }) => (weight > 1 ? `${slot} (${weight})` : slot)).join(' ')}`;
      return `${key.replace('_usec', '').replaceAll('_', '-')} ${isSpan ? span(value) : value}`;
    }).join(', ');
    const facts = [
      ['Command', job.shell ?? job.command?.map(shellWord).join(' '), 'code'], ['Schedule', exactSchedule(job) || schedule(job)],
      ['Follows', !job.on_demand && job.follows && followWords(job.follows)],
      ['Condition', job.condition && conditionWords(job.condition)],
      ['Window', job.window && windowWords(job.window)],
      ['Not before', job.not_before && clock(msOf(job.not_before))], ['Not after', job.not_after && clock(msOf(job.not_after))],
      ['Followers', job.followers && job.followers.map((other, index) => [index ? ', ' : '', jobLink(other)])],
      ['Counts', job.count && `${job.count} time`], ['Policy', policy], ['Runs due', String(job.firings)], ['Active time', wholeSpan(job.active_usec)],
      ['Not counted', job.uncertain_usec && `up to ${span(job.uncertain_usec)} (crash)`],
      ['Skipped', job.skipped && `${clock(msOf(job.skipped.scheduled))}: ${printable(job.skipped.text)}`],
      ['One-off', job.one_off && 'it runs once'],
    ];
    const key = JSON.stringify([facts, job.followers]);
    if (parts.facts.key === key) return;
    parts.facts.key = key;
    parts.facts.replaceChildren(...factList(facts));
  }

  async function lookNext() {
    const mine = parts;
    const { job } = model.jobs.get(name);
    const { upcoming: runs } = await listUpcoming(msOf('2199-12-31'), 10, `&job=${encode(name)}`);
    if (mine !== parts) return;
    parts.next.hidden = runs.length === 0;
    parts.next.replaceChildren(h('h2', runs.length > 1 ? `Next ${runs.length}` : 'Next'), h('ol.next', runs.map(({ at, kind }) => h('li', timeElement(at),
      kind === 'skipped' ? h('span.hold', ' will be skipped') : kind === 'retry' ? h('span.soft', ' retry') : null))),
      ...(job.paused?.until ? [h('p.soft', 'If the pause ends then.')] : []));
  }

  function tick() {
    const entry = model.jobs.get(name);
    if (!entry) return;
    const { job } = entry;
    const remaining = left(entry);
    parts.bar.show(entry);
    parts.hero.dataset.kind = parts.bar.dataset.kind;
    const start = isPaused(job) ? undefined : nextStart(job);
    put(parts.rest, remaining !== undefined ? wholeSpan(remaining, 3) : isPaused(job) ? 'paused' : '–');
    let text = '';
    if (isPaused(job)) {
      const pause = job.paused;
      text = `${remaining === undefined ? '' : 'left; '}paused ${pause ? `by ${printable(pause.by)} since ${clock(msOf(pause.since))}` : ''}`
        + (pause?.until ? `, until ${clock(msOf(pause.until))}` : ', until it is resumed') + (pause?.with_run ? ', with its runs' : '');
    } else if (start !== undefined) text = attemptFirst(job) ? 'until the next attempt' : 'until the next run';
    else text = { stopped: 'stopped: its timer does not run', finished: 'no more runs are scheduled' }[job.state] ?? (model.isStopping ? 'timerd is stopping: no run starts before it is started again' : 'no run is scheduled');
    const note = job.paused?.note ?? '';
    put(parts.restWords, printable(text));
    put(parts.note, note && `“${printable(note)}”`);
    const passed = job.elapsed_usec + (isPaused(job) || job.remaining_usec === undefined ? 0 : sinceHeard(entry));
    put(parts.passed, remaining === undefined || attemptFirst(job) ? '' : `${wholeSpan(passed)} elapsed`);
    put(parts.at, start === undefined ? '' : longTime(start));
    for (const distance of parts.why.querySelectorAll('[data-at]')) put(distance, distanceWords(msOf(distance.dataset.at)));
  }

  /** Shows who holds the slots of the job, and who waits for them. */
  async function lookSlots() {
    const uses = jobOf(name)?.policy?.slot_uses;
    parts.slotsPanel.hidden = !uses;
    if (!uses) return;
    const mine = parts;
    const { slots } = await ask('/v1/slots');
    if (mine !== parts) return;
    const own = slots.filter(({ slot }) => uses.some((use) => use.slot === slot));
    parts.slots.replaceChildren(...own.map(({ slot, max, taken, holders, waiting: runs }) => h('li',
      `${slot}: ${taken} of ${max} taken`,
      holders.length ? [' by ', ...holders.flatMap(({ job, began }, index) => [index ? ', ' : '', jobLink(job), ...(began ? [' since ', timeElement(began)] : [])])] : null,
      runs.length ? ['; waiting: ', ...runs.slice(0, 10).flatMap((run, index) => [index ? ', ' : '', jobLink(nameOf(run))]), runs.length > 10 ? ` and ${runs.length - 10} more` : null] : null)));
  }

  /** Calls `look` after a delay in milliseconds, only once for all events until then. */
  function later(key, delay, look) {
    timers[key] ||= setTimeout(() => { timers[key] = 0; look().catch(() => {}); }, delay);
  }
  async function lookWhy() {
    const mine = name;
    const why = await ask(`${jobPath(name)}/why`);
    if (mine !== name || !parts) return;
    parts.why.replaceChildren(...why.reasons.map(({ code, text, at }) => {
      const distance = at && h('span.soft', { 'data-at': at });
      return h('li', { 'data-code': code }, sentence(at ? text.replace(/\.$/, '') : text), distance && [' (', distance, ').']);
    }));
    tick();
  }
  /** How far a message is: sent, held back, waiting for its next attempt, or given up. */
  function messageState({ notifier, state, sent, created, next }) {
    if (state === 'sent') return ['sent ', timeElement(sent)];
    if (state === 'dead') return ['given up; of ', timeElement(created)];
    const held = model.daemon?.held_notifications?.find((one) => one.notifier === notifier);
    if (!next && held) return ['held back until ', timeElement(held.until)];
    return ['waits for its next attempt ', next && timeElement(next)];
  }

  /** Shows the latest messages about the job. While one of them is not sent yet, it asks again. */
  async function lookTold() {
    const mine = parts;
    const { messages, pending_count: pending } = await ask(`/v1/notifications?limit=5&job=${encode(name)}`);
    if (mine !== parts) return;
    parts.toldPanel.hidden = !messages.length;
    parts.told.replaceChildren(...messages.map(({ created, notifications, notifier, state, sent, next, error }) => h('li', { class: state === 'sent' ? '' : 'bad' },
      `${notifier}: ${notifications.map(({ kind }) => kind).join(', ')}, `, messageState({ notifier, state, sent, created, next }),
      error ? [': ', quote(error)] : null)));
    if (pending || messages.some(({ state }) => state === 'waiting')) later('told', 5000, lookTold);
  }
  /** Draws the charts again. For a job with very many runs this takes longer, and is done less often. */
  async function lookCharts() {
    const mine = parts, from = steady();
    const [runs, days] = await Promise.all([
      ask(`${runsPath(name)}&limit=200`).then((answer) => answer.runs),
      ask(`${jobPath(name)}/days?count=${WEEKS * 7}`),
    ]);
    if (mine !== parts) return;
    parts.chartsDelay = Math.max(5000, 20 * (steady() - from));
    parts.charts.replaceChildren(...[makeDurations(runs, name), days && makeYear(days, name)].filter(Boolean));
  }

  return {
    get title() { return name; },
    mount(place, { rest }) {
      name = rest[0];
      timers = {};
      make(place);
      parts.last = jobOf(name)?.last?.id;
      show();
      lookWhy().catch(() => {});
      lookTold().catch(() => {});
      lookSlots().catch(() => {});
      history.look().catch(() => {});
      lookCharts().catch(() => {});
      output.look();
    },
    unmount() {
      for (const key in timers) clearTimeout(timers[key]);
      output.stop();
      parts = null;
    },
    update(names) {
      show();
      if (names !== null && !names.has(name)) return;
      later('why', 200, lookWhy);
      later('told', 500, lookTold);
      later('slots', 300, lookSlots);
      later('output', 100, async () => output.look());
      const job = jobOf(name);
      if (parts.last !== job?.last?.id) {
        later('history', 300, () => history.look());
        later('charts', parts.chartsDelay ?? 5000, lookCharts);
        parts.last = job?.last?.id;
      }
    },
    tick,
    get parent() { return addressOf(''); },
    get job() { return isGone ? undefined : name; },
  };
})();
