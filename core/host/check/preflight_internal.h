// SPDX-License-Identifier: Apache-2.0
// Internal to core/host/check/preflight*.c: the check of one cluster.
#pragma once

#include "core/base/text.h"
#include "core/host/check/preflight.h"
#include "core/host/sources/source_items.h"

#include <pthread.h>

// One cluster, checked on a thread of its own.
struct visit {
    const struct preflight *preflight;
    const char *name; // of the cluster
    struct cluster_connection *connection;
    const char *server; // "" without an endpoint
    bool management;
    char *uid; // of namespace kube-system, or NULL
    struct client *client;
    struct problems problems, warnings;
    char *git_version;          // "v1.36.0"; or NULL
    struct source_items *found; // management: the items of Secrets and ClusterProfiles, by enum worker_source
    bool secrets_refused;       // the worker refused the list, and the problem was reported
    pthread_t thread;
    bool started;
};

void visit_problem(struct visit *visit, const char *sentence);

#define VISIT_PROBLEM(visit, ...)                                                                                      \
    do {                                                                                                               \
        AUTO_TEXT sentence = text_format(__VA_ARGS__);                                                                 \
        visit_problem(visit, !sentence ? "out of memory" : sentence);                                                  \
    } while (0)

// The host's namespace in the management cluster.
const char *visit_own_namespace(const struct visit *visit);

// preflight_fields.c: of the management cluster, which serves this version.
void visit_check_field(struct visit *visit, const struct kind *kind, const char *version);

// preflight_rivals.c: the same.
void visit_check_rivals(struct visit *visit, const struct kind *kind, const char *version);

// preflight_rights.c
void visit_check_rights(struct visit *visit);

// preflight_sources.c
// Lists the configured sources of workers into visit->found.
void visit_read_sources(struct visit *visit);

// The workers of all sources but the configuration's list, merged as by the host. Adds a problem for each item that is
// not used.
struct error *preflight_merge(const struct preflight *preflight, struct source_items *found, struct problems *problems,
                              struct worker_spec **specs, size_t *count);
