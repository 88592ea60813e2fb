# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# A user database that returns another user for an unknown name, as some do that accept numbers or short names:
# no run gets that user or group. It does not answer at all about one name, as a server may: only its run waits.

fresh
cat >"$MACHINE_ROOT/var/tmp/crooked.c" <<'C'
#include <grp.h>
#include <nss.h>
#include <pwd.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
static char *no_members[] = {NULL};
enum nss_status _nss_crooked_getgrnam_r(const char *name, struct group *found, char *buffer, size_t size, int *error) {
    *found = (struct group){.gr_name = "root", .gr_passwd = "x", .gr_gid = 0, .gr_mem = no_members};
    return NSS_STATUS_SUCCESS;
}
enum nss_status _nss_crooked_getpwnam_r(const char *name, struct passwd *found, char *buffer, size_t size, int *error) {
    while (strcmp(name, "sleeper") == 0) pause();
    *found = (struct passwd){.pw_name = "root", .pw_passwd = "x", .pw_gecos = "", .pw_dir = "/", .pw_shell = "/bin/sh"};
    return NSS_STATUS_SUCCESS;
}
C
inside cc -shared -fPIC -o /usr/lib/libnss_crooked.so.2 /var/tmp/crooked.c
inside cp /etc/nsswitch.conf /var/tmp/nsswitch.conf
inside sed -i 's/^\(passwd\|group\):.*/\1: files crooked/' /etc/nsswitch.conf
expect 'the database knows every name' equals 0 inside id -u ghost
inside systemctl restart timerd-runner
for job in user group known; do
    case $job in
    user) account='user = "ghost"' ;;
    group) account='group = "ghosts"' ;;
    known) account='user = "nobody"' ;;
    esac
    printf '[job.%s]\ncommand = ["true"]\nevery = "1h"\n%s\n' "$job" "$account"
done | configure
inside systemctl reload timerd
for job in user group known; do inside timerctl run $job >/dev/null || true; done
wait_for 20 'no run as another user' in_journal 'could not start: no such user "ghost"' TIMERD_JOB=user
wait_for 20 'no run as another group' in_journal 'could not start: no such group "ghosts"' TIMERD_JOB=group
wait_for 20 'a run as a user that is known' in_journal 'succeeded in' TIMERD_JOB=known
for name in sleeper nobody; do
    printf '[job.%s]\ncommand = ["true"]\nevery = "1h"\nuser = "%s"\n' "$name" "$name"
done | configure
inside systemctl reload timerd
# It waits about as long for the start as the look-up takes.
inside timerctl run sleeper &
sleeper=$!
wait_for 20 'it is requested' in_journal 'run now, requested by root' TIMERD_JOB=sleeper
before=$(date +%s)
inside timerctl run --wait nobody >/dev/null
expect 'another run does not wait for it' test $(($(date +%s) - before)) -lt 8
in_journal 'could not start' TIMERD_JOB=sleeper && fail 'it waits no longer'
wait_for 20 'it ends after its time' in_journal 'look up the user "sleeper" within 10 seconds)' TIMERD_JOB=sleeper
wait "$sleeper" || true
inside cp /var/tmp/nsswitch.conf /etc/nsswitch.conf
inside rm /usr/lib/libnss_crooked.so.2 /var/tmp/crooked.c /var/tmp/nsswitch.conf
