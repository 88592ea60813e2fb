# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# The machine is what the other cases take it for.

expect 'PID 1 is systemd' test "$(inside cat /proc/1/comm)" = systemd
expect 'the clock cannot be set' sh -c '! "$@"' sh \
    nsenter -t "$(machine_init)" -m -p -u -i -n -- setpriv --bounding-set -sys_time --inh-caps -sys_time -- \
    date -s '2001-01-01'
expect 'the unit is well-formed' inside systemd-analyze verify timerd.service
