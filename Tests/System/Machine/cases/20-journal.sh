# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# Firings, results and the output of jobs are found by their fields.

fresh
wait_for 10 'a firing by its job' in_journal 'tick: fires' -u timerd TIMERD_JOB=tick TIMERD_EVENT=fired
wait_for 10 'its outcome' in_journal 'tick: succeeded in' TIMERD_JOB=tick TIMERD_EVENT=run-ended EXIT_STATUS=0
wait_for 10 "the job's line under its name" in_journal '^tock$' -t tick
began() { journal -u timerd TIMERD_EVENT=daemon-started _PID="$(property MainPID)" -o cat | wc -l; }
expect 'nothing is logged twice' equals 1 began
run=$(journal TIMERD_JOB=tick TIMERD_EVENT=fired -o json --output-fields=TIMERD_RUN_ID -n 1 |
    grep -o '"TIMERD_RUN_ID":"[^"]*"' | cut -d'"' -f4)
story_is_whole() { at_least 3 lines_of_run; }
lines_of_run() { journal "TIMERD_RUN_ID=$run" -o cat | wc -l; }
wait_for 10 "one run's story" story_is_whole
