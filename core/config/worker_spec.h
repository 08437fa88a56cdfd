// SPDX-License-Identifier: Apache-2.0
// The desired state of one worker, from any source.
#pragma once

#include "core/config/worker_settings.h"

// In order of precedence, but for the objects of the management cluster, see sources.h.
enum worker_source { SOURCE_CONFIG, SOURCE_DIRECTORY, SOURCE_SECRET, SOURCE_CLUSTER_PROFILE };
#define WORKER_SOURCES 4

enum drain {
    DRAIN_NO,
    DRAIN_FINISH, // let running workloads finish
    DRAIN_MOVE    // delete the mirrors and place the workloads elsewhere
};

enum choice { CHOICE_NOT_MADE, CHOICE_NO, CHOICE_YES };

struct worker_spec { // texts are owned
    struct worker_settings settings;
    enum worker_source source;
    char *origin_text;     // "Secret wharf-system/w1", for messages and status
    char *kubeconfig_path; // absolute, or several joined by ":"; NULL: kubeconfig_text, or in-cluster
    char *kubeconfig_text;
    char *context;     // "" or NULL: current-context
    char *names;       // namespaces.map of the settings in the host's record, see sources.h; NULL: none
    char *created;     // creationTimestamp of the object; NULL: from the configuration or the directory
    uint64_t revision; // of the content of a good kubeconfig: another revision needs a new connection; 0: unknown
    bool cordoned;
    bool awaits_overrides; // cordoned until ConfigMap wharf-workers is known
    bool awaits_records;   // the ConfigMap is not known
    enum drain drain;
    enum choice capacity;         // instead of placement.capacity
    size_t line, kubeconfig_line; // in the configuration, for messages
};

void worker_spec_clear(struct worker_spec *spec);
bool worker_spec_copy(const struct worker_spec *from, struct worker_spec *to); // false: out of memory, *to is cleared
void worker_specs_free(struct worker_spec *specs, size_t count);
bool worker_spec_add_label(struct worker_spec *spec, const char *key, const char *value); // false: out of memory
