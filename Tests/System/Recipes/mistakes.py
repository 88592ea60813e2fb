# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""Mistakes in the recipes, each of which their tests must notice: `Tests/System/Recipes/run BIN --mistakes` makes them
one after the other. By recipe: what is replaced, and by what."""

MISTAKES = {
    "backup": [
        ('every = "6h"', 'every = "8h"'),
        ('first = "30min"', 'first = "20min"'),
        ('"$CREDENTIALS_DIRECTORY/restic"', "/etc/timerd/secrets/restic"),
        ("nice = 10", "nice = 0"),
        ('io-class = "idle"', 'io-class = "none"'),
        ("RESTIC_REPOSITORY", "RESTIC_REPOSITORIES"),
        (" /srv /home'", " /srv'"),
    ],
    "copy-to-disk": [
        ('mounted = ["/mnt/backup"]', 'path-exists = ["!/mnt/backup"]'),
        ('notify = ["disk-owner"]', "notify = []"),
        ('"--delete", ', ""),
    ],
    "laptop-backup": [
        ('on-missed = "run-once"', 'on-missed = "skip"'),
        ("ac-power = true", "ac-power = false"),
        ("network-online = true", "network-online = false"),
        ('otherwise = "wait"', 'otherwise = "skip"'),
        ('wait-max = "8h"', 'wait-max = "9h"'),
    ],
    "dump-shop": [
        ("pg_dump --format=custom --file=shop.part shop && mv", "pg_dump --format=custom --file=shop.part shop; mv"),
        ('umask = "0077"', 'umask = "0022"'),
        ('working-directory = "/var/backups/postgresql"', 'working-directory = "/var/backups"'),
        ('user = "postgres"\n', ""),
    ],
    "pull": [
        ('random-offset = "1h"\n', ""),
        ('"root@%i:/srv/"', '"root@web1:/srv/"'),
        ('calendar = "Sat 12:00"\n', ""),
        ('instances = ["web1", "web2", "db1"]', 'instances = ["web1", "db1"]'),
    ],
    "certificates": [
        ('on = ["stale", "recovery"]', 'on = ["stale"]'),
        ('on = ["stale", "recovery"]', 'on = ["failure", "stale", "recovery"]'),
        ("00,12:00", "03:00"),
        ("reload nginx", "restart nginx"),
    ],
    "rotate-logs": [
        ('on-missed = "run-once"', 'on-missed = "skip"'),
        ('on-missed = "run-once"', 'on-missed = "run-all"'),
        ("nice = 19", "nice = 10"),
        ('io-class = "idle"\n', ""),
    ],
    "old-uploads": [
        ('"+30"', '"+20"'),
        ('"+30"', '"+60"'),
        ('"-delete"', '"-print"'),
        ('user = "www-data"\n', ""),
        ('log = "failures"\n', ""),
    ],
    "announce": [
        ('on-boot = "2min"', 'after = "2min"'),
        ('"--up"', '"--down"'),
    ],
    "reindex": [
        ('timezone = "Europe/Berlin"', 'timezone = "UTC"'),
        ("stop-at-window-end = true", "stop-at-window-end = false"),
        ("stop-at-window-end = true", 'outside-window = "skip"'),
        ("22:00-06:00", "20:00-06:00"),
    ],
    "statement": [
        ('except = ["bank-holidays"]\n', ""),
        ('"*-05-01", ', ""),
        ("*-*-01 07:00", "*-*-02 07:00"),
        ('timezone = "Europe/Berlin"', 'timezone = "UTC"'),
        ("0 7 1W * *", "0 7 2W * *"),
    ],
    "inventory": [
        ('catch-up-delay = "30min"', 'random-delay = "30min"'),
        ('on-missed = "run-once"', 'on-missed = "skip"'),
    ],
    "archive": [
        ('on = "success"', 'on = "failure"'),
        ('on = "success"', 'on = "end"'),
        ('on = "failure"', 'on = "end"'),
        ('on = "failure" }', 'on = "failure", delay = "2min" }'),
    ],
    "disk": [
        ("max = 1", "max = 2"),
        ('on-busy-slot = "skip"', 'on-busy-slot = "wait"'),
        ('calendar = "*:20"\nslots = ["disk"]', 'calendar = "*:20"'),
    ],
    "invoices": [
        ('fleet = "one"', 'fleet = "each"'),
        ('timezone = "Europe/Berlin"\n', ""),
    ],
    "weekly-report": [
        ('on = ["output", "failure"]', 'on = ["failure"]'),
        ('on = ["output", "failure"]', 'on = ["output", "failure", "success"]'),
        ('output-tail = "48KiB"\n', ""),
        ('"anna@example.org", ', ""),
    ],
    "stock": [
        ("after = 3", "after = 2"),
        ("after = 3", "after = 4"),
        ("after = 3", 'after = 3\non = ["failure"]'),
    ],
    "replicate": [
        ('ping = "https', 'webhook = "https'),
        ('0000"\n```', '0000"\nformat = "kuma"\n```'),
        ('notify = ["hc-replicate"]\n', ""),
    ],
    "metrics": [
        ("node-exporter/", ""),
        ("timerd.prom", "timerd.txt"),
    ],
    "prices": [
        ("retries = 3", "retries = 2"),
        ("retries = 3", "retries = 4"),
        ('retry-delay = "10s"', 'retry-delay = "10s"\nretry-backoff = 1'),
        ("new.csv https://example.org/prices.csv && mv", "new.csv https://example.org/prices.csv; mv"),
        ('user = "www-data"\n', ""),
        ('working-directory = "/var/lib/shop"', 'working-directory = "/var/lib"'),
    ],
    "publish": [
        ('@"$CREDENTIALS_DIRECTORY/header"', '"$(cat "$CREDENTIALS_DIRECTORY/header")"'),
        ('@"$CREDENTIALS_DIRECTORY/header"', "@/etc/timerd/secrets/status-header"),
        ('user = "www-data"\n', ""),
    ],
    "thumbnailer": [
        ('from = "end"', 'from = "start"'),
        ('"--rm", ', ""),
        ('timeout = "50min"\nkill-timeout', 'long-after = "50min"\nkill-timeout'),
        ('kill-timeout = "30s"', 'kill-timeout = "0s"'),
    ],
    "deploy": [
        (', "--dry-run"]', "]"),
        ('concurrency = "queue"', 'concurrency = "forbid"'),
        ('concurrency = "queue"', 'concurrency = "allow"'),
        ("on-demand = true", 'calendar = "02:00"'),
        ('user = "www-data"\n', ""),
    ],
    "inbox": [
        ("skip-exit-codes = [75]", "success-exit-codes = [0, 75]"),
        ("skip-exit-codes = [75]\n", ""),
        ('stale-after = "1d"', 'late-after = "1d"'),
        ('notify = ["inbox-owner"]', "notify = []"),
    ],
}
