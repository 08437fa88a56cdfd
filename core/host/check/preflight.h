// SPDX-License-Identifier: Apache-2.0
// Checks the clusters of a configuration without changing them: whether each answers, serves the kinds, and grants the
// permissions the host needs (SelfSubjectAccessReview). Workers come from the same sources as the host's.
#pragma once

#include "core/adapter/adapters.h"
#include "core/base/problems.h"
#include "core/config/config.h"
#include "core/host/io/cluster_connection.h"
#include "core/host/sources/sources.h"

struct preflight {
    const struct config *config;
    const struct adapters *adapters;
    // The management cluster's, then each worker's in the order of the config; all are open, and skipped without an
    // endpoint.
    struct cluster_connection *connections;
    char *const *namespaces; // where to check the rights to write; none: in the whole cluster
    size_t n_namespaces;
    size_t n_workers;                          // out: of all sources
    struct problems warnings;                  // out: warnings; freed by the caller
    struct problems notes;                     // out: no problems, but worth reporting; freed by the caller
    struct source_items found[WORKER_SOURCES]; // of the directory, see preflight_read_directory; of objects: internal
};

// Checks all clusters in parallel, workers from Secrets and ClusterProfiles after the management cluster; a cluster
// that accepts connections and never answers takes 40 s. Needs curl_transport_setup. Returns an error only if the check
// was impossible.
struct error *preflight_check(struct preflight *preflight, struct problems *problems);

// Reads the workers of workersFrom.directory into found[SOURCE_DIRECTORY], which the caller frees. Adds a problem for
// each unusable file.
void preflight_read_directory(struct preflight *preflight, struct problems *problems);

// The workers of all sources, as the host would find them. Reads Secrets and ClusterProfiles from the management
// cluster, with the configuration's credentials; needs curl_transport_setup. Adds a problem for each unusable item, and
// for an unreadable management cluster.
struct error *preflight_workers(const struct config *config, struct problems *problems, struct worker_spec **specs,
                                size_t *count);
