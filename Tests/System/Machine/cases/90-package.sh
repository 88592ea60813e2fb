# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# The Debian package: a fresh installation runs, an upgrade keeps the saved state and the active runs, removal
# keeps the saved state and ends everything else, and purging leaves only the files of the administrator. The
# files of `make install` are removed first and restored at the end.

repository=$MACHINE_HERE/../../..
packages=$MACHINE_ROOT/root/packages
# Without waiting for a disk that is discarded anyway, and with dpkg alone where apt would only read its lists
# again.
apt() {
    inside env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 \
        -o Dpkg::Options::=--force-unsafe-io "$@"
}
dpkg() { inside env DEBIAN_FRONTEND=noninteractive dpkg --force-unsafe-io "$@"; }
has_user() { inside getent passwd timerd; }
units='timerd.service timerd-runner.service timerd.socket'
# all_are VERB: each of the units is active, or enabled; systemctl itself succeeds if one of them is.
all_are() { for unit in $units; do inside systemctl -q "$1" "$unit" || return; done; }
active() { all_are is-active; }
long_run() { inside pgrep -f '^sleep 4711$'; }
# left FOLDER...: the files of timerd below these directories.
left() { inside find "$@" '(' -path '*timerd*' -o -path '*timerctl*' ')' -not -path '/var/lib/dpkg/*'; }
sorted() { "$@" | sort; }
# completed WORD...: the completions of bash for the last word of `timerctl WORD...`.
completed() {
    # shellcheck disable=SC2016  # for the shell in the machine
    inside bash -c '. /usr/share/bash-completion/completions/timerctl
        COMP_WORDS=(timerctl "$@") COMP_CWORD=$# COMP_LINE="timerctl $*" COMP_POINT=${#COMP_LINE}
        _timerctl timerctl "${!#}" "${COMP_WORDS[$# - 1]}"; echo "${COMPREPLY[*]}"' bash "$@"
}

deb=$(find "$repository/dist" -name 'timerd_*.deb' 2>/dev/null | sort -V | tail -1)
[ -n "$deb" ] || fail 'no package in dist/; make deb'
mkdir -p "$packages"
cp "$deb" "$packages/first.deb"
version=$(dpkg-deb -f "$deb" Version)
# The same with a higher version, as an upgrade is.
dpkg-deb -R "$deb" "$packages/tree"
sed -i "s/^Version: .*/Version: $version+1/" "$packages/tree/DEBIAN/control"
dpkg-deb -Znone -b "$packages/tree" "$packages/second.deb" >/dev/null
rm -r "$packages/tree"

# As on a machine that never had timerd, and that may start services: images for containers forbid it.
inside rm -f /usr/sbin/policy-rc.d
# Indexing all manual pages of the machine again, four times, takes most of a minute.
inside rm -f /var/lib/man-db/auto-update
inside systemctl stop timerd.socket timerd timerd-runner
make -s -C "$repository" uninstall DESTDIR="$MACHINE_ROOT" PREFIX=/usr
inside rm -rf /etc/timerd /var/lib/timerd /run/timerd/daemon/heartbeat
# What a test of sessions leaves on this computer when it is killed; the machine has a copy.
inside sh -c 'rm -f /etc/pam.d/timerd-test-*'
inside sh -c 'for name in timerd timerd-web timerd-notify; do userdel $name; groupdel $name; done; systemctl daemon-reload' \
    2>/dev/null || true
expect 'make uninstall left nothing' equals '' left /usr/bin /usr/lib /usr/libexec /usr/share /usr/local
expect_status 2 'nor of its user' has_user
date +%s.%6N >"$MACHINE_WORK/since"

apt install /root/packages/first.deb
expect 'it runs' active
expect 'it answers' inside timerctl list
expect 'it is enabled' all_are is-enabled
expect 'its user is there' has_user
expect 'the status page is off' equals disabled inside systemctl is-enabled timerd-web.socket
expect 'and nothing listens for it' equals inactive inside systemctl is-active timerd-web.socket
inside systemctl enable --now -q timerd-web.socket
serves() { equals 200 inside curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8321/; }
expect 'it can be enabled' serves
expect "users' own units are there" inside test -f /usr/lib/systemd/user/timerd.service
for file in prometheus/timerd.rules.yml grafana/timerd.json; do
    expect "$file is there" inside test -f "/usr/share/timerd/$file"
done
expect 'its metrics can be collected' inside timerctl metrics --output /run/timerd.prom
expect 'and read' inside grep -q '^timerd_runner_connected 1$' /run/timerd.prom
inside rm -f /run/timerd.prom
expect 'and left to them to enable' sh -c 'test "$1" = disabled' sh \
    "$(inside systemctl --global is-enabled timerd.service || true)"
expect 'the configuration has no job' equals '' inside timerctl list --names
expect 'dpkg takes care of the configuration' sh -c 'echo "$1" | grep -q "^ /etc/timerd/timerd.toml "' sh \
    "$(inside dpkg-query -W -f '${Conffiles}' timerd)"
