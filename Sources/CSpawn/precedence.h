// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

/// Gives the calling thread, which shares its memory with the thread that made it, the nice value of a job and
/// the system's own time slice, whatever the other's are. By system calls alone. Without the privilege to lower
/// the value to 0 the other's stays; any other that cannot be had is -1, with errno set.
int cspawn_become_job(int nice);
