// SPDX-License-Identifier: Apache-2.0
#include "core/engine/history/inspect.h"

#include "core/adapter/phase.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/facts.h"
#include "core/engine/history/changes.h"
#include "core/engine/kueue/kueue.h"
#include "core/engine/kueue/kueue_status.h"
#include "core/engine/mirror/unresumed.h"
#include "core/engine/report/report.h"
#include "core/engine/request/call.h"
#include "core/engine/status/rival_state.h"

#include <string.h>

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

static bool is_of_kueue(const struct entry *entry) {
    return entry->workload->waiting == WAITING_QUEUED || entry->workload->waiting == WAITING_KUEUE ||
           entry->workload->waiting == WAITING_CHECK_REJECTED;
}

static void fill_waiting(const struct engine *engine, const struct entry *entry, struct moment now,
                         struct workload_view *view) {
    view->waiting = (enum waiting)entry->workload->waiting;
    if (entry->workload->waiting == WAITING_NOT)
        return;
    uint32_t cluster = entry->workload->history.change.waits_for;
    view->waits_for =
        cluster != ENGINE_MANAGEMENT && cluster < engine->n_clusters ? engine->clusters[cluster].name : NULL;
    view->waiting_since_ns = wall_of(now, entry->workload->waiting_since_ns);
    view->waiting_until_ns = wall_of(now, entry->workload->history.change.until_ns);
    const struct kueue_status *kueue_status = is_of_kueue(entry) ? kueue_status_of(entry) : NULL;
    if (kueue_status) {
        view->waiting_detail = *kueue_status->check ? kueue_status->check : kueue_status->why;
        view->waiting_since_ns = kueue_status->since_ns ? kueue_status->since_ns : view->waiting_since_ns;
    }
}

// `space` has room for a namespace.
static void fill_workload(const struct engine *engine, const struct entry *entry, struct moment now, char space[254],
                          struct workload_view *view) {
    const struct attempt *attempt = entry->workload->facts.attempt ? entry->workload->history.attempts.newest : NULL;
    entry_namespace(entry, space);
    *view = (struct workload_view){.kind = entry->kind,
                                   .sequence = entry->workload->history.change.sequence,
                                   .namespace_ = space,
                                   .name = entry_name(entry),
                                   .uid = entry->workload->uid,
                                   .cluster = attempt ? attempt->cluster : NULL,
                                   .attempt = entry->workload->facts.attempt,
                                   .phase = (wharf_phase_kind)entry->workload->phase,
                                   .suspended = entry->workload->facts.suspended,
                                   .being_deleted = entry->workload->facts.being_deleted,
                                   .placed_ns = attempt ? attempt->placed_ns : 0,
                                   .changed_ns = entry->workload->history.change.at_ns};
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

uint64_t inspect_sequence(const struct engine *engine) {
    return changes_last(engine);
}

bool inspect_knows_since(const struct engine *engine, uint64_t since) {
    return changes_known_since(engine, since);
}

bool inspect_changes(struct engine *engine, struct moment now, uint64_t *after, size_t max, inspect_visit visit,
                     void *ctx) {
    for (size_t i = 0; i < max; i++) {
        struct entry *entry = changes_next(engine, *after);
        if (!entry)
            return false;
        char space[254], reasons[512];
        struct workload_view view;
        fill_workload(engine, entry, now, space, &view);
        fill_worker_reasons(engine, entry, now, reasons, sizeof reasons, &view);
        *after = entry->workload->history.change.sequence;
        if (!visit(ctx, &view))
            return true;
    }
    return true;
}

void inspect_gone(const struct engine *engine, uint64_t since,
                  void (*visit)(void *ctx, size_t kind, const char *namespace_, const char *name), void *ctx) {
    size_t cursor = 0;
    for (const struct gone *gone; (gone = changes_gone(engine, since, &cursor));) {
        const char *slash = strchr(gone->key, '/');
        char space[254];
        size_t len = slash ? (size_t)(slash - gone->key) : 0;
        len = len < sizeof space ? len : sizeof space - 1;
        memcpy(space, gone->key, len);
        space[len] = '\0';
        visit(ctx, gone->kind, space, slash ? slash + 1 : gone->key);
    }
}

static bool is_finished(const struct entry *entry) {
    return entry->workload->phase == WHARF_SUCCEEDED || entry->workload->phase == WHARF_FAILED;
}

static bool fill_mirror(const struct engine *engine, const struct entry *entry, struct mirror_view *out) {
    const struct mirror *mirror = facts_placed_mirror(entry);
    if (!mirror)
        return false;
    const char *version = cluster_watch(engine, mirror->facts.cluster, entry->kind)->version;
    *out = (struct mirror_view){.cluster = mirror->facts.cluster,
                                .cluster_name = engine->clusters[mirror->facts.cluster].name,
                                .uid = mirror->uid,
                                .version = version ? version : "",
                                .reduced = mirror->reduced,
                                .attempt = mirror->facts.attempt,
                                .finished = is_finished(entry)};
    return true;
}

enum inspect_mirror inspect_mirror(const struct engine *engine, const struct kind *kind, const char *namespace_,
                                   const char *name, struct mirror_view *out) {
    const struct entry *entry = find_entry(engine, kind, namespace_, name);
    if (!entry)
        return INSPECT_MIRROR_NOT_OURS;
    *out = (struct mirror_view){.finished = is_finished(entry)};
    return fill_mirror(engine, entry, out) ? INSPECT_MIRROR_FOUND : INSPECT_MIRROR_NONE;
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

static wharf_phase_kind phase_of_mirror(struct engine *engine, struct entry *entry) {
    struct mirror *mirror = facts_placed_mirror(entry);
    const struct json *object = mirror ? doc_tree(&engine->store, &mirror->doc) : NULL;
    wharf_phase phase = {.phase = WHARF_PENDING};
    if (!object)
        return phase.phase;
    struct adapter_call call;
    call_begin(engine, entry, WHARF_MIRROR_PRESENT, &call);
    if (adapter_phase(&call, object, &phase) != WHARF_OK)
        phase.phase = WHARF_ACTIVE;
    adapter_call_end(&call);
    return phase.phase;
}

// The view of the workload is filled.
static void fill_waiting_text(struct engine *engine, struct entry *entry, struct moment now, struct explain_view *out) {
    AUTO_BUFFER(text, 8192);
    int64_t since_ns = 0;
    fill_worker_reasons(engine, entry, now, out->waiting_text, sizeof out->waiting_text, &out->workload);
    if (*out->waiting_text)
        return;
    if (is_of_kueue(entry))
        kueue_status_put(engine, entry, &text, &since_ns);
    else if (entry->workload->waiting == WAITING_RESUME)
        unresumed_put(engine, entry, &text);
    if (text.len == 0 && entry->workload->waiting != WAITING_NOT)
        buffer_text(&text, waiting_text((enum waiting)entry->workload->waiting));
    text_copy(out->waiting_text, sizeof out->waiting_text, text.len > 0 ? text.data : "");
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
    if (out->has_mirror)
        out->mirror.phase = phase_of_mirror(engine, entry);
    const struct json *object = doc_tree(&engine->store, &entry->workload->doc);
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
