// SPDX-License-Identifier: Apache-2.0
#include "core/host/guest.h"

#include "core/base/memory.h"
#include "core/host/host_internal.h"

#include <stdlib.h>

struct arrival {
    struct host_cluster *cluster;
    struct host_guest guest;
};

static void let_in(void *arg) {
    struct arrival *arrival = arg;
    struct host_cluster *cluster = arrival->cluster;
    struct host_guest *guest = array_next(&cluster->guests, cluster->n_guests, sizeof *guest);
    if (guest) {
        *guest = arrival->guest;
        cluster->n_guests++;
    } else {
        arrival->guest.stop(arrival->guest.ctx);
    }
    free(arrival);
}

bool host_attach(struct host *host, const struct host_guest *guest) {
    struct arrival *arrival = malloc(sizeof *arrival);
    if (!arrival)
        return false;
    *arrival = (struct arrival){.cluster = &host->clusters[ENGINE_MANAGEMENT], .guest = *guest};
    if (arrival->cluster->loop && loop_post(arrival->cluster->loop, let_in, arrival))
        return true;
    free(arrival);
    return false;
}

static void wake(void *arg) {
    (void)arg; // a tick follows
}

void host_call_guests(struct host *host) {
    (void)loop_post(host->clusters[ENGINE_MANAGEMENT].loop, wake, NULL);
}

int64_t guests_tick(struct host_cluster *cluster, struct moment now) {
    int64_t next_ns = CLOCK_NEVER;
    for (size_t i = 0; i < cluster->n_guests; i++) {
        const struct host_guest *guest = &cluster->guests[i];
        next_ns = clock_earlier(next_ns, guest->tick(guest->ctx, &cluster->connection, now));
    }
    return next_ns;
}

void guests_stop(struct host_cluster *cluster) {
    for (size_t i = 0; i < cluster->n_guests; i++)
        cluster->guests[i].stop(cluster->guests[i].ctx);
    free(cluster->guests);
    cluster->guests = NULL;
    cluster->n_guests = 0;
}
