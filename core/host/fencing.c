// SPDX-License-Identifier: Apache-2.0
#include "core/host/fencing.h"

#include "core/base/log.h"
#include "core/base/text.h"
#include "core/engine/fence/fence_lease.h"

#include <stdlib.h>
#include <string.h>

struct fencing {
    struct fencing_options options;
    struct fence_lease lease;
    struct moment now;
    uint64_t shards;
    bool begun, look, leaves;
    bool anew;      // begin again, once nothing is in flight
    bool in_flight; // a request
    uint32_t epoch; // of the settings with which it began
    char told[200]; // the problem that was logged last; "": none
};

struct error *fencing_new(const struct fencing_options *options, struct fencing **out) {
    *out = calloc(1, sizeof **out);
    if (!*out)
        return error_no_memory();
    (*out)->options = *options;
    return NULL;
}

void fencing_free(struct fencing *fencing) {
    free(fencing);
}

void fencing_configure(struct fencing *fencing, const struct fencing_settings *settings) {
    if (!fencing)
        return;
    fencing->options.settings = *settings;
    fencing->leaves = fencing->begun && !settings->enabled; // gives its Leases back, also those that it holds later
    fencing->anew = fencing->begun && settings->enabled && settings->epoch != fencing->epoch;
    if (fencing->begun)
        fence_lease_set_after(&fencing->lease, settings->after_ns);
}

void fencing_renew(struct fencing *fencing, uint64_t shards) {
    if (fencing)
        fencing->shards = shards;
}

void fencing_look(struct fencing *fencing) {
    if (fencing)
        fencing->look = true;
}

static void tell_problem(struct fencing *fencing) {
    const char *problem = fence_lease_problem(&fencing->lease);
    if (strcmp(problem, fencing->told) == 0)
        return;
    if (*problem)
        log_fields(LOG_WARN, "the guard's Leases cannot be used", {"cluster", fencing->options.cluster},
                   {"error", problem});
    text_copy(fencing->told, sizeof fencing->told, problem);
}

static void on_answer(void *ctx, struct response *response) {
    struct fencing *fencing = ctx;
    struct engine_event event = {.type = EVENT_FENCE};
    fencing->in_flight = false;
    bool news = fence_lease_answer(&fencing->lease, response, fencing->now, &event.fence);
    event.fence.epoch = fencing->epoch;
    if (news && !fencing->anew)
        fencing->options.post(fencing->options.ctx, &event);
    tell_problem(fencing);
}

static void begin(struct fencing *fencing) {
    const struct fencing_options *options = &fencing->options;
    fence_lease_init(&fencing->lease,
                     &(struct fence_lease_options){.origin = options->origin,
                                                   .namespace_ = options->settings.namespace_,
                                                   .identity = options->instance,
                                                   .shards = options->gates ? (uint32_t)options->gates->count : 1,
                                                   .after_ns = options->settings.after_ns},
                     fencing->now);
    fencing->epoch = options->settings.epoch;
    fencing->begun = true;
    fencing->anew = false;
}

int64_t fencing_tick(struct fencing *fencing, struct moment now) {
    if (!fencing || (!fencing->begun && !fencing->options.settings.enabled))
        return CLOCK_NEVER;
    fencing->now = now;
    if (fencing->anew && fencing->in_flight) // the Lease may be about to be given back: its answer comes first
        return CLOCK_NEVER;
    if (!fencing->begun || fencing->anew)
        begin(fencing);
    fence_lease_renew(&fencing->lease, fencing->options.settings.enabled ? fencing->shards : 0, now);
    if (fencing->look)
        fence_lease_look(&fencing->lease, now);
    fencing->look = false;
    if (fencing->leaves)
        fence_lease_leave(&fencing->lease, fencing->shards, now);
    struct request request;
    int64_t at_ns = CLOCK_NEVER;
    enum fence_request type = fence_lease_next(&fencing->lease, now, &request, &at_ns);
    if (type == FENCE_NONE)
        return at_ns;
    request.gate = type == FENCE_READ ? NULL : gates_at(fencing->options.gates, fence_lease_shard(&fencing->lease));
    fence_lease_sent(&fencing->lease, type);
    struct error *error = client_submit(fencing->options.client, &request, on_answer, fencing, NULL);
    fencing->in_flight = !error;
    if (error)
        (void)fence_lease_answer(&fencing->lease, NULL, now, &(struct fence_news){0});
    error_free(error);
    return now.mono_ns + CLOCK_SECOND;
}
