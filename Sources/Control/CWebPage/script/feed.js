// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// The connection to timerd: the event stream, and polling while there is none.

import { ask, NoAnswer, Refusal } from './api.js';
import { flag } from './dom.js';
import { learnFailures } from './failures.js';
import { answered, showAbout } from './frame.js';
import { changed, EVENTS_MAX, hooks, learn, list, listRecent, model } from './model.js';
import { steady } from './time.js';

/**
 * At most so many tabs have an event stream; the others poll. A browser opens at most six connections to a server for all
 * its tabs together, and with six streams no request would get through.
 */
const STREAMS_MAX = 4;

/**
 * Tries to become one of the tabs with a stream, and returns whether it worked. Each of these tabs holds one of the
 * numbered locks until it is closed. Browsers without locks have no limit.
 */
async function takePlace() {
  let place = !navigator.locks;
  for (let n = 0; n < STREAMS_MAX && !place; n += 1) {
    place = await new Promise((tell) => navigator.locks.request(`timerd-${n}`, { ifAvailable: true }, (lock) => {
      tell(lock);
      return lock && new Promise(() => {});
    }));
  }
  return place;
}

/** Events after which only the list says how things are. */
const RELISTED = ['reloaded', 'config-refused', 'one-off-created', 'incident-began', 'incident-ended'];

/** The connection to timerd: the event stream, and polling while there is none. */
export const feed = {
  stream: null,
  /** Whether the events from before the page was opened are requested as well: the view of the events shows them. */
  wantsPast: false,

  /** Opens the stream. It begins after the last event that was received. */
  async open() {
    // `open` can be called again while it waits for a lock: all calls wait for the same one.
    this.place ??= takePlace();
    if (!await this.place) { this.place = null; return; }
    this.stream?.close();
    const from = model.instance !== null ? `?after=${model.lastEvent}` : this.wantsPast ? `?last=${EVENTS_MAX}` : '';
    const stream = this.stream = new EventSource(`/v1/events${from}`);
    const hear = (name, take) => stream.addEventListener(name, (message) => {
      if (stream === this.stream) take(JSON.parse(message.data));
    });
    hear('hello', (hello) => this.greet(hello));
    hear('events', (frame) => this.take(frame));
    hear('gap', () => this.relist());
    stream.onerror = () => {
      if (stream !== this.stream) return;
      stream.close();
      this.stream = null;
      model.isLive = false;
      this.again(500);
    };
  },

  /** Opens the stream again, this time with past events. */
  openPast() {
    this.wantsPast = true;
    Object.assign(model, { instance: null, events: [], lastEvent: 0 });
    this.open();
  },

  /** The first message of a stream: which start of the daemon it is from. */
  greet({ instance, number }) {
    model.isLive = true;
    model.isStopping = false;
    if (model.instance !== instance) {
      const isRestart = model.instance !== null;
      Object.assign(model, { instance, events: [], lastEvent: isRestart || this.wantsPast ? 0 : number });
      // Events are numbered from 1 at each start of the daemon, so this stream begins at the wrong number.
      if (isRestart) return this.open();
    }
    this.relist();
  },

  /** A message with events, and with the status after them of the jobs that changed. */
  take({ events, jobs, removed_jobs: removed, relist }) {
    const heard = steady();
    const names = new Set();
    for (const job of jobs ?? []) if (learn(job, heard)) names.add(job.job);
    for (const name of removed ?? []) model.jobs.delete(name);
    const fresh = events.filter((event) => event.number > model.lastEvent);
    model.events.push(...fresh);
    model.lastEvent = fresh.at(-1)?.number ?? model.lastEvent;
    if (model.events.length > EVENTS_MAX) model.events.splice(0, model.events.length - EVENTS_MAX);
    // Only the list says at which place of the configuration a new job is.
    if (relist || fresh.some(({ event }) => RELISTED.includes(event))) this.relist();
    if (fresh.some(({ event }) => event === 'shut-down')) model.isStopping = true;
    changed(removed?.length ? null : names, fresh);
  },

  /** Gets everything again. One request for all jobs is enough: while it is on its way, further calls are combined. */
  async relist() {
    if (this.isListing) { this.isListingAgain = true; return; }
    this.isListing = true;
    const from = steady();
    try {
      await list();
      await listRecent();
      await learnFailures();
      changed(null);
      answered(true);
      if (model.session === null) loadSession();
    } catch (error) {
      // Other errors are bugs of this page: report them to the console as well.
      if (!(error instanceof Refusal || error instanceof NoAnswer)) reportError(error);
      answered(false, error);
      this.again(1000);
    }
    // The first view is shown only now, because it needs to know the server's clock.
    hooks.listed();
    requestAnimationFrame(() => setTimeout(() => performance.mark('jobs-shown')));
    this.isListing = false;
    this.listed = steady();
    this.took = this.listed - from;
    if (this.isListingAgain) { this.isListingAgain = false; this.relist(); }
  },

  /**
   * Gets everything again from time to time also while there is a stream: only the list says that the configuration has
   * an error, or that messages cannot be sent. It takes at most 1/200 of the time.
   */
  renew() {
    if (model.isLive && !this.isListing && steady() - this.listed > Math.max(60_000, 200 * this.took)) this.relist();
  },

  again(delay) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.poll(), delay);
  },

  /** Gets everything again from time to time while there is no stream or no answer, and tries to open the stream. */
  async poll() {
    if (model.isLive && model.frozenAt === null) return;
    const from = steady();
    await this.relist();
    if (model.isLive) return;
    if (!this.stream) this.open();
    // Polling uses at most a tenth of the time, however long the list is. A daemon that does not answer is tried each second.
    this.again(model.frozenAt === null ? Math.max(1500, 10 * (steady() - from)) : 1000);
  },
};

/** Asks which user this is. A server without logins has no such path: then the page shows everything. */
async function loadSession() {
  model.session = {};
  try {
    model.session = await ask('/v1/session');
  } catch (error) {
    if (error.status === 401) answered(false, error);
  }
  flag('viewer', model.session.may_change === false);
  showAbout();
}
