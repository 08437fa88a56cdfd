// SPDX-License-Identifier: Apache-2.0
// The findings of the conformance kit: grouped by cause, a paragraph each.
#pragma once

#include "core/conform/rules.h"
#include "core/json/json.h"

#include <stdbool.h>
#include <stdio.h>

// One cause, with the smallest object that shows the cause.
struct finding {
    enum rule rule;
    enum function function;
    char *kind, *cause, *object, *found;
    struct json *inputs; // the workload and the mirror, if any; or NULL
    size_t size;         // of the inputs as text
    size_t more;         // found again on other objects
};

struct report {
    struct finding *list;
    size_t count;
    char **warnings; // distinct sentences
    size_t n_warnings;
};

// Takes `inputs`. False when out of memory. *index, if not NULL, is the new or extended finding.
bool report_add(struct report *report, const struct finding *found, size_t *index);
// A better example for a finding that is there. Takes the inputs.
void report_inputs(struct finding *finding, struct json *inputs);
// False when out of memory.
bool report_warn(struct report *report, const char *kind, const char *text);
void report_print(const struct report *report, FILE *out);
// Writes a YAML file for each finding with inputs, and the path to `out`.
struct error *report_save(const struct report *report, const char *folder, FILE *out);
void report_free(struct report *report);
