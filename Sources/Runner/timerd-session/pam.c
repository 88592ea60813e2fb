// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include "session.h"

#include <errno.h>
#include <grp.h>
#include <security/pam_appl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pam_handle_t *handle;

/// The last error message of a module.
static char module_error[256];

// MARK: - Errors

static const char *name_of(int code) {
    switch (code) {
    case PAM_OPEN_ERR: return "PAM_OPEN_ERR";
    case PAM_SYMBOL_ERR: return "PAM_SYMBOL_ERR";
    case PAM_SERVICE_ERR: return "PAM_SERVICE_ERR";
    case PAM_SYSTEM_ERR: return "PAM_SYSTEM_ERR";
    case PAM_BUF_ERR: return "PAM_BUF_ERR";
    case PAM_PERM_DENIED: return "PAM_PERM_DENIED";
    case PAM_AUTH_ERR: return "PAM_AUTH_ERR";
    case PAM_CRED_INSUFFICIENT: return "PAM_CRED_INSUFFICIENT";
    case PAM_AUTHINFO_UNAVAIL: return "PAM_AUTHINFO_UNAVAIL";
    case PAM_USER_UNKNOWN: return "PAM_USER_UNKNOWN";
    case PAM_NEW_AUTHTOK_REQD: return "PAM_NEW_AUTHTOK_REQD";
    case PAM_ACCT_EXPIRED: return "PAM_ACCT_EXPIRED";
    case PAM_SESSION_ERR: return "PAM_SESSION_ERR";
    case PAM_CRED_UNAVAIL: return "PAM_CRED_UNAVAIL";
    case PAM_CRED_EXPIRED: return "PAM_CRED_EXPIRED";
    case PAM_CRED_ERR: return "PAM_CRED_ERR";
    case PAM_CONV_ERR: return "PAM_CONV_ERR";
    case PAM_AUTHTOK_EXPIRED: return "PAM_AUTHTOK_EXPIRED";
    case PAM_MODULE_UNKNOWN: return "PAM_MODULE_UNKNOWN";
    case PAM_ABORT: return "PAM_ABORT";
    default: return "PAM_ERROR";
    }
}

static bool fail(cspawn_report *report, cspawn_step step, int error) {
    report->kind = CSPAWN_REPORT_FAILED;
    report->failure = (cspawn_failure){.step = step, .error = error, .item = -1};
    return false;
}

static bool fail_pam(cspawn_report *report, cspawn_step step, int code) {
    snprintf(report->name, sizeof report->name, "%s", name_of(code));
    const char *colon = module_error[0] == '\0' ? "" : ": ";
    snprintf(report->text, sizeof report->text, "%s%s%s", pam_strerror(handle, code), colon, module_error);
    return fail(report, step, code);
}

/// There is no user at a terminal: the last error message of a module is kept, and a question fails.
static int converse(int count, const struct pam_message **messages, struct pam_response **responses, void *data) {
    (void)data;
    if (count <= 0 || count > PAM_MAX_NUM_MSG) return PAM_CONV_ERR;
    for (int index = 0; index < count; index++) {
        const struct pam_message *message = messages[index];
        if (message->msg_style == PAM_ERROR_MSG) {
            snprintf(module_error, sizeof module_error, "%s", message->msg == NULL ? "" : message->msg);
        } else if (message->msg_style != PAM_TEXT_INFO) {
            return PAM_CONV_ERR;
        }
    }
    // Modules free it.
    *responses = calloc((size_t)count, sizeof **responses);
    return *responses == NULL ? PAM_BUF_ERR : PAM_SUCCESS;
}

// MARK: - The environment and the groups of the job

static bool has_variable(char *const *environment, const char *variable, size_t name_length) {
    for (; *environment != NULL; environment++) {
        if (strncmp(*environment, variable, name_length + 1) == 0) return true;
    }
    return false;
}

