// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// The status page. It sends requests only to /v1 of the server that it came from.
//
// Names, notes and output can contain anything. They cannot become markup, because `h` and `s` make every element, and
// put text only into text nodes and attributes.

// 1  Elements and text

const $ = (id) => document.getElementById(id);

/**
 * Makes an HTML element: `h('li.none', { title: 'x' }, 'text', node)`. Attributes named `on…` are event listeners, and
 * those that are false, null or undefined are left out.
 */
const h = (tag, ...rest) => make((name) => document.createElement(name), tag, rest);

/** The same for an SVG element. */
const s = (tag, ...rest) => make((name) => document.createElementNS('http://www.w3.org/2000/svg', name), tag, rest);

function make(create, tag, rest) {
  const [name, ...classes] = tag.split('.');
  const element = create(name);
  if (classes.length) element.setAttribute('class', classes.join(' '));
  const attributes = rest[0]?.constructor === Object ? rest.shift() : {};
  for (const key in attributes) {
    const value = attributes[key];
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, '');
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(key, value);
  }
  for (const child of rest.flat(2)) if (child !== null && child !== undefined) element.append(child);
  return element;
}

const button = (parts, onclick, attributes) => h('button', { type: 'button', onclick, ...attributes }, parts);

function icon(name) {
  const use = s('use', { href: `#i-${name}` });
  const picture = s('svg.icon', { viewBox: '0 0 16 16', 'aria-hidden': 'true' }, use);
  picture.show = (other) => {
    if (other !== name) use.setAttribute('href', `#i-${name = other}`);
  };
  return picture;
}

/** Sets the text of an element. Most texts are the same as before: then the page is not touched, which saves time. */
function put(element, text) {
  if (element.lastText !== text) {
    element.lastText = text;
    element.textContent = text;
  }
}

const flag = (name, isOn) => document.body.classList.toggle(name, isOn);

const searchField = (label, oninput) => h('input', { type: 'search', placeholder: label, 'aria-label': label, autocomplete: 'off', spellcheck: 'false', oninput });

const choice = (label, onchange, options) => h('select', { 'aria-label': label, onchange }, options.map(([value, text]) => h('option', { value }, text ?? value)));

/** Returns a function that says whether a text contains every word in a search field. */
function matcher(field) {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  return (text) => words.every((word) => text.toLowerCase().includes(word));
}

/** Sets an attribute, if it changes. */
function mark(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/**
 * Makes text from outside safe to show. Control characters, and those that reverse the direction of the text after them,
 * are written as escapes such as `\x1b`, as timerctl writes them. Tabs are kept.
 */
function printable(text) {
  return String(text).replace(/[\x00-\x08\x0a-\x1f\x7f-\x9f\u200e\u200f\u061c\u2028-\u202e\u2066-\u2069]/g,
    (c) => '\\x' + c.charCodeAt(0).toString(16).padStart(2, '0'));
}

/** Text from outside as part of a sentence. <bdi> keeps right-to-left text from reordering the words around it. */
const quote = (text, attributes) => h('bdi', attributes, printable(text));

const panel = (title, ...parts) => h('section.panel', h('h2', title), parts);

const encode = encodeURIComponent;

const px = (length) => length.toFixed(1);
const box = (x, y, width, height) => `M${px(x)} ${px(y)}h${px(width)}v${px(height)}h${px(-width)}z`;

const plural = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`;

// 2  Time in words

/** A space that does not break: a number and its unit stay on one line. */
const NARROW = '\u00a0';
const UNITS = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];

/** Writes microseconds in at most two units: `3 h 55 min`, `44 s`, `4.1 s`, `870 ms`. */
function span(usec) {
  if (usec < 1000) return usec <= 0 ? `0${NARROW}s` : `<${NARROW}1${NARROW}ms`;
  if (usec < 1e6) return `${Math.floor(usec / 1e3)}${NARROW}ms`;
  if (usec < 1e7 && usec % 1e6) return `${(Math.floor(usec / 1e5) / 10).toFixed(1)}${NARROW}s`;
  return wholeSpan(usec);
}

/** The same in whole seconds, for times that count up or down on the page: fractions would flicker. */
function wholeSpan(usec, most = 2) {
  let rest = Math.max(0, Math.floor(usec / 1e6));
  const parts = [];
  for (const [unit, length] of UNITS) {
    if (rest >= length || (unit === 's' && !parts.length)) {
      parts.push(`${Math.floor(rest / length)}${NARROW}${unit}`);
      rest %= length;
    } else if (parts.length) break; // Not `3 d 5 s`: the second unit is the next smaller one, or there is none.
    if (parts.length === most) break;
  }
  return parts.join(' ');
}

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
const DAYS = 'Sun Mon Tue Wed Thu Fri Sat'.split(' ');
const two = (number) => String(number).padStart(2, '0');
const dayOf = (d) => `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
const minuteOf = (d) => `${two(d.getHours())}:${two(d.getMinutes())}`;
const timeOf = (d) => `${minuteOf(d)}:${two(d.getSeconds())}`;

/** Milliseconds of the monotonic clock: it never jumps, unlike the wall clock. */
const steady = () => performance.now();

/** Converts an instant of the API to milliseconds since 1970, and back. */
const msOf = Date.parse;
const iso = (ms) => new Date(ms).toISOString();

/** The time by the server's clock, in milliseconds since 1970. The browser's clock may be wrong. */
const serverNow = () => Date.now() + model.skew;

/** A short date and time: `14:05:10` for today, `Mon 09:00` within six days, `24 Dec 09:00` in this year. */
function clock(ms) {
  const d = new Date(ms), now = new Date(serverNow());
  const time = minuteOf(d);
  if (dayOf(d) === dayOf(now)) return d.getSeconds() ? timeOf(d) : time;
  if (Math.abs(ms - now) < 6 * 864e5) return `${DAYS[d.getDay()]} ${time}`;
  const date = `${d.getDate()} ${MONTHS[d.getMonth()]}`;
  return d.getFullYear() === now.getFullYear() ? `${date} ${time}` : `${date} ${d.getFullYear()}`;
}

/** A complete date and time: `Mon 2026-11-23 09:00:00`. */
function longTime(ms) {
  const d = new Date(ms);
  return `${DAYS[d.getDay()]} ${dayOf(d)} ${timeOf(d)}`;
}

/** An instant of the API as an element: short, with the complete time as its tooltip. */
function timeElement(text, shown) {
  const ms = msOf(text);
  return h('time', { datetime: text, title: `${longTime(ms)} (${text})` }, shown ?? clock(ms));
}

const ago = (ms) => `${wholeSpan(Math.max(0, serverNow() - ms) * 1e3, 1)} ago`;

/** When a run was due, in milliseconds since 1970. Its identity says so: `backup:20261121T055945.910612Z:1`. */
function dueOf(id) {
  const [, y, mo, d, h, mi, s] = /:(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d\.\d{3})\d{3}Z:\d+$/.exec(id) ?? [];
  return y ? msOf(`${y}-${mo}-${d}T${h}:${mi}:${s}Z`) : NaN;
}

const attemptOf = (id) => Number(/:(\d+)$/.exec(id)?.[1] ?? 1);

/**
 * Shows a sentence of timerd. Instants are shown in the reader's time zone, text between backquotes as code, and instead
 * of the identity of a run the time when it was due.
 */
function sentence(text) {
  const parts = printable(text).split(/(\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z|\b[\w.@-]{1,64}:\d{8}T\d{6}\.\d{6}Z:\d+|`[^`]+`)/);
  return h('bdi', ...parts.map((part, index) => {
    if (index % 2 === 0) return part;
    if (part.startsWith('`')) return h('code', part.slice(1, -1));
    if (/^\d{4}-/.test(part)) return timeElement(part);
    return h('span', { title: part }, `of ${clock(dueOf(part))}${attemptOf(part) > 1 ? ` (attempt ${attemptOf(part)})` : ''}`);
  }));
}

// 3  Jobs in words, as timerctl says them

/** Whether a run is active or starts as soon as max-concurrent allows it. Other runs wait for a delay or another run. */
const isActive = (run) => run.waits === undefined;
const isRunning = (job) => job.running.some(isActive);
const isWaiting = (job) => job.running.some((run) => ['capacity', 'slot', 'check', 'condition', 'window', 'catch-up-delay'].includes(run.waits));
const stateWord = (job) => (job.state !== 'armed' ? job.state : isRunning(job) ? 'running' : isWaiting(job) ? 'waiting' : 'armed');
const isPaused = (job) => job.state === 'paused';
const hasEnded = ({ state }) => state === 'stopped' || state === 'finished';
const hasFailed = (job) => job.last?.failed === true;

const SKIPPED = {
  'still-running': 'the previous run had not ended', 'concurrency-max': 'concurrency-max was reached',
  'queue-full': 'another run was waiting already', 'slot-busy': 'a slot of it was taken', 'outside-window': 'its window was closed', missed: 'it was missed', 'catch-up-max': 'too many were missed',
  deadline: 'it was later than starting-deadline allows', 'clock-set': 'the wall clock was set',
  'by-order': 'skipped on request', paused: 'the job was paused', held: 'the fleet was held',
  redefined: 'the job was changed', adopted: 'it was due before the fleet was adopted',
  away: 'it was due while no machine was connected to the fleet',
};

/** Says how a run ended, as the daemon does: `exit 1`, `killed by SIGKILL`. */
const ending = (run) => run.result ?? run.outcome ?? 'unknown';

/** The same in few words, for a narrow column. */
const shortEnding = (run) => ({ 'spawn-failed': 'could not start', lost: 'lost', replaced: 'replaced', stopped: 'stopped', skipped: 'skipped' }[run.reason] ?? ending(run));

/** The result of a run as the letter that `/v1/recent` uses: `s` succeeded, `f` failed, `i` stopped, replaced or skipped. */
const verdict = (run) => (run.failed ? 'f' : run.succeeded ? 's' : 'i');

/** Says why a run was started. */
function cause(run) {
  const others = run.missed > 0 ? `, for ${run.missed + 1} due runs` : '';
  const attempt = attemptOf(run.id);
  const why = { 'catch-up': 'to catch up a missed run', resume: 'due during the pause that ended',
    chain: `after ${printable(run.cause_run ?? '?')} (${printable(run.cause_result ?? '?')})`,
    requested: `requested by ${printable(run.requested_by ?? 'an unknown user')}${run.arguments ? `, with ${printable(run.arguments.join(' '))}` : ''}${run.alone ? ', alone' : ''}${run.forced ? ', whatever its condition says' : ''}` }[run.cause] ?? 'by its schedule';
  return why + others + (attempt > 1 ? `, attempt ${attempt}` : '');
}

/** Says what a run waits for; null if it does not wait. */
function waiting(run) {
  switch (run.waits) {
    case 'capacity': return 'waits for max-concurrent';
    case 'slot': return `waits for the slot ${printable(run.slot ?? '?')}`;
    case 'check': return 'waits for the check of its condition';
    case 'condition': return `waits for its condition: ${printable(run.unmet ?? '?')}${run.waits_until ? `, until ${clock(msOf(run.waits_until))}` : ''}`;
    case 'previous-run': return 'waits for the previous run to end';
    case 'window': return `waits for its window${run.starts_at ? `, until ${clock(msOf(run.starts_at))}` : ''}`;
    case 'catch-up-delay': return run.starts_at ? `was missed, starts at ${clock(msOf(run.starts_at))}` : 'waits for its delay';
    case 'retry-delay': return run.starts_at ? `retries at ${clock(msOf(run.starts_at))}` : 'waits for its delay';
    default: return run.waits === undefined ? null : `waits (${printable(run.waits)})`;
  }
}

const skipWords = ({ skips }) => `the next ${skips === 1 ? 'run' : `${skips} runs`} will be skipped`;

/** Says who paused a job, and until when: `by alice until 18:00`. */
function pausedBy(pause) {
  const end = pause.until ? ` until ${clock(msOf(pause.until))}` : '';
  return `by ${printable(pause.by)}${end}`;
}

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
function calendarWords(event) {
  const [, week = '', day, hour, minute] = /^(?:([A-Z][A-Za-z.,]*) )?\*-\*-(\*|\d\d) ([^:]+):([^:]+):00$/.exec(event) ?? [];
  const when = hour && timeWords(hour, minute);
  if (!when || (week && day !== '*')) return event;
  return onDays(day === '*' ? week.replaceAll('..', '–').replaceAll(',', ', ') : `day ${Number(day)} of each month`, when);
}

