// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A small C face over toml++ (https://marzer.github.io/tomlplusplus/): a parsed document whose every node
// tells the line and column it stands at. No C++ type and no exception crosses it.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The most parts a dotted key may have, and the deepest arrays and inline tables may nest in each other.
/// Both together bound the depth of a document to a few hundred nodes.
#define CTOML_DEPTH_MAX 16

/// A parsed document. Nodes and strings belong to it and live as long as it does.
typedef struct ctoml_document ctoml_document;

/// A value in a document.
typedef struct ctoml_node ctoml_node;

/// A place in the text; both count from 1, columns in code points.
typedef struct {
    uint32_t line;
    uint32_t column;
} ctoml_mark;

typedef enum {
    CTOML_TABLE,
    CTOML_ARRAY,
    CTOML_STRING,
    CTOML_INTEGER,
    CTOML_FLOAT,
    CTOML_BOOLEAN,
    CTOML_DATE_OR_TIME,
} ctoml_kind;

/// Why a text is no TOML. The message is cut off where the space for it ends.
typedef struct {
    ctoml_mark mark;
    char message[512];
} ctoml_error;

/// Parses UTF-8 text. Returns NULL and fills `error` if it is no TOML, nests deeper than
/// CTOML_DEPTH_MAX allows, or memory runs out. What is returned is freed with ctoml_free.
ctoml_document *_Nullable ctoml_parse(
    const char *_Nonnull text, size_t length, ctoml_error *_Nonnull error);

void ctoml_free(ctoml_document *_Nonnull document);

/// The table that is the document.
const ctoml_node *_Nonnull ctoml_root(const ctoml_document *_Nonnull document);

ctoml_kind ctoml_kind_of(const ctoml_node *_Nonnull node);

ctoml_mark ctoml_mark_of(const ctoml_node *_Nonnull node);

/// Calls `body` for each entry of a table, in the order of the keys, and not at all for other nodes.
void ctoml_each_entry(
    const ctoml_node *_Nonnull table, void *_Nullable context,
    void (*_Nonnull body)(
        void *_Nullable context, const char *_Nonnull key, size_t length, ctoml_mark mark,
        const ctoml_node *_Nonnull value));

/// Calls `body` for each element of an array, in their order, and not at all for other nodes.
void ctoml_each_element(
    const ctoml_node *_Nonnull array, void *_Nullable context,
    void (*_Nonnull body)(void *_Nullable context, const ctoml_node *_Nonnull value));

/// The bytes of a string, which may hold zeros; NULL for other nodes.
const char *_Nullable ctoml_string(const ctoml_node *_Nonnull node, size_t *_Nonnull length);

/// The value of an integer; 0 for other nodes.
int64_t ctoml_integer(const ctoml_node *_Nonnull node);

/// The value of a float; 0 for other nodes.
double ctoml_float(const ctoml_node *_Nonnull node);

/// The value of a boolean; false for other nodes.
bool ctoml_boolean(const ctoml_node *_Nonnull node);

#ifdef __cplusplus
}
#endif
