// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#include "child.h"

#include <stdio.h>

child_plan cspawn_make_plan(const cspawn_request *request) {
    child_plan plan = {.texts = CHILD_TEXTS, .request = request, .oom_length = 1};
    if (request->has_oom_score) {
        int score = request->oom_score < -1000 ? -1000 : request->oom_score > 1000 ? 1000 : request->oom_score;
        plan.oom_length = (size_t)snprintf(plan.texts.oom_value, sizeof plan.texts.oom_value, "%d", score);
    }
    return plan;
}
