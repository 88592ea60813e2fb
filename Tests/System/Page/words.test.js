// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
//
// The functions of the page that need no document. Tests/System/Page/run starts it with `node --test`, beside a copy of
// the modules.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parse, withQuery } from './script/address.js';
import { lastState, plainLine, styledParts } from './script/ansi.js';
import { amountWords, firstLines, withNotes } from './script/loglines.js';
import { expressionOf, patternsOf, periodOf, spanFrom } from './script/period.js';
import { index, itemAt, laneData, limitEach } from './script/rows.js';
import { causeOf, stateWord, verdict, waiting } from './script/jobwords.js';
import { calendarWords, conditionWords, cronWords, followWords, schedule } from './script/schedule.js';
import { linesOf, matcher, median, plural, printable, shellWord, span, wholeSpan } from './script/text.js';
import { attemptOf, clock, dueOf, serverClock } from './script/time.js';

/** A text with ordinary spaces instead of those that do not break. */
const plain = (text) => text.replaceAll('\u00a0', ' ');

function table(say, cases) {
  for (const [input, output] of cases) assert.equal(plain(String(say(input))), output, String(input));
}

test('a time has at most two units, and no fraction that flickers', () => {
  table(span, [[0, '0 s'], [-5, '0 s'], [1, '< 1 ms'], [870_000, '870 ms'], [4_100_000, '4.1 s'], [44e6, '44 s'],
    [14_100e6, '3 h 55 min'], [3 * 86_400e6 + 5e6, '3 d']]);
  table(wholeSpan, [[4_900_000, '4 s'], [61e6, '1 min 1 s'], [86_400e6, '1 d']]);
  assert.equal(plain(wholeSpan(90_061e6, 1)), '1 d');
});

test('text from outside has no control characters and keeps its direction', () => {
  table(printable, [['a\x1b[31mb', 'a\\x1b[31mb'], ['\u202egpj.exe', '\\x202egpj.exe'], ['tab\tstays', 'tab\tstays'], [7, '7']]);
});

test('a filter wants each of its words', () => {
  const matches = matcher({ value: ' Disk  swap ' });
  assert.ok(matches('SWAP the disk'));
  assert.ok(!matches('disk'));
  assert.ok(matcher({ value: '' })('anything'));
});

test('small words', () => {
  assert.equal(plural(1, 'run'), '1 run');
  assert.equal(plural(0, 'run'), '0 runs');
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([]), undefined);
  assert.deepEqual(linesOf('a\nb\n'), ['a', 'b']);
  assert.deepEqual(linesOf('a\n\nb'), ['a', '', 'b']);
  table(shellWord, [['/bin/true', '/bin/true'], ["it's", "'it'\\''s'"], ['a b', "'a b'"]]);
});

test('the identity of a run says when it was due', () => {
  assert.equal(dueOf('backup:20261121T055945.910612Z:1'), Date.parse('2026-11-21T05:59:45.910Z'));
  assert.ok(Number.isNaN(dueOf('no identity')));
  assert.equal(attemptOf('backup:20261121T055945.910612Z:3'), 3);
  assert.equal(attemptOf('no identity'), 1);
});

test('a date is as short as it can be, by the clock of the server', () => {
  const at = (text) => clock(Date.parse(text));
  serverClock.skew = Date.parse('2026-11-23T12:00:00Z') - Date.now();
  assert.match(at('2026-11-23T13:05:10Z'), /^14:05:10$/);
  assert.equal(at('2026-11-23T13:05:00Z'), '14:05');
  assert.equal(at('2026-11-20T08:00:00Z'), 'Fri 09:00');
  assert.equal(at('2026-12-24T08:00:00Z'), '24 Dec 09:00');
  assert.equal(at('2027-12-24T08:00:00Z'), '24 Dec 2027');
  serverClock.skew = 0;
});

test('simple schedules are said in words, others as they are', () => {
  table(calendarWords, [['Mon..Fri *-*-* 02:30:00', 'Mon–Fri at 02:30'], ['*-*-* *:00/5:00', 'every 5 min'], ['*-*-* *:*:00', 'every minute'],
    ['*-*-* 00/6:00:00', 'every 6 h'], ['*-*-01 04:00:00', 'day 1 of each month at 04:00'], ['*-*-* 02:30:30', '*-*-* 02:30:30'], ['what', 'what']]);
  table(cronWords, [['30 2 * * 1-5', 'Mon–Fri at 02:30'], ['*/5 * * * *', 'every 5 min'], ['0 * * * *', 'every hour'], ['1 2 3 4 5', '1 2 3 4 5'], ['', '']]);
  assert.equal(followWords([{ job: 'a', ends: 'success', delay_usec: 60e6 }]).replaceAll('\u00a0', ' '), 'after each run of a that succeeds, and 1 min more');
  assert.equal(followWords([{ job: 'a', ends: 'end' }, { job: 'b', ends: 'skip' }]), 'after one of each: a run of a that ends; a run of b that is skipped');
  assert.equal(schedule({ on_demand: true }), 'on demand');
  assert.equal(schedule({ on_boot_usec: 0 }), 'at each boot');
  assert.match(conditionWords({ checks: ['mounted /mnt'] }), /^mounted \/mnt; otherwise a run is skipped$/);
});

