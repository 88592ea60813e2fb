// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stddef.h>

/// The OpenAPI document of the control API, openapi.json, which is part of the program: it is served wherever the
/// program is installed. Sets the number of its bytes.
const unsigned char *copenapi_document(size_t *size);
