// SPDX-License-Identifier: Apache-2.0
// The keys of the configuration, but for the sections that have a file of their own, and the checks of keys against
// each other.
#include "core/base/text.h"
#include "core/base/trust.h"
#include "core/config/config_reader.h"
#include "core/kube/object/object.h"

#define CONTROLLER_NAME_MAX 63 // batch/v1 JobSpec.managedBy
#define LEASE_NAME_MAX 63      // limit of a label's value
#define SHARDS_MAX 64          // ELECTION_SHARDS_MAX
#define DAY_NS (1440 * CLOCK_MINUTE)
#define STATUS_BYTES_MIN (16 << 10)
#define ENTRY_MAX 253                  // of a key of a Secret (apimachinery validation.IsConfigMapKey)
#define NODE_BYTES 64                  // see json.h
#define ORPHAN_SHARE ((size_t)6 << 10) // of a cluster's memory budget, per orphan
#define OBJECT_SIZE .min = 64 << 10, .expected = "a size of 64KiB or more, such as 1MiB"
#define POSITIVE .min = 1, .expected = "a duration like 15m or 1h30m, more than 0"
#define AT(member) offsetof(struct config, member)

// serve -----------------------------------------------------------------------------------------------------------

bool config_serves(const struct config_serve *serve) {
    return serve->address || serve->socket;
}

enum last_words config_last_words(const struct config *config) {
    bool logs = config->engine.last_words == LAST_WORDS_LOGS;
    return logs && !config_serves(&config->serve) ? LAST_WORDS_REASONS : config->engine.last_words;
}

static bool is_address(const char *text) {
    struct address address;
    return address_parse_port(text, &address);
}

static bool check_socket(const struct config_value *value) {
    size_t len = strlen(*(char **)value->target);
    return len <= LOCAL_SOCKET_PATH_MAX ||
           config_problem(value, "found a path of %zu bytes, expected at most %zu, the limit of a socket", len,
                          LOCAL_SOCKET_PATH_MAX);
}

static bool check_serve(const struct config_value *value) {
    bool address = config_has(value, "address");
    if (config_has(value, "tls") && !address)
        return config_problem(value, "found tls without address, expected both");
    return address || config_has(value, "socket") ||
           config_problem(value,
                          "found neither address nor socket: one of them is required, like address: 127.0.0.1:9440");
}

static const struct config_field tls[] = {
    {"certFile", config_read_path, AT(serve.cert_file),
     .help = "The certificate, and after it those between it and its authority, in PEM. Read again when it changes.",
     .required = true},
    {"keyFile", config_read_path, AT(serve.key_file), .help = "The private key, in PEM.", .required = true},
    {.key = NULL},
};

static const struct config_field serve[] = {
    {"address", config_read_text, AT(serve.address),
     .help = "Address and port, in plain HTTP unless there is tls. Either this or socket is required.",
     .is_valid = is_address, .expected = "an IP address and a port, like 127.0.0.1:9440 or [::1]:9440"},
    {"socket", config_read_path, AT(serve.socket),
     .help = "The Unix socket for callers on the host's machine. Default, where the folder exists or can be created: "
             "PORT.sock (the address's) in $RUNTIME_DIRECTORY, else for root in /run/wharf, for a user in "
             "$XDG_RUNTIME_DIR/wharf. Only root and the host's user may have write permission for its folder and the "
             "folders above it.",
     .check = check_socket},
    {"socketGroup", config_read_text, AT(serve.group),
     .help =
         "A group that may connect to the socket, too (mode 0660). Default: only root and the host's user may (0600).",
     .expected = "the name of a group"},
    {"tls", config_read_section, 0, .help = "TLS 1.2 or later at the address. The socket needs none.",
     .line_at = AT(serve.tls_line), .fields = tls},
    {.key = NULL},
};

// credentialPlugins -----------------------------------------------------------------------------------------------

// Searches PATH for a name at each use; a path is below the configuration's folder unless absolute.
static bool read_command(const struct config_value *value) {
    const char *text = config_text(value, "the name of a program, or its path");
    return text && config_is_path(value, text) &&
           config_take(value, strchr(text, '/') ? config_absolute(value->reader->directory, text) : strdup(text));
}

