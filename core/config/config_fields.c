// SPDX-License-Identifier: Apache-2.0
// The keys of the configuration, but for the sections that have a file of their own.
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/config/config_reader.h"
#include "core/kube/object/budget.h"

#include <string.h>

#define CONTROLLER_NAME_MAX 63 // batch/v1 JobSpec.managedBy
#define LEASE_NAME_MAX 63      // limit of a label's value
#define SHARDS_MAX 64          // ELECTION_SHARDS_MAX
#define FENCE_LEAST_NS (10 * CLOCK_SECOND)
#define FENCE_MOST_NS (1440 * CLOCK_MINUTE)
#define OBJECT_SIZE .min = 64 << 10, .expected = "a size of 64KiB or more, such as 1MiB"

static const struct config_word removals[] = {
    {"finish", REMOVAL_FINISH}, {"move", REMOVAL_MOVE}, {"abandon", REMOVAL_ABANDON}};
static const struct config_word pod_events[] = {
    {"warnings", POD_EVENTS_WARNINGS}, {"all", POD_EVENTS_ALL}, {"none", POD_EVENTS_NONE}};
static const struct config_word kueue[] = {{"strip", false}, {"carry", true}};
static const struct config_word without_guard[] = {{"wait", true}, {"redispatch", false}};
static const struct config_word log_formats[] = {{"text", LOG_TEXT}, {"json", LOG_JSON}};
static const struct config_word log_levels[] = {
    {"error", LOG_ERROR}, {"warn", LOG_WARN}, {"info", LOG_INFO}, {"debug", LOG_DEBUG}};
const struct config_word config_lost_words[2] = {{"redispatch", false}, {"wait", true}};

static bool is_controller_name(const char *text) {
    return strlen(text) <= CONTROLLER_NAME_MAX && text_is_domain_prefixed_path(text);
}

static bool is_lease_name(const char *text) {
    return strlen(text) <= LEASE_NAME_MAX && text_is_dns_subdomain(text);
}

static void read_constant(struct config_reader *reader, const struct config_place *place, const struct json *value,
                          void *target) {
    (void)target;
    if (!text_equal(json_string(value), place->field->expected))
        config_wrong(reader, place, value, place->field->expected);
}

static void read_rate_limit(struct config_reader *reader, const struct config_place *place, const struct json *value,
                            void *target) {
    struct config *config = target;
    config_read_rates(reader, place, value, &config->engine.qps, &config->engine.burst, &config->engine.status_bytes);
}

static void read_fence_after(struct config_reader *reader, const struct config_place *place, const struct json *value,
                             void *target) {
    int64_t after_ns = 0;
    const char *text = json_string(value);
    if (text && clock_parse_duration(text, &after_ns) && after_ns % CLOCK_SECOND == 0 && after_ns >= FENCE_LEAST_NS &&
        after_ns <= FENCE_MOST_NS)
        *(int64_t *)target = after_ns;
    else
        config_wrong(reader, place, value, "a duration of whole seconds from 10s to 24h, such as 5m");
}

static const struct config_field mass_deletion[] = {
    {"max", config_read_whole, offsetof(struct config, engine.mass_deletion_max), false,
     .help = "Default 20. Orphans that may appear in a worker within ten minutes; more orphans are held.",
     .max = 1000000},
    {"percent", config_read_whole, offsetof(struct config, engine.mass_deletion_percent), false,
     .help = "Default 30. The same, as a percentage of the worker's mirrors.", .max = 100},
};

static const struct config_field log_section[] = {
    {"format", config_read_word, offsetof(struct config, log_format), false,
     .help = "Default text. Lines go to stderr.", CONFIG_WORDS(log_formats)},
    {"level", config_read_word, offsetof(struct config, log_level), false,
     .help = "Default info. debug logs each request and each decision.", CONFIG_WORDS(log_levels)},
};

static const struct config_field memory[] = {
    {"perCluster", config_read_size, offsetof(struct config, memory_per_cluster), false, .help = "Default 64MiB.",
     .min = BUDGET_LEAST, .expected = "a size from 32MiB to 64GiB, such as 64MiB"},
    {"maxObjectSize", config_read_size, offsetof(struct config, max_object_size), false,
     .help = "Default 2MiB. Larger objects are not handled.", OBJECT_SIZE},
    {"maxObjectNodes", config_read_whole, offsetof(struct config, max_object_nodes), false,
     .help = "Default 100000. Objects with more JSON values are not handled.", .min = 1000,
     .expected = "a whole number of 1000 or more"},
    {"maxStatusSize", config_read_size, offsetof(struct config, max_status_size), false,
     .help = "Default 256KiB. The largest parts of larger statuses are not copied from workers.", OBJECT_SIZE},
    {"maxWorkloads", config_read_whole, offsetof(struct config, engine.max_workloads), false,
     .help = "Default 0: no limit. Further workloads wait until others are deleted.",
     .expected = "a whole number; 0: no limit"},
};

