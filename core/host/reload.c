// SPDX-License-Identifier: Apache-2.0
#include "core/host/reload.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/host/host_internal.h"

#include <stdlib.h>
#include <string.h>

static void clear_note(struct source_note *note) {
    free(note->origin_text);
    free(note->name);
    free(note->problem);
}

void source_notes_free(struct source_note *notes, size_t count) {
    for (size_t i = 0; notes && i < count; i++)
        clear_note(&notes[i]);
    free(notes);
}

bool source_notes_add(struct source_note **notes, size_t *count, const struct source_note *note) {
    struct source_note copy = {.token_life = note->token_life};
    struct source_note *slot = NULL;
    if (text_set(&copy.origin_text, note->origin_text) && text_set(&copy.name, note->name) &&
        text_set(&copy.problem, note->problem))
        slot = array_next(notes, *count, sizeof *slot);
    if (!slot) {
        clear_note(&copy);
        return false;
    }
    *slot = copy;
    (*count)++;
    return true;
}

bool source_notes_copy(const struct source_note *notes, size_t count, struct source_note **out) {
    size_t done = 0;
    *out = NULL;
    while (done < count && source_notes_add(out, &done, &notes[done]))
        ;
    if (done == count)
        return true;
    source_notes_free(*out, done);
    *out = NULL;
    return false;
}

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