static bool read_variable(const struct config_value *value) {
    static const char expected[] = "the name of an environment variable";
    const char *text = config_text(value, expected);
    if (text && strchr(text, '='))
        return config_problem(value, "found \"%s\", expected %s", text, expected);
    return text && config_take(value, strdup(text));
}

static const struct config_field credential_plugins[] = {
    {"allow", config_read_list, AT(credential_plugins.allow),
     .help = "Names, which are searched in PATH, or absolute paths. A kubeconfig may run nothing else.",
     .required = true, .item = "credential plugin", .read_item = read_command, .item_size = sizeof(char *),
     .may_be_empty = true},
    {"env", config_read_list, AT(credential_plugins.env),
     .help = "Environment variables that a kubeconfig in a Secret may set for them. Default: the profile, region and "
             "credentials of AWS and Azure (docs/credentials.md).",
     .given_at = AT(credential_plugins.env_is_given), .item = "environment variable", .read_item = read_variable,
     .item_size = sizeof(char *), .may_be_empty = true},
    {.key = NULL},
};

// seal ------------------------------------------------------------------------------------------------------------

static bool is_entry(const char *text) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    return strlen(text) <= ENTRY_MAX && text[strspn(text, allowed)] == '\0';
}

static bool check_seal(const struct config_value *value) {
    const struct config_seal *seal = &value->reader->config->seal;
    return !seal->file || !seal->from_secret ||
           config_problem(value, "found both file and secret, expected one of them");
}

static const struct config_field seal_secret[] = {
    {"namespace", config_read_text, AT(seal.secret_namespace), .help = "Default: the pod's, else wharf-system.",
     CONFIG_LABEL},
    {"name", config_read_text, AT(seal.secret_name), .help = "Default wharf-seal.", .is_valid = text_is_dns_subdomain,
     .expected = "the name of a Secret (RFC 1123 subdomain)"},
    {"key", config_read_text, AT(seal.secret_key), .help = "Default key. The entry that signs; all are valid.",
     .is_valid = is_entry, .expected = "a key of a Secret (letters, digits, '-', '_' and '.')"},
    {.key = NULL},
};

static const struct config_field seal[] = {
    {"file", config_read_path, AT(seal.file),
     .help = "One key per line; the first signs, all are valid. The host creates a missing file."},
    {"secret", config_read_section, 0, .help = "A Secret of the management cluster; the host creates a missing one.",
     .given_at = AT(seal.from_secret), .fields = seal_secret},
    {"adoptUnsealed", config_read_bool, AT(seal.adopt_unsealed),
     .help = "Default false. Mirrors without a seal in the first lists are sealed. For the first start with a key that "
             "the host did not create; after creating one it does so for an hour."},
    {.key = NULL},
};

// Short sections --------------------------------------------------------------------------------------------------

static bool is_controller_name(const char *text) {
    return strlen(text) <= CONTROLLER_NAME_MAX && text_is_domain_prefixed_path(text);
}

static bool is_lease_name(const char *text) {
    return strlen(text) <= LEASE_NAME_MAX && text_is_dns_subdomain(text);
}

static bool read_constant(const struct config_value *value) {
    const char *expected = value->field->expected;
    return text_equal(json_string(value->json), expected) || config_wrong(value, expected);
}

static bool check_rate_limit(const struct config_value *value) {
    struct engine_settings *engine = &value->reader->config->engine;
    return config_check_rates(value, engine->qps, &engine->burst);
}

static const struct config_field rate_limit[] = {
    {"qps", config_read_rate, AT(engine.qps), .help = "Default 500. Requests per second; 0: no limit."},
    {"burst", config_read_rate, AT(engine.burst),
     .help = "Default 1000, twice qps if only qps is given. Requests at once after a pause."},
    {"statusBytes", config_read_size, AT(engine.status_bytes),
     .help = "Default 1MiB. Bytes per second that the statuses of one worker may take in the management cluster, where "
             "etcd keeps each version for up to 10 minutes; 256 times as much at once; 0: no limit (docs/security.md).",
     .min = STATUS_BYTES_MIN, .may_be_empty = true, .expected = "a size of 16KiB or more, such as 1MiB, or 0"},
    {.key = NULL},
};

