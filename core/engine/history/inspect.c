// SPDX-License-Identifier: Apache-2.0
#include "core/engine/history/inspect.h"

#include "core/adapter/phase.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/continuity/values.h"
#include "core/engine/dependencies/dependencies.h"
#include "core/engine/engine_internal.h"
#include "core/engine/history/attempt_history.h"
#include "core/engine/kueue/kueue.h"
#include "core/engine/mirror/mirror_parts.h"
#include "core/engine/report/report.h"

// Each change has a sequence number, so that a reader gets only later changes. Numbers grow from one process to the
// next: they begin with the start time. A million changes a second, for the whole life of the process, do not reach the
// numbers of the next one. All numbers stay below 2^53, the limit of JSON numbers, for centuries.
#define SECOND_BITS 20
#define CHANGES_GONE 1024 // most deleted workloads that readers still get

struct gone {
    uint64_t sequence;
    size_t kind;
    char *key; // "namespace/name"
};

// The workloads in the order of their last visible change.
struct changes {
    struct entry *newest, *oldest;
    struct entry *next;  // the first entry after `after`, if known
    uint64_t after;      // of the last call
    uint64_t last;       // sequence
    uint64_t gone_since; // of the oldest known deletion
    struct gone gone[CHANGES_GONE];
    size_t n_gone; // ever
};

static struct last_change *change_of(const struct entry *entry) {
    return &entry->workload->history.change;
}

static struct error *begin(struct engine *engine, const struct engine_options *options) {
    (void)options;
    struct changes *changes = engine->history = calloc(1, sizeof *changes);
    if (!changes)
        return error_no_memory();
    int64_t second = clock_later(engine->now.wall_ns, 0) / CLOCK_SECOND;
    changes->last = changes->gone_since = (uint64_t)second << SECOND_BITS;
    return NULL;
}

static void end(struct engine *engine) {
    struct changes *changes = engine->history;
    for (size_t i = 0; changes && i < CHANGES_GONE; i++)
        free(changes->gone[i].key);
    free(changes);
}

static void unlink_entry(struct changes *changes, struct entry *entry) {
    struct last_change *change = change_of(entry);
    if (change->sequence == 0)
        return;
    if (changes->next == entry)
        changes->next = change->newer;
    *(change->newer ? &change_of(change->newer)->older : &changes->newest) = change->older;
    *(change->older ? &change_of(change->older)->newer : &changes->oldest) = change->newer;
    change->newer = change->older = NULL;
    change->sequence = 0;
}

static void link_newest(struct changes *changes, struct entry *entry) {
    struct last_change *change = change_of(entry);
    change->sequence = ++changes->last;
    change->older = changes->newest;
    *(change->older ? &change_of(change->older)->newer : &changes->oldest) = entry;
    changes->newest = entry;
    if (!changes->next && changes->after)
        changes->next = entry;
}

static uint32_t mix(uint32_t hash, uint64_t value) {
    uint64_t wide = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(wide ^ wide >> 32);
}

static uint32_t hash_shown(const struct entry *entry) {
    const struct workload *w = entry->workload;
    const struct attempt *attempt = w->history.attempts.newest;
    const struct last_change *change = &w->history.change;
    uint32_t hash = mix(mix(1, w->facts.cluster), w->facts.attempt);
    hash = mix(hash, (uint64_t)w->phase << 2 | (uint64_t)w->facts.suspended << 1 | w->facts.being_deleted);
    hash = mix(hash, (uint64_t)w->waiting << 32 | (w->waiting ? change->waits_for : 0));
    hash = mix(hash, w->waiting ? (uint64_t)change->until_ns : 0);
    if (attempt)
        hash = mix(hash, (uint64_t)attempt->outcome << 2 | (uint64_t)!attempt->created_ns << 1 | !attempt->started_ns);
    return hash ? hash : 1;
}

