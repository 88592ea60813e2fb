# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# The status page: off by default, served by a process without any right, with the rights of the user who asked for the
# link, and back at once when that process is killed.

fresh
web() { inside systemctl show timerd-web.service -p "$1" --value; }
exposure() { inside systemd-analyze security --no-pager timerd-web.service | awk '/Overall exposure level/ { print $(NF - 2) }'; }
# status CURL-ARGUMENT...: the status of the answer.
status() { inside curl -s -o /dev/null -w '%{http_code}' --max-time 20 "$@"; }
page=http://127.0.0.1:8321
# command COOKIES PATH: a command as the page sends it.
command_of() {
    status -b "$1" -H "Origin: $page" -H 'Sec-Fetch-Site: same-origin' -H 'Content-Type: application/json' \
        -d '{}' "$page$2"
}
as_reader() { inside setpriv --reuid web-reader --regid web-reader --init-groups "$@"; }

inside userdel -r web-reader 2>/dev/null || true
inside groupadd -f web-ops
inside useradd web-reader
inside usermod -aG timerd web-reader
inside systemctl stop timerd-web.socket timerd-web.service

expect "its exposure is 1.0 at most ($(exposure))" awk "BEGIN { exit !($(exposure) <= 1.0) }"
expect 'it is off by default' equals disabled inside systemctl is-enabled timerd-web.socket
expect_status 7 'nothing listens' inside curl -s "$page/"
inside systemctl start timerd-web.socket
expect 'there is no process before the first connection' equals 0 web MainPID
expect 'the page is there' equals 200 status "$page/"
pid=$(web MainPID)
expect 'its user is timerd-web' equals timerd-web inside ps -o user:32= -p "$pid"
expect 'it has no capability' equals 0000000000000000 inside awk '/^CapEff/ { print $2 }' "/proc/$pid/status"
expect 'it is in no other group' equals timerd-web inside id -Gn timerd-web
expect 'its network is its own, and has the loopback interface alone' equals lo \
    inside awk -F: 'NR > 2 { gsub(" ", "", $1); print $1 }' "/proc/$pid/net/dev"

# It has no right that an attacker who takes it over could use.
as_web() { inside setpriv --reuid timerd-web --regid timerd-web --clear-groups "$@"; }
expect_status 1 'its user cannot use the control socket' as_web timerctl list
expect 'nor do anything at its own socket' equals 401 as_web curl -s -o /dev/null -w '%{http_code}' \
    --unix-socket /run/timerd/daemon/web.sock http://timerd/v1/jobs
expect 'which belongs to its group' equals 'timerd timerd-web 660' \
    inside stat -c '%U %G %a' /run/timerd/daemon/web.sock
expect_status 7 'and to no other user' as_reader curl -s --unix-socket /run/timerd/daemon/web.sock http://timerd/v1/web

# Nothing can be read without a login; a link is used once.
expect 'no login, no jobs' equals 401 status "$page/v1/jobs"
link=$(inside timerctl web)
expect 'the link logs in' equals 303 status -c /root/web-root "$link"
expect 'once' equals 401 status "$link"
expect 'root reads' equals 200 status -b /root/web-root "$page/v1/jobs"
expect 'another page cannot send commands' equals 403 status -b /root/web-root -H 'Origin: http://127.0.0.1:9999' \
    -H 'Sec-Fetch-Site: same-site' -H 'Content-Type: application/json' -d '{}' "$page/v1/jobs/slow/pause"
expect 'another name is not served' equals 421 status -H 'Host: evil.example' "$page/"
expect 'root pauses a job' equals 200 command_of /root/web-root /v1/jobs/slow/pause
expect 'it is paused' equals paused word slow state

