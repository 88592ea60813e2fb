# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# A job of root's runner has the privileges and the secrets that are configured, and no others.

fresh
jobs=$MACHINE_ROOT/etc/timerd/jobs.d/privileges.toml
cat >"$jobs" <<'END'
[defaults]
user = "nobody"
[job.port]
every = "1h"
shell = "grep -E '^(Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs)' /proc/self/status"
capabilities = ["CAP_NET_BIND_SERVICE"]
no-new-privileges = true
[job.clock]
every = "1h"
shell = "exit 3"
capabilities = ["CAP_SYS_TIME"]
[job.confined]
every = "1h"
shell = "exit 3"
apparmor-profile = "no-such-profile"
[job.secret]
every = "1h"
shell = "cat $CREDENTIALS_DIRECTORY/token; pwd; stat -c '%U %a' $CREDENTIALS_DIRECTORY; exec sleep 300"
credentials = { token = "/etc/timerd/token" }
[job.audited]
every = "1h"
shell = "cat /proc/self/loginuid"
END
chmod 644 "$jobs"
(umask 077 && echo hush >"$MACHINE_ROOT/etc/timerd/token")
inside timerctl reload
says() { inside timerctl log -o cat "$1" | grep -q -- "$2"; }
ended() { inside timerctl show "$1" --json | grep -q -- "\"outcome\":\"$2"; }

inside timerctl run port clock confined secret audited || true
wait_for 10 'it has run' ended port 'exited(0)'
for line in CapPrm CapEff CapBnd CapAmb; do
    expect "$line is one capability" says port "$line:.*0000000000000400"
done
expect 'it gets no new privileges' says port 'NoNewPrivs:.*1'
# No file in this machine has this one.
wait_for 10 'what the runner does not have is refused' ended clock 'spawn-failed(EPERM, keep the capability CAP_SYS_TIME'
wait_for 10 'a job never runs without its profile' ended confined 'spawn-failed(E'

wait_for 10 'it has its secret' says secret hush
directory() { inside find /run/timerd-runner/credentials -mindepth 1 -maxdepth 1; }
expect 'there is one directory' equals 1 sh -c "echo '$(directory)' | wc -l"
expect 'which is root'"'"'s' says secret '^root '
expect_status 2 'another user cannot look' inside setpriv --reuid daemon --clear-groups ls "$(directory)"
runner() { inside systemctl show timerd-runner -p MainPID --value; }
before=$(runner)
inside kill -KILL "$before"
again() { [ "$(runner)" != "$before" ] && inside timerctl show secret --json | grep -q '"running":\[{'; }
wait_for 20 'there is another runner' again
expect 'the run still has its secret' test -n "$(directory)"
inside timerctl kill secret
gone() { [ -z "$(directory)" ]; }
wait_for 20 'it goes with the run' gone

if [ -e /proc/self/loginuid ]; then
    expect 'no login is recorded for it' says audited 4294967295
fi

# The configuration determines which users may have jobs.
printf '[daemon]\nallowed-users = ["daemon", "@root"]\n' >>"$jobs"
expect_status 1 'a reload says so' inside timerctl reload
# As after any other error, the current configuration is kept, also by the runner.
expect 'and nothing changes' inside timerctl run audited
rm "$jobs" "$MACHINE_ROOT/etc/timerd/token"
inside timerctl reload
