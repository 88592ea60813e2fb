// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// Addresses of the views, and links to them. An address has the view, and its filters as a query:
// `#/timeline?range=24h&q=backup`.

import { h, quote } from './dom.js';
import { encode } from './text.js';

/** What an address says: the view, the other parts of its path, and its query. */
export function parse(hash) {
  const text = hash.replace(/^#\/?/, '');
  const at = text.indexOf('?');
  const [kind, ...rest] = (at < 0 ? text : text.slice(0, at)).split('/');
  const query = new URLSearchParams(at < 0 ? '' : text.slice(at + 1));
  try {
    return { kind, rest: rest.map(decodeURIComponent), query };
  } catch {
    return { kind, rest: [], query, isBroken: true };
  }
}

/** Returns an address with a query; filters without a value are left out. */
export function withQuery(path, values) {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value)).toString();
  return query ? `${path}?${query}` : path;
}

/** For each view the address that it had last, so that coming back brings its filters back. */
const lastOf = new Map();

export const addressOf = (view) => lastOf.get(view) ?? `#/${view}`;
export const remember = (view, hash) => lastOf.set(view, hash);

/**
 * Writes the filters of a view into the address.
 *
 * @param isStep whether the browser's back button returns to the filters before; while a user types, it does not
 */
export function writeQuery(view, values, isStep) {
  const hash = withQuery(`#/${view}`, values);
  remember(view, hash);
  if (hash !== (location.hash || '#/')) history[isStep ? 'pushState' : 'replaceState'](null, '', hash);
}

const PLACE = 'timerd-place';
/** How long after a page was opened without a login its address is shown after a login, in milliseconds. */
const PLACE_TIME = 9e5;

/** Keeps the address of a page that was opened without a login. */
export function keepPlace() {
  if (location.hash.length <= 2) return;
  try { localStorage.setItem(PLACE, JSON.stringify([location.hash, Date.now()])); } catch { /* Without storage the login shows the jobs. */ }
}

/** Goes to that address, if this page was opened by a link to log in, which has none. */
export function restorePlace() {
  if (location.hash) return;
  try {
    const [hash, at] = JSON.parse(localStorage.getItem(PLACE)) ?? [];
    localStorage.removeItem(PLACE);
    if (String(hash).startsWith('#/') && Math.abs(Date.now() - at) < PLACE_TIME) history.replaceState(null, '', hash);
  } catch { /* Without storage, or with what another program has put there, the page shows the jobs. */ }
}

export const nameOf = (id) => id.slice(0, id.indexOf(':'));

export const runLink = (id, job = nameOf(id)) => h('a', { href: jobAddress(job, id) }, quote(id));

export const jobAddress = (name, run) => `#/job/${encode(name)}${run ? `/${encode(run)}` : ''}`;

export const jobLink = (name, kind, title) => h('a', { class: kind, title, href: jobAddress(name) }, name);
