// SPDX-License-Identifier: Apache-2.0
// The last word of a mirror: what it was when it went away, if it had finished by then and its workload does not say so
// yet. It is kept until that is written, whatever becomes of the mirror: what has finished is not run again.
#include "core/engine/engine_internal.h"

#include "core/adapter/phase.h"

#include <stdlib.h>

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
    entry->last_word = doc_take(&engine->store, &mirror->doc, &entry->last_word_len);
    entry->last_word_attempt = mirror->attempt;
}

void last_word_drop(struct entry *entry) {
    free(entry->last_word);
    entry->last_word = NULL;
}

bool last_word_counts(const struct entry *entry) {
    return entry->last_word && entry->last_word_attempt == entry->attempt && !entry->finished;
}

struct json *last_word_tree(const struct entry *entry) {
    struct json *tree = NULL;
    struct error *error = json_parse(entry->last_word, entry->last_word_len, &tree);
    error_free(error);
    return error ? NULL : tree;
}
