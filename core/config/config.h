// SPDX-License-Identifier: Apache-2.0
// The configuration file (apiVersion wharf.dev/v1alpha1, kind HostConfiguration), read, checked and resolved.
// etc/wharf.yaml shows every key.
#pragma once

#include "core/adapter/adapters.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/problems.h"
#include "core/config/engine_settings.h"
#include "core/config/worker_spec.h"
#include "core/json/json.h"
#include "core/kube/kubeconfig/kubeconfig.h"

#include <stdatomic.h>

#define CONFIG_NAMESPACES "-kube-*\n" // see config.namespaces

// How a worker leaves that is no longer configured.
enum pod_events_level { // Events of a mirror's pods to report on the workload
    POD_EVENTS_NONE,
    POD_EVENTS_WARNINGS,
    POD_EVENTS_ALL
};

enum removal {
    REMOVAL_FINISH, // workloads end there
    REMOVAL_MOVE,   // workloads are placed elsewhere
    REMOVAL_ABANDON // at once; the mirrors stay
};

// An exec plugin for ClusterProfiles.
struct config_access_provider {
    char *name;
    struct json *exec; // the ExecConfig of a kubeconfig, an object, never NULL
    size_t line;
};

// Where workers come from besides the list in the file.
struct config_workers_from {
    char *directory; // absolute; or NULL
    bool secrets;    // Secrets labelled wharf.dev/worker=true in the host's namespace
    bool cluster_profiles;
    char *profile_namespace; // NULL: no ClusterProfiles
    struct config_access_provider *providers;
    size_t n_providers;
    size_t line; // 0: not given
};

struct config_seal {
    char *file;             // absolute; or NULL
    bool from_secret;       // seal.secret is set
    char *secret_namespace; // NULL: the pod's, else wharf-system
    char *secret_name;      // NULL: wharf-seal
    char *secret_key;       // the entry that signs; NULL: key
    bool adopt_unsealed;    // default false
    size_t line;
};

struct config_election {
    bool enabled;
    char *namespace_;                     // of the Leases; NULL: config.namespace_, the pod's, else wharf-system
    char *name;                           // NULL: wharf-ORIGIN
    int64_t lease_ns, renew_ns, retry_ns; // leaseDuration, renewDeadline, retryPeriod: default 15 s, 10 s, 2 s
    int64_t shards;                       // the key `shards`; default 1
    size_t line, shards_line;
};

enum config_directory { DIRECTORY_DEFAULT, DIRECTORY_FILE, DIRECTORY_FLAG };

// Where the HTTP server listens.
struct config_serve {
    char *address;              // "127.0.0.1:9440", "[::1]:9440"; NULL: no port
    char *socket;               // absolute; NULL: the default of trust.h, if there is a port
    char *group;                // which may connect to the socket; NULL: none
    char *cert_file, *key_file; // of TLS at the address; NULL: plain HTTP
    size_t tls_line;
};
bool config_serves(const struct config_serve *serve);
struct config;
// lastWords; without logs where the host serves none either.
enum last_words config_last_words(const struct config *config);

struct config {
    atomic_uint owners;
    char *path;                    // of the file
    char *controller_name;         // default wharf.dev/host
    char *origin;                  // RFC 1123 label; NULL: derived from the management cluster's kube-system uid
    char *namespace_;              // the host's own, in the management cluster; NULL: the pod's, else wharf-system
    struct worker_spec management; // name "management"
    struct worker_spec *workers;   // weight 1 by default, order: the place in the list from 1 on
    size_t n_workers;
    struct config_workers_from workers_from;
    enum removal removal; // default finish
    struct engine_settings engine;
    size_t dependencies_line;
    char *adapter_directory; // absolute; default that of the installation (PREFIX), or of the build tree
    enum config_directory adapter_directory_from;
    size_t adapter_directory_line;        // of the key, or of `adapters` where there is none
    enum isolation isolation;             // default auto
    struct adapter_limits adapter_limits; // 0: the default of the process
    struct adapter_wanted *adapters;      // with their own texts; `file`: <directory>/<name>.so by default
    size_t n_adapters;
    struct config_serve serve;
    struct exec_policy credential_plugins; // credentialPlugins: {allow}; for all kubeconfigs
    struct config_seal seal;               // see seal_source.h
    struct config_election election;       // see election.h
    char *fencing_namespace;               // of the Leases in each worker; default wharf-system
    bool fencing_reports;                  // reads what guards report
    enum pod_events_level pod_events;      // default warnings
    size_t memory_per_cluster;             // memory: {perCluster, maxObjectSize, maxObjectNodes}: default 64 MiB,
    size_t max_object_size;                // 2 MiB
    size_t max_object_nodes;               // and 100,000; see core/kube/object/object.h
    size_t max_status_size;                // memory.maxStatusSize: default 256 KiB
    enum log_format log_format;
    enum log_level log_level;
};

// Reads the file. Every problem goes to `problems` ("<file>:<line>: <key>: found ..., expected ..."); *out is NULL if
// the file is unusable. The only error is out of memory.
struct error *config_load(const char *path, struct problems *problems, struct config **out);
// The same with `adapter_directory` (absolute) instead of adapters.directory; NULL: that of the file.
struct error *config_load_with(const char *path, const char *adapter_directory, struct problems *problems,
                               struct config **out);
// The defaults with no worker and no adapter, for commands that have no file. `adapter_directory` (absolute) NULL: the
// default. `name` replaces the path in messages.
struct error *config_without_file(const char *name, const char *adapter_directory, struct config **out);
// A rule selects by the labels of namespaces.
bool config_needs_namespaces(const struct config *config);
// Some workloads run elsewhere after a failure of their worker.
bool config_retries_elsewhere(const struct config *config);
// Adds settings that are valid, but probably not meant: reasons of retryElsewhere that nothing has.
void config_warn(const struct config *config, struct problems *warnings);
// Enables the adapter of this name, from adapter_directory.
struct error *config_enable(struct config *config, const char *name);
// The enabled adapters, for adapters_load; `patient`, as commands are. `controller_name`: the one in use.
struct adapters_options config_adapters_of(const struct config *config, const char *controller_name);
// A key of the configuration, from the reader's table.
struct config_key {
    const char *path;     // "workers[].kubeconfig"
    const char *expected; // "a path, or several separated by ':'"
    const char *help;     // meaning and default
    bool required;
};
// Calls `take` for each key, keys of a mapping after the mapping. ERROR_NO_MEMORY only.
struct error *config_describe(void (*take)(void *ctx, const struct config_key *key), void *ctx);

// Whether the host tracks the free capacity of a worker with the given setting; and of any worker.
bool config_wants_capacity(const struct config *config, enum choice worker);
bool config_wants_any_capacity(const struct config *config);

void config_drop_adapter(struct config *config, size_t index);
// Another owner of the configuration, which nobody changes from then on.
struct config *config_share(const struct config *config);
void config_free(struct config *config); // the last owner frees the configuration; NULL is allowed
