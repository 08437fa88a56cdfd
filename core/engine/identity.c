// SPDX-License-Identifier: Apache-2.0
// Rule 9. A cluster is identified by the uid of namespace kube-system, read at each connection; nothing is done in a
// cluster before that. A worker that turns out to be another worker, the management cluster, or a different cluster
// than the one first seen under its name is refused: nothing is placed, changed or deleted there.
#include "core/engine/identity.h"

#include "core/engine/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/fence_state.h"
#include "core/engine/report.h"

#include <stdio.h>
#include <string.h>

static enum refusal refusal_of(const struct engine *engine, size_t cluster, size_t *duplicate_of) {
    const struct identity *all = engine->identities, *identity = &all[cluster];
    if (*identity->uid == '\0')
        return REFUSAL_NONE;
    if (strcmp(identity->uid, identity->first) != 0)
        return REFUSAL_OTHER;
    for (size_t c = 0; c < engine->n_clusters; c++) {
        if (cluster_is_vacant(engine, c) || engine->slots[c].join >= engine->slots[cluster].join)
            continue;
        *duplicate_of = c;
        bool counts = c == ENGINE_MANAGEMENT || all[c].refusal == REFUSAL_NONE;
        if (counts && strcmp(all[c].uid, identity->uid) == 0)
            return c == ENGINE_MANAGEMENT ? REFUSAL_MANAGEMENT : REFUSAL_DUPLICATE;
    }
    return REFUSAL_NONE;
}

// One sentence for the log, /readyz and Events.
static void describe(const struct engine *engine, size_t cluster, size_t duplicate_of) {
    const struct identity *identity = &engine->identities[cluster];
    char *out = engine->stats.clusters[cluster].refused;
    size_t size = sizeof engine->stats.clusters[cluster].refused;
    switch (identity->refusal) {
    case REFUSAL_NONE:
        *out = '\0';
        break;
    case REFUSAL_MANAGEMENT:
        snprintf(out, size, "it is the management cluster (uid %s of namespace kube-system)", identity->uid);
        break;
    case REFUSAL_DUPLICATE:
        snprintf(out, size, "it is the same cluster as %.63s (uid %s of namespace kube-system)",
                 engine->names[duplicate_of], identity->uid);
        break;
    case REFUSAL_OTHER:
        snprintf(out, size,
                 "it is a different cluster now: found uid %s of namespace kube-system, expected %s as at first; "
                 "restart the host if the change is intended",
                 identity->uid, identity->first);
        break;
    }
}

// All watches count as lost: what ran in the cluster is unreachable or gone.
static void lose(struct engine *engine, size_t cluster) {
    for (size_t k = 0; k < engine->n_kinds; k++) {
        struct watch_state *watch = cluster_watch(engine, cluster, k);
        if (watch->state == REFLECTOR_CONNECTED)
            watch->lost_since_ns = engine->now.mono_ns;
    }
}

// The cluster that joined next after the `last` one; SIZE_MAX: none.
static size_t joined_after(const struct engine *engine, size_t last) {
    size_t next = SIZE_MAX;
    for (size_t c = 0; c < engine->n_clusters; c++)
        if (!cluster_is_vacant(engine, c) && engine->slots[c].join > engine->slots[last].join &&
            (next == SIZE_MAX || engine->slots[c].join < engine->slots[next].join))
            next = c;
    return next;
}

// Evaluates all clusters, in the order of joining, since earlier ones count; `changed` is updated in any case.
static void evaluate_all(struct engine *engine, size_t changed) {
    for (size_t c = ENGINE_MANAGEMENT; c != SIZE_MAX; c = joined_after(engine, c)) {
        struct identity *identity = &engine->identities[c];
        size_t duplicate_of = 0;
        enum refusal refusal = refusal_of(engine, c, &duplicate_of);
        bool same =
            refusal == identity->refusal && (refusal != REFUSAL_DUPLICATE || duplicate_of == identity->duplicate_of);
        identity->refusal = refusal;
        identity->duplicate_of = duplicate_of;
        describe(engine, c, duplicate_of);
        if (!same && refusal == REFUSAL_OTHER)
            lose(engine, c);
        if (!same || c == changed)
            cluster_changed(engine, c);
        if (same)
            continue;
        if (refusal == REFUSAL_NONE)
            report_log(engine, LOG_INFO, c, LOG_NO_KIND, "the cluster is no longer refused");
        else
            report_log(engine, LOG_WARN, c, LOG_NO_KIND,
                       "the cluster is refused: %s. Nothing is placed, changed or deleted %s",
                       engine->stats.clusters[c].refused,
                       c == ENGINE_MANAGEMENT ? "in any cluster meanwhile" : "there");
    }
}

static void report_unknown(struct engine *engine, size_t cluster, const char *problem) {
    struct identity *identity = &engine->identities[cluster];
    if (!identity->unknown_reported)
        report_log(engine, LOG_WARN, cluster, LOG_NO_KIND,
                   "the cluster cannot be identified, so a duplicate of it under another name would not be detected; "
                   "allow the host to get namespace kube-system: %s",
                   problem ? problem : "its namespace kube-system has no uid");
    identity->unknown_reported = true;
}

void identity_take(struct engine *engine, size_t cluster, const char *uid, const char *problem) {
    struct identity *identity = &engine->identities[cluster];
    bool is_news = !identity->read || !identity->known;
    identity->read = identity->known = true;
    if (*uid == '\0' || strlen(uid) >= sizeof identity->uid)
        report_unknown(engine, cluster, problem); // keeps the last known uid
    else
        text_copy(identity->uid, sizeof identity->uid, uid);
    text_copy(engine->stats.clusters[cluster].uid, sizeof identity->uid, identity->uid);
    if (*identity->first == '\0')
        text_copy(identity->first, sizeof identity->first, identity->uid);
    evaluate_all(engine, is_news ? cluster : SIZE_MAX);
}

void identity_forget(struct engine *engine, size_t cluster) {
    if (!engine->identities[cluster].read)
        return;
    engine->identities[cluster].read = false;
    fence_forget(engine, cluster);
    cluster_changed(engine, cluster);
}

void identity_left(struct engine *engine) {
    evaluate_all(engine, SIZE_MAX);
}
