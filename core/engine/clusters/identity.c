// SPDX-License-Identifier: Apache-2.0
// Rule 9. The uid of namespace kube-system identifies a cluster. The host reads the uid at each connection, and does
// nothing in the cluster before. The host refuses a worker that turns out to be another worker, the management cluster
// (unless configured with `self`), or a different cluster than at first under the same name: nothing is placed, changed
// or deleted there.
#include "core/engine/clusters/clusters.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine.h"
#include "core/engine/engine_internal.h"
#include "core/engine/fence/fence.h"
#include "core/engine/report/report.h"

#include <stdio.h>

// A worker's evidence for a uid, in ascending order. Any worker can report the uid of another one.
enum claim {
    CLAIM_NONE,
    CLAIM_REPORTED, // the worker reports the uid
    CLAIM_JOINED,   // so does the worker's Secret
    CLAIM_RECORDED  // a host has used the worker with this uid: an answer is not required
};

static enum claim claim_of(const struct identity *identity, const char *uid) {
    bool silent = *identity->uid == '\0', reports = strcmp(identity->uid, uid) == 0;
    bool expected = *identity->first == '\0' || strcmp(identity->first, uid) == 0;
    if (!expected || (!silent && !reports))
        return CLAIM_NONE;
    if (strcmp(identity->recorded, uid) == 0)
        return CLAIM_RECORDED;
    return silent ? CLAIM_NONE : identity->pinned ? CLAIM_JOINED : CLAIM_REPORTED;
}

// With equal claims, the first identified worker precedes.
static bool precedes(const struct engine *engine, size_t a, size_t b, const char *uid) {
    const struct identity *x = &engine->clusters[a].membership.identity, *y = &engine->clusters[b].membership.identity;
    enum claim claim_a = claim_of(x, uid), claim_b = claim_of(y, uid);
    if (claim_a != claim_b)
        return claim_a > claim_b;
    if (x->identified == y->identified)
        return engine->clusters[a].membership.join < engine->clusters[b].membership.join;
    return x->identified && (!y->identified || x->identified < y->identified);
}

static enum refusal refusal_of(const struct engine *engine, size_t cluster, size_t *duplicate_of) {
    const struct identity *identity = &engine->clusters[cluster].membership.identity;
    if (*identity->uid == '\0')
        return REFUSAL_NONE;
    if (strcmp(identity->uid, identity->first) != 0)
        return REFUSAL_OTHER;
    const char *management = engine->clusters[ENGINE_MANAGEMENT].membership.identity.uid;
    bool worker = cluster != ENGINE_MANAGEMENT, is_self = engine->clusters[cluster].settings.is_self;
    if (worker && !is_self && strcmp(identity->uid, management) == 0)
        return REFUSAL_MANAGEMENT;
    if (worker && is_self && *management && strcmp(identity->uid, management) != 0)
        return REFUSAL_NOT_SELF;
    size_t owner = cluster;
    for (size_t c = ENGINE_MANAGEMENT + 1; cluster != ENGINE_MANAGEMENT && c < engine->n_clusters; c++)
        if (!cluster_is_vacant(engine, c) && c != owner && precedes(engine, c, owner, identity->uid))
            owner = c;
    *duplicate_of = owner;
    return owner == cluster ? REFUSAL_NONE : REFUSAL_DUPLICATE;
}

// One sentence for the log, /readyz and Events.
static void describe(const struct engine *engine, size_t cluster, size_t duplicate_of) {
    const struct identity *identity = &engine->clusters[cluster].membership.identity;
    char *out = engine->stats.clusters[cluster].refused;
    size_t size = sizeof engine->stats.clusters[cluster].refused;
    *out = '\0';
    if (identity->refusal == REFUSAL_MANAGEMENT)
        snprintf(out, size, "the worker is the management cluster (uid %s of namespace kube-system)", identity->uid);
    else if (identity->refusal == REFUSAL_NOT_SELF)
        snprintf(out, size,
                 "not the management cluster, although the worker is configured with self: found uid %s of namespace "
                 "kube-system, expected %s",
                 identity->uid, engine->clusters[ENGINE_MANAGEMENT].membership.identity.uid);
    else if (identity->refusal == REFUSAL_DUPLICATE)
        snprintf(out, size,
                 "the worker is the same cluster as %.63s, or claims to be (uid %s of namespace kube-system)",
                 engine->clusters[duplicate_of].name, identity->uid);
    else if (identity->refusal == REFUSAL_OTHER && identity->pinned && !identity->identified)
        snprintf(out, size,
                 "not the cluster that joined: found uid %s of namespace kube-system, expected %s as in "
                 "annotation " IDENTITY_ANNOTATION " of the Secret",
                 identity->uid, identity->first);
    else if (identity->refusal == REFUSAL_OTHER)
        snprintf(out, size,
                 "a different cluster now: found uid %s of namespace kube-system, expected %s as at startup; "
                 "restart the host after an intended change",
                 identity->uid, identity->first);
}

// All watches count as lost: the mirrors of the former cluster are unreachable or gone.
static void lose(struct engine *engine, size_t cluster) {
    for (size_t k = 0; k < engine->n_kinds; k++) {
        struct watch_state *watch = cluster_watch(engine, cluster, k);
        if (watch->state == REFLECTOR_CONNECTED)
            watch->lost_since_ns = engine->now.mono_ns;
    }
}

