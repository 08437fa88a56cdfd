// SPDX-License-Identifier: Apache-2.0
// YAML in (libyaml): documents become JSON values, with the line of every value at hand for messages. Scalars are
// typed as sigs.k8s.io/yaml types them (YAML 1.1 core as far as Kubernetes files use it: null, ~, true/false, integers,
// floats; quoted scalars are strings). Duplicate keys are an error. Aliases are allowed up to a bound on the size
// of what they expand to; more is refused (a document that explodes).
#ifndef WHARF_JSON_YAML_H
#define WHARF_JSON_YAML_H

#include "core/json/json.h"

struct yaml {
    struct json *value; // never NULL on success; an empty document is JSON null
    struct yaml_lines *lines;
};

// Reads exactly one document. Errors: "<name>:<line>:<column>: ...", ERROR_INVALID or ERROR_LIMIT.
struct error *yaml_parse(const char *name, const char *text, size_t len, struct yaml *out);

// Reads all documents of a stream into an array value.
struct error *yaml_parse_all(const char *name, const char *text, size_t len, struct yaml *out);

// The 1-based line on which the value at `pointer` (RFC 6901) starts; for a member, the line of its key. 0 if unknown.
size_t yaml_line(const struct yaml *yaml, const char *pointer);

// Prints block-style YAML of a value for people; strings are quoted where they must be. False when out of memory.
bool yaml_print(const struct json *value, struct buffer *out);

void yaml_free(struct yaml *yaml);
void yaml_cleanup(struct yaml *yaml); // for __attribute__((cleanup))

#endif
