// SPDX-License-Identifier: Apache-2.0
// Renews the Lease for the guard of one worker, and posts the guard's state as the Leases show it (docs/fencing.md).
// Idle while fencing is disabled.
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/engine/fence/fence_lease.h"
#include "core/host/watchers/watcher.h"

struct guard_lease {
    struct watcher_base base;
    struct fence_lease lease;
    struct moment now;
    bool begun, look, leaves;
    bool anew;        // begin again, once nothing is in flight
    uint32_t epoch;   // of the settings at the start
    char logged[200]; // the last logged problem; "": none
};

static void handle(void *state, const struct cluster_notice *notice) {
    struct guard_lease *guard = state;
    const struct fencing_settings *settings = &guard->base.scope->settings.fencing;
    guard->look |= notice->type == NOTICE_STATE;
    if (notice->type != NOTICE_CONFIGURED || !guard->begun)
        return;
    guard->leaves = !settings->enabled; // releases all Leases, also Leases acquired later
    guard->anew = settings->enabled && settings->epoch != guard->epoch;
    fence_lease_set_after(&guard->lease, settings->after_ns);
}

static void log_problem(struct guard_lease *guard) {
    const char *problem = guard->lease.problem;
    if (strcmp(problem, guard->logged) == 0)
        return;
    if (*problem)
        log_fields(LOG_WARN, "the guard's Leases cannot be used", {"cluster", guard->base.scope->name},
                   {"error", problem});
    text_copy(guard->logged, sizeof guard->logged, problem);
}

static void on_answer(void *ctx, struct response *response) {
    struct guard_lease *guard = ctx;
    struct engine_event event = {.type = EVENT_FENCE};
    bool news = fence_lease_answer(&guard->lease, response, guard->now, &event.fence);
    event.fence.epoch = guard->epoch;
    if (news && !guard->anew)
        cluster_post(guard->base.scope, &event);
    log_problem(guard);
}

static void begin(struct guard_lease *guard) {
    const struct cluster_scope *scope = guard->base.scope;
    const struct fencing_settings *settings = &scope->settings.fencing;
    fence_lease_init(&guard->lease,
                     &(struct fence_lease_options){.origin = scope->origin,
                                                   .namespace_ = settings->namespace_,
                                                   .identity = scope->instance,
                                                   .shards = scope->gates ? (uint32_t)scope->gates->count : 1,
                                                   .after_ns = settings->after_ns},
                     guard->now);
    guard->epoch = settings->epoch;
    guard->begun = true;
    guard->anew = false;
}

static int64_t step(void *state, struct moment now) {
    struct guard_lease *guard = state;
    if (!guard->begun && !guard->base.scope->settings.fencing.enabled)
        return CLOCK_NEVER;
    guard->now = now;
    if (guard->anew && guard->lease.flies != FENCE_NONE) // the request may release the Lease: wait for the answer
        return CLOCK_NEVER;
    if (!guard->begun || guard->anew)
        begin(guard);
    fence_lease_renew(&guard->lease, guard->base.scope->settings.fencing.enabled ? guard->base.scope->guard_shards : 0,
                      now);
    if (guard->look)
        fence_lease_look(&guard->lease, now);
    guard->look = false;
    if (guard->leaves)
        fence_lease_leave(&guard->lease, guard->base.scope->guard_shards, now);
    struct request request;
    int64_t at_ns = CLOCK_NEVER;
    enum fence_request type = fence_lease_next(&guard->lease, now, &request, &at_ns);
    if (type == FENCE_NONE)
        return at_ns;
    request.gate = type == FENCE_READ ? NULL : gates_at(guard->base.scope->gates, fence_lease_shard(&guard->lease));
    struct error *error = client_submit(guard->base.scope->client, &request, on_answer, guard, NULL);
    if (error)
        (void)fence_lease_answer(&guard->lease, NULL, now, &(struct fence_news){0});
    error_free(error);
    return now.mono_ns + CLOCK_SECOND;
}

// The client, freed next, drops the requests in flight.
const struct watcher guard_lease_watcher = {
    .of_workers = true, .size = sizeof(struct guard_lease), .step = step, .of_kinds = true, .handle = handle};