static const struct config_field mass_deletion[] = {
    {"max", config_read_whole, AT(engine.mass_deletion_max),
     .help = "Default 20. Orphans that may appear in a worker within ten minutes; more orphans are held.",
     .max = 1000000},
    {"percent", config_read_whole, AT(engine.mass_deletion_percent),
     .help = "Default 30. The same, as a percentage of the worker's mirrors.", .max = 100},
    {.key = NULL},
};

static const struct config_field log_section[] = {
    {"format", config_read_word, AT(log_format), .help = "Default text. Lines go to stderr.",
     CONFIG_WORDS({"text", LOG_TEXT}, {"json", LOG_JSON})},
    {"level", config_read_word, AT(log_level), .help = "Default info. debug logs each request and each decision.",
     CONFIG_WORDS({"error", LOG_ERROR}, {"warn", LOG_WARN}, {"info", LOG_INFO}, {"debug", LOG_DEBUG})},
    {.key = NULL},
};

static const struct config_field memory[] = {
    {"perCluster", config_read_size, AT(memory_per_cluster), .help = "Default 64MiB.", .min = BUDGET_LEAST,
     .expected = "a size from 32MiB to 64GiB, such as 64MiB"},
    {"maxObjectSize", config_read_size, AT(max_object_size), .help = "Default 2MiB. Larger objects are not handled.",
     OBJECT_SIZE},
    {"maxObjectNodes", config_read_whole, AT(max_object_nodes),
     .help = "Default 100000. Objects with more JSON values are not handled.", .min = 1000,
     .expected = "a whole number of 1000 or more"},
    {"maxStatusSize", config_read_size, AT(max_status_size),
     .help = "Default 256KiB. The largest parts of larger statuses are not copied from workers.", OBJECT_SIZE},
    {"maxWorkloads", config_read_whole, AT(engine.max_workloads),
     .help = "Default 0: no limit. Further workloads wait until others are deleted.",
     .expected = "a whole number; 0: no limit"},
    {.key = NULL},
};

static const struct config_field fencing[] = {
    {"enabled", config_read_bool, AT(engine.fencing.enabled),
     .help = "Default false. Whether a Lease is renewed in each worker for the guard there, without which it stops "
             "this host's mirrors; and whether a lost worker is given up only once its guard has certainly done so."},
    {"fenceAfter", config_read_duration, AT(engine.fencing.after_ns),
     .help = "Default 5m. How long the guard waits for the host. workerLostTimeout has to be at least 2.25 times that "
             "and 5s, and with leaderElection this at least twice leaseDuration.",
     .min = 10 * CLOCK_SECOND, .max = DAY_NS, .unit = CLOCK_SECOND,
     .expected = "a duration of whole seconds from 10s to 24h, such as 5m"},
    {"namespace", config_read_text, AT(fencing_namespace),
     .help = "Default wharf-system. The namespace of the guard and of the Leases in each worker.", CONFIG_LABEL},
    {"withoutGuard", config_read_switch, AT(engine.fencing.wait),
     .help = "Default wait. Workloads in a lost worker without a known guard wait for the worker, or are redispatched "
             "after workerLostTimeout, as without fencing.",
     CONFIG_WORDS({"wait", true}, {"redispatch", false})},
    {.key = NULL},
};

static const struct config_field election[] = {
    {"enabled", config_read_bool, AT(election.enabled),
     .help = "Default false. Only the holder of the Lease writes; the other replicas wait."},
    {"namespace", config_read_text, AT(election.namespace_),
     .help = "Of the Lease, in the management cluster. Default: the host's own (`namespace`).", CONFIG_LABEL},
    {"name", config_read_text, AT(election.name),
     .help = "Of the Lease; the same in all replicas. Default: wharf-ORIGIN.", .is_valid = is_lease_name,
     .expected = "the name of a Lease (RFC 1123 subdomain) of at most 63 characters"},
    {"leaseDuration", config_read_duration, AT(election.lease_ns),
     .help = "Default 15s. How long a replica waits after the holder's last renewal.", POSITIVE},
    {"renewDeadline", config_read_duration, AT(election.renew_ns),
     .help = "Default 10s. How long the holder writes after the last renewal.", POSITIVE},
    {"retryPeriod", config_read_duration, AT(election.retry_ns),
     .help = "Default 2s. Between renewals; waiting replicas check twice as often.", POSITIVE},
    {.key = NULL},
};