# A user who may read; then an operator, by name and by group.
expect 'a reader logs in' equals 303 status -c /root/web-reader "$(as_reader timerctl web)"
expect 'and reads' equals 200 status -b /root/web-reader "$page/v1/jobs"
expect 'and changes nothing' equals 403 command_of /root/web-reader /v1/jobs/slow/resume
expect_status 1 'nor with timerctl' as_reader timerctl resume slow
operators() {
    { cat "$MACHINE_HERE/timerd.toml"; printf '[control]\noperators = [%s]\n' "$1"; } | configure
    inside timerctl reload >/dev/null
}
operators '"web-reader"'
wait_for 10 'an operator changes things' as_reader timerctl resume slow
expect 'on the page as well' equals 200 command_of /root/web-reader /v1/jobs/slow/pause
operators ''
expect 'who is not named any more only reads' equals 403 command_of /root/web-reader /v1/jobs/slow/resume
inside usermod -aG web-ops web-reader
operators '"@web-ops"'
wait_for 10 'a member of the group changes things' as_reader timerctl resume slow
expect 'but not with a link from before it was one' equals 403 command_of /root/web-reader /v1/jobs/slow/pause
# The groups that were looked up for the old link are used for some seconds.
may_change_with_a_new_link() {
    status -c /root/web-reader "$(as_reader timerctl web)" && equals 200 command_of /root/web-reader /v1/jobs/slow/pause
}
wait_for 15 'but with a new link' may_change_with_a_new_link
inside gpasswd -d web-reader web-ops >/dev/null
read_only() { equals 403 command_of /root/web-reader /v1/jobs/slow/pause; }
wait_for 10 'a group that is withdrawn is withdrawn from the session, without a reload' read_only
expect 'which still reads' equals 200 status -b /root/web-reader "$page/v1/jobs"
inside gpasswd -d web-reader timerd >/dev/null
logged_out() { equals 401 status -b /root/web-reader "$page/v1/jobs"; }
wait_for 10 'a user who may not connect any more is logged out' logged_out
inside usermod -aG timerd web-reader
expect 'for good' equals 401 status -b /root/web-reader "$page/v1/jobs"
logs_in() { equals 303 status -c /root/web-reader "$(as_reader timerctl web)"; }
wait_for 15 'and logs in again, once the groups are looked up' logs_in
inside timerctl web --revoke --user web-reader >/dev/null
expect 'an operator ends the sessions of one user' equals 401 status -b /root/web-reader "$page/v1/jobs"
expect 'and of no other' equals 200 status -b /root/web-root "$page/v1/jobs"
expect_status 4 'a wrong name is an error' inside timerctl web --revoke --user no-such-user
expect 'the reader logs in' equals 303 status -c /root/web-reader "$(as_reader timerctl web)"
uid=$(inside id -u web-reader)
inside userdel web-reader
inside useradd -u "$uid" -G timerd web-other
wait_for 10 'the next user with the same number has no session' logged_out
inside userdel -r web-other 2>/dev/null || true
inside useradd web-reader
inside usermod -aG timerd web-reader
expect 'it is known who did it' sh -c 'echo "$1" | grep -q "by web-reader"' sh "$(inside timerctl why slow)"

# A program reads with a token that systemd passes to the daemon.
token=$(inside openssl rand -hex 32 2>/dev/null || echo 0123456789abcdef0123456789abcdef)
echo "$token" | inside tee /root/web-tokens >/dev/null
inside mkdir -p /etc/systemd/system/timerd.service.d
printf '[Service]\nLoadCredential=web-tokens:/root/web-tokens\n' \
    | inside tee /etc/systemd/system/timerd.service.d/web.conf >/dev/null
inside systemctl daemon-reload
inside systemctl restart timerd
expect 'a restart of the daemon ends all sessions' equals 401 status -b /root/web-root "$page/v1/jobs"
expect 'a program reads' equals 200 status -H "Authorization: Bearer $token" "$page/v1/jobs"
expect 'with this token alone' equals 401 status -H "Authorization: Bearer ${token}0" "$page/v1/jobs"

# Killed: the page is back at once, and nothing else happened.
expect 'root logs in again' equals 303 status -c /root/web-root "$(inside timerctl web)"
daemon=$(property MainPID)
firings=$(number tick firings)
pid=$(web MainPID)
inside kill -KILL "$pid"
back() { equals 200 status -b /root/web-root "$page/v1/jobs"; }
wait_for 3 'the page is back, with the session' back
another() { [ "$(web MainPID)" != "$pid" ]; }
expect 'by another process' another
expect 'the daemon is the same' equals "$daemon" property MainPID
wait_for 5 'and goes on' at_least $((firings + 1)) number tick firings
inside timerctl web --revoke >/dev/null
expect 'a session that is revoked has ended' equals 401 status -b /root/web-root "$page/v1/jobs"

inside systemctl stop timerd-web.socket timerd-web.service
inside rm -rf /etc/systemd/system/timerd.service.d /root/web-root /root/web-reader /root/web-tokens
inside systemctl daemon-reload
inside userdel -r web-reader 2>/dev/null || true
inside groupdel web-ops 2>/dev/null || true
fresh
