// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// The keyboard, and the list of its keys.

import { act } from './acts.js';
import { addressOf } from './address.js';
import { toast } from './commands.js';
import { openDialog } from './dialogs.js';
import { $, h, icon } from './dom.js';
import { jobsView } from './jobs.js';
import { model } from './model.js';
import { view } from './router.js';

const KEYS = {
  'j k': 'next, previous row', Enter: 'open it', '/': 'filter', x: 'select', p: 'pause…', r: 'resume', R: 'run now', s: 'skip the next run',
  K: 'stop its runs…', '1 2 3 4': 'jobs, runs, timeline, events', Esc: 'back', '?': 'this list',
};

const SIGNS = {
  armed: 'waits for its time', running: 'a run is active', paused: 'its time is kept', retrying: 'a retry waits for its delay',
  stopped: 'its timer does not run', finished: 'no more runs are scheduled', failed: 'its last run failed', incident: 'a notifier has a message about it',
};

function openHelp() {
  openDialog($('help-dialog'), () => {});
}

/** The links and buttons through which `j` and `k` step in each view. */
const STEPS_OF = '.table .name, .lane a.lane-name, .events .event-job a, .history .open';

function step(by) {
  const rows = [...$('main').querySelectorAll(STEPS_OF)];
  if (!rows.length) return;
  const row = document.activeElement?.closest?.('tr, .lane, .events li');
  const at = row ? rows.findIndex((link) => row.contains(link)) : -1;
  const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + by));
  rows[next].focus();
  rows[next].scrollIntoView({ block: 'nearest' });
}

/** The job for which a key is meant: that of the row with the focus, or the one whose page this is. */
function jobAtHand() {
  return document.activeElement?.closest?.('[data-job]')?.dataset.job ?? view?.job;
}

let keysAreOn = true;
try { keysAreOn = localStorage.getItem('timerd-keys') !== 'off'; } catch { /* The user may have forbidden storage: the keys are on. */ }

function pressKey(event) {
  const target = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
  const isText = target instanceof HTMLInputElement && !['checkbox', 'radio'].includes(target.type) || target instanceof HTMLSelectElement;
  if (event.key === 'Escape') {
    if (isText && target.value && target.type === 'search') { target.value = ''; target.dispatchEvent(new Event('input')); } else if (isText) target.blur();
    else if (view?.parent) location.hash = view.parent;
    return;
  }
  if (isText || !keysAreOn) return;
  const job = jobAtHand();
  const command = (verb) => () => (job ? act(verb, job) : toast('Choose a job first: j and k.'));
  const go = (address) => () => { location.hash = address; };
  const does = {
    j: () => step(1), k: () => step(-1), '/': () => $('main').querySelector('[type=search]')?.focus(), '?': openHelp,
    x: () => view === jobsView && job && model.session?.may_change !== false && jobsView.toggle(job), 1: go(addressOf('')), 2: go(addressOf('runs')), 3: go(addressOf('timeline')), 4: go(addressOf('events')),
    p: command('pause'), r: command('resume'), R: command('run'), s: command('skip'), K: command('kill'),
  }[event.key];
  if (!does) return;
  does();
  event.preventDefault();
}

/** Fills the list of the keys, and listens to them. */
export function startKeys() {
  $('help-keys').append(...Object.entries(KEYS).flatMap(([keys, text]) => [h('dt', keys.split(' ').map((key) => h('kbd', key))), h('dd', text)]));
  $('help-signs').append(...Object.entries(SIGNS).flatMap(([sign, text]) => [h('dt', { 'data-state': sign }, icon(sign)), h('dd', `${sign}: ${text}`)]));
  $('help-button').onclick = openHelp;
  $('keys-on').checked = keysAreOn;
  $('keys-on').onchange = (event) => {
    keysAreOn = event.target.checked;
    try { localStorage.setItem('timerd-keys', keysAreOn ? 'on' : 'off'); } catch { /* Without storage it counts until the page is closed. */ }
  };
  document.addEventListener('keydown', pressKey);
}