static const struct config_field document[] = {
    {"apiVersion", read_constant, 0, .help = "The version of this format.", .required = true,
     .expected = "wharf.dev/v1alpha1"},
    {"kind", read_constant, 0, .help = "The kind of this document.", .required = true, .expected = "HostConfiguration"},
    {"controllerName", config_read_text, AT(controller_name),
     .help = "Default wharf.dev/host. The value of .spec.managedBy (or the kind's equivalent) that this host manages.",
     .is_valid = is_controller_name,
     .expected = "a domain-prefixed path of at most 63 characters, like wharf.dev/host"},
    {"origin", config_read_text, AT(origin),
     .help = "Identifies this host on its mirrors; must not change while there are any. Default: derived from the uid "
             "of the management cluster's namespace kube-system.",
     CONFIG_LABEL},
    {"management", config_read_section, AT(management),
     .help = "Where users create workloads. Without it: the cluster that the host runs in.",
     .fields = config_management, .line_at = AT(management.line), .check = config_check_management},
    {"namespace", config_read_text, AT(namespace_),
     .help = "The host's own namespace in the management cluster: worker Secrets, ConfigMap wharf-workers. Default: "
             "the pod's, else wharf-system.",
     CONFIG_LABEL},
    {"workers", config_read_workers, AT(workers), .help = "Where the mirrors run. Required without workersFrom.",
     .item = "worker", .read_item = config_read_worker, .item_size = sizeof(struct worker_spec)},
    {"workersFrom", config_read_section, AT(workers_from), .help = "Further sources of workers, watched for changes.",
     .line_at = AT(workers_from.line), .fields = config_workers_from, .check = config_check_workers_from},
    {"removal", config_read_word, AT(removal),
     .help = "Default finish. When no source has a worker any more: let running workloads finish, move them, or "
             "abandon them.",
     CONFIG_WORDS({"finish", REMOVAL_FINISH}, {"move", REMOVAL_MOVE}, {"abandon", REMOVAL_ABANDON})},
    {"drainTimeout", config_read_duration, AT(engine.placement.drain_timeout_ns),
     .help = "Default 0. With drain: move, how long running workloads may continue before the move."},
    {"placement", config_read_section, AT(engine.placement),
     .help = "The choice of a worker for each workload (docs/placement.md).", .fields = config_placement},
    {"dependencies", config_read_section, AT(engine.dependencies),
     .help = "Objects that a workload refers to, such as ConfigMaps (docs/dependencies.md). Default: the "
             "host ignores these objects.",
     .line_at = AT(dependencies_line), .fields = config_dependencies, .check = config_check_dependencies},
    {"onWorkerLost", config_read_switch, AT(engine.placement.otherwise.wait_when_lost),
     .help = "Default redispatch. After workerLostTimeout: start another attempt elsewhere, or wait for the worker.",
     CONFIG_WORDS({"redispatch", false}, {"wait", true})},
    {"adapters", config_read_section, 0, .help = "The handled kinds.", .required = true,
     .line_at = AT(adapter_directory_line), .fields = config_adapters},
    {"serve", config_read_section, 0,
     .help = "The HTTP server: page, API (docs/api.md), /metrics, /healthz, /livez and /readyz. Without it nothing is "
             "served.",
     .fields = serve, .check = check_serve},
    {"credentialPlugins", config_read_section, 0,
     .help = "Programs that kubeconfigs may run for their credentials (docs/credentials.md).",
     .fields = credential_plugins},
    {"seal", config_read_section, 0, .help = "The key that seals mirrors (docs/security.md).", .line_at = AT(seal.line),
     .fields = seal, .check = check_seal},
    {"namespaces", config_read_namespaces, AT(engine.namespaces),
     .help = "Namespaces with workloads to place (docs/guards.md). The host follows placed workloads to their end."},
    {"createNamespaces", config_read_bool, AT(engine.create_namespaces),
     .help = "Default false. Whether to create missing namespaces in workers."},
    {"tenancy", config_read_tenancy, AT(engine.tenancy),
     .help = "Default none. As whom the host writes in workers (docs/tenancy.md). The mode alone, or a mapping."},
    {"kueue", config_read_switch, AT(engine.kueue_carried),
     .help = "Default strip. Whether Kueue's labels on a workload that the management cluster's Kueue has admitted are "
             "copied to its mirror (docs/kueue.md).",
     CONFIG_WORDS({"strip", false}, {"carry", true})},
    {"podEvents", config_read_word, AT(pod_events),
     .help = "Default warnings. Events of a mirror's pods that appear on the workload (docs/pod-events.md).",
     CONFIG_WORDS({"warnings", POD_EVENTS_WARNINGS}, {"all", POD_EVENTS_ALL}, {"none", POD_EVENTS_NONE})},
    {"lastWords", config_read_word, AT(engine.last_words),
     .help = "Default logs. The end of a failed workload that the host keeps until the workload is deleted "
             "(docs/logs.md): exit codes and reasons, with logs also termination messages and the ends of logs.",
     CONFIG_WORDS({"logs", LAST_WORDS_LOGS}, {"reasons", LAST_WORDS_REASONS}, {"none", LAST_WORDS_NONE})},
    {"mirrorFinalizer", config_read_bool, AT(engine.mirror_finalizer),
     .help = "Default false. Whether mirrors get a finalizer until the host has copied the final status."},
    {"workerLostTimeout", config_read_duration, AT(engine.worker_lost_timeout_ns),
     .help = "Default 15m. How long a worker may be unreachable before the host reschedules the workloads.", POSITIVE},
    {"fencing", config_read_section, 0,
     .help = "Guards in the workers, which stop mirrors that this host has lost (docs/fencing.md).", .fields = fencing},
    {"mirrorRetention", config_read_duration, AT(engine.mirror_retention_ns),
     .help = "Default 10m. How long a finished mirror stays in the worker, for its logs."},
    {"massDeletion", config_read_section, 0, .help = "When orphans are not deleted but held (docs/lifecycle.md).",
     .fields = mass_deletion},
    {"orphanGrace", config_read_duration, AT(engine.orphan_grace_ns),
     .help = "Default 1h. How long orphans are held; 0: not at all."},
    {"memory", config_read_section, 0, .help = "Limits of memory (docs/memory.md).", .fields = memory},
    {"rateLimit", config_read_section, 0,
     .help =
         "An upper bound of the requests to each cluster, without watches and lists, and of the space for statuses.",
     .fields = rate_limit, .check = check_rate_limit},
    {"leaderElection", config_read_section, 0, .help = "Which of several replicas writes (docs/availability.md).",
     .line_at = AT(election.line), .fields = election},
    {"shards", config_read_whole, AT(election.shards),
     .help = "Default 1. Into how many parts the workloads are divided among replicas with leaderElection; the same in "
             "all of them.",
     .line_at = AT(election.shards_line), .min = 1, .max = SHARDS_MAX},
    {"log", config_read_section, 0, .help = "The host's log.", .fields = log_section},
    {.key = NULL},
};

