// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// Parts that several views have.

import { h, icon, mark, s } from './dom.js';
import { isPaused } from './jobwords.js';
import { model, RECENT_MAX, share } from './model.js';
import { attemptFirst } from './schedule.js';
import { box, plural } from './text.js';
import { clock, msOf } from './time.js';

/** Whether a notifier can send messages now; the page of a job says of each message whether it was sent. */
function notifierWords(notifier) {
  const held = model.daemon?.held_notifications?.find((one) => one.notifier === notifier);
  if (model.daemon?.failing_notifiers?.includes(notifier)) return `${notifier} cannot send messages`;
  return held ? `${notifier} holds messages back until ${clock(msOf(held.until))}` : `${notifier} has a message about it`;
}

/** The bell of a job about which a notifier has a message, for as long as the incident lasts. */
export function incidentSign() {
  // Nothing is known of a job before its status has arrived.
  const sign = h('span.incident', { role: 'img', hidden: true }, icon('incident'));
  sign.show = ({ incidents }) => {
    const text = incidents?.map(({ kind, since, notifier }) => `${kind} since ${clock(msOf(since))}, ${notifierWords(notifier)}`).join('; ') ?? '';
    sign.hidden = !text;
    mark(sign, 'aria-label', text);
    mark(sign, 'title', text);
  };
  return sign;
}

/**
 * A bar that shows the remaining time and gets shorter. While the job is paused, it does not move, is hatched, and has the
 * two strokes of a pause sign at its end. `show` is called once a second, and a CSS transition moves the bar in between.
 */
export function remainingBar(className) {
  const part = h('div.bar-left');
  const edge = h('div.bar-edge');
  const bar = h('div', { class: `bar ${className}`, 'aria-hidden': 'true' }, part, edge);
  let shown = '', kind = '';
  bar.show = (entry) => {
    const { job } = entry;
    const portion = share(entry);
    const next = isPaused(job) ? 'paused' : portion === undefined ? 'none' : attemptFirst(job) ? 'retry' : 'counts';
    if (next !== kind) { bar.dataset.kind = kind = next; }
    // A paused job with a calendar has no remaining time. Its bar is full: nothing of it is lost.
    const percent = `${((portion ?? (isPaused(job) ? 1 : 0)) * 100).toFixed(1)}%`;
    if (percent !== shown) {
      // When a new interval begins, the bar becomes longer at once: moving backwards would look like lost time.
      bar.classList.toggle('jumps', parseFloat(percent) > parseFloat(shown || '0'));
      part.style.width = edge.style.left = shown = percent;
      edge.style.translate = `-${percent}`; // The strokes stay inside the bar, also at 0 % and 100 %.
    }
  };
  return bar;
}

/** Draws one path for each kind of run, which is faster than an element for each run. */
export const drawn = (paths) => Object.keys(paths).filter((kind) => paths[kind]).map((kind) => s('path', { d: paths[kind], class: `run-${kind}` }));

/** Draws the last runs as columns. The height shows how long a run took; failed runs are red. */
export function drawRecent(picture, runs) {
  const longest = Math.max(1, ...runs.map((run) => run.elapsed));
  const paths = { s: '', f: '', i: '' };
  const first = RECENT_MAX - runs.length;
  runs.forEach((run, index) => {
    const height = 3 + 17 * Math.sqrt(run.elapsed / longest);
    paths[run.verdict] += box((first + index) * 6, 22 - height, 4, height);
  });
  const failed = runs.filter((run) => run.verdict === 'f').length;
  mark(picture, 'aria-label', runs.length
    ? `last ${plural(runs.length, 'run')}: ${failed ? `${failed} failed` : 'none failed'}` : 'no runs yet');
  picture.replaceChildren(...drawn(paths));
}