static const struct config_field fencing[] = {
    {"enabled", config_read_bool, offsetof(struct config, engine.fencing.enabled), false,
     .help =
         "Default false. Whether a Lease is renewed in each worker for the guard there, without which it stops this "
         "host's mirrors; and whether a lost worker is given up only once its guard has certainly done so."},
    {"fenceAfter", read_fence_after, offsetof(struct config, engine.fencing.after_ns), false,
     .help = "Default 5m. How long the guard waits for the host. workerLostTimeout has to be at least 2.25 times "
             "that and 5s, and with leaderElection this at least twice leaseDuration."},
    {"namespace", config_read_text, offsetof(struct config, fencing_namespace), false,
     .help = "Default wharf-system. The namespace of the guard and of the Leases in each worker.", CONFIG_LABEL},
    {"withoutGuard", config_read_switch, offsetof(struct config, engine.fencing.wait), false,
     .help = "Default wait. Workloads in a lost worker without a known guard wait for the worker, or are redispatched "
             "after workerLostTimeout, as without fencing.",
     CONFIG_WORDS(without_guard)},
};

static const struct config_field election[] = {
    {"enabled", config_read_bool, offsetof(struct config, election.enabled), false,
     .help = "Default false. Only the holder of the Lease writes; the other replicas wait."},
    {"namespace", config_read_text, offsetof(struct config, election.namespace_), false,
     .help = "Of the Lease, in the management cluster. Default: the host's own (`namespace`).", CONFIG_LABEL},
    {"name", config_read_text, offsetof(struct config, election.name), false,
     .help = "Of the Lease; the same in all replicas. Default: wharf-ORIGIN.", .is_valid = is_lease_name,
     .expected = "the name of a Lease (RFC 1123 subdomain) of at most 63 characters"},
    {"leaseDuration", config_read_positive, offsetof(struct config, election.lease_ns), false,
     .help = "Default 15s. How long a replica waits after the holder's last renewal."},
    {"renewDeadline", config_read_positive, offsetof(struct config, election.renew_ns), false,
     .help = "Default 10s. How long the holder writes after the last renewal."},
    {"retryPeriod", config_read_positive, offsetof(struct config, election.retry_ns), false,
     .help = "Default 2s. Between renewals; waiting replicas check twice as often."},
};

