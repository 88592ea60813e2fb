// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The checks of the types are macros for calls in C; here an option is a variable.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

// CURLOPT_QUICK_EXIT and CURLOPT_CA_CACHE_TIMEOUT.
#if LIBCURL_VERSION_NUM < 0x075700
#error "timerd needs libcurl 7.87 or later"
#endif

// Swift cannot call variadic functions: one function for each type of an option.

static inline CURLcode ccurl_init(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }

static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value)
{
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value)
{
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value)
{
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_headers(CURL *easy, struct curl_slist *headers)
{
    return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
}

/// Copies the body.
static inline CURLcode ccurl_set_body(CURL *easy, const void *bytes, size_t count)
{
    CURLcode code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)count);
    return code ? code : curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, (const char *)bytes);
}

typedef size_t (*ccurl_receive)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode ccurl_set_receive(CURL *easy, CURLoption option, ccurl_receive receive)
{
    return curl_easy_setopt(easy, option, receive);
}

static inline CURLcode ccurl_set_before_request(CURL *easy, curl_prereq_callback before)
{
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, before);
}

static inline CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value)
{
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_get_text(CURL *easy, CURLINFO info, char **value)
{
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLMcode ccurl_set_multi_long(CURLM *multi, CURLMoption option, long value)
{
    return curl_multi_setopt(multi, option, value);
}
