// SPDX-License-Identifier: Apache-2.0
// Label selectors as kubectl writes them, "a=b,c in (d,e),!f" (apimachinery labels.Parse), over labels that are kept as
// one text, "key=value,key=value". Also name patterns, in which * stands for any text.
#pragma once

#include "core/base/buffer.h"
#include "core/base/error.h"

#define SELECTOR_TEXT_MAX ((size_t)8192)

enum selector_operator {
    SELECTOR_IN,
    SELECTOR_NOT_IN, // or the label is absent
    SELECTOR_EXISTS,
    SELECTOR_ABSENT,
    SELECTOR_GREATER, // than a whole number
    SELECTOR_LESS
};

struct selector_term {
    enum selector_operator op;
    char *key;
    char **values;
    size_t n_values;
};

// Zeroed: matches everything.
struct selector {
    struct selector_term *terms; // all must match
    size_t n_terms;
};

// ERROR_INVALID has the found and the expected text; *out is cleared then.
struct error *selector_parse(const char *text, struct selector *out);
void selector_clear(struct selector *selector); // also for __attribute__((cleanup))

// `labels` NULL: none.
bool selector_is_met(const struct selector *selector, const char *labels);

// A value, shortened to fit. False: there is no such label.
bool labels_value(const char *labels, const char *key, char *out, size_t size);
// Appends ",key=value", without the comma at the beginning of a text.
bool labels_add(struct buffer *labels, const char *key, const char *value);

// Whether a list "team-*,default" has a pattern that matches the whole name.
bool pattern_list_matches(const char *list, const char *name);
