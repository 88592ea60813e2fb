// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stdbool.h>

#include "CSpawn.h"

/// Checks the account and opens the session that the job asks for. False if a step failed: `report` then contains the
/// step, and everything is closed again.
///
/// As under Debian's cron, a module sees the terminal "cron". This process joins the groups of the request first. The
/// groups and environment variables that modules add are added to the request; a variable that the job sets keeps its
/// value.
bool session_open(const cspawn_session *session, cspawn_request *request, cspawn_report *report);

/// Closes the session. Modules may take any time. False if that failed.
bool session_close(void);