static void note_change(struct engine *engine, struct entry *entry, const struct action *action) {
    struct last_change *change = change_of(entry);
    attempt_history_follow(engine, entry);
    if (action->waiting != WAITING_ANSWER) {
        change->until_ns = action->type == ACTION_WAIT ? action->at_ns : CLOCK_NEVER;
        change->waits_for = (uint32_t)action->cluster;
    }
    uint32_t hash = hash_shown(entry);
    if (hash == change->shown)
        return;
    change->shown = hash;
    change->at_ns = engine->now.wall_ns;
    unlink_entry(engine->history, entry);
    link_newest(engine->history, entry);
}

static void remember_gone(struct changes *changes, size_t kind, const char *key) {
    struct gone *gone = &changes->gone[changes->n_gone++ % CHANGES_GONE];
    if (gone->key)
        changes->gone_since = gone->sequence;
    free(gone->key);
    *gone = (struct gone){.sequence = ++changes->last, .kind = kind, .key = strdup(key)};
    if (!gone->key) // not available, so readers begin anew
        changes->gone_since = gone->sequence;
}

static void forget_workload(struct engine *engine, struct entry *entry) {
    bool listed = change_of(entry)->sequence;
    attempt_history_clear(&entry->workload->history.attempts);
    unlink_entry(engine->history, entry);
    *change_of(entry) = (struct last_change){.until_ns = CLOCK_NEVER};
    if (listed)
        remember_gone(engine->history, entry->kind, entry->key);
}

const struct part part_history = {
    .name = "history", .begin = begin, .end = end, .after = note_change, .workload_ends = forget_workload};

uint64_t inspect_sequence(const struct engine *engine) {
    return engine->history->last;
}

bool inspect_knows_since(const struct engine *engine, uint64_t since) {
    return since >= engine->history->gone_since && since <= engine->history->last;
}

// From both ends, since most readers want the newest or all.
static struct entry *search(const struct changes *changes, uint64_t after) {
    struct entry *low = changes->oldest, *high = changes->newest, *above = NULL;
    while (low && high) {
        if (change_of(low)->sequence > after)
            return low;
        if (change_of(high)->sequence <= after)
            return above;
        above = high;
        low = change_of(low)->newer;
        high = change_of(high)->older;
    }
    return NULL;
}

// The workload with the least sequence above `after`; NULL: none. Quick for readers that continue.
static struct entry *next_changed(struct changes *changes, uint64_t after) {
    struct entry *found = after && changes->after == after ? changes->next : search(changes, after);
    changes->after = found ? change_of(found)->sequence : after;
    changes->next = found ? change_of(found)->newer : NULL;
    return found;
}

static size_t number_of(const struct engine *engine, const struct kind *kind) {
    size_t k = 0;
    while (k < engine->n_kinds && engine->kinds[k] != kind)
        k++;
    return k;
}

static struct entry *find_entry(const struct engine *engine, const struct kind *kind, const char *namespace_,
                                const char *name) {
    size_t k = number_of(engine, kind);
    struct entry *entry = k < engine->n_kinds ? store_get(&engine->store, k, namespace_, name) : NULL;
    return entry && entry->workload->facts.exists ? entry : NULL;
}

// 0 and CLOCK_NEVER stay 0.
static int64_t wall_of(struct moment now, int64_t mono_ns) {
    return mono_ns == 0 || mono_ns == CLOCK_NEVER ? 0 : now.wall_ns + (mono_ns - now.mono_ns);
}

static bool is_of_kueue(const struct workload *w) {
    return w->waiting == WAITING_QUEUED || w->waiting == WAITING_KUEUE || w->waiting == WAITING_CHECK_REJECTED;
}

