// SPDX-License-Identifier: Apache-2.0
#include "core/engine/status/rival_state.h"

#include "core/engine/clusters/cluster_state.h"

#include <stdio.h>
#include <stdlib.h>

#define AGAIN_NS CLOCK_MINUTE // while it has not, what waits for that is looked at so often

struct rival *rival_make(struct entry *entry) {
    if (!entry->workload->status.rival)
        entry->workload->status.rival = calloc(1, sizeof *entry->workload->status.rival);
    return entry->workload->status.rival;
}

void rival_suspect_twin(struct entry *entry) {
    struct rival *rival = rival_make(entry);
    if (rival)
        rival->twin = true;
}

bool rival_describe(const struct entry *entry, char out[RIVAL_TEXT]) {
    const struct rival *rival = entry->workload->status.rival;
    if (!rival || !rival->runs)
        return false;
    const char *made = rival->object, *who = *rival->who ? rival->who : "an unknown writer";
    snprintf(out, RIVAL_TEXT, "a controller in the management cluster %s %.*s",
             *made ? "made" : "wrote its status:", RIVAL_OBJECT, *made ? made : who);
    return true;
}

static uint64_t space_of(const struct entry *entry) {
    char space[254];
    entry_namespace(entry, space);
    return text_hash(TEXT_HASH, space);
}

void rival_sign(const struct engine *engine, const struct entry *entry) {
    struct also_run *signs = &cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->also_run;
    if (signs->until_ns <= engine->now.mono_ns)
        *signs = (struct also_run){.space = space_of(entry)};
    signs->everywhere |= signs->space != space_of(entry);
    signs->until_ns = clock_after(engine->now.mono_ns, RIVAL_REST_NS);
}

int64_t rival_until_ns(const struct engine *engine, const struct entry *entry) {
    const struct rival *rival = entry->workload->status.rival;
    if (engine->kinds[entry->kind]->hybrid)
        return 0;
    if (rival && (rival->runs || rival->suspected) && entry->workload->facts.attempt == 0)
        return clock_after(engine->now.mono_ns, AGAIN_NS);
    const struct also_run *signs = &cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->also_run;
    return signs->everywhere || (signs->until_ns > 0 && signs->space == space_of(entry)) ? signs->until_ns : 0;
}
