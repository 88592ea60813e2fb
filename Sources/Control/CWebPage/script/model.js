// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// The data from timerd.

import { ask } from './api.js';
import { isPaused, verdict } from './jobwords.js';
import { attemptFirst } from './schedule.js';
import { encode } from './text.js';
import { msOf, serverClock, steady } from './time.js';

/**
 * The remaining time until then, in microseconds; undefined if there is none. It is the remaining time that timerd sent,
 * minus the time since then by the monotonic clock, so that a wrong clock of the browser does not matter. While the job is
 * paused, it does not change.
 */
export function left(entry) {
  const { job } = entry;
  const base = attemptFirst(job) ? job.next_attempt_usec : job.remaining_usec;
  if (base === undefined || isPaused(job)) return base;
  return Math.max(0, base - sinceHeard(entry));
}

/**
 * How old the status of a job is, in microseconds. While timerd does not answer, the countdowns stop: the page cannot know
 * whether the daemon is running.
 */
export const sinceHeard = ({ heard }) => Math.max(0, (model.frozenAt ?? steady()) - heard) * 1e3;

/** Which part of the interval remains, from 0 to 1; undefined if no time is counted. */
export function share(entry, remaining = left(entry)) {
  if (remaining === undefined) return undefined;
  const { job } = entry;
  const all = attemptFirst(job) ? entry.attemptUsec : job.elapsed_usec + job.remaining_usec;
  return all > 0 ? Math.min(1, remaining / all) : 0;
}

export const model = {
  /** For each job its latest status (`job`), and when it arrived (`heard`, in `steady` milliseconds). */
  jobs: new Map(),
  /** What `/v1/jobs` says about the daemon itself. */
  daemon: null,
  /** The user of this browser, and what they may do; null until it was asked for. */
  session: null,
  /** Whether there is an event stream. */
  isLive: false,
  /** Whether timerd said that it stops. */
  isStopping: false,
  /** For each job its last 20 runs, the oldest first: [{verdict, ended, elapsed}]. Null until they have arrived. */
  recent: null,
  /** The received events, the oldest first; which start of the daemon they are from; and the number of the last one. */
  events: [],
  instance: null,
  lastEvent: 0,
  /** Since when timerd does not answer, in `steady` milliseconds; null if it answers. */
  frozenAt: null,
};

export const RECENT_MAX = 20;

export const EVENTS_MAX = 4096;

export const allJobs = () => [...model.jobs.values()].map(({ job }) => job);

export const jobOf = (name) => model.jobs.get(name)?.job;

/**
 * Stores the status of a job, unless a newer one is stored already. Returns whether it was stored.
 *
 * @param heard when it arrived, and `asked` when it was asked for, in `steady` milliseconds
 */
export function learn(job, heard = steady(), asked = heard) {
  const entry = model.jobs.get(job.job) ?? {};
  const before = entry.job;
  // An event can arrive before the answer to an older request. Of two statuses, the one with more active time is newer,
  // because that never decreases while the daemon runs. If it is the same, as while a job is paused, the later one is newer.
  if (before && (job.active_usec < before.active_usec || (job.active_usec === before.active_usec && entry.heard > asked))) return false;
  if (before && job.last && before.last?.id !== job.last.id) { noteRecent(job); hooks.ended(job); }
  entry.job = job;
  entry.heard = heard;
  // The status does not contain the full delay before a retry, which began when the last run ended. If the wall clock was
  // set since, that is wrong: then the bar uses the longest remaining time that was seen.
  const delay = (msOf(job.next_attempt) - msOf(job.last?.ended)) * 1e3 || 0;
  entry.attemptUsec = job.next_attempt_usec === undefined ? 0 : Math.max(entry.attemptUsec ?? 0, job.next_attempt_usec, delay);
  model.jobs.set(job.job, entry);
  return true;
}

/** Adds the last run of a job to its recent runs. */
function noteRecent(job) {
  if (!model.recent) return;
  const list = model.recent.get(job.job) ?? [];
  const ended = msOf(job.last.ended ?? job.last.scheduled);
  if (list.length && Math.floor(list.at(-1).ended) >= ended) return; // The list has it already.
  list.push({ verdict: verdict(job.last), ended, elapsed: job.last.elapsed_usec ?? 0 });
  model.recent.set(job.job, list.slice(-RECENT_MAX));
}

/** What the page does when the data changes. `app.js` sets it, because the data knows no view. */
export const hooks = { changed() {}, listed() {}, ended() {} };

/**
 * Says that something changed.
 *
 * @param names the jobs that changed; null if any of them may have changed
 * @param events the events that arrived; undefined if the data is from a list
 */
export function changed(names, events) { hooks.changed(names, events); }

/** Gets the status of all jobs. */
export async function list() {
  const asked = Date.now(), from = steady();
  // A small machine with very many jobs takes longer than usual, which does not mean that timerd is gone.
  const daemon = await ask('/v1/jobs', undefined, 60);
  const heard = steady();
  // timerd read its clock at some time between the request and the answer: the middle is the best guess.
  serverClock.skew = msOf(daemon.now) - (asked + (heard - from) / 2);
  if (model.daemon?.since !== daemon.since) model.jobs.clear();
  const { jobs, ...rest } = daemon;
  model.daemon = rest;
  // A map keeps the order of insertion: here that of the configuration.
  const known = model.jobs;
  model.jobs = new Map(jobs.map((job) => [job.job, known.get(job.job) ?? {}]));
  for (const job of jobs) learn(job, heard, from);
  performance.mark('jobs-heard');
  changed(null);
}

/** Gets the recent runs of all jobs, which may take several requests. */
export async function listRecent() {
  const found = new Map();
  let after = '';
  do {
    const answer = await ask(`/v1/recent?count=${RECENT_MAX}${after}`);
    for (const { job, verdicts, end_times: ended, durations: elapsed } of answer.recent) {
      found.set(job, [...verdicts].map((verdict, i) => ({ verdict, ended: ended[i] / 1e3, elapsed: elapsed[i] })));
    }
    after = answer.next_job === undefined ? null : `&after=${encode(answer.next_job)}`;
  } while (after !== null);
  model.recent = found;
  changed(null);
}
