// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// What is around each view: the warnings, the title, the footer, and the box under the pointer.

import { keepPlace } from './address.js';
import { NoAnswer } from './api.js';
import { $, flag, mark, put } from './dom.js';
import { hasFailed } from './jobwords.js';
import { allJobs, model } from './model.js';
import { plural, printable } from './text.js';
import { browserZone, clock, msOf, sentence, serverClock, serverNow, steady, timeOf } from './time.js';

/** Shows or hides the warning that timerd does not answer, or that the browser is not logged in. */
export function answered(isAnswering, error) {
  const banner = $('banner');
  const isOut = error?.status === 401;
  flag('stale', !isAnswering);
  if (isAnswering) {
    model.frozenAt = null;
    banner.hidden = true;
  } else {
    model.frozenAt ??= steady();
    const text = isOut ? 'You are not logged in. Run `timerctl web` and open the link that it prints: it leads back to this address.'
      : `${new NoAnswer().message}; trying again.${model.daemon ? ` This is from ${timeOf(new Date(serverNow() - steady() + model.frozenAt))}.` : ''}`;
    if (banner.said !== text || banner.hidden) { banner.replaceChildren(sentence(banner.said = text)); banner.hidden = false; }
  }
  if (isOut) keepPlace();
  showLink(isOut);
}

/** Shows at the top whether the page is live. */
export function showLink(isOut) {
  const [state, text] = model.frozenAt !== null ? ['lost', isOut ? 'logged out' : 'no answer']
    : model.isLive ? ['live', 'live'] : ['poll', 'every few seconds'];
  mark($('link'), 'data-state', state);
  put($('link-text'), text);
}

export function showTip(event, content) {
  const tip = $('tip');
  tip.replaceChildren(...content);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - box.width - 4))}px`;
  tip.style.top = `${event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 10 : event.clientY + 18}px`;
}

export function hideTip() { $('tip').hidden = true; }

/** The title says how many jobs failed, so that it is seen while the tab is in the background. */
export function showTitle(name = 'Jobs') {
  const failed = allJobs().filter(hasFailed).length;
  const title = `${failed ? `${failed} failed · ` : ''}${name} · timerd`;
  if (document.title !== title) document.title = title;
}

export function showAbout() {
  const { daemon, session } = model;
  if (!daemon) return;
  put($('about'), [`timerd ${daemon.version}`, `started ${clock(msOf(daemon.since))}`, printable(daemon.config),
    session?.user && `you are ${printable(session.user)}${session.may_change === false ? ', who may only look' : ''}`].filter(Boolean).join(' · '));
  $('logout').hidden = !session?.until;
  put($('zone'), `Times are in ${browserZone}${Math.abs(serverClock.skew) > 5000 ? ' by the clock of the server' : ''}`);
  const hold = daemon.hold && `${printable(daemon.hold.by)} holds this machine since ${clock(msOf(daemon.hold.since))}${daemon.hold.until ? `, until ${clock(msOf(daemon.hold.until))}` : ''}${daemon.hold.note ? ` (${printable(daemon.hold.note)})` : ''}: no run starts, and \`timerctl release\` ends that`;
  const faults = [daemon.refusal && `${daemon.refusal}; \`timerd check ${daemon.config}\` shows the errors`, daemon.rejected.length ? `${plural(daemon.rejected.length, 'job')} not loaded (${daemon.rejected.join(', ')}); \`timerd check ${daemon.config}\` shows the errors` : null,
    daemon.failing_notifiers ? `${plural(daemon.failing_notifiers.length, 'notifier')} cannot send messages (${daemon.failing_notifiers.join(', ')}); \`timerctl notify list\` shows why` : null,
    ...(daemon.held_notifications ?? []).map(({ notifier, held_count: count, until }) => `${notifier} holds ${plural(count, 'notification')} back until ${clock(msOf(until))}, because of its limit per-hour`)].filter(Boolean);
  $('hold').hidden = !hold;
  if (hold && $('hold').said !== hold) $('hold').replaceChildren(sentence($('hold').said = hold));
  $('faults').hidden = faults.length === 0;
  const text = faults.join(' — ');
  if ($('faults').said !== text) $('faults').replaceChildren(sentence($('faults').said = text));
}
