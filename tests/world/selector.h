// SPDX-License-Identifier: Apache-2.0
// Label and field selectors of a list or a watch.
#pragma once

#include "tests/world/model.h"

#define SELECTOR_TERMS 16
#define SELECTOR_VALUES 64
#define SELECTOR_FIELDS 8

enum selector_op { SELECTOR_IN, SELECTOR_NOT_IN, SELECTOR_EXISTS, SELECTOR_ABSENT };

struct selector_term {
    enum selector_op op;
    const char *key;
    size_t first, count; // of the values
};

struct selector {
    char *text;       // what keys and values point into
    char *namespace_; // only objects of it; NULL: all
    const char *name; // only this object; NULL: any
    struct selector_term term[SELECTOR_TERMS];
    size_t terms;
    const char *value[SELECTOR_VALUES];
    size_t values;
    struct {
        const char *pointer, *value;
        bool differs;         // "!="
    } field[SELECTOR_FIELDS]; // of Events and pods
    size_t fields;
    bool nothing; // a field selector that no object can match
};

// `labels` and `fields` may be NULL. False with a message when they cannot be read.
bool selector_read(struct selector *selector, const struct kind *kind, const char *namespace_, const char *labels,
                   const char *fields, char message[256]);
void selector_free(struct selector *selector);
bool selector_matches(const struct selector *selector, const struct blob *blob); // NULL matches nothing