expect 'its entries are explained at once' sh -c 'echo "$1" | grep -q "restored the saved state of 0 jobs"' sh \
    "$(journal -x -u timerd)"

# The changes of an administrator, and the saved state of the jobs.
configure <<'TOML'
[job.slow]
command = ["true"]
every = "1h"
[job.held]
command = ["true"]
every = "1h"
[job.long]
command = ["sleep", "4711"]
every = "1h"
first = "0s"
TOML
inside systemctl reload timerd
wait_for 10 'a run is active' long_run
expect 'the names of the jobs are completed' equals held completed pause h
wait_for 10 'some time has elapsed' at_least 500000 number held elapsed_usec
inside timerctl pause held --note 'disk swap'
held=$(number held elapsed_usec)
slow=$(number slow elapsed_usec)
pid=$(property MainPID)
run=$(long_run)
runner() { inside systemctl show timerd-runner -p MainPID --value; }
runner=$(runner)
# The permissions that an administrator set on a directory of the package.
inside chgrp timerd /etc/timerd
inside chmod 750 /etc/timerd

dpkg --install /root/packages/second.deb
expect 'the new version is there' equals "$version+1" inside dpkg-query -W -f '${Version}' timerd
expect 'it runs after the upgrade' active
expect 'and so does the status page' serves
expect_status 1 'it is another process' test "$(property MainPID)" = "$pid"
expect_journal 'the previous instance stopped cleanly' -u timerd
expect 'the saved time is kept' at_least "$slow" number slow elapsed_usec
expect 'the pause is kept' equals paused word held state
expect 'with its note' equals 'disk swap' word held note
expect 'and to the microsecond' equals "$held" number held elapsed_usec
expect 'the run is the same process' equals "$run" long_run
expect_journal 'long: .*' TIMERD_EVENT=run-reattached TIMERD_JOB=long
expect 'the directory has the mode that the administrator set' equals '750 timerd' inside stat -c '%a %G' /etc/timerd
# The runner continues with the old program while a run is active, and says so.
expect_journal 'a program or a library that was replaced.*systemctl restart timerd-runner' -u timerd-runner
expect 'it is the same runner' equals "$runner" runner
inside timerctl kill long >/dev/null
another_runner() { [ "$(runner)" != "$runner" ] && active; }
wait_for 20 'then it is another one' another_runner
expect_journal 'Connected to a new runner' -u timerd
# It ended by itself and reported that, so no failure handler runs.
expect_journal 'The runner has ended, as it does after an upgrade' -u timerd PRIORITY=5
expect_status 1 'no error is logged' in_journal 'No runner' -u timerd
expect_journal 'run .* ended: stopped' TIMERD_EVENT=run-ended TIMERD_JOB=long
program() { inside readlink "/proc/$(runner)/exe"; }
expect 'with the new program' equals /usr/bin/timerd-runner program
inside timerctl run long >/dev/null
wait_for 20 'it runs jobs' long_run
expect 'needrestart leaves the runner alone' inside perl -e \
    'our %nrconf; do "/etc/needrestart/conf.d/timerd.conf" or die; exit(keys(%{$nrconf{override_rc}}) != 1)'

dpkg --remove timerd
# shellcheck disable=SC2086  # a list of names
expect_status 3 'none of it runs' inside systemctl is-active $units timerd-web.socket timerd-web.service
expect_status 1 'and its run has ended' long_run
expect 'its program is gone' inside test ! -e /usr/bin/timerd
expect 'its accounts are there' inside test -s /var/lib/timerd/timerd.db
expect 'its configuration is there' inside grep -q job.held /etc/timerd/timerd.toml

dpkg --install /root/packages/second.deb
expect 'it runs again' active
wait_for 10 'with the same account' equals "$held" number held elapsed_usec

# The files of the administrator are kept; the files of the package and the saved state are deleted.
printf '[job.mine]\ncommand = ["true"]\nevery = "1h"\n' | inside tee /etc/timerd/jobs.d/mine.toml >/dev/null
apt purge timerd
expect 'of the configuration, what the administrator wrote is left' equals '/etc/timerd
/etc/timerd/jobs.d
/etc/timerd/jobs.d/mine.toml' sorted left /etc
expect 'and nothing else' equals '' left /run /usr /var/lib
inside rm /etc/timerd/jobs.d/mine.toml

dpkg --install /root/packages/second.deb
apt purge timerd
expect 'without such a file nothing is left of it' equals '' left /etc /run /usr /var/lib

inside rm -r /root/packages
install_timerd "$MACHINE_BIN"
inside systemd-sysusers
inside systemd-tmpfiles --create timerd.conf
inside journalctl --update-catalog
inside systemctl daemon-reload
fresh
expect 'the machine is as it was' active
