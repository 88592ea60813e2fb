// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// The status page. It sends requests only to /v1 of the server that it came from. This file starts it.

import { restorePlace } from './address.js';
import { ask } from './api.js';
import { toast } from './commands.js';
import { $ } from './dom.js';
import { noteFailure } from './failures.js';
import { feed } from './feed.js';
import { startKeys } from './keys.js';
import { hooks, model } from './model.js';
import { route, update, view } from './router.js';

function start() {
  restorePlace();
  startKeys();
  $('logout').onclick = () => ask('/v1/session/logout', {}).then(() => location.reload(), (error) => toast(error.message, true));
  addEventListener('hashchange', route);
  document.addEventListener('visibilitychange', () => {
    // While the tab was hidden, its machine may have been suspended, and the countdowns may be wrong.
    if (!document.hidden) feed.relist();
  });
  setInterval(() => { if (!document.hidden && model.frozenAt === null) { view?.tick?.(); feed.renew(); } }, 1000);
  hooks.changed = update;
  hooks.ended = noteFailure;
  hooks.listed = () => { if (!view) route(); };
  feed.open();
  feed.poll();
}

start();
