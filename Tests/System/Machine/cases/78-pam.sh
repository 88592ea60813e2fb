# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# Jobs with a PAM session: an account that has expired does not run, whatever else its service says, and the
# session of another one is opened and closed.

fresh
inside useradd --no-create-home walker-in 2>/dev/null || true
inside useradd --no-create-home walker-out 2>/dev/null || true
inside chage -E 2020-01-01 walker-out
inside sh -c 'cat >/etc/pam.d/timerd-case' <<'END'
auth required pam_permit.so
account required pam_unix.so
session required pam_unix.so
session optional pam_loginuid.so
session required pam_env.so conffile=/dev/null envfile=/etc/timerd-case
END
inside sh -c 'echo FROM_PAM=yes >/etc/timerd-case'
for user in in out; do
    printf '[job.%s]\nshell = "echo it runs: $USER $FROM_PAM"\nevery = "1h"\n' "$user"
    printf 'user = "walker-%s"\npam-service = "timerd-case"\n' "$user"
done | configure
inside systemctl reload timerd
inside timerctl run in out || true
ended() { inside timerctl history "$1" --json | grep -q "$2"; }
wait_for 30 'the account that is good runs' ended in 'exited(0)'
wait_for 30 'the one that has expired does not' ended out PAM_ACCT_EXPIRED
expect_journal 'it runs: walker-in yes' -t in
expect_status 1 'it printed nothing' inside sh -c 'journalctl -t out --since=-60s | grep "it runs"'
expect_journal 'session opened for user walker-in' SYSLOG_IDENTIFIER=timerd-session
expect_journal 'session closed for user walker-in' SYSLOG_IDENTIFIER=timerd-session
inside rm -f /etc/pam.d/timerd-case /etc/timerd-case
inside userdel walker-in
inside userdel walker-out
