// SPDX-License-Identifier: Apache-2.0
#include "core/host/reload.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/host/host_internal.h"

#include <stdlib.h>
#include <string.h>

struct error *reload_notes_copy(const struct reload_notes *from, struct reload_notes *to) {
    *to = (struct reload_notes){.reload = from->reload};
    to->reload.message = NULL; // text_set would free the text of `from`
    if (text_set(&to->reload.message, from->reload.message) &&
        source_notes_copy(from->sources, from->n_sources, &to->sources)) {
        to->n_sources = from->n_sources;
        return NULL;
    }
    reload_notes_free(to);
    return error_no_memory();
}

void reload_notes_free(struct reload_notes *notes) {
    free(notes->reload.message);
    source_notes_free(notes->sources, notes->n_sources);
    *notes = (struct reload_notes){.sources = NULL};
}

void host_report_reload(struct host *host, bool successful, int64_t wall_ns, const char *message) {
    AUTO_LOCK(&host->snapshot_mutex);
    struct reload_note *note = &host->snapshot.notes.reload;
    (void)text_set(&note->message, message);
    note->at_wall_ns = wall_ns;
    note->successful = successful;
    if (successful)
        note->success_wall_ns = wall_ns;
}

void host_report_sources(struct host *host, struct source_note *notes, size_t count) {
    AUTO_LOCK(&host->snapshot_mutex);
    struct reload_notes *live = &host->snapshot.notes;
    source_notes_free(live->sources, live->n_sources);
    live->sources = notes;
    live->n_sources = count;
}
