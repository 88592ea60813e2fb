# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""APScheduler with many jobs that run one program:

    apscheduler_jobs.py burst COUNT AT PROGRAM FILE      COUNT jobs at AT, seconds since 1970
    apscheduler_jobs.py tick PHASE - PROGRAM FILE        one each second, PHASE seconds past it
    apscheduler_jobs.py idle COUNT - PROGRAM FILE        COUNT jobs, none of them due within a day

Nothing is left out for being late, and its pool has as many workers as timerd lets runs live, 64.
"""

import datetime
import subprocess
import sys

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.blocking import BlockingScheduler


def run(program, file):
    subprocess.run([program, file], check=True)


def main():
    verb, number, at, program, file = sys.argv[1:]
    scheduler = BlockingScheduler(
        executors={"default": ThreadPoolExecutor(64)}, job_defaults={"misfire_grace_time": None},
        timezone=datetime.timezone.utc)
    now = datetime.datetime.now(datetime.timezone.utc)
    if verb == "burst":
        due = datetime.datetime.fromtimestamp(float(at), datetime.timezone.utc)
        for _ in range(int(number)):
            scheduler.add_job(run, "date", run_date=due, args=[program, file])
    elif verb == "tick":
        first = now.replace(microsecond=0) + datetime.timedelta(seconds=2 + float(number))
        scheduler.add_job(run, "interval", seconds=1, start_date=first, args=[program, file])
    else:
        for _ in range(int(number)):
            scheduler.add_job(run, "interval", days=1, args=[program, file])
    scheduler.start()


main()
