// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// System calls of Linux that Glibc shows only to those who define _GNU_SOURCE.

/// A timerfd(2) that becomes readable when somebody sets the calendar clock (TFD_TIMER_CANCEL_ON_SET), closed
/// on exec and not blocking. Returns it, or -1 with errno set.
int clinux_clock_watch(void);

/// Takes the word of a clock that was set, and watches on. Returns 1 if it was set, 0 if not, -1 with errno
/// set if it cannot be watched on.
int clinux_clock_watch_again(int watch);
