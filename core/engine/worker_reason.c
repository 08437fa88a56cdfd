// SPDX-License-Identifier: Apache-2.0
#include "core/engine/worker_reason.h"

#include "core/engine/cluster_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REASONS_MAX 8 // workers named in one sentence

static void fill(struct worker_reason *out, enum worker_obstacle obstacle, const char *brief, const char *text) {
    out->obstacle = obstacle;
    text_copy(out->brief, sizeof out->brief, brief);
    text_copy(out->text, sizeof out->text, text);
}

static void fill_with(struct worker_reason *out, enum worker_obstacle obstacle, const char *brief, const char *text,
                      const char *detail) {
    char whole[sizeof out->text];
    snprintf(whole, sizeof whole, "%s%s%s", text, *detail ? ": " : "", detail);
    fill(out, obstacle, brief, whole);
}

static bool fill_connection(const struct engine *engine, const struct entry *entry, size_t cluster,
                            struct worker_reason *out) {
    const struct watch_state *watch = cluster_watch(engine, cluster, entry->kind);
    const char *problem = engine->stats.clusters[cluster].watches[entry->kind].problem;
    bool silent = engine->contacts[cluster] == CONTACT_LOST;
    if (!silent && watch->state == REFLECTOR_ABSENT)
        fill_with(out, OBSTACLE_KIND, "does not serve the kind", "does not serve the kind; install its CRD", problem);
    else if (!silent && (watch->state == REFLECTOR_STARTING || (watch->state == REFLECTOR_CONNECTED && !watch->listed)))
        fill(out, OBSTACLE_CONNECTING, "connecting", "is still connecting");
    else
        fill_with(out, OBSTACLE_UNREACHABLE, "unreachable", "is unreachable", silent ? "" : problem);
    if (out->obstacle == OBSTACLE_UNREACHABLE)
        out->since_ns = watch->lost_since_ns;
    return true;
}

static bool fill_kind(const struct engine *engine, const struct entry *entry, size_t cluster,
                      struct worker_reason *out) {
    const char *there = cluster_watch(engine, cluster, entry->kind)->version;
    const char *here = cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->version;
    snprintf(out->text, sizeof out->text, "serves the kind as %.40s, the management cluster as %.40s",
             there ? there : "an unknown version", here ? here : "an unknown version");
    out->obstacle = OBSTACLE_KIND;
    text_copy(out->brief, sizeof out->brief, "other version of the kind");
    return true;
}

// The newest rejection by this worker.
static const struct attempt *rejection_by(const struct engine *engine, const struct entry *entry, size_t cluster) {
    for (const struct attempt *a = entry->story.newest; a; a = a->older)
        if (a->outcome == OUTCOME_REJECTED && strcmp(a->cluster, engine->names[cluster]) == 0)
            return a;
    return NULL;
}

static const char *brief_of(const char *reason) {
    static const struct {
        const char *reason, *brief;
    } briefs[] = {
        {"QuotaExceeded", "quota exceeded"},
        {"NamespaceNotFound", "namespace missing"},
        {"Forbidden", "forbidden"},
        {"NamespaceTerminating", "namespace is being deleted"},
        {"KindNotFound", "kind not served"},
        {"Invalid", "invalid there"},
        {"Unauthorized", "credentials rejected"},
        {"NameConflict", "name is taken"},
        {"MarksTaken", "a policy takes its marks"},
        {"CreateFailed", "creates fail"},
    };
    for (size_t i = 0; reason && i < sizeof briefs / sizeof briefs[0]; i++)
        if (strcmp(briefs[i].reason, reason) == 0)
            return briefs[i].brief;
    return "rejected it";
}

static bool fill_rejection(const struct engine *engine, const struct entry *entry, const struct mirror *mirror,
                           struct worker_reason *out) {
    const struct attempt *attempt = rejection_by(engine, entry, mirror->facts.cluster);
    out->reason = attempt ? attempt->reason : NULL;
    fill_with(out, OBSTACLE_REJECTED, brief_of(out->reason), "rejected the mirror",
              attempt && attempt->message ? attempt->message : "");
    out->until_ns = mirror->facts.excluded_until_ns;
    return true;
}

