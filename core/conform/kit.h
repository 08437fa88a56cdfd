// SPDX-License-Identifier: Apache-2.0
// The conformance kit for authors of adapters: loads one in a child process, calls its functions on given objects, on
// objects made from the data of its kinds and on broken ones made from both, and tells which rules of
// <wharf/adapter.h> it does not keep.
#ifndef WHARF_CONFORM_KIT_H
#define WHARF_CONFORM_KIT_H

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

// Writes the report to `out`. An error is what kept the kit from trying at all.
struct error *kit_run(const struct kit_options *options, FILE *out, struct kit_result *result);

#endif
