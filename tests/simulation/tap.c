// SPDX-License-Identifier: Apache-2.0
// Between a cluster_io and the simulated network: passes each request to the rules, tracks the writes in flight, and
// marks the cluster_io to be called after its handlers ran.
#include "core/kube/transport/gate.h"
#include "tests/simulation/renames.h"
#include "tests/simulation/replica_tap.h"
#include "tests/simulation/rules.h"
#include "tests/simulation/trial.h"

#include <stdlib.h>
#include <string.h>

struct tapped {
    struct tap *tap;
    struct tapped *next, *previous;
    struct http_handler handler;
    uint64_t id;
    char *object; // a write: path of the object; else NULL
    const struct gate *gate;
};

struct tap {
    struct transport base;
    struct transport *inner, *outer; // `outer`: the user's
    struct replica_tap *replica;     // the same; NULL: it is the network itself
    struct instance *host;
    struct trial *trial;
    size_t cluster;
    struct tapped *all;
};

static void forget(struct tapped *t) {
    if (t->previous)
        t->previous->next = t->next;
    else
        t->tap->all = t->next;
    if (t->next)
        t->next->previous = t->previous;
    free(t->object);
    free(t);
}

static void touch(struct tap *tap) {
    instance_enter(tap->host)->host->dirty[tap->cluster] = true;
}

static bool on_opened(void *ctx) {
    struct tapped *t = ctx;
    touch(t->tap);
    return t->handler.opened(t->handler.ctx);
}

static bool on_data(void *ctx, const char *bytes, size_t len) {
    struct tapped *t = ctx;
    touch(t->tap);
    return t->handler.data(t->handler.ctx, bytes, len);
}

static void on_done(void *ctx, const struct http_result *result) {
    struct tapped *t = ctx;
    struct http_handler handler = t->handler;
    touch(t->tap);
    rules_answered(t->tap->trial, t->tap->cluster, t->object, result);
    forget(t);
    handler.done(handler.ctx, result);
}

static bool is_in_flight(const struct tap *tap, const char *object) {
    for (const struct tapped *t = tap->all; t; t = t->next)
        if (t->object && strcmp(t->object, object) == 0)
            return true;
    return false;
}

static uint64_t submit(struct transport *base, const struct http_request *request, const struct http_handler *handler) {
    struct tap *tap = (struct tap *)base;
    struct tapped *t = calloc(1, sizeof *t);
    if (!t)
        return 0;
    *t = (struct tapped){.tap = tap, .handler = *handler, .gate = request->gate, .next = tap->all};
    t->object = rules_request(tap->trial, tap->cluster, request);
    if (t->object && is_in_flight(tap, t->object))
        trial_fail(tap->trial, "rule 5: two writes in flight for %s in %s", t->object,
                   world_name(tap->trial->worlds[tap->cluster]));
    if (t->next)
        t->next->previous = t;
    tap->all = t;
    struct http_handler ours = {handler->opened ? on_opened : NULL, handler->data ? on_data : NULL, on_done, t};
    t->id = tap->inner->ops->submit(tap->inner, request, &ours);
    return t->id;
}

static void cancel(struct transport *base, uint64_t id) {
    struct tap *tap = (struct tap *)base;
    tap->inner->ops->cancel(tap->inner, id);
    for (struct tapped *t = tap->all, *next; t; t = next) {
        next = t->next;
        if (t->id != id)
            continue;
        // It may take effect all the same.
        rules_answered(tap->trial, tap->cluster, t->object, &(struct http_result){.outcome = HTTP_BROKEN});
        forget(t);
    }
}

static bool refresh(struct transport *base) {
    struct tap *tap = (struct tap *)base;
    return tap->inner->ops->refresh(tap->inner);
}

static void free_tap(struct transport *base) {
    struct tap *tap = (struct tap *)base;
    tap->inner->ops->free(tap->inner);
    while (tap->all)
        forget(tap->all);
    free(tap);
}

struct tap *tap_new(struct trial *trial, size_t cluster) {
    static const struct transport_ops ops = {submit, cancel, refresh, free_tap};
    struct tap *tap = calloc(1, sizeof *tap);
    if (!tap)
        return NULL;
    *tap = (struct tap){.base = {&ops}, .host = trial->host, .trial = trial, .cluster = cluster};
    if (trial->plan.elects)
        tap->replica = replica_tap_new(&(struct replica_tap_options){
            .net = trial->net, .cluster = trial->worlds[cluster], .now_ns = &trial->now_ns});
    tap->inner =
        tap->replica ? replica_tap_transport(tap->replica) : sim_transport_new(trial->net, trial->worlds[cluster]);
    if (!tap->inner) {
        free(tap);
        return NULL;
    }
    bool renamed = renames_are_wanted() && cluster != ENGINE_MANAGEMENT;
    tap->outer = renamed ? renames_transport(trial, &tap->base) : &tap->base;
    if (!tap->outer)
        abort();
    return tap;
}

struct transport *tap_transport(struct tap *tap) {
    return tap->outer;
}

void tap_cut(struct tap *tap, bool cut) {
    replica_tap_cut(tap->replica, cut);
}

void tap_lag(struct tap *tap, int64_t lag_ns) {
    replica_tap_lag(tap->replica, lag_ns);
}

void tap_run(struct tap *tap) {
    if (tap->replica)
        replica_tap_run(tap->replica);
}

int64_t tap_due(const struct tap *tap) {
    return tap->replica ? replica_tap_due(tap->replica) : CLOCK_NEVER;
}

const char *tap_in_flight(const struct tap *tap, const struct gate *gate) {
    for (const struct tapped *t = tap->all; t; t = t->next)
        if (t->object && t->gate == gate)
            return t->object;
    return NULL;
}
