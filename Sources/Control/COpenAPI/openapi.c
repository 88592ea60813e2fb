// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#include "COpenAPI.h"

// Clang knows it in each version of C, and warns.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char document[] = {
#embed "openapi.json"
};

const unsigned char *copenapi_document(size_t *size) {
    *size = sizeof document;
    return document;
}