static void fill_waiting(const struct engine *engine, const struct entry *entry, struct moment now,
                         struct workload_view *view) {
    const struct workload *w = entry->workload;
    view->waiting = (enum waiting)w->waiting;
    if (w->waiting == WAITING_NOT)
        return;
    uint32_t cluster = w->history.change.waits_for;
    view->waits_for =
        cluster != ENGINE_MANAGEMENT && cluster < engine->n_clusters ? engine->clusters[cluster].name : NULL;
    view->waiting_since_ns = wall_of(now, w->waiting_since_ns);
    view->waiting_until_ns = wall_of(now, w->history.change.until_ns);
    const struct kueue_status *kueue_status = is_of_kueue(w) ? kueue_status_of(entry) : NULL;
    if (kueue_status) {
        view->waiting_detail = *kueue_status->check ? kueue_status->check : kueue_status->why;
        view->waiting_since_ns = kueue_status->since_ns ? kueue_status->since_ns : view->waiting_since_ns;
    }
}

// `space` has room for a namespace.
static void fill_workload(const struct engine *engine, const struct entry *entry, struct moment now, char space[254],
                          struct workload_view *view) {
    const struct workload *w = entry->workload;
    const struct attempt *attempt = w->facts.attempt ? w->history.attempts.newest : NULL;
    entry_namespace(entry, space);
    *view = (struct workload_view){.kind = entry->kind,
                                   .sequence = w->history.change.sequence,
                                   .namespace_ = space,
                                   .name = entry_name(entry),
                                   .uid = w->uid,
                                   .cluster = attempt ? attempt->cluster : NULL,
                                   .attempt = w->facts.attempt,
                                   .phase = (wharf_phase_kind)w->phase,
                                   .suspended = w->facts.suspended,
                                   .being_deleted = w->facts.being_deleted,
                                   .placed_ns = attempt ? attempt->placed_ns : 0,
                                   .changed_ns = w->history.change.at_ns};
    fill_waiting(engine, entry, now, view);
}

// For a workload that waits for a worker. `text` has room for `size` bytes.
static void fill_worker_reasons(struct engine *engine, struct entry *entry, struct moment now, char *text, size_t size,
                                struct workload_view *view) {
    if (!waiting_is_for_a_worker(view->waiting))
        return;
    AUTO_BUFFER(reasons, 8192);
    worker_reasons_put(engine, entry, now.mono_ns, &reasons);
    text_copy(text, size, reasons.len > 0 ? reasons.data : "");
    view->waiting_detail = *text ? text : NULL;
}

bool inspect_changes(struct engine *engine, struct moment now, uint64_t *after, size_t max, inspect_visit visit,
                     void *ctx) {
    for (size_t i = 0; i < max; i++) {
        struct entry *entry = next_changed(engine->history, *after);
        if (!entry)
            return false;
        char space[254], reasons[512];
        struct workload_view view;
        fill_workload(engine, entry, now, space, &view);
        fill_worker_reasons(engine, entry, now, reasons, sizeof reasons, &view);
        *after = change_of(entry)->sequence;
        if (!visit(ctx, &view))
            return true;
    }
    return true;
}

static bool is_back(const struct engine *engine, const struct gone *gone) {
    const struct entry *entry = map_get(&engine->store.maps[gone->kind], gone->key);
    return entry && entry->workload->facts.exists;
}

void inspect_gone(const struct engine *engine, uint64_t since,
                  void (*visit)(void *ctx, size_t kind, const char *namespace_, const char *name), void *ctx) {
    const struct changes *changes = engine->history;
    for (size_t i = changes->n_gone > CHANGES_GONE ? changes->n_gone - CHANGES_GONE : 0; i < changes->n_gone; i++) {
        const struct gone *gone = &changes->gone[i % CHANGES_GONE];
        if (!gone->key || gone->sequence <= since || is_back(engine, gone))
            continue;
        const char *slash = strchr(gone->key, '/');
        AUTO_TEXT space = strndup(gone->key, slash ? (size_t)(slash - gone->key) : 0);
        if (space)
            visit(ctx, gone->kind, space, slash ? slash + 1 : gone->key);
    }
}