/** The same for the time fields of a crontab line. */
function cronWords(line) {
  const [minute, hour, day, month, week, more] = line.split(' ').map((field) => field.replace(/^\*\//, '00/').replace(/^\d$/, '0$&'));
  const [, from, to] = /^0?([*0-7])(?:-([0-7]))?$/.exec(week) ?? [];
  const when = timeWords(hour, minute);
  if (!from || !when || more || day !== '*' || month !== '*') return line;
  const days = from === '*' ? '' : DAYS[from % 7] + (to ? `–${DAYS[to % 7]}` : '');
  return onDays(days, when);
}

const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

const FOLLOWED = { success: 'that succeeds', failure: 'that fails', skip: 'that is skipped' };

/** What must be true when a run of a job is about to start, in words. */
function conditionWords({ checks, wait_max_usec: most }) {
  return printable(`${checks.join(', ')}; otherwise a run ${most ? `waits for at most ${span(most)}` : 'is skipped'}`);
}

/** When runs of a job may start, in words. */
function windowWords({ times, timezone, opens, closes, outside, stops_at_end: stops }) {
  const zone = timezone === browserZone ? '' : ` (${timezone})`;
  const state = opens ? `closed until ${clock(msOf(opens))}` : closes ? `open until ${clock(msOf(closes))}` : 'open';
  const rest = outside === 'skip' ? 'no runs outside it' : 'a run that is due outside it waits';
  return printable(`${times.join(', ')}${zone}, ${state}; ${rest}${stops ? '; its end stops runs' : ''}`);
}

/** After what a job runs that follows others, in words. */
function followWords(follows) {
  const words = (each) => ({ job, ends, delay_usec: delay }) => `${each} run of ${job} ${FOLLOWED[ends] ?? 'that ends'}${delay ? `, and ${span(delay)} more` : ''}`;
  return printable(follows.length === 1 ? `after ${words('each')(follows[0])}` : `after one of each: ${follows.map(words('a')).join('; ')}`);
}

/** The schedule of a job in words. */
function schedule(job) {
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
function exactSchedule(job) {
  const list = job.calendar ? `calendar ${job.calendar.join('; ')}` : job.cron ? `cron ${job.cron.join('; ')}` : '';
  return list && printable(list + (job.timezone ? ` in ${job.timezone}` : '') + dateWords(job));
}

/** Whether a retry of the last run starts before the next run is due. */
const attemptFirst = (job) => job.next_attempt_usec !== undefined
  && (job.remaining_usec === undefined || job.next_attempt_usec < job.remaining_usec);

/**
 * When the next run or retry starts, in milliseconds since 1970; undefined if there is none. It is stored with the
 * status, because sorting thousands of jobs asks for it many times.
 */
function nextStart(job) {
  if (!('nextMs' in job)) {
    const text = attemptFirst(job) ? job.next_attempt : job.next;
    job.nextMs = text === undefined ? undefined : msOf(text);
  }
  return job.nextMs;
}

/**
 * The remaining time until then, in microseconds; undefined if there is none. It is the remaining time that timerd sent,
 * minus the time since then by the monotonic clock, so that a wrong clock of the browser does not matter. While the job is
 * paused, it does not change.
 */
function left(entry) {
  const { job } = entry;
  const base = attemptFirst(job) ? job.next_attempt_usec : job.remaining_usec;
  if (base === undefined || isPaused(job)) return base;
  return Math.max(0, base - sinceHeard(entry));
}

/**
 * How old the status of a job is, in microseconds. While timerd does not answer, the countdowns stop: the page cannot know
 * whether the daemon is running.
 */
const sinceHeard = ({ heard }) => Math.max(0, (model.frozenAt ?? steady()) - heard) * 1e3;

/** Which part of the interval remains, from 0 to 1; undefined if no time is counted. */
function share(entry, remaining = left(entry)) {
  if (remaining === undefined) return undefined;
  const { job } = entry;
  const all = attemptFirst(job) ? entry.attemptUsec : job.elapsed_usec + job.remaining_usec;
  return all > 0 ? Math.min(1, remaining / all) : 0;
}

// 4  The data from timerd, and the connection to it

const model = {
  /** For each job its latest status (`job`), and when it arrived (`heard`, in `steady` milliseconds). */
  jobs: new Map(),
  /** What `/v1/jobs` says about the daemon itself. */
  daemon: null,
  /** The user of this browser, and what they may do; null until it was asked for. */
  session: null,
  /** How far the server's clock is ahead of the browser's, in milliseconds. */
  skew: 0,
  /** For each job its last 20 runs, the oldest first: [{verdict, ended, elapsed}]. Null until they have arrived. */
  recent: null,
  /** The received events, the oldest first; which start of the daemon they are from; and the number of the last one. */
  events: [],
  instance: null,
  lastEvent: 0,
  /** Since when timerd does not answer, in `steady` milliseconds; null if it answers. */
  frozenAt: null,
};
const RECENT_MAX = 20;
const EVENTS_MAX = 4096;

/** timerd answered with an error. */
class Refusal extends Error {
  constructor(status, body) {
    super(body?.error ?? `timerd answered ${status}`);
    this.status = status;
  }
}

/** There was no answer. */
class NoAnswer extends Error {
  message = 'timerd does not answer';
}

/**
 * Sends a request: GET, or POST if there is a body. Throws `Refusal` or `NoAnswer`.
 *
 * @param seconds how long it waits for the answer
 */
async function ask(path, body, seconds = 15) {
  const options = { headers: { Accept: 'application/json' }, signal: AbortSignal.timeout(seconds * 1000), cache: 'no-store' };
  if (body !== undefined) {
    options.method = 'POST';
    options.headers['Content-Type'] = 'application/json';
    options.body = JSON.stringify(body);
  }
  const reply = await fetch(path, options).catch(() => { throw new NoAnswer(); });
  const answer = await reply.json().catch(() => null);
  if (!reply.ok) throw new Refusal(reply.status, answer);
  if (answer === null) throw new NoAnswer();
  return answer;
}

const runsPath = (name) => `/v1/runs?job=${encode(name)}&output=0`;
const jobPath = (name) => `/v1/jobs/${encode(name)}`;

const allJobs = () => [...model.jobs.values()].map(({ job }) => job);
const jobOf = (name) => model.jobs.get(name)?.job;

/**
 * Stores the status of a job, unless a newer one is stored already. Returns whether it was stored.
 *
 * @param heard when it arrived, and `asked` when it was asked for, in `steady` milliseconds
 */
function learn(job, heard = steady(), asked = heard) {
  const entry = model.jobs.get(job.job) ?? {};
  const before = entry.job;
  // An event can arrive before the answer to an older request. Of two statuses, the one with more active time is newer,
  // because that never decreases while the daemon runs. If it is the same, as while a job is paused, the later one is newer.
  if (before && (job.active_usec < before.active_usec || (job.active_usec === before.active_usec && entry.heard > asked))) return false;
  if (before && job.last && before.last?.id !== job.last.id) noteRecent(job);
  entry.job = job;
  entry.heard = heard;
  // The status does not contain the full delay before a retry, which began when the last run ended. If the wall clock was
  // set since, that is wrong: then the bar uses the longest remaining time that was seen.
  const delay = (msOf(job.next_attempt) - msOf(job.last?.ended)) * 1e3 || 0;
  entry.attemptUsec = job.next_attempt_usec === undefined ? 0 : Math.max(entry.attemptUsec ?? 0, job.next_attempt_usec, delay);
  model.jobs.set(job.job, entry);
  return true;
}

/** Adds the last run of a job to its recent runs. */
function noteRecent(job) {
  if (!model.recent) return;
  const list = model.recent.get(job.job) ?? [];
  const ended = msOf(job.last.ended ?? job.last.scheduled);
  if (list.length && Math.floor(list.at(-1).ended) >= ended) return; // The list has it already.
  list.push({ verdict: verdict(job.last), ended, elapsed: job.last.elapsed_usec ?? 0 });
  model.recent.set(job.job, list.slice(-RECENT_MAX));
}

/** Gets the status of all jobs. */
async function list() {
  const asked = Date.now(), from = steady();
  // A small machine with very many jobs takes longer than usual, which does not mean that timerd is gone.
  const daemon = await ask('/v1/jobs', undefined, 60);
  const heard = steady();
  // timerd read its clock at some time between the request and the answer: the middle is the best guess.
  model.skew = msOf(daemon.now) - (asked + (heard - from) / 2);
  if (model.daemon?.since !== daemon.since) model.jobs.clear();
  const { jobs, ...rest } = daemon;
  model.daemon = rest;
  // A map keeps the order of insertion: here that of the configuration.
  const known = model.jobs;
  model.jobs = new Map(jobs.map((job) => [job.job, known.get(job.job) ?? {}]));
  for (const job of jobs) learn(job, heard, from);
  performance.mark('jobs-heard');
  changed(null);
}

/** Gets the recent runs of all jobs, which may take several requests. */
async function listRecent() {
  const found = new Map();
  let after = '';
  do {
    const answer = await ask(`/v1/recent?count=${RECENT_MAX}${after}`);
    for (const { job, verdicts, end_times: ended, durations: elapsed } of answer.recent) {
      found.set(job, [...verdicts].map((verdict, i) => ({ verdict, ended: ended[i] / 1e3, elapsed: elapsed[i] })));
    }
    after = answer.next_job === undefined ? null : `&after=${encode(answer.next_job)}`;
  } while (after !== null);
  model.recent = found;
  changed(null);
}

/**
 * At most so many tabs have an event stream; the others poll. A browser opens at most six connections to a server for all
 * its tabs together, and with six streams no request would get through.
 */
const STREAMS_MAX = 4;

/**
 * Tries to become one of the tabs with a stream, and returns whether it worked. Each of these tabs holds one of the
 * numbered locks until it is closed. Browsers without locks have no limit.
 */
async function takePlace() {
  let place = !navigator.locks;
  for (let n = 0; n < STREAMS_MAX && !place; n += 1) {
    place = await new Promise((tell) => navigator.locks.request(`timerd-${n}`, { ifAvailable: true }, (lock) => {
      tell(lock);
      return lock && new Promise(() => {});
    }));
  }
  return place;
}

/** The connection to timerd: the event stream, and polling while there is none. */
const feed = {
  stream: null,
  isLive: false,
  /** Whether the events from before the page was opened are requested as well: the view of the events shows them. */
  wantsPast: false,

  /** Opens the stream. It begins after the last event that was received. */
  async open() {
    // `open` can be called again while it waits for a lock: all calls wait for the same one.
    this.place ??= takePlace();
    if (!await this.place) { this.place = null; return; }
    this.stream?.close();
    const from = model.instance !== null ? `?after=${model.lastEvent}` : this.wantsPast ? `?last=${EVENTS_MAX}` : '';
    const stream = this.stream = new EventSource(`/v1/events${from}`);
    const hear = (name, take) => stream.addEventListener(name, (message) => {
      if (stream === this.stream) take(JSON.parse(message.data));
    });
    hear('hello', (hello) => this.greet(hello));
    hear('events', (frame) => this.take(frame));
    hear('gap', () => this.relist());
    stream.onerror = () => {
      if (stream !== this.stream) return;
      stream.close();
      this.stream = null;
      this.isLive = false;
      this.again(500);
    };
  },

  /** Opens the stream again, this time with past events. */
  openPast() {
    this.wantsPast = true;
    Object.assign(model, { instance: null, events: [], lastEvent: 0 });
    this.open();
  },

  /** The first message of a stream: which start of the daemon it is from. */
  greet({ instance, number }) {
    this.isLive = true;
    if (model.instance !== instance) {
      const isRestart = model.instance !== null;
      Object.assign(model, { instance, events: [], lastEvent: isRestart || this.wantsPast ? 0 : number });
      // Events are numbered from 1 at each start of the daemon, so this stream begins at the wrong number.
      if (isRestart) return this.open();
    }
    this.relist();
  },

  /** A message with events, and with the status after them of the jobs that changed. */
  take({ events, jobs, removed_jobs: removed, relist }) {
    const heard = steady();
    const names = new Set();
    for (const job of jobs ?? []) if (learn(job, heard)) names.add(job.job);
    for (const name of removed ?? []) model.jobs.delete(name);
    const fresh = events.filter((event) => event.number > model.lastEvent);
    model.events.push(...fresh);
    model.lastEvent = fresh.at(-1)?.number ?? model.lastEvent;
    if (model.events.length > EVENTS_MAX) model.events.splice(0, model.events.length - EVENTS_MAX);
    // Only the list says at which place of the configuration a new job is.
    if (relist || fresh.some(({ event }) => event === 'reloaded' || event === 'one-off-created')) this.relist();
    changed(removed?.length ? null : names, fresh);
  },

  /** Gets everything again. One request for all jobs is enough: while it is on its way, further calls are combined. */
  async relist() {
    if (this.isListing) { this.isListingAgain = true; return; }
    this.isListing = true;
    const from = steady();
    try {
      await list();
      await listRecent();
      answered(true);
      if (model.session === null) loadSession();
    } catch (error) {
      // Other errors are bugs of this page: report them to the console as well.
      if (!(error instanceof Refusal || error instanceof NoAnswer)) reportError(error);
      answered(false, error);
      this.again(1000);
    }
    // The first view is shown only now, because it needs to know the server's clock.
    if (!view) route();
    requestAnimationFrame(() => setTimeout(() => performance.mark('jobs-shown')));
    this.isListing = false;
    this.listed = steady();
    this.took = this.listed - from;
    if (this.isListingAgain) { this.isListingAgain = false; this.relist(); }
  },

  /**
   * Gets everything again from time to time also while there is a stream: only the list says that the configuration has
   * an error, or that messages cannot be sent. It takes at most 1/200 of the time.
   */
  renew() {
    if (this.isLive && !this.isListing && steady() - this.listed > Math.max(60_000, 200 * this.took)) this.relist();
  },

  again(delay) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.poll(), delay);
  },

  /** Gets everything again from time to time while there is no stream or no answer, and tries to open the stream. */
  async poll() {
    if (this.isLive && model.frozenAt === null) return;
    const from = steady();
    await this.relist();
    if (this.isLive) return;
    if (!this.stream) this.open();
    // Polling uses at most a tenth of the time, however long the list is. A daemon that does not answer is tried each second.
    this.again(model.frozenAt === null ? Math.max(1500, 10 * (steady() - from)) : 1000);
  },
};

/** Asks which user this is. A server without logins has no such path: then the page shows everything. */
async function loadSession() {
  model.session = {};
  try {
    model.session = await ask('/v1/session');
  } catch (error) {
    if (error.status === 401) answered(false, error);
  }
  flag('viewer', model.session.may_change === false);
  showAbout();
}

/** Shows or hides the warning that timerd does not answer, or that the browser is not logged in. */
function answered(isAnswering, error) {
  const banner = $('banner');
  const isOut = error?.status === 401;
  flag('stale', !isAnswering);
  if (isAnswering) {
    model.frozenAt = null;
    banner.hidden = true;
  } else {
    model.frozenAt ??= steady();
    const text = isOut ? 'You are not logged in. Run `timerctl web` and open the link that it prints.'
      : `${new NoAnswer().message}; trying again.${model.daemon ? ` This is from ${timeOf(new Date(serverNow() - steady() + model.frozenAt))}.` : ''}`;
    if (banner.said !== text || banner.hidden) { banner.replaceChildren(sentence(banner.said = text)); banner.hidden = false; }
  }
  showLink(isOut);
}

/** Shows at the top whether the page is live. */
function showLink(isOut) {
  const [state, text] = model.frozenAt !== null ? ['lost', isOut ? 'logged out' : 'no answer']
    : feed.isLive ? ['live', 'live'] : ['poll', 'every few seconds'];
  mark($('link'), 'data-state', state);
  put($('link-text'), text);
}

// 5  Commands and dialogs

const PAST = { pause: 'paused', resume: 'resumed', run: 'run requested', retry: 'retry requested', start: 'timer restarted',
  stop: 'stopped', 'skip-next': 'skips set', kill: 'runs are being stopped' };

/** Shows a short message for some seconds. */
function toast(text, isError = false) {
  const line = h('div', { class: isError ? 'toast bad' : 'toast' }, quote(text));
  $('toasts').append(line);
  while ($('toasts').children.length > 4) $('toasts').firstChild.remove();
  setTimeout(() => line.remove(), isError ? 12000 : 6000);
}

/** Says the result of a command in the words of timerctl. */
function told(verb, answer, job) {
  if (!answer.changed) return `nothing to do: ${answer.reason ?? job?.state ?? ''}`;
  if (verb === 'skip-next') return job.skips ? skipWords(job) : 'no run will be skipped';
  const rest = job?.remaining_usec;
  if (verb === 'kill' || verb === 'stop' || rest === undefined) return PAST[verb];
  if (answer.former_pause) return 'pause changed';
  return `${PAST[verb]}; ${job.paused ? `${span(rest)} will be left when it is resumed` : `next run in ${span(rest)}`}`;
}

/** Sends a command for one job, and shows its result. */
async function command(verb, name, body = {}) {
  try {
    const answer = await ask(`${jobPath(name)}/${verb}`, body);
    if (answer.status) { learn(answer.status); changed(new Set([name])); }
    toast(`${name}: ${told(verb, answer, answer.status)}`);
    return answer;
  } catch (error) {
    toast(`${name}: ${error.message}`, true);
    throw error;
  }
}

/** Sends a command for several jobs, and shows its result. timerd executes it for all of them or for none. */
async function commandAll(verb, body, count) {
  try {
    const { results } = await ask(`/v1/jobs/${verb}`, body);
    const done = results.filter((result) => result.changed).length;
    const refused = results.filter((result) => result.refused);
    toast(`${plural(done, 'job')} of ${count}: ${PAST[verb]}`);
    for (const { job, reason } of refused.slice(0, 3)) toast(`${job}: ${reason ?? 'refused'}`, true);
    if (!feed.isLive) feed.relist();
  } catch (error) {
    toast(error.message, true);
    throw error;
  }
}

/** Opens a dialog. It closes when its form is submitted, unless `submit` returns false. */
function openDialog(dialog, submit) {
  const form = dialog.querySelector('form');
  form.onsubmit = async (event) => {
    event.preventDefault();
    if (await submit() !== false) dialog.close();
  };
  for (const cancel of form.querySelectorAll('[value=cancel]')) cancel.onclick = () => dialog.close();
  dialog.showModal();
}

/** Asks before something is done that cannot be undone. */
function confirmThat(title, lines, word, act) {
  put($('ask-title'), title);
  $('ask-text').replaceChildren(...lines.map((line) => h('p', line)));
  put($('ask-dialog').querySelector('.main'), word);
  openDialog($('ask-dialog'), () => { act().catch(() => {}); });
}

/** Asks how long to pause jobs and why, then pauses them. */
function askPause(names) {
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
function askResume(names) {
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

/** The commands that keys and buttons give for one job. */
const acts = {
  run: (name) => command('run', name),
  pause: (name) => askPause([name]),
  resume: (name) => command('resume', name),
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
function act(verb, name) {
  if (model.session?.may_change === false) return toast('You may look, but not change anything.', true);
  Promise.resolve(acts[verb](name)).catch(() => {});
}

/** The bell of a job about which a notification was sent, for as long as the incident lasts. */
function incidentSign() {
  const sign = h('span.incident', { role: 'img' }, icon('incident'));
  sign.show = ({ incidents }) => {
    const text = incidents?.map(({ kind, since, notifier }) => `${kind} since ${clock(msOf(since))}, ${notifier} was notified`).join('; ') ?? '';
    sign.hidden = !text;
    mark(sign, 'aria-label', text);
    mark(sign, 'title', text);
  };
  return sign;
}

function actButton(verb, sign, label, name) {
  return button(icon(sign), () => act(verb, name), { class: 'act', 'data-act': verb, title: label, 'aria-label': `${label} ${name}` });
}

// The bar of remaining time

/**
 * A bar that shows the remaining time and gets shorter. While the job is paused, it does not move, is hatched, and has the
 * two strokes of a pause sign at its end. `show` is called once a second, and a CSS transition moves the bar in between.
 */
function remainingBar(className) {
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
const drawn = (paths) => Object.keys(paths).filter((kind) => paths[kind]).map((kind) => s('path', { d: paths[kind], class: `run-${kind}` }));

/** Draws the last runs as columns. The height shows how long a run took; failed runs are red. */
function drawRecent(picture, runs) {
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

// 6  View: jobs

/** The states, the most important first: "failed first" sorts by this order. */
const STATES = ['running', 'waiting', 'retrying', 'paused', 'armed', 'stopped', 'finished'];
const MATCHES = { failed: hasFailed, incident: (job) => job.incidents, ...Object.fromEntries(STATES.map((state) => [state, (job) => stateWord(job) === state])) };
const never = Number.MAX_VALUE;
const rank = (job) => STATES.indexOf(stateWord(job));
const SORTS = {
  '': null,
  name: (a, b) => (a.job < b.job ? -1 : 1),
  state: (a, b) => hasFailed(b) - hasFailed(a) || rank(a) - rank(b),
  next: (a, b) => (nextStart(a) ?? never) - (nextStart(b) ?? never),
  last: (a, b) => msOf(b.last?.ended ?? 0) - msOf(a.last?.ended ?? 0),
  active: (a, b) => b.active_usec - a.active_usec,
};

const activeFor = (run) => `for ${wholeSpan((serverNow() - msOf(run.began)) * 1e3)}`;

/**
 * The four lists at the top of the page. For each: which jobs are in it, what it says if there is none, and what it says
 * about each job.
 */
const GLANCE = {
  failed: [(jobs) => jobs.filter(hasFailed).sort(SORTS.last), 'No last run failed.',
    ({ last }) => `${printable(shortEnding(last))}, ${ago(msOf(last.ended ?? last.scheduled))}`],
  running: [(jobs) => jobs.filter(isRunning), 'Nothing is running.', ({ running }) => {
    const run = running.find((run) => run.began && isActive(run));
    return run ? activeFor(run) : 'is being started';
  }],
  paused: [(jobs) => jobs.filter(MATCHES.paused).sort((a, b) => (a.paused?.since < b.paused?.since ? 1 : -1)), 'Nothing is paused.',
    ({ paused }) => (paused ? pausedBy(paused) : '')],
  next: [(jobs) => jobs.filter((job) => !isPaused(job) && nextStart(job) !== undefined).sort(SORTS.next), 'Nothing is due.',
    ({ job }) => `in ${wholeSpan(left(model.jobs.get(job)) ?? 0)}`],
};
const GLANCE_LINES = 4;

function makeGlance(filterBy) {
  const boxes = Object.keys(GLANCE).map((kind) => {
    const count = h('span.glance-count');
    const parts = [count, h('span.glance-word', kind === 'next' ? 'until the next run' : kind)];
    const head = kind === 'next' ? h('div.glance-head', parts) : button(parts, () => filterBy(kind), { class: 'glance-head', 'aria-pressed': 'false' });
    const lines = Array.from({ length: GLANCE_LINES }, () => {
      const link = h('a'), detail = h('bdi.soft'), note = h('bdi.note');
      return { el: h('li', link, ' ', detail, note), link, detail, note };
    });
    const more = h('li.soft');
    return { kind, count, head, lines, more, el: h('section', { class: 'glance', 'data-state': kind, 'aria-label': kind }, h('h2', head), h('ul', lines.map((line) => line.el), more)) };
  });
  function show() {
    const jobs = allJobs();
    for (const { kind, count, lines, more, el } of boxes) {
      const [of, none, say] = GLANCE[kind];
      const found = of(jobs);
      put(count, kind !== 'next' ? String(found.length) : found.length ? wholeSpan(left(model.jobs.get(found[0].job)) ?? 0, 1) : '–');
      el.classList.toggle('none', found.length === 0);
      lines.forEach((line, index) => {
        const job = found[index];
        line.el.hidden = !job;
        if (!job) return;
        put(line.link, job.job);
        mark(line.link, 'href', jobAddress(job.job));
        put(line.detail, say(job));
        put(line.note, kind === 'paused' && job.paused?.note ? printable(job.paused.note) : '');
      });
      const rest = kind === 'next' ? 0 : found.length - GLANCE_LINES;
      more.hidden = found.length > 0 && rest <= 0;
      put(more, found.length ? `and ${rest} more` : none);
    }
  }
  return { el: h('div.board', boxes.map((box) => box.el)), boxes, show };
}

const NONE = [];
/** The table and the timeline show at most so many rows at first: 10 000 rows take the browser several seconds. */
const ROWS_MAX = 1000;

/** A row of the table. `show` is called when the status of the job has arrived, and `tick` each second. */
function makeRow(name, selection) {
  const box = h('input', { type: 'checkbox', 'aria-label': `Select ${name}`, onchange: () => selection(name, box.checked) });
  const about = h('bdi.sub');
  const sign = icon('armed');
  const word = h('span.word'), incident = incidentSign();
  const detail = h('bdi.sub');
  const bar = remainingBar('bar-small');
  const rest = h('span'), at = h('span.soft');
  const result = h('span'), when = h('span.sub');
  const recent = s('svg.recent', { viewBox: '0 0 118 22', width: 118, height: 22, role: 'img' });
  const active = h('span');
  const pause = actButton('pause', 'paused', 'Pause', name), resume = actButton('resume', 'resume', 'Resume', name);
  const start = actButton('start', 'armed', 'Start the timer of', name), skip = actButton('skip', 'skip', 'Skip the next run of', name);
  const kill = actButton('kill', 'kill', 'Stop the runs of', name);
  const cell = (kind, ...parts) => h('td', { role: 'cell', class: `c-${kind}` }, parts);
  const el = h('tr', { role: 'row', 'data-job': name },
    cell('select', box),
    cell('job', jobLink(name, 'name', name), about),
    cell('state', h('div.state', sign, word, incident), detail),
    cell('left', bar, h('div.bar-text', rest, at)),
    cell('last', h('div', result), when),
    cell('recent', recent),
    cell('active', active),
    cell('acts', kill, actButton('run', 'running', 'Run', name), pause, resume, start, skip));
  let shownRuns;
  const row = { el, box, name };
  row.tick = (entry) => {
    const { job } = entry;
    const remaining = left(entry);
    bar.show(entry);
    put(rest, remaining === undefined ? (isPaused(job) ? 'kept' : '') : wholeSpan(remaining));
    if (stateWord(job) === 'running') put(detail, GLANCE.running[2](job));
    if (job.last?.ended) put(when, ago(msOf(job.last.ended)));
    put(active, wholeSpan(job.active_usec + (['armed', 'retrying'].includes(job.state) ? sinceHeard(entry) : 0)));
  };
  row.show = (entry) => {
    const { job } = entry;
    const state = stateWord(job);
    el.classList.toggle('failed', hasFailed(job));
    mark(el, 'data-state', state);
    sign.show(state);
    incident.show(job);
    put(word, state);
    const plan = schedule(job);
    put(about, printable(job.description ? `${plan} · ${job.description}` : plan));
    mark(about, 'title', printable([exactSchedule(job) || plan, job.description].filter(Boolean).join('\n')));
    let text = '';
    if (job.paused) text = pausedBy(job.paused) + (job.paused.note ? ` · ${printable(job.paused.note)}` : '');
    else if (job.running.length && state !== 'running') text = waiting(job.running.at(-1)) ?? '';
    else if (job.skips) text = skipWords(job);
    if (state !== 'running') put(detail, text);
    mark(detail, 'title', text);
    const next = isPaused(job) ? undefined : nextStart(job);
    put(at, next === undefined ? '' : clock(next));
    put(result, job.last ? printable(shortEnding(job.last)) : 'never ran');
    mark(result, 'class', !job.last ? 'soft' : hasFailed(job) ? 'bad' : 'fine');
    mark(result, 'title', job.last ? printable(ending(job.last)) : '');
    if (!job.last?.ended) put(when, '');
    const isEnded = hasEnded(job);
    resume.hidden = !isPaused(job);
    pause.hidden = !resume.hidden || isEnded;
    start.hidden = !isEnded;
    skip.classList.toggle('away', isEnded);
    kill.classList.toggle('away', job.running.length === 0);
    const runs = model.recent?.get(name) ?? NONE;
    if (runs !== shownRuns) drawRecent(recent, shownRuns = runs);
    row.tick(entry);
  };
  return row;
}

/** The table of all jobs. Its elements are kept while another view is shown, so that coming back is fast. */
const jobsView = (() => {
  const rows = new Map();
  const selected = new Set();
  let root, body, search, stateFilter, sortBy, empty, selectAll, glance, count, more;
  let order = [], most = ROWS_MAX;

  function make() {
    search = searchField('Filter jobs', arrange);
    stateFilter = choice('State', arrange, [['', 'all states'], ...Object.keys(MATCHES).map((state) => [state])]);
    sortBy = choice('Order', arrange, [['', 'as configured'], ['name', 'by name'], ['state', 'failed first'], ['next', 'next first'], ['last', 'last run first'], ['active', 'most active time first']]);
    glance = makeGlance((kind) => { stateFilter.value = stateFilter.value === kind ? '' : kind; arrange(); });
    count = h('span.soft.count');
    selectAll = h('input', { type: 'checkbox', 'aria-label': 'Select all shown jobs', onchange: () => { for (const name of order) select(name, selectAll.checked); } });
    const head = (kind, text, key) => h('th', { role: 'columnheader', scope: 'col', class: `c-${kind}`, 'data-sort': key },
      key === undefined ? text : button(text, () => { sortBy.value = sortBy.value === key ? '' : key; arrange(); }));
    body = h('tbody', { role: 'rowgroup' });
    empty = h('p.empty', { hidden: true });
    root = h('div',
      h('h1.unseen', { tabindex: -1 }, 'Jobs'), glance.el,
      h('div.tools', { role: 'search' }, search, stateFilter, sortBy, count),
      h('table.table', { role: 'table', 'aria-label': 'Jobs' },
        h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, head('select', selectAll), head('job', 'Job', 'name'), head('state', 'State', 'state'),
          head('left', 'Time left', 'next'), head('last', 'Last run', 'last'), head('recent', 'Last 20'), head('active', 'Active time', 'active'),
          head('acts', h('span.unseen', 'Commands')))),
        body), more = button('', () => { most += ROWS_MAX; arrange(); }), empty);
  }

  function select(name, isOn) {
    if (isOn) selected.add(name); else selected.delete(name);
    const row = rows.get(name);
    if (row) { row.box.checked = isOn; row.el.classList.toggle('selected', isOn); }
    showBulk();
  }

  /** Shows the bar with commands for the selected jobs, or hides it if none is selected. */
  function showBulk() {
    const bar = $('bulk');
    for (const name of selected) if (!model.jobs.has(name)) selected.delete(name);
    bar.hidden = selected.size === 0 || !root.isConnected;
    flag('has-bulk', !bar.hidden);
    if (bar.hidden) return;
    const names = () => [...model.jobs.keys()].filter((name) => selected.has(name));
    if (!bar.firstChild) {
      const command = (text, act) => button(text, () => act(names()));
      const all = (verb, extra) => (names) => commandAll(verb, { jobs: names, ...extra }, names.length).catch(() => {});
      bar.append(h('b'), h('div.buttons', command('Run', all('run')), command('Pause…', askPause), command('Resume…', askResume),
        command('Skip next', all('skip-next', { count: 1 })), command('Retry', all('retry')),
        button('Clear', () => { for (const name of [...selected]) select(name, false); }, { class: 'plain' })));
    }
    put(bar.firstChild, `${selected.size} selected`);
  }

  /** Filters and sorts the rows. */
  function arrange() {
    const matches = matcher(search);
    const state = MATCHES[stateFilter.value];
    const sort = SORTS[sortBy.value];
    let found = allJobs();
    if (state) found = found.filter(state);
    if (search.value) {
      found = found.filter((job) => matches([job.job, job.description, schedule(job), exactSchedule(job), job.paused?.by, job.paused?.note].join(' ')));
    }
    if (sort) found.sort(sort);
    const names = found.slice(0, most).map((job) => job.job);
    for (const [name, row] of rows) if (!model.jobs.has(name)) { row.el.remove(); rows.delete(name); }
    if (names.length !== order.length || names.some((name, index) => name !== order[index] || !rows.has(name))) {
      order = names;
      const focused = document.activeElement;
      body.replaceChildren(...names.map(rowOf));
      // Moving an element takes the focus away from it: give it back.
      if (focused !== document.activeElement && body.contains(focused)) focused.focus({ preventScroll: true });
    }
    for (const box of glance.boxes) if (box.kind !== 'next') mark(box.head, 'aria-pressed', String(stateFilter.value === box.kind));
    for (const th of root.querySelectorAll('th[data-sort]')) {
      mark(th, 'aria-sort', th.dataset.sort !== sortBy.value ? 'none' : ['name', 'next'].includes(sortBy.value) ? 'ascending' : 'descending');
    }
    put(count, found.length === model.jobs.size ? plural(found.length, 'job') : `${found.length} of ${plural(model.jobs.size, 'job')}`);
    more.hidden = found.length <= most;
    put(more, `${ROWS_MAX} more of ${found.length} jobs`);
    empty.hidden = names.length > 0 || model.daemon === null;
    empty.replaceChildren(sentence(model.jobs.size ? 'No job matches.' : 'There are no jobs yet; `timerctl edit` opens the configuration.'));
    root.classList.toggle('none-yet', !model.jobs.size);
    // Before the first answer nothing is known, not even that no job failed.
    glance.el.hidden = model.daemon === null;
    selectAll.checked = names.length > 0 && names.every((name) => selected.has(name));
  }

  function rowOf(name) {
    let row = rows.get(name);
    if (!row) { rows.set(name, row = makeRow(name, select)); row.show(model.jobs.get(name)); }
    return row.el;
  }

  return {
    title: 'Jobs',
    mount(place) {
      if (!root) make();
      place.append(root);
      this.update(null);
    },
    unmount() { $('bulk').hidden = true; },
    update(names) {
      for (const name of names ?? rows.keys()) {
        const entry = model.jobs.get(name);
        if (entry) rows.get(name)?.show(entry);
      }
      arrange();
      glance.show();
      showBulk();
    },
    tick() {
      for (const name of order) rows.get(name).tick(model.jobs.get(name));
      glance.show();
      if (SORTS[sortBy.value] === SORTS.next) arrange();
    },
    toggle(name) { select(name, !selected.has(name)); },
  };
})();

// 7  View: timeline

/** The timeline gets about so many runs and skipped runs at most. */
const RUNS_MAX = 5000;

/** Gets the runs that ended since an instant, and the skipped ones, the latest first. */
async function listRuns(since) {
  const found = { runs: [], skipped: [], hasMore: false };
  let cursor = '';
  do {
    const answer = await ask(`/v1/runs?limit=1000&since=${iso(since)}&output=0&skipped=1${cursor}`);
    found.runs.push(...answer.runs);
    found.skipped.push(...answer.skipped_runs ?? []);
    cursor = answer.next_cursor === undefined ? '' : `&cursor=${encode(answer.next_cursor)}`;
    found.hasMore = cursor !== '';
  } while (cursor && found.runs.length + found.skipped.length < RUNS_MAX);
  return found;
}

function median(numbers) {
  if (!numbers.length) return undefined;
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

/** Gets the upcoming runs, the earliest first. */
const listUpcoming = (until, limit, more = '') => ask(`/v1/upcoming?until=${iso(until)}&limit=${limit}${more}`);

const HOUR = 36e5;
const RANGES = { '1h': HOUR, '3h': 3 * HOUR, '12h': 12 * HOUR, '24h': 24 * HOUR, '3d': 72 * HOUR, '7d': 168 * HOUR };
/** Possible distances between the times above the timeline, in minutes. */
const STEPS = [1, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880];
/** Which part of the timeline is in the past. */
const PAST_SHARE = 0.75;
/** The height of the row of one job, in pixels. */
const LANE = 26;
const emptyLane = () => ({ runs: [], skips: [], coming: [], pauses: [] });

const timelineView = (() => {
  let root, lanes, load, axis, nowLine, summary, table, tableBody, note, range = '3h', search;
  let data = null, width = 0, timer = 0, observer, asked = 0, frame = null, pending = 0, track;
  const laneOf = new Map();

  function make() {
    const buttons = Object.keys(RANGES).map((key) => 
      button(key.replace(/(\d+)/, `$1${NARROW}`), () => { location.hash = `#/timeline?range=${key}`; }, { 'data-range': key, 'aria-pressed': 'false' }));
    search = searchField('Filter jobs', draw);
    summary = h('p.soft', { id: 'timeline-summary' });
    axis = s('svg', { height: 24, 'aria-hidden': 'true' });
    load = s('svg', { height: 44, 'aria-hidden': 'true' });
    lanes = h('div.lanes');
    nowLine = h('div.now', { 'aria-hidden': 'true' });
    note = h('p.empty', { hidden: true });
    tableBody = h('tbody');
    table = h('details.as-table', { ontoggle: drawTable }, h('summary', 'The same as a table'),
      h('div.scroll', { tabindex: 0, role: 'region', 'aria-label': 'The timeline as a table' },
        h('table.plain-table', headRow('Job', 'What', 'When', 'How long', 'How it ended'), tableBody)));
    root = h('div',
      h('div.heading', h('h1', { tabindex: -1 }, 'Timeline'), h('div.segments', { role: 'group', 'aria-label': 'How long a time' }, buttons), search),
      summary,
      h('div.picture', { role: 'group', 'aria-label': 'Timeline of all jobs', 'aria-describedby': 'timeline-summary' },
        h('div.lane.lane-axis', h('span.lane-name'), track = h('div.track', axis)),
        h('div.lane.lane-load', h('span.lane-name.soft', 'runs at once'), h('div.track', load)),
        lanes, nowLine),
      note,
      h('ul.legend', { 'aria-label': 'Signs' }, [['s', 'succeeded'], ['f', 'failed'], ['i', 'stopped, replaced or skipped'], ['l', 'running'], ['next', 'upcoming, with its median duration'], ['skipped', 'skipped'], ['paused', 'paused']]
        .map(([kind, text]) => h('li', s('svg', { width: 22, height: 14, 'aria-hidden': 'true' }, legendSign(kind)), text))),
      table);
  }
  const legendSign = (kind) => s(`path.run-${kind}`, { d: kind === 'skipped' ? 'M11 1v12' : 'M1 2h20v10h-20z' });

  /** Gets all data for the chosen range. Later, `refresh` gets only what is new. */
  async function fetchAll() {
    const mine = ++asked;
    const since = serverNow() - RANGES[range] * PAST_SHARE;
    try {
      const found = await lookSince(since, since);
      if (mine !== asked) return;
      data = { since, ...found };
      index();
      draw();
    } catch (error) {
      if (mine === asked && !(error instanceof Refusal && error.status < 500)) setTimeout(() => mine === asked && fetchAll(), 2000);
      else if (mine === asked) { put(note, printable(error.message)); note.hidden = false; }
    }
  }

  /** Gets the runs and the pauses that ended since these instants, at most 1000 pauses, and the upcoming runs. */
  async function lookSince(since, pausesSince) {
    const [found, coming, { pauses }] = await Promise.all([listRuns(since), listComing(), ask(`/v1/pauses?limit=1000&since=${iso(pausesSince)}`)]);
    return { ...found, coming, pauses };
  }

  /** Gets the upcoming runs. If there are more than 1000: the first 1000, and for every other job its next run. */
  async function listComing() {
    const end = serverNow() + RANGES[range] * (1 - PAST_SHARE);
    const { upcoming, has_more: hasMore } = await listUpcoming(end, 1000);
    if (!hasMore) return upcoming;
    const last = upcoming.at(-1).at;
    return [...upcoming, ...(await listUpcoming(end, 1000, '&grouped=1')).upcoming.filter(({ at }) => at > last)];
  }

  /** Gets the runs that ended since the last answer, and the upcoming runs again. */
  async function refresh() {
    if (!data) return;
    const mine = asked;
    const last = data.runs[0]?.ended;
    try {
      const { coming, pauses, ...found } = await lookSince(last ? msOf(last) : data.since, data.since);
      if (mine !== asked || !data) return;
      Object.assign(data, { coming, pauses });
      const known = new Set(data.runs.slice(0, 2000).map((run) => run.id));
      data.runs = [...found.runs.filter((run) => !known.has(run.id)), ...data.runs].slice(0, 2 * RUNS_MAX);
      // Skipped runs in a row are one entry, whose count grows: the latest answer replaces the earlier ones.
      const skips = [...found.skipped, ...data.skipped].reverse().map((skip) => [`${skip.job} ${skip.first_scheduled}`, skip]);
      data.skipped = [...new Map(skips).values()].reverse();
      index();
      draw();
    } catch { /* The next event starts another attempt. */ }
  }

  /** Groups the data by job, so that drawing does not search through all of it. */
  function index() {
    data.of = new Map();
    const of = (job) => data.of.get(job) ?? data.of.set(job, emptyLane()).get(job);
    for (const run of data.runs) {
      if (!run.ended) continue;
      const end = msOf(run.ended);
      of(run.job).runs.push({ run, start: run.began ? msOf(run.began) : end, end, kind: verdict(run) });
    }
    for (const skip of data.skipped) of(skip.job).skips.push({ skip, start: msOf(skip.first_scheduled), end: msOf(skip.last_scheduled) });
    for (const { at, job, kind } of data.coming) of(job).coming.push({ start: msOf(at), isSkipped: kind === 'skipped', isRetry: kind === 'retry', isComing: true });
    for (const pause of data.pauses) of(pause.job).pauses.push({ pause, start: msOf(pause.since), end: msOf(pause.ended) });
    for (const [, lane] of data.of) lane.median = median(lane.runs.map(({ start, end }) => end - start));
  }

  /** Everything that the row of a job shows within the chosen range. */
  function laneData(job) {
    const { from, now } = frame;
    const known = data.of.get(job.job) ?? emptyLane();
    const active = job.running.filter((run) => run.began && !known.runs.some((past) => past.run.id === run.id))
      .map((run) => ({ run, start: msOf(run.began), end: now, kind: 'l' }));
    const coming = known.coming.filter(({ start }) => start >= now - 1000).map((run) => ({ ...run, end: run.start + (known.median ?? 0) }));
    const isShown = ({ end }) => end >= from;
    const pauses = known.pauses.filter(isShown);
    if (job.paused) pauses.push({ pause: job.paused, start: msOf(job.paused.since), end: job.paused.until ? msOf(job.paused.until) : Infinity });
    // The status of a job has its latest skip, also if the list of skips was cut before it.
    const skip = job.skipped && { skip: job.skipped, start: msOf(job.skipped.scheduled), end: msOf(job.skipped.at) };
    return { runs: [...known.runs, ...active].filter(isShown), skips: (skip && !known.skips.length ? [skip] : known.skips).filter(isShown), coming, pauses };
  }

  function draw() {
    if (!root.isConnected || !width || !data) return;
    const now = serverNow(), length = RANGES[range];
    const from = now - length * PAST_SHARE, to = now + length * (1 - PAST_SHARE);
    const x = (ms) => Math.max(-2, Math.min(width + 2, (ms - from) / length * width));
    frame = { from, to, now, x, length };
    drawAxis();
    const matches = matcher(search);
    const shown = [];
    const all = [];
    let failed = 0, done = 0, busy = 0;
    for (const job of allJobs()) {
      if (!matches(job.job)) continue;
      const lane = laneData(job);
      for (const run of lane.runs) { all.push(run); if (run.kind !== 'l') done += 1; if (run.kind === 'f') failed += 1; }
      if (lane.runs.length || lane.skips.length || lane.coming.length || lane.pauses.length) { busy += 1; if (busy <= ROWS_MAX) shown.push([job, lane]); }
    }
    const most = drawLoad(all);
    const names = new Set(shown.map(([job]) => job.job));
    for (const [name, row] of laneOf) if (!names.has(name)) { row.el.remove(); laneOf.delete(name); }
    shown.forEach(([job, lane], index) => {
      const row = laneOf.get(job.job) ?? makeLane(job.job);
      if (lanes.children[index] !== row.el) lanes.insertBefore(row.el, lanes.children[index] ?? null);
      drawLane(row, job, lane);
    });
    nowLine.style.setProperty('--x', `${x(now)}px`);
    note.hidden = shown.length > 0;
    put(note, search.value ? 'No job matches.' : 'Nothing ran, and nothing is due, within this time.');
    put(summary, `${plural(done, 'run')} from ${clock(Math.max(from, data.since))} until now, ${failed} failed; at most ${most} at once.`
      + (data.hasMore ? ` Only the latest ${data.runs.length} are shown.` : '') + (busy > ROWS_MAX ? ` Only ${ROWS_MAX} of ${busy} jobs are shown: filter them.` : ''));
    if (table.open) drawTable();
  }

  function drawAxis() {
    const { from, to, x, length } = frame;
    const step = 6e4 * (STEPS.find((step) => length / step / 6e4 * 64 <= width) ?? STEPS.at(-1));
    const offset = new Date(from).getTimezoneOffset() * 6e4;
    const parts = [];
    for (let at = Math.ceil((from - offset) / step) * step + offset; at < to; at += step) {
      const d = new Date(at);
      const text = step >= 864e5 || minuteOf(d) === '00:00' ? `${DAYS[d.getDay()]} ${d.getDate()}` : minuteOf(d);
      parts.push(s('path.grid', { d: `M${px(x(at))} 17v7` }));
      if (x(at) > 14 && x(at) < width - 14) parts.push(s('text', { x: px(x(at)), y: 12, 'text-anchor': 'middle' }, text));
    }
    axis.replaceChildren(...parts);
    axis.setAttribute('width', width);
  }

  /** Draws how many runs were active at once, and returns the maximum. */
  function drawLoad(runs) {
    const { from, x } = frame;
    const changes = runs.flatMap(({ start, end }) => [[Math.max(start, from), 1], [Math.max(end, start + 1), -1]]).sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    // For each column of pixels the maximum within it: short peaks stay visible.
    const columns = new Array(Math.ceil(width) + 1).fill(0);
    let count = 0, at = 0, most = 0;
    for (const [when, change] of changes) {
      const column = Math.max(0, Math.min(columns.length - 1, Math.floor(x(when))));
      for (; at < column; at += 1) columns[at] = Math.max(columns[at], count);
      count += change;
      columns[column] = Math.max(columns[column], count);
      most = Math.max(most, count);
    }
    const height = (value) => (40 - value / Math.max(1, most) * 34).toFixed(1);
    const end = Math.min(columns.length - 1, Math.floor(x(frame.now)));
    let path = `M0 40`, last = -1;
    for (let i = 0; i <= end; i += 1) if (columns[i] !== last) { path += `H${i}V${height(columns[i])}`; last = columns[i]; }
    load.setAttribute('width', width);
    load.replaceChildren(s('path.load', { d: `${path}H${end}V40z` }), s('path.grid', { d: `M0 40.5H${width}` }),
      ...(most ? [s('text', { x: 2, y: 10 }, `most: ${most}`)] : []));
    return most;
  }

  function makeLane(name) {
    const picture = s('svg', { height: LANE, role: 'img', onpointermove: (event) => point(row, event), onpointerleave: hideTip,
      onclick: (event) => { const hit = find(row, event); if (hit?.run?.ended) location.hash = jobAddress(name, hit.run.id); } });
    const el = h('div.lane', jobLink(name, 'lane-name', name), h('div.track', picture));
    const row = { el, picture, name };
    laneOf.set(name, row);
    return row;
  }

  function drawLane(row, job, lane) {
    const { x, now } = frame;
    const paths = { paused: '', s: '', i: '', f: '', l: '', next: '', skipped: '' };
    const tick = (at) => `M${px(x(at))} 4v${LANE - 8}`;
    for (const { start, end } of lane.pauses) paths.paused += box(x(start), 3, Math.max(1, x(end) - x(start)), LANE - 6);
    for (const { start, end, kind } of lane.runs) paths[kind] += box(x(start), 6, Math.max(2.5, x(end) - x(start)), LANE - 12);
    for (const { start, end } of lane.skips) paths.skipped += tick(start) + tick(end);
    let last = -9;
    for (const { start, end, isSkipped } of lane.coming) {
      const a = x(Math.max(start, now));
      if (a - last < 3.5) continue; // Frequent runs would cover each other and look like one long run.
      const length = Math.max(2.5, Math.min(x(end) - a, width - a));
      if (isSkipped) paths.skipped += tick(start);
      else paths.next += box(a, 6.5, length, LANE - 13);
      last = a + (isSkipped ? 0 : length - 2.5);
    }
    row.lane = lane;
    row.picture.setAttribute('width', width);
    const key = Object.values(paths).join('|');
    if (row.key !== key) {
      row.key = key;
      row.picture.replaceChildren(...drawn(paths));
    }
    const failed = lane.runs.filter((run) => run.kind === 'f').length;
    mark(row.picture, 'aria-label', `${job.job}: ${plural(lane.runs.length, 'run')}, ${failed} failed`
      + (lane.skips.length ? `, ${lane.skips.reduce((sum, { skip }) => sum + skip.skipped_count, 0)} skipped` : '') + (job.paused ? `, paused ${pausedBy(job.paused)}` : '')
      + (lane.coming.length && !lane.coming[0].isSkipped ? `, next at ${clock(lane.coming[0].start)}` : ''));
  }

  /** The item under the pointer, or within 6 pixels of it. Of two items at the same distance, a failed run is chosen. */
  function find(row, event) {
    const { x } = frame;
    const at = event.clientX - row.picture.getBoundingClientRect().left;
    let best = null, distance = 6;
    const { runs, skips, coming, pauses } = row.lane;
    for (const item of [...runs, ...skips, ...coming]) {
      const a = x(item.start), b = Math.max(x(item.end), a + 2.5);
      const away = at < a ? a - at : at > b ? at - b : 0;
      if (away < distance || (away === distance && item.kind === 'f')) { best = item; distance = away; }
    }
    return best ?? pauses.find(({ start, end }) => at >= x(start) && at <= x(end) + 1);
  }

  /** Says in words what an item is, when it began, how long it took, and how it ended. */
  function words(item) {
    const long = span((item.end - item.start) * 1e3);
    if (item.pause) {
      const { ended, ended_by: by, note } = item.pause;
      return ['pause', item.start, ended ? long : '', pausedBy(item.pause) + (ended && by ? `, ended by ${printable(by)}` : '') + (note ? `: ${printable(note)}` : '')];
    }
    if (item.skip) return [item.skip.skipped_count === 1 ? 'skipped' : `${item.skip.skipped_count} skipped`, item.start, '', SKIPPED[item.skip.reason] ?? item.skip.reason];
    if (item.isComing) return [item.isSkipped ? 'will be skipped' : item.isRetry ? 'upcoming retry' : 'upcoming', item.start, item.end > item.start ? `about ${long}` : '', ''];
    return [item.kind === 'l' ? 'running' : 'run', item.start, long, item.kind === 'l' ? '' : printable(ending(item.run))];
  }

  function point(row, event) {
    const item = find(row, event);
    if (!item) return hideTip();
    const [what, when, long, how] = words(item);
    showTip(event, [h('b', row.name), h('div', quote([what, clock(when)].join(' · '))), h('div', quote([long, how].filter(Boolean).join(' · ')))]);
  }

  /** Fills the table below the timeline with the latest 500 items. */
  function drawTable() {
    if (!table.open || !data) return;
    const rows = [];
    for (const [name, { lane }] of laneOf) for (const item of [...lane.runs, ...lane.skips, ...lane.coming.slice(0, 5), ...lane.pauses]) rows.push([name, item]);
    rows.sort((a, b) => b[1].start - a[1].start);
    tableBody.replaceChildren(...rows.slice(0, 500).map(([name, item]) => {
      const [what, when, long, how] = words(item);
      return h('tr', h('td', jobLink(name)), h('td', what), h('td', longTime(when)), h('td', long), h('td', quote(how)));
    }));
  }

  return {
    title: 'Timeline',
    mount(place, { query }) {
      if (!root) make();
      const wanted = query.get('range');
      if (RANGES[wanted]) range = wanted;
      for (const one of root.querySelectorAll('[data-range]')) mark(one, 'aria-pressed', String(one.dataset.range === range));
      place.append(root);
      observer = new ResizeObserver(() => { if (track.clientWidth !== width) { width = track.clientWidth; draw(); } });
      observer.observe(track);
      width = track.clientWidth;
      fetchAll();
    },
    unmount() { observer.disconnect(); hideTip(); asked += 1; clearTimeout(pending); pending = 0; data = null; laneOf.clear(); lanes.replaceChildren(); },
    update(names, events) {
      // At most one request a second, however many runs end.
      if (events === undefined ? names === null : events.some(({ event }) => ['run-ended', 'skipped', 'resumed', 'stopped'].includes(event))) {
        pending ||= setTimeout(() => { pending = 0; refresh(); }, 1000);
      }
      timer = 0;
    },
    tick() { if (--timer <= 0) { timer = Math.max(1, Math.min(30, Math.round(RANGES[range] / 1e3 / Math.max(1, width) / 2))); draw(); } },
  };
})();

function showTip(event, content) {
  const tip = $('tip');
  tip.replaceChildren(...content);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - box.width - 4))}px`;
  tip.style.top = `${event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 10 : event.clientY + 18}px`;
}

function hideTip() { $('tip').hidden = true; }

// 8  View: one job

const LINES_MAX = 2000;

function linesOf(output) {
  const lines = output.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

const outputLine = (text, isError) => h('div', { class: isError ? 'line err' : 'line' }, h('bdi', printable(text)));

/** Shows the output of a job while its runs write it. It polls only while a run is active. */
function makeOutput(name) {
  const lines = h('div.output', { role: 'log', 'aria-live': 'off', tabindex: 0, 'aria-label': `Output of ${name}` });
  const about = h('p.soft');
  const el = panel('Output', about, lines);
  let cursor = 0, since, shownRun, timer = 0, isFirst = true, isAsking = false, isOver = false;

  /** Appends lines. It scrolls down to them only if the reader was at the end. */
  function add(nodes) {
    const atEnd = lines.scrollHeight - lines.scrollTop - lines.clientHeight < 40;
    lines.append(...nodes);
    while (lines.childElementCount > LINES_MAX) lines.firstChild.remove();
    if (atEnd) lines.scrollTop = lines.scrollHeight;
  }
  /** Returns the heading for the first line of each run. */
  function begin(run) {
    if (shownRun === run) return [];
    shownRun = run;
    return [h('div.line.head', { title: run }, `run of ${clock(dueOf(run))}`)];
  }

  async function look() {
    clearTimeout(timer);
    if (isAsking || isOver) return;
    isAsking = true;
    let isRunning = false;
    try {
      const log = await ask(`${jobPath(name)}/log${cursor ? `?after=${cursor}` : ''}`);
      if (!isFirst && since !== log.since) {
        // The daemon was restarted, and counts the lines from 1 again: begin from the start.
        [cursor, since, isFirst, isAsking, shownRun] = [0, log.since, true, false, undefined];
        lines.replaceChildren();
        return look();
      }
      since = log.since;
      const nodes = [];
      if (log.lines.length) {
        for (const { run, text, is_error: isError } of log.lines) nodes.push(...begin(run), outputLine(text, isError));
      } else if (isFirst && log.past?.output) {
        nodes.push(...begin(log.past.id), ...linesOf(log.past.output).map((text) => outputLine(text)));
      }
      cursor = log.cursor;
      isFirst = false;
      // A line that is not ended, such as a prompt, is replaced until it is.
      for (const node of lines.querySelectorAll('.unfinished')) node.remove();
      for (const { run, text, is_error: isError } of log.unfinished ?? []) {
        const node = outputLine(text, isError);
        node.classList.add('unfinished');
        nodes.push(...begin(run), node);
      }
      if (nodes.length) add(nodes);
      isRunning = log.active.some((run) => run.began);
      put(about, isRunning ? 'Live: a run is active.' : lines.childElementCount ? 'The end of what its last run wrote.'
        : log.past ? 'Its last run wrote nothing, or none of it is kept.' : 'It has not run yet.');
      el.classList.toggle('live', isRunning);
    } catch (error) {
      if (!(error instanceof Refusal)) isRunning = true;
    }
    isAsking = false;
    if (isRunning && !isOver) timer = setTimeout(look, document.hidden ? 5000 : 700);
  }
  return { el, look, stop() { isOver = true; clearTimeout(timer); } };
}

/** A chart of how long the last runs took, with their median. */
function makeDurations(runs, name) {
  const timed = runs.filter((run) => run.began && run.ended).reverse();
  if (timed.length < 2) return null;
  const lengths = timed.map((run) => run.elapsed_usec ?? 0);
  const longest = Math.max(1, ...lengths);
  const middle = median(lengths);
  const paths = { s: '', f: '', i: '' };
  const width = 600, height = 120, step = width / Math.max(40, timed.length);
  timed.forEach((run, index) => {
    const tall = Math.max(2, lengths[index] / longest * (height - 6));
    paths[verdict(run)] += box(width - (timed.length - index) * step, height - tall, step * 0.72, tall);
  });
  const y = height - Math.max(2, middle / longest * (height - 6));
  const failed = timed.filter((run) => run.failed).length;
  const summary = `Last ${plural(timed.length, 'run')}: median ${span(middle)}, longest ${span(longest)}, ${failed} failed`;
  return panel('Durations', h('p.soft', summary),
    s('svg.durations', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `${summary}; ${name}` },
      drawn(paths),
      s('path.median', { d: `M0 ${px(y)}H${width}`, 'vector-effect': 'non-scaling-stroke' })));
}

const WEEKS = 26;

/** A calendar of 26 weeks. The color of each day shows how many runs there were, and whether some failed. */
function makeYear({ days, today, timezone }, name) {
  const byDay = new Map(days.map((day) => [day.day, day]));
  const last = new Date(`${today}T12:00:00Z`);
  const weekday = (last.getUTCDay() + 6) % 7; // 0 is Monday.
  const first = new Date(last.getTime() - ((WEEKS - 1) * 7 + weekday) * 864e5);
  const most = Math.max(1, ...days.map((day) => day.run_count));
  const squares = [], months = [];
  for (let index = 0; index <= (WEEKS - 1) * 7 + weekday; index += 1) {
    const date = new Date(first.getTime() + index * 864e5);
    const key = date.toISOString().slice(0, 10);
    const day = byDay.get(key);
    const week = Math.floor(index / 7);
    if (date.getUTCDate() <= 7 && index % 7 === 0 && week < WEEKS - 1) months.push(s('text', { x: week * 14, y: 9 }, MONTHS[date.getUTCMonth()]));
    const kind = !day ? 'none' : day.failed_count ? (day.failed_count * 2 > day.run_count ? 'bad' : 'some') : !day.run_count ? 'skip' : `ok${Math.ceil(day.run_count / most * 4)}`;
    const text = `${DAYS[date.getUTCDay()]} ${key}: ${day ? [plural(day.run_count, 'run'), day.failed_count ? `${day.failed_count} failed` : '', day.skipped_count ? `${day.skipped_count} skipped` : ''].filter(Boolean).join(', ') : 'no runs'}`;
    squares.push(s('rect', { class: `day-${kind}`, x: week * 14, y: 14 + (index % 7) * 14, width: 11, height: 11, rx: 2 }, s('title', text)));
  }
  const sum = (key) => days.reduce((all, day) => all + (day[key] ?? 0), 0);
  const bad = days.filter((day) => day.failed_count);
  const summary = `${plural(sum('run_count'), 'run')} in 26 weeks, ${bad.length ? `${sum('failed_count')} failed on ${plural(bad.length, 'day')}` : 'none failed'}, ${sum('skipped_count')} skipped`;
  return panel('26 weeks', h('p.soft', summary, timezone ? ` (${printable(timezone)})` : ''),
    s('svg.year', { viewBox: `0 0 ${WEEKS * 14} 112`, role: 'img', 'aria-label': `Calendar of ${name}: ${summary}` }, months, squares),
    bad.length ? h('details', h('summary', 'Days with failed runs'), h('ul', bad.slice(-20).reverse().map((day) => h('li', `${day.day}: ${day.failed_count} of ${plural(day.run_count, 'run')}`)))) : null);
}

const nameOf = (id) => id.slice(0, id.indexOf(':'));
const runLink = (id, job = nameOf(id)) => h('a', { href: jobAddress(job, id) }, quote(id));

/** The details of a run, shown below its row: what it used, which runs it caused, and the end of its output. */
function runDetails({ run_status: run, caused = [] }) {
  const facts = [
    ['Run', run.id], ['Machine', run.machine],
    ['Cause', run.cause_run ? ['after ', runLink(run.cause_run), ` (${printable(run.cause_result)})`] : cause(run)],
    ['Caused', caused.length && h('ul', caused.map((other) => h('li', runLink(other.id, other.job),
      `, ${other.ended ? printable(ending(other)) : waiting(other) ?? 'is running'}`)))], ['Planned', run.scheduled && longTime(msOf(run.scheduled))],
    ['Result', ending(run)],
    ['CPU', run.user_usec + run.system_usec > 0 && `${span(run.user_usec)} user, ${span(run.system_usec)} system`],
    ['Peak memory', run.peak_bytes && `${(run.peak_bytes / 2 ** 20).toFixed(1)}${NARROW}MiB`],
  ];
  const output = linesOf(run.output ?? '');
  return [h('dl.facts', factList(facts)),
    output.length ? h('div.output', { tabindex: 0, role: 'region', 'aria-label': 'Its output' }, output.map((text) => outputLine(text))) : h('p.soft', run.machine ? `Its output is on ${printable(run.machine)}.` : 'It wrote nothing, or none of it is kept.')];
}

/** A list of terms and values. Terms without a value are left out. */
const factList = (facts) => facts.filter(([, value]) => value).flatMap(([term, value, kind]) => [h('dt', term), h('dd', { class: kind }, typeof value === 'string' ? quote(value) : value)]);

const headRow = (...texts) => h('thead', h('tr', texts.map((text) => h('th', { scope: 'col' }, text))));

/** The table of the ended runs of a job, the latest first. Each row can be opened to show its details. */
function makeHistory(name, openRun) {
  const body = h('tbody');
  const more = button('Older runs', () => older(), { hidden: true });
  const soft = h('p.soft', { hidden: true }, 'No run of it has ended yet.');
  let table;
  const el = panel('Runs', soft,
    table = h('table.plain-table.history', { hidden: true }, headRow('When', 'How it ended', 'Took', 'Why it ran'), body), more);
  const runs = new Set();
  let next;

  function makeRow(run) {
    const place = h('td', { colspan: 4 });
    const below = h('tr.below', { hidden: true }, place);
    const opener = button(timeElement(run.began ?? run.scheduled), () => open(), { class: 'open', 'aria-expanded': 'false' });
    const row = h('tr', h('td', opener),
      h('td', { class: run.failed ? 'bad' : run.succeeded ? 'fine' : 'soft' }, icon(run.failed ? 'failed' : run.succeeded ? 'finished' : 'stopped'), ' ', quote(ending(run))),
      h('td', run.elapsed_usec ? span(run.elapsed_usec) : '–'), h('td.soft', quote(run.cause ? cause(run) : '')));
    const open = async () => {
      below.hidden = !below.hidden;
      opener.setAttribute('aria-expanded', String(!below.hidden));
      if (below.hidden || place.firstChild) return;
      try {
        const answer = await ask(`/v1/runs/${encode(run.id)}`);
        place.replaceChildren(...runDetails(answer));
      } catch (error) { place.replaceChildren(h('p.soft', quote(error.message))); }
    };
    row.ended = run.ended;
    return { row, below, open };
  }

  /** Adds the runs that are not in the table yet, each at its place. */
  function show(list) {
    for (const run of list) {
      if (runs.has(run.id)) continue;
      const made = makeRow(run);
      runs.add(run.id);
      const after = [...body.children].find((row) => row.ended < run.ended);
      if (after) after.before(made.row, made.below);
      else body.append(made.row, made.below);
      if (run.id === openRun) { openRun = undefined; made.open(); setTimeout(() => made.row.scrollIntoView({ block: 'center' })); }
    }
    soft.hidden = runs.size > 0;
    table.hidden = runs.size === 0;
  }
  async function older() {
    try {
      const answer = await ask(`${runsPath(name)}&limit=20&cursor=${encode(next)}`);
      next = answer.next_cursor;
      show(answer.runs);
      more.hidden = next === undefined;
    } catch (error) { toast(error.message, true); }
  }
  async function look(isFirst) {
    const answer = await ask(`${runsPath(name)}&limit=20`);
    if (isFirst) { next = answer.next_cursor; more.hidden = next === undefined; }
    show(answer.runs);
  }
  return { el, look };
}

const jobView = (() => {
  let name, parts, output, history, timers, isGone;

  function make(place, run) {
    const sign = icon('armed');
    parts = {
      sign, word: h('span.word'), failed: h('bdi.bad'), incident: incidentSign(), description: h('bdi'), plan: h('bdi.soft'),
      bar: remainingBar('bar-big'), rest: h('div.rest'), restWords: h('bdi'), note: h('bdi.note'), passed: h('span'), at: h('span'),
      why: h('ul.why'), told: h('ul'), slots: h('ul'), acts: h('div.buttons'), facts: h('dl.facts'), next: h('section.panel', { hidden: true }),
      charts: h('div'), main: h('div.columns'), hero: h('section.hero', { 'aria-label': 'Remaining time' }),
      gone: h('p.empty', { hidden: true }),
    };
    output = makeOutput(name);
    history = makeHistory(name, run);
    parts.hero.append(h('div.hero-top', parts.rest, h('div.rest-words', parts.restWords, parts.note)), parts.bar, h('div.bar-text', parts.passed, parts.at));
    parts.main.append(h('div', panel('Why', parts.why, h('p', h('a', { class: 'soft', href: `#/events?job=${encode(name)}` }, 'Its events'))), parts.slotsPanel = panel('Slots', parts.slots), parts.toldPanel = panel('Notifications', parts.told), output.el, history.el),
      h('div', parts.next, parts.charts, panel('Definition', parts.facts)));
    place.append(h('div.job',
      h('p.path', h('a', { href: '#/' }, 'Jobs'), ' / '),
      h('div.heading', h('h1', { tabindex: -1 }, name), h('div.state', sign, parts.word, parts.incident), parts.failed),
      h('p.lead', parts.description, parts.plan), parts.hero, parts.acts, parts.gone, parts.main));
  }

  function show() {
    const entry = model.jobs.get(name);
    isGone = !entry && model.daemon !== null;
    parts.gone.hidden = !isGone;
    if (isGone) put(parts.gone, `There is no job ${name}. It may have been removed from the configuration.`);
    for (const part of [parts.hero, parts.acts, parts.main]) part.hidden = !entry;
    if (!entry) return;
    const { job } = entry;
    const state = stateWord(job);
    parts.sign.show(state);
    parts.incident.show(job);
    mark(parts.word.parentNode, 'data-state', state);
    put(parts.word, state);
    put(parts.failed, hasFailed(job) ? `last run: ${printable(shortEnding(job.last))}` : '');
    const plan = schedule(job);
    put(parts.description, printable(job.description ?? ''));
    put(parts.plan, printable(job.description ? ` — ${plan}` : plan));
    showActs(job);
    showFacts(job);
    const next = `${job.next} ${job.next_attempt} ${job.skips}`;
    if (parts.nextOf !== next) { parts.nextOf = next; later('next', 100, lookNext); }
    tick();
  }

  function showActs(job) {
    const hasRuns = job.running.length > 0;
    const ended = hasEnded(job);
    const wanted = [
      ['run', 'Run now', 'running'], isPaused(job) ? ['resume', 'Resume', 'resume', 'main'] : ['pause', 'Pause…', 'paused'], isPaused(job) && ['pause', 'Change the pause…', 'paused'],
      !ended && ['skip', 'Skip next', 'skip'], job.skips && ['unskip', 'Do not skip'], hasFailed(job) && !hasRuns && ['retry', 'Retry', 'retrying'],
      hasRuns && ['kill', 'Stop its runs…', 'kill'], ended ? ['start', 'Start the timer', 'armed'] : ['stop', 'Stop the timer…', 'stopped'],
    ].filter(Boolean);
    const key = wanted.map(([verb]) => verb).join();
    if (parts.acts.key === key) return;
    const focused = parts.acts.contains(document.activeElement) ? document.activeElement.dataset.act : undefined;
    parts.acts.key = key;
    parts.acts.replaceChildren(...wanted.map(([verb, text, sign, kind]) => button([sign ? icon(sign) : null, text], () => act(verb, name), { class: kind, 'data-act': verb })));
    // The buttons were replaced. Give the focus to the same button, or to the opposite one: after Pause it is Resume.
    if (focused) (parts.acts.querySelector(`[data-act=${focused}]`) ?? parts.acts.querySelector('[data-act=pause],[data-act=resume]'))?.focus();
  }

  function showFacts(job) {
    const policy = Object.entries(job.policy ?? {}).map(([key, value]) => {
      const isSpan = key.endsWith('_usec');
      if (key === 'slot_uses') return `slots ${value.map(({ slot, weight }) => (weight > 1 ? `${slot} (${weight})` : slot)).join(' ')}`;
      return `${key.replace('_usec', '').replaceAll('_', '-')} ${isSpan ? span(value) : value}`;
    }).join(', ');
    const facts = [
      ['Command', job.shell ?? job.command?.map(shellWord).join(' '), 'code'], ['Schedule', exactSchedule(job) || schedule(job)],
      ['Follows', !job.on_demand && job.follows && followWords(job.follows)],
      ['Condition', job.condition && conditionWords(job.condition)],
      ['Window', job.window && windowWords(job.window)],
      ['Not before', job.not_before && clock(msOf(job.not_before))], ['Not after', job.not_after && clock(msOf(job.not_after))],
      ['Followers', job.followers && job.followers.map((other, index) => [index ? ', ' : '', jobLink(other)])],
      ['Counts', job.count && `${job.count} time`], ['Policy', policy], ['Runs due', String(job.firings)], ['Active time', wholeSpan(job.active_usec)],
      ['Not counted', job.uncertain_usec && `up to ${span(job.uncertain_usec)} (crash)`],
      ['Skipped', job.skipped && `${clock(msOf(job.skipped.scheduled))}: ${SKIPPED[job.skipped.reason] ?? job.skipped.reason}`],
      ['One-off', job.one_off && 'it runs once'],
    ];
    const key = JSON.stringify([facts, job.followers]);
    if (parts.facts.key === key) return;
    parts.facts.key = key;
    parts.facts.replaceChildren(...factList(facts));
  }

  async function lookNext() {
    const mine = parts;
    const { job } = model.jobs.get(name);
    const { upcoming: runs } = await listUpcoming(msOf('2199-12-31'), 10, `&job=${encode(name)}`);
    if (mine !== parts) return;
    parts.next.hidden = runs.length === 0;
    parts.next.replaceChildren(h('h2', runs.length > 1 ? `Next ${runs.length}` : 'Next'), h('ol.next', runs.map(({ at, kind }) => h('li', timeElement(at),
      kind === 'skipped' ? h('span.hold', ' will be skipped') : kind === 'retry' ? h('span.soft', ' retry') : null))),
      ...(job.paused?.until ? [h('p.soft', 'If the pause ends then.')] : []));
  }

  function tick() {
    const entry = model.jobs.get(name);
    if (!entry) return;
    const { job } = entry;
    const remaining = left(entry);
    parts.bar.show(entry);
    parts.hero.dataset.kind = parts.bar.dataset.kind;
    const start = isPaused(job) ? undefined : nextStart(job);
    put(parts.rest, remaining !== undefined ? wholeSpan(remaining, 3) : isPaused(job) ? 'paused' : '–');
    let text = '';
    if (isPaused(job)) {
      const pause = job.paused;
      text = `${remaining === undefined ? '' : 'left; '}paused ${pause ? `by ${printable(pause.by)} since ${clock(msOf(pause.since))}` : ''}`
        + (pause?.until ? `, until ${clock(msOf(pause.until))}` : ', until it is resumed') + (pause?.with_run ? ', with its runs' : '');
    } else if (start !== undefined) text = attemptFirst(job) ? 'until the next attempt' : 'until the next run';
    else text = { stopped: 'stopped: its timer does not run', finished: 'no more runs are scheduled' }[job.state] ?? 'no run is scheduled';
    const note = job.paused?.note ?? '';
    put(parts.restWords, printable(text));
    put(parts.note, note && `“${printable(note)}”`);
    const passed = job.elapsed_usec + (isPaused(job) || job.remaining_usec === undefined ? 0 : sinceHeard(entry));
    put(parts.passed, remaining === undefined || attemptFirst(job) ? '' : `${wholeSpan(passed)} elapsed`);
    put(parts.at, start === undefined ? '' : longTime(start));
  }

  /** Shows who holds the slots of the job, and who waits for them. */
  async function lookSlots() {
    const uses = jobOf(name)?.policy?.slot_uses;
    parts.slotsPanel.hidden = !uses;
    if (!uses) return;
    const mine = parts;
    const { slots } = await ask('/v1/slots');
    if (mine !== parts) return;
    const own = slots.filter(({ slot }) => uses.some((use) => use.slot === slot));
    parts.slots.replaceChildren(...own.map(({ slot, max, taken, holders, waiting: runs }) => h('li',
      `${slot}: ${taken} of ${max} taken`,
      holders.length ? [' by ', ...holders.flatMap(({ job, began }, index) => [index ? ', ' : '', jobLink(job), ...(began ? [' since ', timeElement(began)] : [])])] : null,
      runs.length ? ['; waiting: ', ...runs.slice(0, 10).flatMap((run, index) => [index ? ', ' : '', jobLink(nameOf(run))]), runs.length > 10 ? ` and ${runs.length - 10} more` : null] : null)));
  }

  /** Calls `look` after a delay in milliseconds, only once for all events until then. */
  function later(key, delay, look) {
    timers[key] ||= setTimeout(() => { timers[key] = 0; look().catch(() => {}); }, delay);
  }
  async function lookWhy() {
    const mine = name;
    const why = await ask(`${jobPath(name)}/why`);
    if (mine === name && parts) parts.why.replaceChildren(...why.reasons.map(({ code, text }) => {
      // Remaining times in the text would soon be wrong: they are removed, because the countdown above shows the time.
      const lasting = text.replace(/ \((?:in )?(?:[\d.]+[a-z]+ ?)+(?:ago)?\)/g, '');
      return h('li', { 'data-code': code }, sentence(code === 'next-run' ? lasting.replace(/, after .*$/s, '.') : lasting));
    }));
  }
  /** Shows the latest messages about the job. While one of them is not sent yet, it asks again. */
  async function lookTold() {
    const mine = parts;
    const { messages, pending_count: pending } = await ask(`/v1/notifications?limit=5&job=${encode(name)}`);
    if (mine !== parts) return;
    parts.toldPanel.hidden = !messages.length;
    parts.told.replaceChildren(...messages.map(({ created, notifications, notifier, state, sent, next, error }) => h('li', { class: state === 'sent' ? '' : 'bad' },
      `${notifier}: ${notifications.map(({ kind }) => kind).join(', ')}, `,
      state === 'sent' ? ['sent ', timeElement(sent)] : state === 'dead' ? ['not sent; of ', timeElement(created)] : ['waits for its next attempt ', next && timeElement(next)],
      error ? [': ', quote(error)] : null)));
    if (pending || messages.some(({ state }) => state === 'waiting')) later('told', 5000, lookTold);
  }
  /** Draws the charts again. For a job with very many runs this takes longer, and is done less often. */
  async function lookCharts() {
    const mine = parts, from = steady();
    const [runs, days] = await Promise.all([
      ask(`${runsPath(name)}&limit=200`).then((answer) => answer.runs),
      ask(`${jobPath(name)}/days?count=${WEEKS * 7}`),
    ]);
    if (mine !== parts) return;
    parts.chartsDelay = Math.max(5000, 20 * (steady() - from));
    parts.charts.replaceChildren(...[makeDurations(runs, name), days && makeYear(days, name)].filter(Boolean));
  }

  return {
    get title() { return name; },
    mount(place, { rest }) {
      name = rest[0];
      timers = {};
      make(place, rest[1]);
      parts.last = jobOf(name)?.last?.id;
      show();
      lookWhy().catch(() => {});
      lookTold().catch(() => {});
      lookSlots().catch(() => {});
      history.look(true).catch(() => {});
      lookCharts().catch(() => {});
      output.look();
    },
    unmount() {
      for (const key in timers) clearTimeout(timers[key]);
      output.stop();
      parts = null;
    },
    update(names) {
      show();
      if (names !== null && !names.has(name)) return;
      later('why', 200, lookWhy);
      later('told', 500, lookTold);
      later('slots', 300, lookSlots);
      later('output', 100, async () => output.look());
      const job = jobOf(name);
      if (parts.last !== job?.last?.id) {
        later('history', 300, () => history.look(false));
        later('charts', parts.chartsDelay ?? 5000, lookCharts);
        parts.last = job?.last?.id;
      }
    },
    tick,
    get job() { return isGone ? undefined : name; },
  };
})();

