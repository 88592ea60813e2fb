// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// What keys and buttons do with one job.

import { command, toast } from './commands.js';
import { askPause, askResume, confirmThat } from './dialogs.js';
import { button, icon } from './dom.js';
import { jobOf, model } from './model.js';

/** The commands that keys and buttons give for one job. */
const acts = {
  run: (name) => command('run', name),
  pause: (name) => askPause([name]),
  // Another user may have a reason to keep the job paused: then it is shown first.
  resume: (name) => {
    const pause = jobOf(name)?.paused;
    return pause && model.session?.user && pause.by !== model.session.user ? askResume([name]) : command('resume', name);
  },
  skip: (name) => command('skip-next', name, { count: (jobOf(name)?.skips ?? 0) + 1 }),
  unskip: (name) => command('skip-next', name, { count: 0 }),
  retry: (name) => command('retry', name),
  start: (name) => command('start', name),
  stop: (name) => confirmThat(`Stop the timer of ${name}?`,
    ['Its elapsed time is dropped. A pause keeps it.'], 'Stop the timer', () => command('stop', name)),
  kill: (name) => confirmThat(`Stop the runs of ${name}?`,
    ['They get SIGTERM now, and SIGKILL after kill-timeout. A waiting retry is cancelled.'],
    'Stop its runs', () => command('kill', name)),
};

/** Executes one of these commands. It shows errors itself, so that they are ignored here. */
export function act(verb, name) {
  if (model.session?.may_change === false) return toast('You may look, but not change anything.', true);
  Promise.resolve(acts[verb](name)).catch(() => {});
}

export function actButton(verb, sign, label, name) {
  return button(icon(sign), () => act(verb, name), { class: 'act', 'data-act': verb, title: label, 'aria-label': `${label} ${name}` });
}
