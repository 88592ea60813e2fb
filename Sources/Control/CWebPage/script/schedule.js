// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// Schedules in words.

import { NARROW, printable, span } from './text.js';
import { browserZone, clock, DAYS, msOf } from './time.js';

/** Says hours and minutes of a schedule in words; undefined if there is no short way to say them. */
function timeWords(hour, minute) {
  const isNumber = (field) => /^\d\d$/.test(field);
  const each = (field, all, unit) => {
    const step = Number(/^00\/(\d+)$/.exec(field)?.[1]);
    return all % step === 0 ? `every ${step}${NARROW}${unit}` : undefined;
  };
  if (isNumber(hour)) return isNumber(minute) ? `at ${hour}:${minute}` : undefined;
  if (hour !== '*') return minute === '00' ? each(hour, 24, 'h') : undefined;
  if (minute === '*') return 'every minute';
  if (!isNumber(minute)) return each(minute, 60, 'min');
  return minute === '00' ? 'every hour' : `every hour at :${minute}`;
}

const onDays = (days, when) => (days ? `${days} ${when}` : when.startsWith('at') ? `every day ${when}` : when);

/** Says a calendar event in words, if it is simple; otherwise returns it as it is. It must be in normal form. */
export function calendarWords(event) {
  const [, week = '', day, hour, minute] = /^(?:([A-Z][A-Za-z.,]*) )?\*-\*-(\*|\d\d) ([^:]+):([^:]+):00$/.exec(event) ?? [];
  const when = hour && timeWords(hour, minute);
  if (!when || (week && day !== '*')) return event;
  return onDays(day === '*' ? week.replaceAll('..', '–').replaceAll(',', ', ') : `day ${Number(day)} of each month`, when);
}

/** The same for the time fields of a crontab line. */
export function cronWords(line) {
  const [minute, hour, day, month, week, more] = line.split(' ').map((field) => field.replace(/^\*\//, '00/').replace(/^\d$/, '0$&'));
  const [, from, to] = /^0?([*0-7])(?:-([0-7]))?$/.exec(week) ?? [];
  const when = timeWords(hour, minute);
  if (!from || !when || more || day !== '*' || month !== '*') return line;
  const days = from === '*' ? '' : DAYS[from % 7] + (to ? `–${DAYS[to % 7]}` : '');
  return onDays(days, when);
}

const FOLLOWED = { success: 'that succeeds', failure: 'that fails', skip: 'that is skipped' };

/** What must be true when a run of a job is about to start, in words. */
export function conditionWords({ checks, wait_max_usec: most }) {
  return printable(`${checks.join(', ')}; otherwise a run ${most ? `waits for at most ${span(most)}` : 'is skipped'}`);
}

/** When runs of a job may start, in words. */
export function windowWords({ times, timezone, opens, closes, outside, stops_at_end: stops }) {
  const zone = timezone === browserZone ? '' : ` (${timezone})`;
  const state = opens ? `closed until ${clock(msOf(opens))}` : closes ? `open until ${clock(msOf(closes))}` : 'open';
  const rest = outside === 'skip' ? 'no runs outside it' : 'a run that is due outside it waits';
  return printable(`${times.join(', ')}${zone}, ${state}; ${rest}${stops ? '; its end stops runs' : ''}`);
}

/** After what a job runs that follows others, in words. */
export function followWords(follows) {
  const words = (each) => ({ job, ends, delay_usec: delay }) => `${each} run of ${job} ${FOLLOWED[ends] ?? 'that ends'}${delay ? `, and ${span(delay)} more` : ''}`;
  return printable(follows.length === 1 ? `after ${words('each')(follows[0])}` : `after one of each: ${follows.map(words('a')).join('; ')}`);
}

/** The schedule of a job in words. */
export function schedule(job) {
  if (job.on_demand) return job.follows ? followWords(job.follows) : 'on demand';
  if (job.every_usec !== undefined) return `every ${span(job.every_usec)}`;
  if (job.after_usec !== undefined) return `once, after ${span(job.after_usec)}`;
  if (job.on_boot_usec !== undefined) return job.on_boot_usec ? `${span(job.on_boot_usec)} after each boot` : 'at each boot';
  if (job.at) return `once, at ${clock(msOf(job.at))}`;
  const zone = job.timezone && job.timezone !== browserZone ? ` (${job.timezone})` : '';
  if (job.calendar) return job.calendar.map(calendarWords).join('; ') + zone + dateWords(job);
  return job.cron ? job.cron.map(cronWords).join('; ') + zone + dateWords(job) : '';
}

/** What limits the dates of a schedule. */
function dateWords(job) {
  return (job.every_nth ? `, on one of ${job.every_nth} dates, counted from ${job.counted_from}` : '')
    + (job.except ? `, except on ${job.except.join(', ')}` : '')
    + (job.only_on ? `, only on ${job.only_on.join(', ')}` : '');
}

/** The schedule as the configuration has it, if `schedule` may leave something out. */
export function exactSchedule(job) {
  const list = job.calendar ? `calendar ${job.calendar.join('; ')}` : job.cron ? `cron ${job.cron.join('; ')}` : '';
  return list && printable(list + (job.timezone ? ` in ${job.timezone}` : '') + dateWords(job));
}

/** Whether a retry of the last run starts before the next run is due. */
export const attemptFirst = (job) => job.next_attempt_usec !== undefined
  && (job.remaining_usec === undefined || job.next_attempt_usec < job.remaining_usec);

/**
 * When the next run or retry starts, in milliseconds since 1970; undefined if there is none. It is stored with the
 * status, because sorting thousands of jobs asks for it many times.
 */
export function nextStart(job) {
  if (!('nextMs' in job)) {
    const text = attemptFirst(job) ? job.next_attempt : job.next;
    job.nextMs = text === undefined ? undefined : msOf(text);
  }
  return job.nextMs;
}
