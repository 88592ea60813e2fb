#!/usr/bin/python3
# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
"""Reads what is shown or logged from standard input, and fails if any of it does more than be read.

    harmless.py terminal     what a program wrote to a terminal
    harmless.py journal      the output of `journalctl -o export`
"""

import os
import re
import sys
import unicodedata

# Those of the scheduler stand in its source, which is beside this file; the others are not decided about.
OTHERS = {"output", "output-dropped", "output-slowed", "leftovers-ended", "log-dropped"}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "EventKind.swift")) as source:
    EVENTS = {raw or case for case, raw in re.findall(r'^    case (\w+)(?: = "([a-z-]+)")?$', source.read(), re.M)} | OTHERS
FIELD = re.compile("TIMERD_[A-Z_]+|MESSAGE|MESSAGE_ID|PRIORITY|SYSLOG_IDENTIFIER|EXIT_CODE|EXIT_STATUS"
                   "|JOB_DURATION_USEC|CPU_USAGE_NSEC")


def steers(character):
    """Whether it does something to a terminal or its neighbours: controls, marks of direction, line ends."""
    return unicodedata.category(character) in ("Cc", "Zl", "Zp") or character in "\u202a\u202b\u202c\u202d\u202e" \
        "\u2066\u2067\u2068\u2069"


def check(what, value, but=""):
    text = value.decode()  # which throws if it is no UTF-8
    found = [hex(ord(character)) for character in text if steers(character) and character not in but]
    if found:
        sys.exit(f"{what}: {' '.join(found)} in {text!r}")
    return text


def entries(data):
    """The entries of the Journal Export Format (https://systemd.io/JOURNAL_EXPORT_FORMATS/): lists of pairs."""
    entry = []
    while data:
        line, _, data = data.partition(b"\n")
        if not line:
            yield entry
            entry = []
        elif b"=" in line:
            entry.append(tuple(line.split(b"=", 1)))
        else:
            length = int.from_bytes(data[:8], "little")
            entry.append((line, data[8:8 + length]))
            data = data[8 + length + 1:]
    if entry:
        yield entry


def check_entry(entry):
    own = [(name.decode(), value) for name, value in entry if not name.startswith(b"_")]
    names = [name for name, _ in own]
    if len(set(names)) != len(names):
        sys.exit(f"a field comes twice: {own}")
    fields = dict(own)
    event = fields.get("TIMERD_EVENT", b"").decode()
    for name, value in own:
        if not FIELD.fullmatch(name):
            sys.exit(f"a field that is not timerd's: {name} in {own}")
        # What is wrong with a configuration has lines: the place, what stands there, a caret.
        check(name, value, but="\t\n" if name == "MESSAGE" and not event else "\t")
    if event and event not in EVENTS:
        sys.exit(f"an event that is not timerd's: {event}")
    if event == "output" and fields["PRIORITY"] not in (b"4", b"6"):
        sys.exit(f"a job chose a priority: {own}")


data = sys.stdin.buffer.read()
if not data:
    sys.exit("nothing to read")
if sys.argv[1] == "terminal":
    # The terminal itself ends lines so.
    check("on a terminal", data.replace(b"\r\n", b"\n"), but="\n\t")
else:
    for entry in entries(data):
        check_entry(entry)