void config_clear_document(struct config *config) {
    config_clear(document, config);
}

// Checks of keys against each other -------------------------------------------------------------------------------

static void report_line(const struct config_value *root, size_t line, const char *text) {
    problems_add(root->reader->problems, "%s:%zu: %s", root->reader->file, line, text);
}

static void check_adoption(const struct config_value *root) {
    const struct config *config = root->reader->config;
    if (config->seal.adopt_unsealed && !config->seal.file && !config->seal.from_secret &&
        config->management.kubeconfig_path)
        report_line(
            root, config->seal.line,
            "seal.adoptUnsealed: found no file and no secret, expected one of them: without a key nothing is sealed");
}

static void check_election(const struct config_value *root) {
    const struct config_election *given = &root->reader->config->election;
    if (given->shards > 1 && !given->enabled)
        report_line(root, given->shards_line,
                    "shards: found more than one without leaderElection.enabled: true, which shares them out");
    if (given->lease_ns % CLOCK_SECOND != 0 || given->lease_ns > DAY_NS)
        report_line(root, given->line, "leaderElection.leaseDuration: expected whole seconds, at most 24h");
    if (given->lease_ns <= given->renew_ns)
        report_line(root, given->line, "leaderElection: found renewDeadline not below leaseDuration");
    if (given->renew_ns > DAY_NS) // the products would overflow
        return;
    if (given->renew_ns - given->retry_ns < CLOCK_SECOND || given->renew_ns * 5 <= given->retry_ns * 6)
        report_line(root, given->line,
                    "leaderElection: expected renewDeadline above 1.2 times retryPeriod, and by at least 1s");
}

