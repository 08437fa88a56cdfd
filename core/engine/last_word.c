// SPDX-License-Identifier: Apache-2.0
// The last word of a mirror: what it was when it went away, if it had finished by then and its workload does not say so
// yet. It is kept until that is written, whatever becomes of the mirror: what has finished is not run again.
#include "core/engine/engine_internal.h"

#include "core/adapter/phase.h"

#include <stdlib.h>
#include <string.h>

bool last_word_is_final(const struct engine *engine, const struct entry *entry, const struct json *mirror) {
    struct adapter_call call;
    act_begin_call(engine, entry, WHARF_MIRROR_NONE, &call);
    wharf_phase phase;
    bool is_final = adapter_phase(&call, mirror, &phase) == WHARF_OK && phase_is_final(phase.phase);
    adapter_call_end(&call);
    return is_final;
}

void last_word_keep(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    last_word_drop(entry);
    entry->last_word = mirror_take_text(&engine->store, mirror);
    entry->facts.final_attempt = mirror->facts.attempt;
    entry->facts.has_final_status = entry->last_word;
}

void last_word_drop(struct entry *entry) {
    free(entry->last_word);
    entry->last_word = NULL;
    entry->facts.has_final_status = false;
}

struct json *last_word_tree(const struct entry *entry) {
    struct json *tree = NULL;
    struct error *error = json_parse(entry->last_word, strlen(entry->last_word), &tree);
    error_free(error);
    return error ? NULL : tree;
}
