// SPDX-License-Identifier: Apache-2.0
#include "core/engine/words/words.h"

#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/elsewhere/elsewhere.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/shard/shard.h"

// False: out of memory.
static bool add_wish(struct engine *engine, const struct words_wish *wish) {
    struct update *update = engine->update;
    if (!array_reserve(&update->words, &update->cap_words, update->n_words + 1, sizeof *update->words))
        return false;
    struct words_wish *copy = struct_copy_with_texts(wish, sizeof *wish, WORDS_WISH_TEXTS);
    if (copy)
        update->words[update->n_words++] = copy;
    return copy;
}

static bool ask(struct engine *engine, const struct entry *entry, const struct mirror *mirror, bool fresh) {
    char namespace_[254], space[NAMESPACE_SIZE];
    entry_namespace(entry, namespace_);
    (void)cluster_namespace(engine, mirror->facts.cluster, namespace_, space);
    const struct words_wish wish = {.namespace_ = namespace_,
                                    .name = entry_name(entry),
                                    .uid = entry->workload->uid,
                                    .worker = engine->clusters[mirror->facts.cluster].name,
                                    .space = space,
                                    .mirror = mirror->uid,
                                    .kind = entry->kind,
                                    .cluster = mirror->facts.cluster,
                                    .attempt = mirror->facts.attempt,
                                    .fresh = fresh,
                                    .as_tenant = engine->settings.tenancy.impersonate};
    return add_wish(engine, &wish);
}

static void before(struct engine *engine, struct entry *entry) {
    struct workload_words *words = &entry->workload->words;
    const struct mirror *mirror = entry->workload->facts.exists ? facts_placed_mirror(entry) : NULL;
    if (!mirror || engine->settings.last_words == LAST_WORDS_NONE || mirror->facts.unread)
        return;
    uint32_t attempt = mirror->facts.attempt;
    bool leaves = elsewhere_moves(entry, attempt); // perhaps before it has failed
    words->running = mirror->facts.finished ? words->running : attempt;
    if ((!leaves && (!mirror->facts.finished || mirror->phase != WHARF_FAILED)) || words->asked == attempt ||
        !engine->workers[entry->kind][mirror->facts.cluster].connected)
        return;
    if (!ask(engine, entry, mirror, words->running == attempt))
        return; // before the next decision
    words->asked = attempt;
    words->until_ns = engine->now.mono_ns + WORDS_HOLD_NS;
}

static void facts(const struct engine *engine, const struct entry *entry, struct decide_facts *facts) {
    (void)engine;
    facts->words_attempt = entry->workload->words.asked;
    facts->words_until_ns = entry->workload->words.until_ns;
}

// The host has read the last words, or will not.
static void on_words(struct engine *engine, struct engine_event *event) {
    struct entry *entry = store_get(&engine->store, event->kind, event->words.namespace_, event->words.name);
    struct workload_words *words = entry ? &entry->workload->words : NULL;
    if (!words || !entry->workload->facts.exists || strcmp(entry->workload->uid, event->words.uid) != 0 ||
        words->asked != event->words.attempt)
        return;
    words->until_ns = 0;
    queue_entry(engine, entry);
    if (!event->words.text)
        return;
    if (!pacing_is_calm(engine, ENGINE_MANAGEMENT)) {
        engine->stats.events_dropped++;
        return;
    }
    report_event(engine, entry, true, "LastWords", "ReadPods", "%s: %s (attempt %u)",
                 engine->clusters[event->cluster].name, event->words.text, event->words.attempt);
}

// Only a workload with a failure can have any.
static void forget(struct engine *engine, struct entry *entry) {
    const struct workload *workload = entry->workload;
    bool may_have = workload->words.asked || workload->phase == WHARF_FAILED || workload->facts.attempt > 1;
    if (!may_have || !engine->update || engine->settings.last_words == LAST_WORDS_NONE || !shard_is_held(engine, entry))
        return;
    char namespace_[254];
    entry_namespace(entry, namespace_);
    (void)add_wish(engine, &(struct words_wish){.namespace_ = namespace_,
                                                .name = entry_name(entry),
                                                .uid = workload->uid,
                                                .worker = "",
                                                .space = "",
                                                .mirror = "",
                                                .kind = entry->kind,
                                                .forget = true});
}

const struct part part_words = {.name = "last words",
                                .events = PART_EVENT(EVENT_WORDS),
                                .event = on_words,
                                .before = before,
                                .facts = facts,
                                .workload_ends = forget};
