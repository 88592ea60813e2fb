# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# The rights of users on the socket, and the exit statuses of timerctl.

fresh
expect_status 4 'no such job' inside timerctl pause nosuch
expect_status 2 'wrong usage' inside timerctl frobnicate
expect_status 3 'no daemon' inside timerctl list --socket /run/nowhere.sock
status=0; inside setpriv --reuid=65534 --regid=65534 --clear-groups -- timerctl list || status=$?
expect 'a stranger cannot even connect' test "$status" = 1
inside groupadd -f timerd
inside systemctl restart timerd
expect 'the group may look' inside setpriv --reuid=65534 --regid=65534 --groups "$(inside getent group timerd | cut -d: -f3)" -- timerctl list
status=0
inside setpriv --reuid=65534 --regid=65534 --groups "$(inside getent group timerd | cut -d: -f3)" -- timerctl pause slow || status=$?
expect 'and not touch' test "$status" = 1
expect 'it is armed still' test "$(word slow state)" = armed
