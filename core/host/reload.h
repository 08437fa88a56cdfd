// SPDX-License-Identifier: Apache-2.0
// Results of the sources of workers and of the last reload of the configuration: part of a snapshot of the host.
#pragma once

#include "core/base/error.h"
#include "core/host/sources/sources.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reload_note {
    int64_t at_wall_ns;      // of the last attempt; the first is the start
    int64_t success_wall_ns; // of the last one that succeeded
    bool successful;         // the last one
    char *message;           // the problems, or the keys that need a restart; NULL: neither
};

struct reload_notes {
    struct reload_note reload;
    struct source_note *sources;
    size_t n_sources;
};
struct error *reload_notes_copy(const struct reload_notes *from, struct reload_notes *to);
void reload_notes_free(struct reload_notes *notes);

struct host;
// From any thread. Copies `message`.
void host_report_reload(struct host *host, bool successful, int64_t wall_ns, const char *message);
void host_report_sources(struct host *host, struct source_note *notes, size_t count); // takes the notes
