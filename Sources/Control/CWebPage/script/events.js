// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// View: events.

import { jobLink, writeQuery } from './address.js';
import { button, choice, choose, h, put, searchField } from './dom.js';
import { feed } from './feed.js';
import { EVENTS_MAX, model } from './model.js';
import { matcher } from './text.js';
import { clock, msOf, sentence, timeElement, timeOf } from './time.js';

const BAD_LEVELS = ['warning', 'error', 'critical'];

export const eventsView = (() => {
  const STEP = 500;
  let about, root, listing, search, level, note, more, shown = 0, most = STEP;

  function make() {
    search = searchField('Filter events', () => filter());
    level = choice('Level', () => filter(true), [['', 'all levels'], ['bad', 'warnings and errors']]);
    listing = h('ol.events', { reversed: true });
    note = h('p.empty', { hidden: true });
    about = h('p.soft', { hidden: true });
    more = button('Older events', () => { most += STEP; redraw(); }, { hidden: true });
    root = h('div', h('div.heading', h('h1', { tabindex: -1 }, 'Events'), level, search), about, note, listing, more);
  }

  function filter(isStep) {
    redraw();
    writeQuery('events', { q: search.value.trim(), level: level.value }, isStep);
  }

  function read({ query, complain }) {
    search.value = query.get('q') ?? '';
    choose(level, query.get('level'), complain);
  }

  function wanted(after) {
    const matches = matcher(search);
    return model.events.filter((event) => event.number > after && (!level.value || BAD_LEVELS.includes(event.level))
      && matches(`${event.job ?? ''} ${event.event} ${event.message}`));
  }

  function line(event) {
    // The sentence begins with the name of the job, which has its own column.
    const text = event.job && event.message.startsWith(`${event.job}: `) ? event.message.slice(event.job.length + 2) : event.message;
    return h('li', { 'data-level': event.level, 'data-event': event.event, 'data-job': event.job },
      timeElement(event.time, timeOf(new Date(event.time))), h('span.event-job', event.job ? jobLink(event.job) : 'timerd'),
      h('span.event-text', BAD_LEVELS.includes(event.level) ? h('span.unseen', `${event.level}: `) : null, sentence(text)));
  }

  function redraw() {
    const found = wanted(0);
    listing.replaceChildren(...found.slice(-most).reverse().map(line));
    more.hidden = found.length <= most;
    say();
  }

  function say() {
    shown = model.lastEvent;
    const first = model.events[0];
    about.hidden = !first;
    // The first event of all has the number 1.
    if (first) put(about, first.number > 1 ? `timerd keeps the latest ${EVENTS_MAX} events, of all jobs together: these begin at ${clock(msOf(first.time))}. What ran before is among the runs.` : `These are all events since timerd started, at ${clock(msOf(first.time))}.`);
    note.hidden = listing.childElementCount > 0;
    put(note, !model.isLive ? 'This tab has no event stream; trying again.' : search.value || level.value ? 'No event matches.' : 'Nothing has happened yet.');
  }

  return {
    title: 'Events',
    keepsAddress: true,
    mount(place, given) {
      if (!root) make();
      read(given);
      most = STEP;
      place.append(root);
      if (!feed.wantsPast) feed.openPast();
      redraw();
    },
    follow(given) { read(given); redraw(); },
    update(names, events) {
      // After a restart of the daemon the numbers begin at 1 again, and all events are new.
      const isNew = model.lastEvent < shown;
      const fresh = events ? wanted(shown) : [];
      if (isNew || fresh.length > 100) redraw();
      else listing.prepend(...fresh.reverse().map(line));
      while (listing.childElementCount > most) { listing.lastChild.remove(); more.hidden = false; }
      say();
    },
  };
})();
