// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#include "CTomlPlusPlus.h"

#include <cstdio>
#include <new>
#include <string_view>

// Some malformed texts break assertions inside the parser of toml++ 3.3: its own assert would end the
// daemon, and without one it would go on with what it assumed. Here it throws, and the text is refused.
// With NDEBUG toml++ would turn its assertions into assumptions.
struct ctoml_assertion {};
#undef NDEBUG
#define TOML_ASSERT(expression) ((expression) ? static_cast<void>(0) : throw ctoml_assertion{})
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

struct ctoml_document {
    toml::table table;
};

namespace {

const toml::node &node_of(const ctoml_node *node) {
    return *reinterpret_cast<const toml::node *>(node);
}

const ctoml_node *face_of(const toml::node &node) {
    return reinterpret_cast<const ctoml_node *>(&node);
}

ctoml_mark mark_of(const toml::source_region &region) {
    return {static_cast<uint32_t>(region.begin.line), static_cast<uint32_t>(region.begin.column)};
}

void say(ctoml_error *error, ctoml_mark mark, std::string_view message) {
    error->mark = mark;
    std::snprintf(error->message, sizeof error->message, "%.*s", static_cast<int>(message.size()),
                  message.data());
}

}  // namespace

extern "C" {

ctoml_document *ctoml_parse(const char *text, size_t length, ctoml_error *error) {
    try {
        return new ctoml_document{toml::parse(std::string_view(text, length))};
    } catch (const toml::parse_error &failure) {
        say(error, mark_of(failure.source()), failure.description());
    } catch (const std::bad_alloc &) {
        say(error, {1, 1}, "memory ran out while reading it");
    } catch (const ctoml_assertion &) {
        say(error, {1, 1}, "is no TOML, and the parser cannot say where");
    } catch (...) {
        say(error, {1, 1}, "the TOML parser failed");
    }
    return nullptr;
}

void ctoml_free(ctoml_document *document) { delete document; }

const ctoml_node *ctoml_root(const ctoml_document *document) { return face_of(document->table); }

ctoml_kind ctoml_kind_of(const ctoml_node *node) {
    switch (node_of(node).type()) {
        case toml::node_type::table: return CTOML_TABLE;
        case toml::node_type::array: return CTOML_ARRAY;
        case toml::node_type::string: return CTOML_STRING;
        case toml::node_type::integer: return CTOML_INTEGER;
        case toml::node_type::floating_point: return CTOML_FLOAT;
        case toml::node_type::boolean: return CTOML_BOOLEAN;
        case toml::node_type::none:
        case toml::node_type::date:
        case toml::node_type::time:
        case toml::node_type::date_time: break;
    }
    return CTOML_DATE_OR_TIME;
}

ctoml_mark ctoml_mark_of(const ctoml_node *node) { return mark_of(node_of(node).source()); }

void ctoml_each_entry(const ctoml_node *table, void *context,
                      void (*body)(void *, const char *, size_t, ctoml_mark, const ctoml_node *)) {
    const toml::table *entries = node_of(table).as_table();
    if (entries == nullptr) return;
    for (auto &&[key, value] : *entries) {
        const std::string_view name = key.str();
        body(context, name.data(), name.size(), mark_of(key.source()), face_of(value));
    }
}

void ctoml_each_element(const ctoml_node *array, void *context,
                        void (*body)(void *, const ctoml_node *)) {
    const toml::array *elements = node_of(array).as_array();
    if (elements == nullptr) return;
    for (auto &&value : *elements) body(context, face_of(value));
}

const char *ctoml_string(const ctoml_node *node, size_t *length) {
    const toml::value<std::string> *value = node_of(node).as_string();
    if (value == nullptr) return nullptr;
    *length = value->get().size();
    return value->get().c_str();
}

int64_t ctoml_integer(const ctoml_node *node) {
    const toml::value<int64_t> *value = node_of(node).as_integer();
    return value == nullptr ? 0 : value->get();
}

bool ctoml_boolean(const ctoml_node *node) {
    const toml::value<bool> *value = node_of(node).as_boolean();
    return value != nullptr && value->get();
}

}  // extern "C"