test('an address is read as it was written', () => {
  const { kind, rest, query } = parse('#/job/a%20b/x%3A1?q=%3F&z=1?2');
  assert.deepEqual([kind, rest, query.get('q'), query.get('z')], ['job', ['a b', 'x:1'], '?', '1?2']);
  assert.equal(parse('').kind, '');
  assert.equal(parse('#/job/%E0%A4%A').isBroken, true);
  assert.equal(withQuery('#/', { q: 'a b', state: '', sort: undefined }), '#/?q=a+b');
  assert.equal(withQuery('#/timeline', {}), '#/timeline');
});

test('why a run was made, and what it waits for', () => {
  const id = 'a:20261121T055945.910612Z:';
  assert.equal(causeOf({ id: `${id}1` }), 'by its schedule');
  assert.equal(causeOf({ id: `${id}2`, cause: 'requested', requested_by: 'bob\x07', arguments: ['x'], alone: true }), 'requested by bob\\x07, with x, alone, attempt 2');
  assert.equal(causeOf({ id: `${id}1`, cause: 'catch-up', missed: 2 }), 'to catch up a missed run, for 3 due runs');
  assert.equal(waiting({}), null);
  assert.equal(waiting({ waits: 'slot', slot: 'disk' }), 'waits for the slot disk');
  assert.equal(waiting({ waits: 'something-new' }), 'waits (something-new)');
  assert.equal(verdict({ failed: true }) + verdict({ succeeded: true }) + verdict({}), 'fsi');
  assert.equal(stateWord({ state: 'armed', running: [{ waits: 'slot' }] }), 'waiting');
  assert.equal(stateWord({ state: 'armed', running: [{}] }), 'running');
  assert.equal(stateWord({ state: 'paused', running: [{}] }), 'paused');
});

test('the timeline finds what is under the pointer, failures first', () => {
  const at = (second) => new Date(second * 1000).toISOString();
  const run = (id, from, to, failed) => ({ id, job: 'a', began: at(from), ended: at(to), failed, succeeded: !failed });
  const data = { runs: [run('good', 10, 20, false), run('bad', 20, 30, true)], skipped: [{ job: 'a', first_scheduled: at(50), last_scheduled: at(50) }], coming: [],
    pauses: [{ job: 'a', since: at(60), ended: at(80) }] };
  index(data);
  const lane = laneData(data, { job: 'a', running: [] }, { from: 0, now: 100_000 });
  const x = (ms) => ms / 1000;
  assert.equal(itemAt(lane, 12, x).run.id, 'good');
  assert.equal(itemAt(lane, 20, x).run.id, 'bad');
  assert.ok(itemAt(lane, 51, x).skip);
  assert.ok(itemAt(lane, 70, x).pause);
  assert.equal(itemAt(lane, 95, x), undefined);
  assert.equal(laneData(data, { job: 'unknown', running: [] }, { from: 0, now: 1 }).runs.length, 0);
});

test('a job with many runs hides none of another one, nor its own failures', () => {
  const runs = [...Array(9)].map((_, index) => ({ id: index, job: 'often', failed: index === 8 }));
  runs.push({ id: 9, job: 'backup', failed: true });
  assert.deepEqual(limitEach(runs, 2).map(({ id }) => id), [0, 1, 8, 9]);
  const at = (second) => new Date(second * 1000).toISOString();
  const data = { runs: [{ id: 'x', job: 'often', began: at(1), ended: at(2), succeeded: true }], skipped: [], coming: [], pauses: [],
    brief: [{ job: 'often', runs: [{ kind: 's', start: 1000, end: 2000 }, { kind: 's', start: 3000, end: 4000 }] }, { job: 'backup', runs: [{ kind: 'f', start: 1, end: 2 }] }] };
  index(data);
  assert.equal(data.of.get('often').runs.length, 2);
  assert.equal(data.of.get('backup').runs[0].kind, 'f');
  assert.equal(data.cut.size, 0);
});

