// SPDX-License-Identifier: Apache-2.0
// The permissions that the host needs in a cluster, as a table made from the adapters' kinds: `wharf rbac` prints the
// table and `wharf join` checks the permissions.
#pragma once

#include "core/adapter/adapters.h"
#include "core/base/error.h"
#include "core/config/config.h"
#include "core/kube/api/requests.h"

#define RIGHTS_ACCOUNT "wharf"       // the host's ServiceAccount by default, in both clusters
#define RIGHTS_VIEWER "wharf-viewer" // that of the command line, in the management cluster
#define RIGHTS_NAMESPACE "wharf-system"
#define RIGHTS_LAST_WORDS "wharf-last-words" // the ConfigMap in each namespace of workloads
#define RIGHTS_WORKERS "wharf-workers"       // the ConfigMap with the cordons and drains of operators

enum right_scope {
    RIGHT_CLUSTER, // in the whole cluster: a watch of all namespaces, an object without one
    RIGHT_WORK,    // on workloads and mirrors and their pods: possibly limited to some namespaces
    RIGHT_OWN,     // in the host's own namespace
    RIGHT_SEAL,    // in the namespace of the Secret with the key of seals
    RIGHT_TENANT   // of the tenants instead of the host, each in its namespace: writes, logs and sessions
};

struct right {
    enum right_scope scope;
    const char *comment; // printed above the rule; NULL: none
    char *resources;     // "jobs, cronjobs", "jobs/status"; owned, with the group and the names in the same block
    const char *group;   // "" for core
    const char *names;   // "a, b", of the only objects; NULL: all
    const char *verbs;   // "get, list"
    const char *without; // static: a warning of `wharf check` if the right is missing; NULL: an error
};

const char *right_scope_name(enum right_scope scope); // "cluster"
bool right_scope_read(const char *name, enum right_scope *out);

// Features of the configuration that need rights beyond those of the kinds.
struct rights_features {
    bool pod_events;                        // reports Events of pods
    bool pod_causes;                        // reads failed pods (retryElsewhere)
    bool capacity;                          // tracks free capacity of nodes
    bool create_namespaces;                 // missing ones are made
    bool fencing;                           // the Leases of the guard
    bool tenants;                           // the host acts as tenants in workers
    enum last_words last_words;             // of failed workloads
    struct dependency_options dependencies; // the texts are those of the configuration
};
struct rights_features rights_features_of(const struct config *config);

struct rights_wanted {
    const struct kind *const *kinds;
    size_t n_kinds;
    bool seal;                       // management: the key in a Secret, made if missing
    bool worker_secrets;             // management: workers from Secrets, with renewal of their tokens
    bool cluster_profiles;           // management: workers from ClusterProfiles
    bool namespace_labels;           // management: a placement rule selects by namespace labels
    bool callers;                    // management: authenticates and authorizes callers of the API
    bool logs;                       // worker: wharf logs
    bool exec;                       // worker: wharf exec
    bool checked;                    // only the rights that `wharf check` asks for; of these alone:
    bool election;                   // management: the replicas elect a leader
    bool origin;                     // management: the origin is the uid of namespace kube-system
    struct rights_features features; // worker
    const char *seal_name;           // of the Secret
    const char *account;             // the host's ServiceAccount
    const char *objects;             // "secrets/a,configmaps/b": of the resources in this list of dependencies only
                                     // these objects; NULL: no limit
};

// By the configuration alone.
struct rights_wanted rights_wanted_of(const struct config *config, const struct adapters *adapters);

struct rights {
    struct right *list;
    size_t count;
};

enum rights_role {
    RIGHTS_OF_MANAGEMENT = 1 << 0, // the host, in the management cluster
    RIGHTS_OF_WORKER = 1 << 1,     // the host, in a worker
    RIGHTS_OF_GUARD = 1 << 2,      // wharf guard
    RIGHTS_OF_VIEWER = 1 << 3      // callers of the API: /wharf, the kinds, and logs of pods
};
// `roles`: bits of enum rights_role.
struct error *rights_make(unsigned roles, const struct rights_wanted *wanted, struct rights *out);

// Calls `visit` for each verb on each resource (and object) of the right, until the first error.
typedef struct error *(*right_visit)(void *ctx, const struct access_review *question);
struct error *right_each(const struct right *right, const char *namespace_, right_visit visit, void *ctx);

// Adds the rights to act as tenants, "wharf:a, wharf:b".
struct error *rights_add_impersonation(struct rights *rights, const char *users);

struct error *rights_copy(const struct rights *from, struct rights *to); // shares the texts that are not owned
void rights_free(struct rights *rights); // also for __attribute__((cleanup)); zeroed is fine
