// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// Addresses of the views, and links to them.

import { h, quote } from './dom.js';
import { encode } from './text.js';

export const nameOf = (id) => id.slice(0, id.indexOf(':'));

export const runLink = (id, job = nameOf(id)) => h('a', { href: jobAddress(job, id) }, quote(id));

export const jobAddress = (name, run) => `#/job/${encode(name)}${run ? `/${encode(run)}` : ''}`;

export const jobLink = (name, kind, title) => h('a', { class: kind, title, href: jobAddress(name) }, name);
