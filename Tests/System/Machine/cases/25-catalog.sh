# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# `journalctl -x` explains the entries, with the values of their fields.

catalog=$MACHINE_HERE/../../../systemd/timerd.catalog

fresh
inside journalctl --update-catalog
# systemd read every entry, and each belongs to timerd.
for id in $(sed -n 's/^-- //p' "$catalog"); do
    expect "entry $id" sh -c 'echo "$1" | grep -q "^Defined-By: timerd$"' sh \
        "$(inside journalctl --dump-catalog "$id")"
done

inside timerctl pause slow --note 'disk swap'
inside timerctl resume slow
explained() { journal -x TIMERD_JOB=slow "TIMERD_EVENT=$1" -o short | sed -n 's/^░░ \{0,1\}//p'; }
is_explained() { explained "$1" | grep -q -- "$2"; }
wait_for 5 'the subject names the job' is_explained paused '^Subject: Job slow was paused$'
expect 'it says where more is' is_explained paused '^Documentation: man:timerctl(1) man:timerd(8)$'
expect 'it says what to do' is_explained paused 'timerctl resume slow'
expect 'the other one is explained as well' is_explained resumed '^Subject: Job slow was resumed$'
inside timerctl pause --all --note 'disk swap'
inside timerctl resume --all --yes
wait_for 5 'a command for several jobs' in_journal 'requested resume for 2 jobs: 2 changed' TIMERD_EVENT=commanded
command=$(journal -x TIMERD_EVENT=commanded -n 1)
expect 'it is explained' sh -c 'echo "$1" | grep -q "Subject: root requested [a-z]* for several jobs"' sh "$command"
expect_status 1 'no field of it is left open' sh -c 'echo "$1" | grep "@[A-Z_]*@"' sh "$command"
wait_for 10 'an end of a run' in_journal 'tick: succeeded in' TIMERD_JOB=tick TIMERD_EVENT=run-ended
ended=$(journal -x TIMERD_JOB=tick TIMERD_EVENT=run-ended -n 1)
expect 'the outcome is in it' sh -c 'echo "$1" | grep -q "ended with exited(0), after [0-9]* µs"' sh "$ended"
expect_status 1 'no field is left open' sh -c 'echo "$1" | grep "@[A-Z_]*@"' sh "$ended"
