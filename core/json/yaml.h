// SPDX-License-Identifier: Apache-2.0
// YAML input (libyaml): documents become JSON values with line numbers for messages. Scalars get the types of
// sigs.k8s.io/yaml (YAML 1.1: null, ~, true, yes, on, y and their opposites, integers in four bases, floats; timestamps
// and quoted scalars are strings). Duplicate keys are an error, and so are keys that are null or floats. Merge keys
// (<<) work; explicit keys win over merged ones. Aliases are allowed up to a limit on their total expansion; more is
// rejected ("billion laughs").
#pragma once

#include "core/json/json.h"

struct yaml {
    struct json *value; // never NULL on success; an empty document is JSON null. Copies keep the line numbers
};

// Reads exactly one document. Errors: "<name>:<line>:<column>: ...", ERROR_INVALID or ERROR_LIMIT.
struct error *yaml_parse(const char *name, const char *text, size_t len, struct yaml *out);

// Reads all documents of a stream into an array value.
struct error *yaml_parse_all(const char *name, const char *text, size_t len, struct yaml *out);

// Prints a value as block-style YAML; strings are quoted where necessary. False when out of memory.
bool yaml_print(const struct json *value, struct buffer *out);

// Whether the plain scalar is a string for every YAML parser: "no", "12" and "1:30" are not. Says nothing about syntax.
bool yaml_is_string(const char *plain);

void yaml_cleanup(struct yaml *yaml); // frees the value; also for __attribute__((cleanup))