static void fill_policy(enum worker_policy policy, struct worker_reason *out) {
    if (policy == WORKER_CORDONED)
        fill(out, OBSTACLE_CLOSED, "cordoned", "is cordoned, so nothing new is placed there");
    else if (policy == WORKER_DRAIN_MOVE)
        fill(out, OBSTACLE_CLOSED, "drained", "is drained: what runs there is moved to other workers");
    else
        fill(out, OBSTACLE_CLOSED, "drained",
             "is drained: what runs there ends there, and nothing new is placed there");
}

// Of the worker, whatever the workload.
static bool find_of_worker(const struct engine *engine, const struct entry *entry, size_t cluster,
                           struct worker_reason *out) {
    const struct worker_facts *facts = &engine->workers[entry->kind][cluster];
    const char *refused = engine->stats.clusters[cluster].refused;
    bool paused = cluster_watch(engine, cluster, entry->kind)->paused & PAUSE_FULL;
    if (*refused)
        fill_with(out, OBSTACLE_REFUSED, "refused", "is refused", refused);
    else if (!facts->connected)
        return fill_connection(engine, entry, cluster, out);
    else if (facts->frozen)
        fill(out, OBSTACLE_CONNECTING, "not identified yet", "is not identified yet, so nothing is done there");
    else if (!facts->serves)
        return fill_kind(engine, entry, cluster, out);
    else if (paused)
        fill(out, OBSTACLE_PAUSED, "paused", "is paused for the kind: it has too many mirrors without a workload");
    else if (engine->contacts[cluster] == CONTACT_SUSPECT)
        fill(out, OBSTACLE_SUSPECT, "answers late", "answers late or not at all, so nothing new is placed there");
    else if (facts->closed)
        fill_policy(engine->slots[cluster].policy, out);
    return out->obstacle != OBSTACLE_NONE;
}

void worker_reason_find(const struct engine *engine, const struct entry *entry, size_t cluster, int64_t now_ns,
                        struct worker_reason *out) {
    *out = (struct worker_reason){.until_ns = CLOCK_NEVER};
    const struct mirror *mirror = entry_mirror(entry, cluster);
    if (find_of_worker(engine, entry, cluster, out))
        return;
    if (mirror && mirror->facts.excluded_until_ns > now_ns)
        fill_rejection(engine, entry, mirror, out);
    else if (mirror && mirror->facts.present && cluster != entry->facts.cluster)
        fill(out, OBSTACLE_OCCUPIED, "an earlier mirror is there", "has an earlier mirror of this name");
    else
        fill(out, OBSTACLE_NONE, "fit", cluster == entry->facts.cluster ? "has it" : "fits");
}

void worker_reasons_put(const struct engine *engine, const struct entry *entry, int64_t now_ns, struct buffer *out) {
    AUTO_BUFFER(list, 4096);
    size_t workers = 0, fit = 0, named = 0;
    for (size_t c = 1; c < engine->n_clusters; c++) {
        struct worker_reason reason;
        if (cluster_is_vacant(engine, c))
            continue;
        worker_reason_find(engine, entry, c, now_ns, &reason);
        workers++;
        fit += reason.obstacle == OBSTACLE_NONE;
        if (reason.obstacle != OBSTACLE_NONE && named++ < REASONS_MAX)
            buffer_printf(&list, "%s%s %s", named > 1 ? "; " : "", engine->names[c], reason.brief);
    }
    if (named > REASONS_MAX)
        buffer_printf(&list, "; and %zu more", named - REASONS_MAX);
    if (workers == 0)
        buffer_text(out, "there are no workers");
    else
        buffer_printf(out, "%zu/%zu workers accept it%s%s", fit, workers, list.len ? ": " : "",
                      list.len ? list.data : "");
}
