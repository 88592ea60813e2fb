// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// Dialogs that ask before a command is sent.

import { command, commandAll, toast } from './commands.js';
import { $, h, put, quote } from './dom.js';
import { pausedBy } from './jobwords.js';
import { jobOf } from './model.js';
import { plural } from './text.js';
import { dayOf, serverNow } from './time.js';

/** Opens a dialog. It closes when its form is submitted, unless `submit` returns false. */
export function openDialog(dialog, submit) {
  const form = dialog.querySelector('form');
  form.onsubmit = async (event) => {
    event.preventDefault();
    if (await submit() !== false) dialog.close();
  };
  for (const cancel of form.querySelectorAll('[value=cancel]')) cancel.onclick = () => dialog.close();
  dialog.showModal();
}

/** Asks before something is done that cannot be undone. */
export function confirmThat(title, lines, word, act) {
  put($('ask-title'), title);
  $('ask-text').replaceChildren(...lines.map((line) => h('p', line)));
  put($('ask-dialog').querySelector('.main'), word);
  openDialog($('ask-dialog'), () => { act().catch(() => {}); });
}

/** Asks how long to pause jobs and why, then pauses them. */
export function askPause(names) {
  const dialog = $('pause-dialog'), form = dialog.querySelector('form');
  const only = names.length === 1 ? jobOf(names[0]) : undefined;
  put($('pause-title'), names.length === 1 ? `Pause ${names[0]}` : `Pause ${plural(names.length, 'job')}`);
  form.reset();
  const error = form.querySelector('.form-error');
  const complain = (text) => { put(error, text); return false; };
  complain('');
  const tomorrow = new Date(serverNow());
  tomorrow.setHours(24 + 8, 0, 0, 0);
  const until = $('pause-until');
  until.value = `${dayOf(tomorrow)}T08:00`;
  until.onfocus = until.oninput = () => { form.elements.end.value = 'at'; };
  $('pause-note').value = only?.paused?.note ?? '';
  openDialog(dialog, async () => {
    const terms = {};
    const end = form.elements.end.value;
    if (Number(end) > 0) terms.for_usec = Number(end) * 1e6;
    else if (end) {
      const at = end === 'at' ? new Date(until.value) : tomorrow;
      if (Number.isNaN(at.getTime())) return complain('The end of the pause is not complete.');
      if (at <= serverNow()) return complain('The end of the pause has passed already.');
      terms.until = at.toISOString();
    }
    const note = $('pause-note').value.trim();
    if (note) terms.note = note;
    if ($('pause-runs').checked) terms.with_run = true;
    try {
      if (names.length === 1) await command('pause', names[0], terms);
      else await commandAll('pause', { jobs: names, ...terms }, names.length);
    } catch (refusal) {
      return complain(refusal.message);
    }
    return true;
  });
  $('pause-note').focus();
}

/**
 * Shows the pauses of several jobs, and asks before it ends them. The command names the pauses that were shown: if another user
 * pauses a job again in the meantime, that pause is not ended.
 */
export function askResume(names) {
  const pauses = names.flatMap((name) => {
    const pause = jobOf(name)?.paused;
    return pause ? [{ job: name, ...pause }] : [];
  });
  const held = pauses.length && pauses.every((pause) => pause.by === 'the hold of this machine');
  if (held) return toast('these jobs are held with the machine; timerctl release ends that');
  if (!pauses.length) return toast('none of these jobs is paused');
  const lines = pauses.slice(0, 12).map((pause) => [h('b', pause.job), ` ${pausedBy(pause)} `, pause.note ? quote(`“${pause.note}”`) : null]);
  if (pauses.length > 12) lines.push(`and ${pauses.length - 12} more`);
  confirmThat(`End ${plural(pauses.length, 'pause')}?`, lines, 'Resume', () => commandAll('resume', { pauses }, pauses.length));
}
