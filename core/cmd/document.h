// SPDX-License-Identifier: Apache-2.0
// JSON documents from templates, for the output of commands and their writes.
#pragma once

#include "core/json/json.h"

// The template is JSON with ' for ". %s is a text, quoted and escaped; %j a struct json *; NULL for both: null. NULL
// when out of memory. free()
char *document_text(const char *template_, ...);
struct json *document_make(const char *template_, ...);

// Prints the document to stdout: as YAML, or as JSON on several lines.
struct error *document_print(const struct json *document, bool yaml);

// The next word of a list like "a, b": start and length, which may be 0 for "a,,b". False at the end.
bool document_next_word(const char **rest, char separator, const char **word, size_t *len);
