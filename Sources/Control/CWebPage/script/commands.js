// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// Commands, and their results.

import { ask, jobPath } from './api.js';
import { $, h, quote } from './dom.js';
import { feed } from './feed.js';
import { skipWords } from './jobwords.js';
import { changed, learn, model } from './model.js';
import { plural, span } from './text.js';

const PAST = { pause: 'paused', resume: 'resumed', run: 'run requested', retry: 'retry requested', start: 'timer restarted',
  stop: 'stopped', 'skip-next': 'skips set', kill: 'runs are being stopped' };

/** Shows a short message for some seconds. */
export function toast(text, isError = false) {
  const line = h('div', { class: isError ? 'toast bad' : 'toast' }, quote(text));
  $('toasts').append(line);
  while ($('toasts').children.length > 4) $('toasts').firstChild.remove();
  setTimeout(() => line.remove(), isError ? 12000 : 6000);
}

/** Says the result of a command in the words of timerctl. */
function told(verb, answer, job) {
  if (!answer.changed) return `nothing to do: ${answer.reason ?? job?.state ?? ''}`;
  if (verb === 'skip-next') return job.skips ? skipWords(job) : 'no run will be skipped';
  const rest = job?.remaining_usec;
  if (verb === 'kill' || verb === 'stop' || rest === undefined) return PAST[verb];
  if (answer.former_pause) return 'pause changed';
  return `${PAST[verb]}; ${job.paused ? `${span(rest)} will be left when it is resumed` : `next run in ${span(rest)}`}`;
}

/** Sends a command for one job, and shows its result. */
export async function command(verb, name, body = {}) {
  try {
    const answer = await ask(`${jobPath(name)}/${verb}`, body);
    if (answer.status) { learn(answer.status); changed(new Set([name])); }
    toast(`${name}: ${told(verb, answer, answer.status)}`);
    return answer;
  } catch (error) {
    toast(`${name}: ${error.message}`, true);
    throw error;
  }
}

/** Sends a command for several jobs, and shows its result. timerd executes it for all of them or for none. */
export async function commandAll(verb, body, count) {
  try {
    const { results } = await ask(`/v1/jobs/${verb}`, body);
    const done = results.filter((result) => result.changed).length;
    const refused = results.filter((result) => result.refused);
    toast(`${plural(done, 'job')} of ${count}: ${PAST[verb]}`);
    for (const { job, reason } of refused.slice(0, 3)) toast(`${job}: ${reason ?? 'refused'}`, true);
    if (!model.isLive) feed.relist();
  } catch (error) {
    toast(error.message, true);
    throw error;
  }
}
