// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// Jobs and runs in words, as timerctl says them.

import { printable, wholeSpan } from './text.js';
import { attemptOf, clock, msOf, serverNow } from './time.js';

/** Whether a run is active or starts as soon as max-concurrent allows it. Other runs wait for a delay or another run. */
export const isActive = (run) => run.waits === undefined;

export const isRunning = (job) => job.running.some(isActive);

const isWaiting = (job) => job.running.some((run) => ['capacity', 'slot', 'check', 'condition', 'window', 'catch-up-delay'].includes(run.waits));

export const stateWord = (job) => (job.state !== 'armed' ? job.state : isRunning(job) ? 'running' : isWaiting(job) ? 'waiting' : 'armed');

export const isPaused = (job) => job.state === 'paused';

export const hasEnded = ({ state }) => state === 'stopped' || state === 'finished';

export const hasFailed = (job) => job.last?.failed === true;

/** Says how a run ended, as the daemon does: `exit 1`, `killed by SIGKILL`. */
export const ending = (run) => run.result ?? run.outcome ?? 'unknown';

/** The same in few words, for a narrow column. */
export const shortEnding = (run) => ({ 'spawn-failed': 'could not start', lost: 'lost', replaced: 'replaced', stopped: 'stopped', skipped: 'skipped' }[run.reason] ?? ending(run));

/** The result of a run as the letter that `/v1/recent` uses: `s` succeeded, `f` failed, `i` stopped, replaced or skipped. */
export const verdict = (run) => (run.failed ? 'f' : run.succeeded ? 's' : 'i');

/** Says why a run was started. */
export function causeOf(run) {
  const others = run.missed > 0 ? `, for ${run.missed + 1} due runs` : '';
  const attempt = attemptOf(run.id);
  const why = { 'catch-up': 'to catch up a missed run', resume: 'due during the pause that ended',
    chain: `after ${printable(run.cause_run ?? '?')} (${printable(run.cause_result ?? '?')})`,
    requested: `requested by ${printable(run.requested_by ?? 'an unknown user')}${run.arguments ? `, with ${printable(run.arguments.join(' '))}` : ''}${run.alone ? ', alone' : ''}${run.forced ? ', whatever its condition says' : ''}` }[run.cause] ?? 'by its schedule';
  return why + others + (attempt > 1 ? `, attempt ${attempt}` : '');
}

/** Says what a run waits for; null if it does not wait. */
export function waiting(run) {
  switch (run.waits) {
    case 'capacity': return 'waits for max-concurrent';
    case 'slot': return `waits for the slot ${printable(run.slot ?? '?')}`;
    case 'check': return 'waits for the check of its condition';
    case 'condition': return `waits for its condition: ${printable(run.unmet ?? '?')}${run.waits_until ? `, until ${clock(msOf(run.waits_until))}` : ''}`;
    case 'previous-run': return 'waits for the previous run to end';
    case 'window': return `waits for its window${run.starts_at ? `, until ${clock(msOf(run.starts_at))}` : ''}`;
    case 'catch-up-delay': return run.starts_at ? `was missed, starts at ${clock(msOf(run.starts_at))}` : 'waits for its delay';
    case 'retry-delay': return run.starts_at ? `retries at ${clock(msOf(run.starts_at))}` : 'waits for its delay';
    default: return run.waits === undefined ? null : `waits (${printable(run.waits)})`;
  }
}

export const skipWords = ({ skips }) => `the next ${skips === 1 ? 'run' : `${skips} runs`} will be skipped`;

/** Says who paused a job, and until when: `by alice until 18:00`. */
export function pausedBy(pause) {
  const end = pause.until ? ` until ${clock(msOf(pause.until))}` : '';
  return `by ${printable(pause.by)}${end}`;
}

export const activeFor = (run) => `for ${wholeSpan((serverNow() - msOf(run.began)) * 1e3)}`;
