// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stdbool.h>

#include "CSpawn.h"

/// Checks the account and opens the session that the job asks for. False if a step failed: `report` says which, and
/// everything is closed again.
///
/// As under Debian's cron, a module sees the terminal "cron". The groups of the request are joined first, and what
/// modules add to them and to the environment is added to the request; a variable of the job's own keeps its value.
bool session_open(const cspawn_session *session, cspawn_request *request, cspawn_report *report);

/// Closes it. Modules may take as long as they like. False if that failed.
bool session_close(void);
