// SPDX-License-Identifier: Apache-2.0
// Who we are: mirrors are signed with an origin, which is the uid of the management cluster's namespace kube-system
// unless the configuration gives a name.
#include "core/base/log.h"
#include "core/host/host_internal.h"

#include <stdlib.h>
#include <string.h>

#define RETRY_NS (2 * CLOCK_SECOND)

static void on_namespace(void *ctx, struct response *response) {
    struct host_cluster *cluster = ctx;
    struct host *host = cluster->host;
    cluster->origin_asked = false;
    cluster->origin_at_ns = clock_now().mono_ns + RETRY_NS;
    const char *uid = response->object ? object_uid(response->object->value) : "";
    if (*uid == '\0') {
        log_fields(LOG_WARN,
                   "origin cannot be derived from the uid of namespace kube-system; set origin in the configuration",
                   {"cluster", cluster->name}, {"error", response->message});
        return;
    }
    pthread_mutex_lock(&host->snapshot_mutex);
    host->origin = strdup(uid);
    pthread_mutex_unlock(&host->snapshot_mutex);
    inbox_poke(host->inbox);
}

static void ask(struct host_cluster *cluster, struct moment now) {
    struct error *error = NULL;
    if (!cluster->origin_client)
        error = client_new(&(struct client_options){.cluster = cluster->name, .transport = cluster->transport}, now,
                           &cluster->origin_client);
    struct request request = {
        .verb = VERB_GET,
        .resource = {.group = "", .version = "v1", .plural = "namespaces", .cluster_scoped = true},
        .namespace_ = "",
        .name = "kube-system"};
    if (!error)
        error = client_submit(cluster->origin_client, &request, on_namespace, cluster, NULL);
    cluster->origin_asked = !error;
    cluster->origin_at_ns = now.mono_ns + RETRY_NS;
    error_free(error);
}

static bool has_origin(struct host *host) {
    pthread_mutex_lock(&host->snapshot_mutex);
    bool known = host->origin;
    pthread_mutex_unlock(&host->snapshot_mutex);
    return known;
}

int64_t host_origin_tick(struct host_cluster *cluster, struct moment now) {
    if (cluster->index != ENGINE_MANAGEMENT || cluster->link || has_origin(cluster->host))
        return CLOCK_NEVER;
    if (!cluster->origin_asked && now.mono_ns >= cluster->origin_at_ns)
        ask(cluster, now);
    int64_t next_ns = cluster->origin_client ? client_tick(cluster->origin_client, now) : CLOCK_NEVER;
    return cluster->origin_asked || next_ns < cluster->origin_at_ns ? next_ns : cluster->origin_at_ns;
}

void host_origin_stop(struct host_cluster *cluster) {
    client_free(cluster->origin_client);
    cluster->origin_client = NULL;
}

struct error *host_wait_for_origin(struct host *host) {
    while ((!has_origin(host) || !host_seal_is_settled(host)) && !atomic_load(&host->stop)) {
        struct inbox_item *items = inbox_take(host->inbox, CLOCK_NEVER);
        while (items) {
            struct inbox_item *next = items->next;
            inbox_item_free(items);
            items = next;
        }
    }
    return NULL;
}
