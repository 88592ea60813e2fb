// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The location macros of sd-journal.h would turn sd_journal_sendv into a macro, which Swift cannot
// import; timerd hands CODE_* fields over itself where it wants them.
#define SD_JOURNAL_SUPPRESS_LOCATION 1

#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
