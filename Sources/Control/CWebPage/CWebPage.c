// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#include "CWebPage.h"

// Clang knows it in each version of C, and warns.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char page[] = {
#embed "index.html"
};
static const unsigned char style[] = {
#embed "app.css"
};
static const unsigned char icon[] = {
#embed "icon.svg"
};
static const unsigned char script_acts[] = {
#embed "script/acts.js"
};
static const unsigned char script_address[] = {
#embed "script/address.js"
};
static const unsigned char script_ansi[] = {
#embed "script/ansi.js"
};
static const unsigned char script_api[] = {
#embed "script/api.js"
};
static const unsigned char script_app[] = {
#embed "script/app.js"
};
static const unsigned char script_charts[] = {
#embed "script/charts.js"
};
static const unsigned char script_commands[] = {
#embed "script/commands.js"
};
static const unsigned char script_dialogs[] = {
#embed "script/dialogs.js"
};
static const unsigned char script_dom[] = {
#embed "script/dom.js"
};
static const unsigned char script_events[] = {
#embed "script/events.js"
};
static const unsigned char script_failures[] = {
#embed "script/failures.js"
};
static const unsigned char script_feed[] = {
#embed "script/feed.js"
};
static const unsigned char script_frame[] = {
#embed "script/frame.js"
};
static const unsigned char script_glance[] = {
#embed "script/glance.js"
};
static const unsigned char script_history[] = {
#embed "script/history.js"
};
static const unsigned char script_job[] = {
#embed "script/job.js"
};
static const unsigned char script_jobrow[] = {
#embed "script/jobrow.js"
};
static const unsigned char script_jobs[] = {
#embed "script/jobs.js"
};
static const unsigned char script_jobwords[] = {
#embed "script/jobwords.js"
};
static const unsigned char script_keys[] = {
#embed "script/keys.js"
};
static const unsigned char script_linelist[] = {
#embed "script/linelist.js"
};
static const unsigned char script_loglines[] = {
#embed "script/loglines.js"
};
static const unsigned char script_model[] = {
#embed "script/model.js"
};
static const unsigned char script_output[] = {
#embed "script/output.js"
};
static const unsigned char script_period[] = {
#embed "script/period.js"
};
static const unsigned char script_picture[] = {
#embed "script/picture.js"
};
static const unsigned char script_pieces[] = {
#embed "script/pieces.js"
};
static const unsigned char script_router[] = {
#embed "script/router.js"
};
static const unsigned char script_rows[] = {
#embed "script/rows.js"
};
static const unsigned char script_run[] = {
#embed "script/run.js"
};
static const unsigned char script_runs[] = {
#embed "script/runs.js"
};
static const unsigned char script_schedule[] = {
#embed "script/schedule.js"
};
static const unsigned char script_text[] = {
#embed "script/text.js"
};
static const unsigned char script_time[] = {
#embed "script/time.js"
};
static const unsigned char script_timeline[] = {
#embed "script/timeline.js"
};

#define FILE_AT(path, bytes) \
    { path, bytes, sizeof bytes }

static const struct cwebpage_file files[] = {
    FILE_AT("/", page),
    FILE_AT("/app.css", style),
    FILE_AT("/icon.svg", icon),
    FILE_AT("/script/acts.js", script_acts),
    FILE_AT("/script/address.js", script_address),
    FILE_AT("/script/ansi.js", script_ansi),
    FILE_AT("/script/api.js", script_api),
    FILE_AT("/script/app.js", script_app),
    FILE_AT("/script/charts.js", script_charts),
    FILE_AT("/script/commands.js", script_commands),
    FILE_AT("/script/dialogs.js", script_dialogs),
    FILE_AT("/script/dom.js", script_dom),
    FILE_AT("/script/events.js", script_events),
    FILE_AT("/script/failures.js", script_failures),
    FILE_AT("/script/feed.js", script_feed),
    FILE_AT("/script/frame.js", script_frame),
    FILE_AT("/script/glance.js", script_glance),
    FILE_AT("/script/history.js", script_history),
    FILE_AT("/script/job.js", script_job),
    FILE_AT("/script/jobrow.js", script_jobrow),
    FILE_AT("/script/jobs.js", script_jobs),
    FILE_AT("/script/jobwords.js", script_jobwords),
    FILE_AT("/script/keys.js", script_keys),
    FILE_AT("/script/linelist.js", script_linelist),
    FILE_AT("/script/loglines.js", script_loglines),
    FILE_AT("/script/model.js", script_model),
    FILE_AT("/script/output.js", script_output),
    FILE_AT("/script/period.js", script_period),
    FILE_AT("/script/picture.js", script_picture),
    FILE_AT("/script/pieces.js", script_pieces),
    FILE_AT("/script/router.js", script_router),
    FILE_AT("/script/rows.js", script_rows),
    FILE_AT("/script/run.js", script_run),
    FILE_AT("/script/runs.js", script_runs),
    FILE_AT("/script/schedule.js", script_schedule),
    FILE_AT("/script/text.js", script_text),
    FILE_AT("/script/time.js", script_time),
    FILE_AT("/script/timeline.js", script_timeline),
};

const struct cwebpage_file *cwebpage_files(size_t *count) {
    *count = sizeof files / sizeof files[0];
    return files;
}
