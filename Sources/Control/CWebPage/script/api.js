// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// Requests to the API.

import { encode } from './text.js';
import { iso } from './time.js';

/** timerd answered with an error. */
export class Refusal extends Error {
  constructor(status, body) {
    super(body?.error ?? `timerd answered ${status}`);
    this.status = status;
  }
}

/** There was no answer. */
export class NoAnswer extends Error {
  message = 'timerd does not answer';
}

/**
 * Sends a request: GET, or POST if there is a body. Throws `Refusal` or `NoAnswer`.
 *
 * @param seconds how long it waits for the answer
 */
export async function ask(path, body, seconds = 15) {
  const options = { headers: { Accept: 'application/json' }, signal: AbortSignal.timeout(seconds * 1000), cache: 'no-store' };
  if (body !== undefined) {
    options.method = 'POST';
    options.headers['Content-Type'] = 'application/json';
    options.body = JSON.stringify(body);
  }
  const reply = await fetch(path, options).catch(() => { throw new NoAnswer(); });
  const answer = await reply.json().catch(() => null);
  if (!reply.ok) throw new Refusal(reply.status, answer);
  if (answer === null) throw new NoAnswer();
  return answer;
}

export const runsPath = (name) => `/v1/runs?job=${encode(name)}&output=0`;

export const jobPath = (name) => `/v1/jobs/${encode(name)}`;

/** The timeline gets about so many runs and skipped runs at most. */
export const RUNS_MAX = 5000;

/** Gets the runs that ended since an instant, and the skipped ones, the latest first. */
export async function listRuns(since) {
  const found = { runs: [], skipped: [], hasMore: false };
  let cursor = '';
  do {
    const answer = await ask(`/v1/runs?limit=1000&since=${iso(since)}&output=0&skipped=1${cursor}`);
    found.runs.push(...answer.runs);
    found.skipped.push(...answer.skipped_runs ?? []);
    cursor = answer.next_cursor === undefined ? '' : `&cursor=${encode(answer.next_cursor)}`;
    found.hasMore = cursor !== '';
  } while (cursor && found.runs.length + found.skipped.length < RUNS_MAX);
  return found;
}

/** Gets the upcoming runs, the earliest first. */
export const listUpcoming = (until, limit, more = '') => ask(`/v1/upcoming?until=${iso(until)}&limit=${limit}${more}`);