function shellWord(word) {
  return /^[^\s"'\\$`*?;&|<>()\x00-\x1f]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

// 9  View: events

const BAD_LEVELS = ['warning', 'error', 'critical'];

const eventsView = (() => {
  const STEP = 500;
  let root, listing, search, level, note, more, shown = 0, most = STEP;

  function make() {
    search = searchField('Filter events', redraw);
    level = choice('Level', redraw, [['', 'all levels'], ['bad', 'warnings and errors']]);
    listing = h('ol.events', { reversed: true });
    note = h('p.empty', { hidden: true });
    more = button('Older events', () => { most += STEP; redraw(); }, { hidden: true });
    root = h('div', h('div.heading', h('h1', { tabindex: -1 }, 'Events'), level, search), note, listing, more);
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
    note.hidden = listing.childElementCount > 0;
    put(note, !feed.isLive ? 'This tab has no event stream; trying again.' : search.value || level.value ? 'No event matches.' : 'Nothing has happened yet.');
  }

  return {
    title: 'Events',
    mount(place, { query }) {
      if (!root) make();
      if (query.has('job')) search.value = query.get('job');
      most = STEP;
      place.append(root);
      if (!feed.wantsPast) feed.openPast();
      redraw();
    },
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

// 10  Keyboard, addresses, start

const jobAddress = (name, run) => `#/job/${encode(name)}${run ? `/${encode(run)}` : ''}`;
const jobLink = (name, kind, title) => h('a', { class: kind, title, href: jobAddress(name) }, name);

const VIEWS = { '': jobsView, timeline: timelineView, job: jobView, events: eventsView };
let view = null;

/** Shows the view that the address names. */
function route() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  let [kind, ...rest] = path.split('/');
  try { rest = rest.map(decodeURIComponent); } catch { rest = []; }
  if (kind === 'job' && !rest[0]) kind = '';
  const next = VIEWS[kind] ?? jobsView;
  const isFirst = view === null;
  view?.unmount?.();
  $('main').replaceChildren();
  view = next;
  view.mount($('main'), { rest, query: new URLSearchParams(query) });
  for (const link of document.querySelectorAll('nav a')) {
    if (VIEWS[link.dataset.view === 'jobs' ? '' : link.dataset.view] === view) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  document.body.dataset.view = kind;
  showTitle();
  if (!isFirst) {
    scrollTo(0, 0);
    $('main').querySelector('h1')?.focus({ preventScroll: true });
  }
}

/**
 * Updates everything that is shown.
 *
 * @param names the jobs that changed; null if any of them may have changed
 * @param events the events that arrived; undefined if the data is from a list
 */
function changed(names, events) {
  showLink(false);
  view?.update(names, events);
  showTitle();
  showAbout();
}

/** The title says how many jobs failed, so that it is seen while the tab is in the background. */
function showTitle() {
  const failed = allJobs().filter(hasFailed).length;
  const title = `${failed ? `${failed} failed · ` : ''}${view?.title ?? 'Jobs'} · timerd`;
  if (document.title !== title) document.title = title;
}

function showAbout() {
  const { daemon, session } = model;
  if (!daemon) return;
  put($('about'), [`timerd ${daemon.version}`, `started ${clock(msOf(daemon.since))}`, printable(daemon.config),
    session?.user && `you are ${printable(session.user)}${session.may_change === false ? ', who may only look' : ''}`].filter(Boolean).join(' · '));
  $('logout').hidden = !session?.until;
  put($('zone'), `Times are in ${browserZone}${Math.abs(model.skew) > 5000 ? ' by the clock of the server' : ''}`);
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

const KEYS = {
  'j k': 'next, previous row', Enter: 'open it', '/': 'filter', x: 'select', p: 'pause…', r: 'resume', R: 'run now', s: 'skip the next run',
  K: 'stop its runs…', '1 2 3': 'jobs, timeline, events', Esc: 'back', '?': 'this list',
};
const SIGNS = {
  armed: 'waits for its time', running: 'a run is active', paused: 'its time is kept', retrying: 'a retry waits for its delay',
  stopped: 'its timer does not run', finished: 'no more runs are scheduled', failed: 'its last run failed', incident: 'a notification was sent',
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
  return document.activeElement?.closest?.('[data-job]')?.dataset.job ?? (view === jobView ? jobView.job : undefined);
}

let keysAreOn = true;
try { keysAreOn = localStorage.getItem('timerd-keys') !== 'off'; } catch { /* The user may have forbidden storage: the keys are on. */ }

function pressKey(event) {
  const target = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
  const isText = target instanceof HTMLInputElement && !['checkbox', 'radio'].includes(target.type) || target instanceof HTMLSelectElement;
  if (event.key === 'Escape') {
    if (isText && target.value && target.type === 'search') { target.value = ''; target.dispatchEvent(new Event('input')); } else if (isText) target.blur();
    else if (view === jobView) location.hash = '#/';
    return;
  }
  if (isText || !keysAreOn) return;
  const job = jobAtHand();
  const command = (verb) => () => (job ? act(verb, job) : toast('Choose a job first: j and k.'));
  const go = (address) => () => { location.hash = address; };
  const does = {
    j: () => step(1), k: () => step(-1), '/': () => $('main').querySelector('[type=search]')?.focus(), '?': openHelp,
    x: () => view === jobsView && job && jobsView.toggle(job), 1: go('#/'), 2: go('#/timeline'), 3: go('#/events'),
    p: command('pause'), r: command('resume'), R: command('run'), s: command('skip'), K: command('kill'),
  }[event.key];
  if (!does) return;
  does();
  event.preventDefault();
}

function start() {
  $('help-keys').append(...Object.entries(KEYS).flatMap(([keys, text]) => [h('dt', keys.split(' ').map((key) => h('kbd', key))), h('dd', text)]));
  $('help-signs').append(...Object.entries(SIGNS).flatMap(([sign, text]) => [h('dt', { 'data-state': sign }, icon(sign)), h('dd', `${sign}: ${text}`)]));
  $('help-button').onclick = openHelp;
  $('logout').onclick = () => ask('/v1/session/logout', {}).then(() => location.reload(), (error) => toast(error.message, true));
  $('keys-on').checked = keysAreOn;
  $('keys-on').onchange = (event) => {
    keysAreOn = event.target.checked;
    try { localStorage.setItem('timerd-keys', keysAreOn ? 'on' : 'off'); } catch { /* Without storage it counts until the page is closed. */ }
  };
  document.addEventListener('keydown', pressKey);
  addEventListener('hashchange', route);
  document.addEventListener('visibilitychange', () => {
    // While the tab was hidden, its machine may have been suspended, and the countdowns may be wrong.
    if (!document.hidden) feed.relist();
  });
  setInterval(() => { if (!document.hidden && model.frozenAt === null) { view?.tick?.(); feed.renew(); } }, 1000);
  feed.open();
  feed.poll();
}

start();