// The value of a key that the file may lack.
static struct config_value place_of(const struct config_value *up, const char *key) {
    return (struct config_value){.reader = up->reader, .up = up, .key = key, .json = json_get(up->json, key)};
}

// Otherwise the guard would stop mirrors before another replica has taken over. The last heartbeat that returned may be
// three eighths of fenceAfter old.
static void check_takeover(const struct config_value *root) {
    const struct config *config = root->reader->config;
    const struct config_value section = place_of(root, "fencing"), key = place_of(&section, "fenceAfter");
    int64_t least_ns = 2 * config->election.lease_ns;
    char after[CLOCK_RFC3339_MAX], least[CLOCK_RFC3339_MAX];
    if (!config->election.enabled || config->engine.fencing.after_ns >= least_ns)
        return;
    clock_duration_text(config->engine.fencing.after_ns, after);
    clock_duration_text(least_ns, least);
    config_problem(&key, "found %s, expected at least %s, twice leaderElection.leaseDuration", after, least);
}

// Like fence_sure_ns: all guards may have been down for fenceAfter, and stopping the mirrors takes some time.
static void check_fencing(const struct config_value *root) {
    const struct engine_settings *engine = &root->reader->config->engine;
    const struct config_value key = place_of(root, "workerLostTimeout");
    int64_t after_ns = engine->fencing.after_ns, sure_ns = 2 * after_ns + after_ns / 4 + 5 * CLOCK_SECOND;
    if (!engine->fencing.enabled)
        return;
    check_takeover(root);
    if (engine->worker_lost_timeout_ns >= sure_ns)
        return;
    char after[CLOCK_RFC3339_MAX], sure[CLOCK_RFC3339_MAX], lost[CLOCK_RFC3339_MAX];
    clock_duration_text(after_ns, after);
    clock_duration_text(sure_ns, sure);
    clock_duration_text(engine->worker_lost_timeout_ns, lost);
    config_problem(&key, "found %s, expected at least %s, since fencing.fenceAfter is %s", lost, sure, after);
}

// An object must fit into one share of a cluster's memory budget.
static void check_memory(const struct config_value *root) {
    const struct config *config = root->reader->config;
    const struct config_value section = place_of(root, "memory");
    size_t share = config->memory_per_cluster / 8, nodes = 2 * share / NODE_BYTES;
    if (config->max_object_size > share)
        config_problem(&section, "maxObjectSize: found %zu bytes, expected at most an eighth of perCluster, %zu bytes",
                       config->max_object_size, share);
    if (config->max_object_nodes > nodes)
        config_problem(&section, "maxObjectNodes: found %zu, expected at most %zu with this perCluster",
                       config->max_object_nodes, nodes);
}

bool config_read_document(const struct config_value *root) {
    struct config *config = root->reader->config;
    if (!config_mapping(root, document, config) || root->reader->describe)
        return false;
    config_read_rules(root);
    config->engine.max_orphans = config->memory_per_cluster / ORPHAN_SHARE;
    config->engine.log_decisions = config->log_level == LOG_DEBUG;
    check_memory(root);
    config_check_clusters(root);
    if (config->workers_from.line == 0 && !config_has(root, "workers"))
        config_problem(root, "workers: found nothing, expected a value: it is required where there is no workersFrom");
    config_check_adapters(root);
    config_check_tenancy(root);
    check_adoption(root);
    check_election(root);
    check_fencing(root);
    return true;
}
