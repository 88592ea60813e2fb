// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <security/pam_appl.h>
