// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// Requests to the API.

import { withQuery } from './address.js';
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

/** The timeline gets about so many runs of all jobs together with all that is known of them, and of the others only what it draws. */
export const RUNS_MAX = 5000;

/** Of each job it draws at most so many runs, and beside them so many failed ones. */
export const EACH_MAX = 500;

/** What the timeline draws of the last runs of each job that ended since an instant. */
async function listBrief(since, failed) {
  const found = [];
  let after = '';
  do {
    const answer = await ask(withQuery('/v1/recent', { count: EACH_MAX, since: iso(since), failed, after }));
    for (const { job, verdicts, end_times: ends, durations } of answer.recent) {
      found.push({ job, runs: [...verdicts].map((kind, i) => ({ kind, end: ends[i] / 1e3, start: (ends[i] - durations[i]) / 1e3 })) });
    }
    after = answer.next_job;
  } while (after !== undefined);
  return found;
}

/**
 * Gets the runs that ended since an instant, and the skipped ones, the latest first. If there are too many of them, `brief`
 * has the last runs and the last failed runs of each job: a job with many runs hides none of another one.
 */
export async function listRuns(since) {
  const found = { runs: [], skipped: [], brief: [], hasMore: false };
  let cursor = '';
  do {
    const answer = await ask(`/v1/runs?limit=1000&since=${iso(since)}&output=0&skipped=1${cursor}`);
    found.runs.push(...answer.runs);
    found.skipped.push(...answer.skipped_runs ?? []);
    cursor = answer.next_cursor === undefined ? '' : `&cursor=${encode(answer.next_cursor)}`;
    found.hasMore = cursor !== '';
  } while (cursor && found.runs.length + found.skipped.length < RUNS_MAX);
  if (found.hasMore) found.brief = (await Promise.all([listBrief(since, ''), listBrief(since, 1)])).flat();
  return found;
}

/** Gets the upcoming runs, the earliest first. */
export const listUpcoming = (until, limit, more = '') => ask(`/v1/upcoming?until=${iso(until)}&limit=${limit}${more}`);
