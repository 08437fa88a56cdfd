// SPDX-License-Identifier: Apache-2.0
// Internal to core/json: the state of the YAML parser, shared by all parts. Functions that return a node return NULL on
// failure and set the reader's error. Also the types of scalars, for the printer.
#pragma once

#include "core/json/node.h"

#include <yaml.h>

struct anchor {
    const char *name;  // in the same block
    const cJSON *node; // NULL while the node is being read
};

struct yaml_reader {
    yaml_parser_t parser;
    yaml_event_t event; // the current event
    const char *name;
    const char *text; // the stream
    size_t len;
    struct map anchors; // of the current document, by name
    struct json *kept;  // nodes that are in no document but may have anchors: keys, and merged mappings
    size_t expanded_values, expanded_bytes;
    struct error *error;
};

// Line and column from 1. Only the first failure is kept. Always NULL.
cJSON *reader_fail_at(struct yaml_reader *reader, const yaml_mark_t *mark, enum error_code code, const char *problem);

// The same, at the current event.
cJSON *reader_fail(struct yaml_reader *reader, enum error_code code, const char *problem);

// ERROR_INVALID with a message that begins with the text in quotes, truncated and on one line.
cJSON *reader_fail_about(struct yaml_reader *reader, const yaml_mark_t *mark, const char *text, const char *problem);

cJSON *reader_no_memory(struct yaml_reader *reader);

// Moves on to the next event.
bool reader_next(struct yaml_reader *reader);

// Reads the node that begins with the current event, nested in `depth` containers. Ends at the node's last event.
cJSON *reader_node(struct yaml_reader *reader, size_t depth);

// The type of a plain scalar, as in sigs.k8s.io/yaml (go-yaml v2's resolution of YAML 1.1 types, then JSON).
enum scalar {
    SCALAR_STRING,
    SCALAR_NULL,
    SCALAR_FALSE,
    SCALAR_TRUE,
    SCALAR_INTEGER,
    SCALAR_FLOAT,
    SCALAR_NOT_FINITE, // .inf and .nan, which JSON does not have
    SCALAR_TOO_LARGE   // an integer beyond 64 bits that is not decimal
};

// For a number, `token` receives the value as JSON (exactly, also decimal integers of any size). Out of memory:
// token->failed.
enum scalar scalar_resolve(const char *text, size_t len, struct buffer *token);
