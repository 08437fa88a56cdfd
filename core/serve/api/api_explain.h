// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of "explain": one workload, and commands that would help.
#pragma once

#include "core/serve/api/api_workloads.h"

struct explain { // of one object
    const struct api_source *source;
    const struct kind *kind;
    char namespace_[254], name[254];
    bool known; // delegated to this host
    char uid[64];
    // Members of the open object, and items of the arrays; with maxima.
    struct buffer members, workers, help;
    struct writer out, out_workers, out_help; // into these buffers
};

// Items of `help`, each a command, with the purpose behind a #.
void help_add(struct explain *explain, const char *format, ...) __attribute__((format(printf, 2, 3)));
void help_with_worker(struct explain *explain, const char *worker, const struct worker_reason *reason);
void help_with_workload(struct explain *explain, const struct explain_view *view);

// Reads an object that the engine does not track, and explains why. ERROR_NOT_FOUND: there is no such object.
struct error *explain_foreign(struct explain *explain);
// The member `events`; null where the Events cannot be read.
void explain_events(const struct explain *explain, struct writer *out);