// Without a mirror, fills `finished` only.
static bool fill_mirror(const struct engine *engine, const struct entry *entry, struct mirror_view *out) {
    const struct mirror *mirror = facts_placed_mirror(entry);
    *out = (struct mirror_view){.finished = phase_is_final(entry->workload->phase)};
    if (!mirror)
        return false;
    const char *version = cluster_watch(engine, mirror->facts.cluster, entry->kind)->version;
    out->cluster = mirror->facts.cluster;
    out->cluster_name = engine->clusters[mirror->facts.cluster].name;
    out->uid = mirror->uid;
    char space[254];
    entry_namespace(entry, space);
    (void)cluster_namespace(engine, mirror->facts.cluster, space, out->namespace_);
    out->version = version ? version : "";
    out->reduced = mirror->reduced;
    out->attempt = mirror->facts.attempt;
    out->as_tenant = engine->settings.tenancy.impersonate;
    return true;
}

enum inspect_mirror inspect_mirror(const struct engine *engine, const struct kind *kind, const char *namespace_,
                                   const char *name, struct mirror_view *out) {
    const struct entry *entry = find_entry(engine, kind, namespace_, name);
    if (!entry)
        return INSPECT_MIRROR_NOT_OURS;
    return fill_mirror(engine, entry, out) ? INSPECT_MIRROR_FOUND : INSPECT_MIRROR_NONE;
}

void inspect_namespace(const struct engine *engine, const char *worker, const char *namespace_,
                       char out[NAMESPACE_SIZE]) {
    size_t c = engine->n_clusters - 1;
    while (c > ENGINE_MANAGEMENT && !text_equal(engine->clusters[c].name, worker))
        c--;
    (void)cluster_namespace(engine, c, namespace_, out);
}

const char *inspect_uid(const struct engine *engine, const struct kind *kind, const char *namespace_,
                        const char *name) {
    const struct entry *entry = find_entry(engine, kind, namespace_, name);
    return entry && entry->workload->facts.exists ? entry->workload->uid : "";
}

#define NO_WORDS                                                                                                       \
    "its pods were gone or could not be read (a lost worker, or one that does not let the host read pods and their "   \
    "logs), or the host may not write ConfigMap wharf-last-words in the namespace, or newer entries there took the "   \
    "place"

const char *inspect_no_words(const struct engine *engine, const struct kind *kind, const char *namespace_,
                             const char *name) {
    const struct entry *entry = find_entry(engine, kind, namespace_, name);
    const struct workload *w = entry ? entry->workload : NULL;
    bool failed = w && w->phase == WHARF_FAILED;
    uint32_t known = 0; // attempts: a restarted host knows the present one only
    if (engine->settings.last_words == LAST_WORDS_NONE)
        return "the host's configuration has lastWords: none";
    for (const struct attempt *a = w ? w->history.attempts.newest : NULL; a; a = a->older, known++)
        failed |= a->outcome == OUTCOME_FAILED;
    if (failed)
        return "an attempt has failed, but " NO_WORDS;
    return w && known == w->facts.attempt ? "no attempt has failed" : "no attempt has failed, or " NO_WORDS;
}

bool inspect_is_gone(const struct engine *engine, const char *plural_group, const char *namespace_, const char *name,
                     const char *uid) {
    size_t k = 0;
    while (k < engine->n_kinds && strcmp(engine->kinds[k]->plural_group, plural_group) != 0)
        k++;
    if (k == engine->n_kinds || !cluster_is_connected(engine, ENGINE_MANAGEMENT, k) ||
        !cluster_watch(engine, ENGINE_MANAGEMENT, k)->listed)
        return false;
    const struct entry *entry = store_get(&engine->store, k, namespace_, name);
    return !entry || !entry->workload->facts.exists || strcmp(entry->workload->uid, uid) != 0;
}