static void report_change(struct engine *engine, size_t cluster) {
    if (engine->clusters[cluster].membership.identity.refusal == REFUSAL_NONE)
        report_log(engine, LOG_INFO, cluster, LOG_NO_KIND, "the cluster is no longer refused");
    else
        report_log(engine, LOG_WARN, cluster, LOG_NO_KIND,
                   "the cluster is refused: %s. Nothing is placed, changed or deleted %s",
                   engine->stats.clusters[cluster].refused,
                   cluster == ENGINE_MANAGEMENT ? "in any cluster meanwhile" : "there");
}

static void evaluate(struct engine *engine, size_t cluster, bool changed) {
    struct identity *identity = &engine->clusters[cluster].membership.identity;
    size_t duplicate_of = 0;
    enum refusal refusal = refusal_of(engine, cluster, &duplicate_of);
    bool same =
        refusal == identity->refusal && (refusal != REFUSAL_DUPLICATE || duplicate_of == identity->duplicate_of);
    identity->refusal = refusal;
    identity->duplicate_of = duplicate_of;
    describe(engine, cluster, duplicate_of);
    if (!same && refusal == REFUSAL_OTHER)
        lose(engine, cluster);
    if (!same || changed)
        cluster_changed(engine, cluster);
    if (!same)
        report_change(engine, cluster);
}

// The identity of each cluster matters for the others. Updates `changed` in any case.
static void evaluate_all(struct engine *engine, size_t changed) {
    for (size_t c = 0; c < engine->n_clusters; c++)
        if (!cluster_is_vacant(engine, c))
            evaluate(engine, c, c == changed);
    for (size_t c = 0; c < engine->n_clusters; c++) { // after the evaluation: clusters of one round have equal claims
        struct identity *identity = &engine->clusters[c].membership.identity;
        if (!identity->identified && *engine_identity(engine, c))
            identity->identified = ++engine->membership.identified;
    }
}

static void report_unknown(struct engine *engine, size_t cluster, const char *problem) {
    struct identity *identity = &engine->clusters[cluster].membership.identity;
    if (!identity->unknown_reported)
        report_log(engine, LOG_WARN, cluster, LOG_NO_KIND,
                   "the cluster cannot be identified, so the host would not detect a duplicate under another name; "
                   "allow the host to get namespace kube-system: %s",
                   problem ? problem : "namespace kube-system has no uid");
    identity->unknown_reported = true;
}

static void take_uid(struct engine *engine, size_t cluster, const char *uid, const char *problem) {
    struct identity *identity = &engine->clusters[cluster].membership.identity;
    bool first = !identity->read || !identity->known;
    identity->read = identity->known = true;
    if (*uid == '\0' || strlen(uid) >= sizeof identity->uid)
        report_unknown(engine, cluster, problem); // keeps the last known uid
    else
        text_copy(identity->uid, sizeof identity->uid, uid);
    text_copy(engine->stats.clusters[cluster].uid, sizeof identity->uid, identity->uid);
    if (*identity->first == '\0')
        text_copy(identity->first, sizeof identity->first, identity->uid);
    evaluate_all(engine, first ? cluster : SIZE_MAX);
}

static void forget_connection(struct engine *engine, size_t cluster) {
    if (!engine->clusters[cluster].membership.identity.read)
        return;
    engine->clusters[cluster].membership.identity.read = false;
    fence_forget(engine, cluster);
    cluster_changed(engine, cluster);
}

const char *engine_identity(const struct engine *engine, size_t cluster) {
    if (cluster_is_vacant(engine, cluster) || engine->clusters[cluster].membership.identity.refusal != REFUSAL_NONE)
        return "";
    return engine->clusters[cluster].membership.identity.uid;
}

// The uid of a Secret counts until the worker is identified: the host does not give up a worker in use for an
// annotation.
void identity_expect(struct engine *engine, size_t cluster, const char *uid, const char *recorded) {
    struct identity *identity = &engine->clusters[cluster].membership.identity;
    const struct identity former = *identity;
    if (!identity->identified && (*identity->first == '\0' || identity->pinned)) {
        identity->pinned = uid;
        text_copy(identity->first, sizeof identity->first, uid ? uid : identity->uid);
    }
    text_copy(identity->recorded, sizeof identity->recorded, recorded ? recorded : "");
    if (strcmp(former.first, identity->first) != 0 || strcmp(former.recorded, identity->recorded) != 0)
        evaluate_all(engine, SIZE_MAX);
}

void identity_left(struct engine *engine) {
    evaluate_all(engine, SIZE_MAX);
}

// The next connection may reach a different cluster.
static bool is_lost(const struct engine *engine, const struct engine_event *event) {
    if (event->type == EVENT_STATE)
        return event->watch.state == REFLECTOR_LOST;
    return event->type == EVENT_RESTORED || (event->contact.state == CONTACT_LOST &&
                                             engine->clusters[event->cluster].membership.contact != CONTACT_LOST);
}

static void on_event(struct engine *engine, struct engine_event *event) {
    if (event->type == EVENT_IDENTITY)
        take_uid(engine, event->cluster, event->identity.uid, event->identity.problem);
    else if (is_lost(engine, event))
        forget_connection(engine, event->cluster);
}

const struct part part_identity = {.name = "identity",
                                   .events = PART_EVENT(EVENT_IDENTITY) | PART_EVENT(EVENT_STATE) |
                                             PART_EVENT(EVENT_CONTACT) | PART_EVENT(EVENT_RESTORED),
                                   .event = on_event};
