// SPDX-License-Identifier: Apache-2.0
// The conformance kit for authors of adapters: loads an adapter in a child process, calls the functions on given
// objects, on objects generated from the data of the kinds and on broken copies of both, and reports the broken rules
// of <wharf/adapter.h>.
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct kit_options {
    const char *file;
    const char *objects;  // folder, or NULL
    const char *settings; // YAML file with the adapter's settings, or NULL
    const char *save;     // folder for an object of each finding, or NULL
    bool quiet;           // only findings, warnings and the last line
    bool verbose;         // messages and all fields in the lives of objects
};

struct kit_result {
    uint64_t calls, objects;
    size_t findings; // groups of one cause
    size_t warnings;
};

// Writes the report to `out`. An error is the reason why the kit could make no call.
struct error *kit_run(const struct kit_options *options, FILE *out, struct kit_result *result);