static const struct config_field document[] = {
    {"apiVersion", read_constant, 0, true, .help = "The version of this format.", .expected = "wharf.dev/v1alpha1"},
    {"kind", read_constant, 0, true, .help = "The kind of this document.", .expected = "HostConfiguration"},
    {"controllerName", config_read_text, offsetof(struct config, controller_name), false,
     .help = "Default wharf.dev/host. The value of .spec.managedBy (or the kind's equivalent) that this host manages.",
     .is_valid = is_controller_name,
     .expected = "a domain-prefixed path of at most 63 characters, like wharf.dev/host"},
    {"origin", config_read_text, offsetof(struct config, origin), false,
     .help =
         "Identifies this host on its mirrors; must not change while there are any. Default: derived from the uid of "
         "the management cluster's namespace kube-system.",
     CONFIG_LABEL},
    {"management", config_read_management, offsetof(struct config, management), false,
     .help = "Where users create workloads. Without it: the cluster that the host runs in."},
    {"namespace", config_read_text, offsetof(struct config, namespace_), false,
     .help =
         "The host's own namespace in the management cluster: worker Secrets, ConfigMap wharf-workers. Default: the "
         "pod's, else wharf-system.",
     CONFIG_LABEL},
    {"workers", config_read_workers, 0, false, .help = "Where the mirrors run. Required without workersFrom."},
    {"workersFrom", config_read_workers_from, offsetof(struct config, workers_from), false,
     .help = "Further sources of workers, watched for changes.", .line_at = offsetof(struct config, workers_from.line)},
    {"removal", config_read_word, offsetof(struct config, removal), false,
     .help = "Default finish. When no source has a worker any more: let running workloads finish, move them, or "
             "abandon them.",
     CONFIG_WORDS(removals)},
    {"drainTimeout", config_read_duration, offsetof(struct config, engine.placement.drain_timeout_ns), false,
     .help = "Default 0. With drain: move, how long running workloads may continue before the move."},
    {"placement", config_read_placement, offsetof(struct config, engine.placement), false,
     .help = "The choice of a worker for each workload (docs/placement.md)."},
    {"onWorkerLost", config_read_switch, offsetof(struct config, engine.placement.otherwise.wait_when_lost), false,
     .help = "Default redispatch. After workerLostTimeout: start another attempt elsewhere, or wait for the worker.",
     CONFIG_WORDS(config_lost_words)},
    {"adapters", config_read_adapters, 0, true, .help = "The handled kinds.",
     .line_at = offsetof(struct config, adapter_directory_line)},
    {"serve", config_read_serve, offsetof(struct config, serve), false,
     .help = "The HTTP server: page, API (docs/api.md), /metrics, /healthz, /livez and /readyz. Without it nothing is "
             "served."},
    {"credentialPlugins", config_read_credential_plugins, 0, false,
     .help = "Programs that kubeconfigs may run for their credentials (docs/credentials.md)."},
    {"seal", config_read_seal, offsetof(struct config, seal), false,
     .help = "The key that seals mirrors (docs/security.md).", .line_at = offsetof(struct config, seal.line)},
    {"namespaces", config_read_namespaces, offsetof(struct config, engine.namespaces), false,
     .help = "Namespaces with workloads to place (docs/guards.md). The host follows placed workloads to their end."},
    {"createNamespaces", config_read_bool, offsetof(struct config, engine.create_namespaces), false,
     .help = "Default false. Whether to create missing namespaces in workers."},
    {"kueue", config_read_switch, offsetof(struct config, engine.kueue_carried), false,
     .help = "Default strip. Whether Kueue's labels on a workload that the management cluster's Kueue has admitted are "
             "copied to its mirror (docs/kueue.md).",
     CONFIG_WORDS(kueue)},
    {"podEvents", config_read_word, offsetof(struct config, pod_events), false,
     .help = "Default warnings. Events of a mirror's pods that appear on the workload (docs/pod-events.md).",
     CONFIG_WORDS(pod_events)},
    {"mirrorFinalizer", config_read_bool, offsetof(struct config, engine.mirror_finalizer), false,
     .help = "Default false. Whether mirrors get a finalizer until the host has copied the final status."},
    {"workerLostTimeout", config_read_positive, offsetof(struct config, engine.worker_lost_timeout_ns), false,
     .help = "Default 15m. How long a worker may be unreachable before the host reschedules the workloads."},
    {"fencing", config_read_section, 0, false,
     .help = "Guards in the workers, which stop mirrors that this host has lost (docs/fencing.md).",
     CONFIG_SECTION(fencing)},
    {"mirrorRetention", config_read_duration, offsetof(struct config, engine.mirror_retention_ns), false,
     .help = "Default 10m. How long a finished mirror stays in the worker, for its logs."},
    {"massDeletion", config_read_section, 0, false,
     .help = "When orphans are not deleted but held (docs/lifecycle.md).", CONFIG_SECTION(mass_deletion)},
    {"orphanGrace", config_read_duration, offsetof(struct config, engine.orphan_grace_ns), false,
     .help = "Default 1h. How long orphans are held; 0: not at all."},
    {"memory", config_read_section, 0, false, .help = "Limits of memory (docs/memory.md).", CONFIG_SECTION(memory)},
    {"rateLimit", read_rate_limit, 0, false,
     .help =
         "An upper bound of the requests to each cluster, without watches and lists, and of the space for statuses."},
    {"leaderElection", config_read_section, 0, false,
     .help = "Which of several replicas writes (docs/availability.md).",
     .line_at = offsetof(struct config, election.line), CONFIG_SECTION(election)},
    {"shards", config_read_whole, offsetof(struct config, election.shards), false,
     .help =
         "Default 1. Into how many parts the workloads are divided among replicas with leaderElection; the same in all "
         "of them.",
     .line_at = offsetof(struct config, election.shards_line), .min = 1, .max = SHARDS_MAX},
    {"log", config_read_section, 0, false, .help = "The host's log.", CONFIG_SECTION(log_section)},
};

bool config_read_document(struct config_reader *reader) {
    return config_mapping(reader, &(struct config_place){.up = NULL}, reader->yaml.value, document,
                          CONFIG_COUNT(document), reader->config);
}
