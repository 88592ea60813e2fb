# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# The machine is what the other cases take it for.

# The clock is the host's. That it cannot be set is read and never tried: a try that succeeded would harm
# the host. CAP_SYS_TIME is bit 25 (capabilities(7)).
may_set_clock() {
    local bits
    bits=$(sed -n 's/^CapBnd:[[:space:]]*//p')
    [ -n "$bits" ] && [ $((0x$bits >> 25 & 1)) = 1 ]
}

expect 'PID 1 is systemd' test "$(inside cat /proc/1/comm)" = systemd
echo 'CapBnd: 0000000002000000' | may_set_clock || fail 'the right to set the clock is not recognized'
if inside cat /proc/self/status | may_set_clock; then fail 'a command in the machine may set the clock'; fi
expect 'the unit is well-formed' inside systemd-analyze verify timerd.service