const char *inspect_version(const struct engine *engine, const struct kind *kind) {
    size_t k = number_of(engine, kind);
    return k < engine->n_kinds ? cluster_watch(engine, ENGINE_MANAGEMENT, k)->version : NULL;
}

const char *inspect_problem(const struct engine *engine, const struct kind *kind) {
    size_t k = number_of(engine, kind);
    if (k >= engine->n_kinds || cluster_is_connected(engine, ENGINE_MANAGEMENT, k))
        return "";
    const char *problem = engine->stats.clusters[ENGINE_MANAGEMENT].watches[k].problem;
    return *problem ? problem : "the list is not complete yet";
}

// After fill_workload.
static void fill_waiting_text(struct engine *engine, struct entry *entry, struct moment now, struct explain_view *out) {
    AUTO_BUFFER(text, 8192);
    int64_t since_ns = 0;
    fill_worker_reasons(engine, entry, now, out->waiting_text, sizeof out->waiting_text, &out->workload);
    if (*out->waiting_text)
        return;
    enum waiting waiting = out->workload.waiting;
    if (is_of_kueue(entry->workload))
        kueue_status_put(engine, entry, &text, &since_ns);
    else if (waiting == WAITING_RESUME)
        unresumed_put(engine, entry, &text);
    else if (waiting == WAITING_ADAPTER)
        aside_put(engine, entry, &text);
    else if (waiting == WAITING_DEPENDENCY)
        dependencies_put(engine, entry, &text);
    if (text.len == 0 && waiting != WAITING_NOT)
        buffer_text(&text, waiting_text(waiting));
    text_copy(out->waiting_text, sizeof out->waiting_text, text.len > 0 ? text.data : "");
}

void inspect_dependencies(struct engine *engine, const struct kind *kind, const char *namespace_, const char *name,
                          void (*visit)(void *ctx, const struct dependency_view *view), void *ctx) {
    struct entry *entry = find_entry(engine, kind, namespace_, name);
    if (entry)
        dependencies_visit(engine, entry, visit, ctx);
}

bool inspect_explain(struct engine *engine, struct moment now, const struct kind *kind, const char *namespace_,
                     const char *name, struct explain_view *out,
                     void (*worker)(void *ctx, const char *name, const struct worker_reason *reason,
                                    int64_t until_wall_ns, int64_t since_wall_ns),
                     void *ctx) {
    struct entry *entry = find_entry(engine, kind, namespace_, name);
    if (!entry)
        return false;
    char space[254];
    *out = (struct explain_view){.attempts = entry->workload->history.attempts.newest, .why = entry->why};
    fill_workload(engine, entry, now, space, &out->workload);
    out->workload.namespace_ = namespace_;
    fill_waiting_text(engine, entry, now, out);
    (void)rival_describe(entry, out->also_run);
    out->has_mirror = fill_mirror(engine, entry, &out->mirror);
    struct mirror *placed = facts_placed_mirror(entry);
    if (out->has_mirror && placed) {
        out->mirror.phase = placed->phase;
        out->mirror.progress = mirror_progress_name(mirror_progress(doc_tree(&engine->store, &placed->doc)));
    }
    const struct json *object = doc_tree(&engine->store, &entry->workload->doc);
    out->progress_off = continuity_off(kind, object);
    out->queued_by_kueue = entry->workload->facts.suspended && object && object_label(object, KUEUE_QUEUE_NAME);
    __attribute__((cleanup(placement_view_clear))) struct placement_view view = {.workers = NULL};
    bool limited = placement_is_limited(engine, entry) && placement_view_make(engine, entry, &view);
    for (size_t c = 1; c < engine->n_clusters; c++) {
        if (cluster_is_vacant(engine, c))
            continue;
        struct worker_reason reason;
        worker_reason_find(engine, entry, limited ? &view : NULL, c, now.mono_ns, &reason);
        worker(ctx, engine->clusters[c].name, &reason, wall_of(now, reason.until_ns), wall_of(now, reason.since_ns));
    }
    return true;
}
