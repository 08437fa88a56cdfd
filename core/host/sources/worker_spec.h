// SPDX-License-Identifier: Apache-2.0
// The desired state of one worker, from whatever source.
#ifndef WHARF_HOST_WORKER_SPEC_H
#define WHARF_HOST_WORKER_SPEC_H

#include "core/config/config.h"

// In order of precedence, but for the last two, see sources.h.
enum worker_source { SOURCE_CONFIG, SOURCE_DIRECTORY, SOURCE_SECRET, SOURCE_CLUSTER_PROFILE };
#define WORKER_SOURCES 4

struct worker_spec { // strings are owned
    char *name;
    enum worker_source source;
    char *origin_text;     // "Secret wharf-system/w1", for messages and status
    char *kubeconfig_path; // as in config_cluster; or NULL, and
    char *kubeconfig_text; // its content
    char *context;         // "" or NULL: current-context
    uint64_t revision;     // of the content of the kubeconfig that was found good: one that differs is to be opened
                           // anew; 0: not known
    struct config_label *labels;
    size_t n_labels;
    bool cordoned;
    bool unsettled; // cordoned as long as it is not known whether it is to be
    enum drain drain;
    double qps, burst; // qps 0: those of the host
    size_t max_active; // 0: any number
    char *max_kinds;   // as in config_cluster
    enum choice capacity;
    uint32_t weight;  // 0: 1
    uint32_t order;   // 0: after all others
    char *namespaces; // core/engine/placement/namespaces.h; NULL: all
    char *created;    // creationTimestamp of its object; NULL: it comes from none
    char *uid;        // that its cluster had when it joined, as its Secret says; or NULL
    char *recorded;   // that its cluster had when a host used it, see worker_records.h; or NULL
};

void worker_spec_clear(struct worker_spec *spec);
bool worker_spec_copy(const struct worker_spec *from, struct worker_spec *to); // false: out of memory, *to is cleared
void worker_specs_free(struct worker_spec *specs, size_t count);
bool worker_spec_add_label(struct worker_spec *spec, const char *key, const char *value); // false: out of memory

// A worker of the configuration. False: out of memory.
bool worker_spec_of_config(const struct config_cluster *cluster, const char *config_path, struct worker_spec *out);

#endif
