// SPDX-License-Identifier: Apache-2.0
// The engine's settings that may change at runtime: the configuration fills these structs, and the engine uses the
// same.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum placement_policy {
    PLACEMENT_LEAST_ACTIVE, // fewest active workloads
    PLACEMENT_ORDERED,      // the first by order, then by name
    PLACEMENT_WEIGHTED,     // fewest active workloads by weight
    PLACEMENT_BIN_PACK      // most active workloads
};

// A worker that drops such a field of a mirror does not get the mirror.
enum require_fields {
    REQUIRE_SCHEDULING, // fields that change the scheduling (core/engine/mirror/scheduling.c)
    REQUIRE_NONE,
    REQUIRE_ALL
};

// retryElsewhere: failures of a worker, after which the workload runs in another one, see core/engine/elsewhere/.
struct retry_elsewhere {
    int64_t max;            // moves of one workload in its whole life; 0: none
    const char *reasons;    // patterns, "ImagePullBackOff,OutOf*"; NULL: RETRY_REASONS
    const char *exit_codes; // "137,139"; NULL: none
    int64_t stuck_for_ns;   // 0: a mirror that does not start is no failure
};
#define RETRY_REASONS                                                                                                  \
    "ImagePullBackOff,ErrImagePull,ErrImageNeverPull,RegistryUnavailable,CreateContainerConfigError,"                  \
    "CreateContainerError,CreatePodSandboxError,FailedCreatePodSandBox,FailedMount,FailedAttachVolume,"                \
    "FailedMapVolume,QuotaExceeded,NodeLost,NodeShutdown,Shutdown,Terminated,Evicted,Preempted,Preempting,"            \
    "NodeAffinity,UnexpectedAdmissionError,OutOf*,DeletionByTaintManager,DeletionByPodGC,TerminationByKubelet,"        \
    "EvictionByEvictionAPI,PreemptionByScheduler"

// One complete rule: the overall settings fill in omitted keys.
struct placement_rule {
    const char *kinds;              // "jobs.batch,Job"; NULL: all
    const char *namespaces;         // patterns, "team-*,default"; NULL: all
    const char *namespace_selector; // of the namespace's labels; NULL: all
    enum placement_policy policy;
    const char *worker_selector; // NULL: all
    enum require_fields require_fields;
    bool wait_when_lost;        // onWorkerLost: wait
    int64_t pending_timeout_ns; // 0: no limit
    int64_t give_up_after_ns;   // 0: never
    struct retry_elsewhere retry;
};

struct placement_options {
    const struct placement_rule *rules; // the first that matches applies
    size_t n_rules;
    struct placement_rule otherwise; // where none matches; has no kinds and no namespaces
    bool capacity;
    int64_t drain_timeout_ns; // after drain: move, delay for running workloads; 0: none
};

struct fence_options {
    bool enabled;
    bool wait;        // without a guard, the workloads of a lost worker wait for the worker
    int64_t after_ns; // fenceAfter
};

// Objects that workloads refer to, see core/engine/dependencies/. Lists of resources, "configmaps,tasks.tekton.dev";
// NULL: none.
enum copied_secrets {
    SECRETS_LABELLED, // only with the label wharf.dev/copy=true
    SECRETS_ALL
};

struct dependency_options {
    const char *copy;  // these are copied into the worker
    const char *check; // these have to be in the worker
    enum copied_secrets secrets;
    bool by_name; // watches of single objects instead of all of a resource, see docs/security.md
};

// The end of a failed workload that the host keeps, see core/host/words/.
enum last_words {
    LAST_WORDS_NONE,
    LAST_WORDS_REASONS, // exit codes and reasons
    LAST_WORDS_LOGS     // also termination messages and the ends of logs
};

// `tenancy` of the configuration, see core/engine/tenancy/.
struct tenancy_options {
    bool impersonate;      // writes for a namespace in workers are those of user wharf:NAMESPACE
    bool remove_withdrawn; // once a worker's namespace no longer consents, the mirrors there move; else they end there
};

struct engine_settings {
    bool create_namespaces;
    bool kueue_carried;    // mirrors of admitted workloads get Kueue's labels
    bool mirror_finalizer; // create mirrors with MARK_FINALIZER
    enum last_words last_words;
    bool log_decisions; // log each decision, LOG_DEBUG
    int64_t worker_lost_timeout_ns, mirror_retention_ns;
    int64_t mass_deletion_max, mass_deletion_percent, orphan_grace_ns; // see orphans.c
    size_t max_orphans;                                                // orphans kept per cluster; 0: no limit
    size_t max_workloads;                                              // 0: no limit
    size_t status_bytes;    // of a worker, a second, see status.h; 0: no limit
    double qps, burst;      // of clusters without a rate limit of their own; qps <= 0: no limit
    const char *namespaces; // of the workloads to place, see decide.h; NULL: all
    struct placement_options placement;
    struct fence_options fencing;
    struct dependency_options dependencies;
    struct tenancy_options tenancy;
};