test('a time has a name, or is a day, or from and to', () => {
  const now = new Date('2026-12-01T10:30').getTime();
  const local = (ms) => (ms === undefined ? '' : spanFrom(ms).slice(0, 16));
  for (const [text, kind, since, until] of [['last-night', 'last-night', '2026-11-30T18:00', '2026-12-01T09:00'], ['yesterday', 'yesterday', '2026-11-30T00:00', '2026-12-01T00:00'],
    ['today', 'today', '2026-12-01T00:00', ''], ['', '', '2026-11-30T10:30', ''], ['7d', '7d', '2026-11-24T10:30', ''], ['all', 'all', '', ''],
    ['2026-10-25', 'day', '2026-10-25T00:00', '2026-10-26T00:00'], ['2026-11-30T01:00..2026-11-30T03:00', 'span', '2026-11-30T01:00', '2026-11-30T03:00'],
    ['2026-11-30T01:00..', 'span', '2026-11-30T01:00', ''], ['..2026-11-30T03:00', 'span', '', '2026-11-30T03:00']]) {
    const found = periodOf(text, now);
    assert.deepEqual([found.kind, local(found.since), local(found.until)], [kind, since, until], text);
  }
  // The night is not over yet.
  assert.equal(periodOf('last-night', new Date('2026-12-01T03:00').getTime()).until, new Date('2026-12-01T03:00').getTime());
  for (const text of ['x', '..', '2026-13-45', '2026-11-30T03:00..2026-11-30T01:00', 'a..b', '2026-11-30..', '<b>', '7 d']) assert.equal(periodOf(text, now), null, text);
});

test('what is typed for jobs is a part of a name, or a pattern', () => {
  assert.deepEqual(patternsOf(' db-* backup,x'), ['db-*', '*backup*', '*x*']);
  assert.deepEqual(patternsOf(''), []);
  for (const [pattern, name, isMatch] of [['db-*', 'db-a', true], ['db-*', 'xdb-a', false], ['*a.b*', 'xaXb', false], ['?', 'a', true], ['[!a-c]x', 'dx', true], ['[a-c]x', 'dx', false], ['a[', 'a[', true], ['(+', '(+', true]]) {
    assert.equal(expressionOf(pattern).test(name), isMatch, pattern);
  }
});

test('a line is what a terminal would show of it', () => {
  assert.equal(lastState('10 %\r20 %\r30 %\r'), '30 %');
  assert.equal(lastState('as it is'), 'as it is');
  assert.equal(plainLine('\x1b[1;31mred\x1b[0m and \x1b]0;title\x07plain'), 'red and plain');
  assert.deepEqual(styledParts('a\x1b[1;31mb\x1b[22mc\x1b[0md\x1b[38;5;2me\x1b[38;2;1;2;3mf\x1b[95mg'),
    [{ text: 'a' }, { text: 'b', bold: true, color: 1 }, { text: 'c', color: 1 }, { text: 'd' }, { text: 'e', color: 2 }, { text: 'f', color: 2 }, { text: 'g', color: 5 }]);
  // What is not complete is shown, as an escape.
  assert.deepEqual(styledParts('\x1b[31'), [{ text: '\x1b[31' }]);
});

test('what is missing of an output is said', () => {
  const line = (number, run = 'a:1') => ({ run, number, text: `line ${number}` });
  const last = new Map();
  const words = (lines) => lines.map(({ head, note, text }) => (head ? `head ${head}` : note ?? text));
  assert.deepEqual(words(withNotes([line(3), line(4), line(6)], last, true)), ['lines 1 to 2 are not here', 'line 3', 'line 4', 'line 5 is not here', 'line 6']);
  assert.deepEqual(words(withNotes([line(7), line(1, 'b:1')], last, false)), ['line 7', 'head b:1', 'line 1']);
  assert.deepEqual(words(withNotes([{ run: 'c:1', text: 'of an unknown number' }], last, true)), ['of an unknown number']);
  assert.equal(amountWords(270, { total: 9001, run: 'a:1' }), '270 of 9001 lines; `journalctl TIMERD_RUN_ID=a:1` shows what was logged of the rest.');
  assert.equal(amountWords(1, { total: 1 }), '1 line.');
  assert.match(amountWords(9, { isCut: true }), /^The last 9 lines, as output-tail keeps them\.$/);
});

test('a stored output and the last lines are one', () => {
  const lines = [3, 4].map((number) => ({ run: 'a:1', number, text: `l${number}`, is_error: number === 4, at: 't' }));
  const past = { id: 'a:1', output: 'l1\nl2\nl3\nl4\n' };
  const written = [{ run: 'a:1', line_count: 4 }];
  assert.deepEqual(firstLines({ lines, past, written }).map(({ text, number, isError }) => [text, number, isError]), [['l1', 1, undefined], ['l2', 2, undefined], ['l3', 3, false], ['l4', 4, true]]);
  // With a gap between the last lines it is not known which of the stored ones they are.
  assert.equal(firstLines({ lines: [lines[0], { ...lines[1], number: 9 }], past, written }).length, 2);
  assert.deepEqual(firstLines({ lines: [], past }).map(({ number }) => number), [undefined, undefined, undefined, undefined]);
  assert.deepEqual(firstLines({ lines: [] }), []);
});
