// SPDX-License-Identifier: Apache-2.0
// The live parts of the configuration: settings of the engine and of the connections, credential plugins, and added
// adapters.
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/engine/engine.h"
#include "core/engine/fence/fence.h"
#include "core/host/host_internal.h"

#define RETRY_NS CLOCK_SECOND // without memory

const struct exec_policy *host_policy(const struct host *host) {
    return &host->current->credential_plugins;
}

const struct adapters *host_adapters(const struct host *host) {
    return atomic_load(&host->adapters);
}

void host_add_adapters(struct host *host, struct adapters *adapters) {
    atomic_store(&host->adapters, adapters);
    inbox_poke(host->inbox);
}

// Without the kinds, and the number of the fencing.
static struct thread_settings thread_settings_of(const struct config *config) {
    struct fencing_settings fencing = {.enabled = config->engine.fencing.enabled,
                                       .after_ns = config->engine.fencing.after_ns};
    text_copy(fencing.namespace_, sizeof fencing.namespace_, config->fencing_namespace);
    return (struct thread_settings){.io = {.pod_events = config->pod_events,
                                           .capacity = config->engine.placement.capacity,
                                           .namespaces = config_needs_namespaces(config),
                                           .fencing = fencing},
                                    .memory_per_cluster = config->memory_per_cluster,
                                    .max_object_size = config->max_object_size,
                                    .max_object_nodes = config->max_object_nodes,
                                    .max_status_size = config->max_status_size};
}

void settings_init(struct host *host) {
    host->current = config_share(host->config);
    host->thread_settings = thread_settings_of(host->config);
    host->thread_settings.io.kinds = host->first->kinds;
    host->thread_settings.io.n_kinds = host->first->n_kinds;
    host->features = rights_features_of(host->config);
    host->all_configured = true;
    host->configure_at_ns = CLOCK_NEVER;
}

void host_configure(struct host *host, const struct config *config) {
    pthread_mutex_lock(&host->wanted_mutex);
    struct config *untaken = host->next;
    host->next = config_share(config);
    host->features = rights_features_of(config);
    pthread_mutex_unlock(&host->wanted_mutex);
    config_free(untaken);
    inbox_poke(host->inbox);
}

void settings_receive(struct host *host) {
    pthread_mutex_lock(&host->wanted_mutex);
    struct config *next = TAKE(host->next);
    pthread_mutex_unlock(&host->wanted_mutex);
    if (!next)
        return;
    config_free(host->current);
    host->current = next;
    host->is_current = false;
}

static void settings_changed(struct host *host) {
    host->configured++;
    host->all_configured = false;
}

// Configuring a connection again with the same settings has no effect.
static void use_thread_settings(struct host *host, struct thread_settings settings) {
    struct budget budget;
    budget_init(&budget, settings.memory_per_cluster, 0, 0, NULL);
    inbox_limit(host->inbox, budget.max_queued);
    settings.io.kinds = host->thread_settings.io.kinds;
    settings.io.n_kinds = host->thread_settings.io.n_kinds;
    host->thread_settings = settings;
    settings_changed(host);
}

// False: out of memory; the next turn tries again.
static bool apply_settings(struct host *host) {
    if (host->is_current)
        return true;
    struct error *error = engine_configure(host->turn.engine, &host->current->engine);
    if (error) {
        error_free(error);
        return false;
    }
    struct thread_settings threads = thread_settings_of(host->current);
    threads.io.fencing.epoch = engine_fence_epoch(host->turn.engine);
    use_thread_settings(host, threads);
    host->is_current = true;
    return true;
}

static bool take_kinds(struct host *host, struct moment now) {
    const struct adapters *adapters = host_adapters(host);
    size_t first = engine_n_kinds(host->turn.engine);
    if (adapters->n_kinds == first)
        return true;
    struct error *error = engine_add_kinds(host->turn.engine, adapters->kinds, adapters->n_kinds, now);
    if (error) {
        log_fields(LOG_ERROR, "the kinds that were added are not watched yet", {"error", error_text(error)});
        error_free(error);
        return false;
    }
    host->turn.dispatch.kinds = adapters->kinds;
    host->thread_settings.io.kinds = adapters->kinds;
    host->thread_settings.io.n_kinds = adapters->n_kinds;
    cluster_threads_lost(host, first);
    settings_changed(host);
    return true;
}

// Connections that start their watches later get the settings then.
static bool configure_wires(struct host *host) {
    bool all = true;
    for (size_t c = 0; c < host->n_clusters; c++) {
        struct cluster_thread *thread = host->clusters[c]->thread;
        all = (!thread || thread->configured == host->configured || cluster_thread_configure(thread)) && all;
    }
    return all;
}

void settings_tick(struct host *host, struct moment now) {
    bool applied = apply_settings(host), done = take_kinds(host, now) && applied;
    if (!host->all_configured)
        host->all_configured = configure_wires(host);
    host->configure_at_ns = done && host->all_configured ? CLOCK_NEVER : now.mono_ns + RETRY_NS;
}