/// Adds the variables that modules set, except those that the job has.
static bool add_variables(cspawn_request *request) {
    char **set = pam_getenvlist(handle);
    if (set == NULL) return false;
    size_t own = 0, added = 0;
    while (request->environment[own] != NULL) own++;
    while (set[added] != NULL) added++;
    char **all = calloc(own + added + 1, sizeof *all);
    if (all == NULL) return false;
    memcpy(all, request->environment, own * sizeof *all);
    size_t count = own;
    for (size_t index = 0; index < added; index++) {
        const char *end = strchr(set[index], '=');
        if (end == NULL || end == set[index]) continue;
        if (has_variable(request->environment, set[index], (size_t)(end - set[index]))) continue;
        all[count++] = set[index];
    }
    request->environment = all;
    return true;
}

/// Copies the groups of this process, including those that modules added, to the request.
static bool copy_process_groups(cspawn_request *request) {
    int count = getgroups(0, NULL);
    gid_t *groups = count < 0 ? NULL : calloc((size_t)count + 1, sizeof *groups);
    if (groups == NULL) return false;
    count = getgroups(count, groups);
    if (count < 0) return false;
    for (int wanted = 0; wanted < request->group_count; wanted++) {
        bool is_there = false;
        for (int index = 0; index < count; index++) is_there |= groups[index] == request->groups[wanted];
        if (!is_there) {
            errno = EPERM;
            return false;
        }
    }
    request->groups = groups;
    request->group_count = count;
    return true;
}

// MARK: - The session

/// PAM uses the service `other` if a service does not exist, and its rules are not made for jobs.
static bool has_service(const char *service) {
    if (service[0] == '\0' || service[0] == '.' || strchr(service, '/') != NULL) return false;
    const char *folders[] = {"/etc/pam.d", "/usr/lib/pam.d"};
    for (int index = 0; index < 2; index++) {
        char path[512];
        int length = snprintf(path, sizeof path, "%s/%s", folders[index], service);
        if (length < (int)sizeof path && access(path, F_OK) == 0) return true;
    }
    return false;
}

static void end_pam(int code) {
    pam_end(handle, code);
    handle = NULL;
}

static bool start_pam(const cspawn_session *session, cspawn_report *report) {
    static const struct pam_conv conversation = {.conv = converse};
    if (!has_service(session->service)) return fail(report, CSPAWN_STEP_PAM_SERVICE, ENOENT);
    int code = pam_start(session->service, session->user, &conversation, &handle);
    if (code == PAM_SUCCESS) code = pam_set_item(handle, PAM_TTY, "cron");
    if (code == PAM_SUCCESS) return true;
    fail_pam(report, CSPAWN_STEP_PAM_START, code);
    if (handle != NULL) end_pam(code);
    return false;
}

bool session_open(const cspawn_session *session, cspawn_request *request, cspawn_report *report) {
    if (!start_pam(session, report)) return false;
    // This call is not silent: the message of a module is part of the error.
    int code = pam_acct_mgmt(handle, 0);
    if (code != PAM_SUCCESS) {
        fail_pam(report, CSPAWN_STEP_PAM_ACCOUNT, code);
        end_pam(code);
        return false;
    }
    if (request->switches_user && setgroups((size_t)request->group_count, request->groups) != 0) {
        fail(report, CSPAWN_STEP_GROUPS, errno);
        end_pam(PAM_SYSTEM_ERR);
        return false;
    }
    code = pam_setcred(handle, PAM_ESTABLISH_CRED | PAM_SILENT);
    if (code != PAM_SUCCESS) {
        fail_pam(report, CSPAWN_STEP_PAM_CREDENTIALS, code);
        end_pam(code);
        return false;
    }
    code = pam_open_session(handle, PAM_SILENT);
    if (code != PAM_SUCCESS) {
        fail_pam(report, CSPAWN_STEP_PAM_SESSION, code);
        pam_setcred(handle, PAM_DELETE_CRED | PAM_SILENT);
        end_pam(code);
        return false;
    }
    errno = ENOMEM;
    if (!add_variables(request)) {
        fail(report, CSPAWN_STEP_MEMORY, errno);
    } else if (request->switches_user && !copy_process_groups(request)) {
        fail(report, CSPAWN_STEP_GROUPS, errno);
    } else {
        return true;
    }
    session_close();
    return false;
}

bool session_close(void) {
    pam_setcred(handle, PAM_DELETE_CRED | PAM_SILENT);
    int code = pam_close_session(handle, PAM_SILENT);
    end_pam(code);
    return code == PAM_SUCCESS;
}
