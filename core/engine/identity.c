// SPDX-License-Identifier: Apache-2.0
// Which cluster is which: the uid of namespace kube-system names one. It is read at each connection; nothing is done in
// a cluster before that. A worker that is another worker under a second name, the management cluster itself, or another
// cluster than the one that was first seen under its name, is refused: nothing is placed, changed or deleted there.
#include "core/engine/engine_internal.h"

#include <stdio.h>
#include <string.h>

bool identity_is_read(const struct engine *engine, size_t cluster) {
    return engine->identities[cluster].read;
}

bool identity_is_other(const struct engine *engine, size_t cluster) {
    return engine->identities[cluster].refusal == REFUSAL_OTHER;
}

bool identity_forbids(const struct engine *engine, size_t cluster) {
    const struct identity *identity = &engine->identities[cluster], *management = engine->identities;
    return !identity->read || !management->known || identity->refusal != REFUSAL_NONE ||
           management->refusal != REFUSAL_NONE;
}

static enum refusal judge(const struct engine *engine, size_t cluster, size_t *twin) {
    const struct identity *all = engine->identities, *identity = &all[cluster];
    if (*identity->uid == '\0')
        return REFUSAL_NONE;
    if (strcmp(identity->uid, identity->first) != 0)
        return REFUSAL_OTHER;
    for (size_t c = 0; c < cluster; c++) {
        *twin = c;
        bool counts = c == ENGINE_MANAGEMENT || all[c].refusal == REFUSAL_NONE;
        if (counts && strcmp(all[c].uid, identity->uid) == 0)
            return c == ENGINE_MANAGEMENT ? REFUSAL_MANAGEMENT : REFUSAL_TWIN;
    }
    return REFUSAL_NONE;
}

// One sentence for the log, /readyz and Events.
static void describe(const struct engine *engine, size_t cluster, size_t twin) {
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
    case REFUSAL_TWIN:
        snprintf(out, size, "it is the same cluster as %.63s (uid %s of namespace kube-system)", engine->names[twin],
                 identity->uid);
        break;
    case REFUSAL_OTHER:
        snprintf(out, size,
                 "another cluster answers for it: uid %s of namespace kube-system, expected %s as it was at first; "
                 "restart the host if that is meant",
                 identity->uid, identity->first);
        break;
    }
}

// All feeds count as lost: what ran there does so somewhere else, or not any more.
static void lose(struct engine *engine, size_t cluster) {
    for (size_t k = 0; k < engine->n_kinds; k++) {
        struct feed *feed = engine_feed(engine, cluster, k);
        if (feed->state == REFLECTOR_CONNECTED)
            feed->lost_since_ns = engine->now.mono_ns;
    }
}

// Of all clusters; what is known of `changed` has changed besides.
static void judge_all(struct engine *engine, size_t changed) {
    for (size_t c = 0; c < engine->n_clusters; c++) {
        struct identity *identity = &engine->identities[c];
        size_t twin = 0;
        enum refusal refusal = judge(engine, c, &twin);
        bool same = refusal == identity->refusal && (refusal != REFUSAL_TWIN || twin == identity->twin);
        identity->refusal = refusal;
        identity->twin = twin;
        describe(engine, c, twin);
        if (!same && refusal == REFUSAL_OTHER)
            lose(engine, c);
        if (!same || c == changed)
            engine_cluster_changed(engine, c);
        if (same)
            continue;
        if (refusal == REFUSAL_NONE)
            engine_remark(engine, false, c, REMARK_NO_KIND, "the cluster is not refused any more");
        else
            engine_remark(
                engine, true, c, REMARK_NO_KIND, "the cluster is refused: %s. Nothing is placed, changed or deleted %s",
                engine->stats.clusters[c].refused, c == ENGINE_MANAGEMENT ? "anywhere while that is so" : "there");
    }
}

static void tell_unknown(struct engine *engine, size_t cluster, const char *problem) {
    struct identity *identity = &engine->identities[cluster];
    if (!identity->told_unknown)
        engine_remark(engine, true, cluster, REMARK_NO_KIND,
                      "which cluster this is cannot be told, so that it would not be noticed if it were known under "
                      "another name: %s",
                      problem ? problem : "its namespace kube-system has no uid");
    identity->told_unknown = true;
}

void identity_take(struct engine *engine, size_t cluster, const char *uid, const char *problem) {
    struct identity *identity = &engine->identities[cluster];
    bool is_news = !identity->read || !identity->known;
    identity->read = identity->known = true;
    if (*uid == '\0' || strlen(uid) >= sizeof identity->uid)
        tell_unknown(engine, cluster, problem); // and what was known stays
    else
        text_copy(identity->uid, sizeof identity->uid, uid);
    if (*identity->first == '\0')
        text_copy(identity->first, sizeof identity->first, identity->uid);
    judge_all(engine, is_news ? cluster : SIZE_MAX);
}

void identity_forget(struct engine *engine, size_t cluster) {
    if (!engine->identities[cluster].read)
        return;
    engine->identities[cluster].read = false;
    engine_cluster_changed(engine, cluster);
}
