# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# Who may do what over the socket, and what timerctl exits with.

fresh
status=0; inside timerctl pause nosuch || status=$?
expect 'no such job is 4' test "$status" = 4
status=0; inside timerctl frobnicate || status=$?
expect 'wrong usage is 2' test "$status" = 2
status=0; inside timerctl list --socket /run/nowhere.sock || status=$?
expect 'no daemon is 3' test "$status" = 3
status=0; inside setpriv --reuid=65534 --regid=65534 --clear-groups -- timerctl list || status=$?
expect 'a stranger cannot even connect' test "$status" = 1
inside groupadd -f timerd
inside systemctl restart timerd
expect 'the group may look' inside setpriv --reuid=65534 --regid=65534 --groups "$(inside getent group timerd | cut -d: -f3)" -- timerctl list
status=0
inside setpriv --reuid=65534 --regid=65534 --groups "$(inside getent group timerd | cut -d: -f3)" -- timerctl pause slow || status=$?
expect 'and not touch' test "$status" = 1
expect 'it is armed still' test "$(word slow state)" = armed
