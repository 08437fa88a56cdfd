// SPDX-License-Identifier: Apache-2.0
#include "core/config/config.h"

#include "core/base/clock.h"
#include "core/base/text.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// Four lines that every valid file begins with, one worker, one adapter.
#define HEAD "apiVersion: wharf.dev/v1alpha1\nkind: HostConfiguration\n"
#define WORKERS "workers:\n- {name: w1, kubeconfig: w1.kubeconfig}\n"
#define ADAPTERS "adapters: {enabled: [{name: job}]}\n"
#define GOOD HEAD WORKERS ADAPTERS

static char folder[] = "/tmp/config_test.XXXXXX";
static char file[PATH_MAX];

static void write_file(const char *text, size_t len) {
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(text, 1, len, out), len);
    assert_int_equal(fclose(out), 0);
}

static struct config *load(const char *text, struct problems *problems) {
    struct config *config = NULL;
    *problems = (struct problems){.count = 0};
    write_file(text, strlen(text));
    assert_null(config_load(file, problems, &config));
    return config;
}

// Asserts that there is one problem, which has the file, the line and all the words.
static void assert_problem(const struct problems *problems, size_t line, const char *const *says) {
    if (problems->count != 1)
        fail_msg("%zu problems, expected \"%s\": %s; %s", problems->count, says[0],
                 problems->count > 0 ? problems->list[0] : "", problems->count > 1 ? problems->list[1] : "");
    AUTO_TEXT place = line == 0 ? text_format("%s", file) : text_format("%s:%zu:", file, line);
    if (!text_has_prefix(problems->list[0], place))
        fail_msg("\"%s\" does not begin with \"%s\"", problems->list[0], place);
    for (; *says; says++)
        if (!strstr(problems->list[0], *says))
            fail_msg("\"%s\" does not say \"%s\"", problems->list[0], *says);
}

static void a_short_file_is_filled_with_defaults(void **state) {
    (void)state;
    struct problems problems;
    struct config *config = load(GOOD, &problems);
    assert_int_equal(problems.count, 0);
    assert_non_null(config);
    assert_string_equal(config->path, file);
    assert_string_equal(config->controller_name, "wharf.dev/host");
    assert_null(config->origin);
    assert_null(config->namespace_);
    assert_int_equal(config->removal, REMOVAL_FINISH);
    assert_true(!config->workers_from.directory && !config->workers_from.secrets &&
                !config->workers_from.cluster_profiles);
    assert_true(!config->workers[0].cordoned && config->workers[0].drain == DRAIN_NO &&
                config->workers[0].settings.qps == 0);
    assert_string_equal(config->management.settings.name, "management");
    assert_null(config->management.kubeconfig_path);
    assert_string_equal(config->management.context, "");
    assert_int_equal(config->n_workers, 1);
    assert_string_equal(config->workers[0].context, "");
    assert_int_equal(config->workers[0].line, 4);
    assert_int_equal(config->n_adapters, 1);
    assert_false(config->adapters[0].file_given);
    assert_non_null(config->adapters[0].settings);
    assert_null(config->adapters[0].managed_by);
    assert_null(config->serve.address);
    assert_true(!config->seal.file && !config->seal.from_secret && !config->seal.adopt_unsealed);
    assert_true(config->credential_plugins.n_allow == 0 && !config->credential_plugins.any);
    assert_false(config->engine.create_namespaces);
    assert_false(config->engine.kueue_carried);
    assert_false(config->engine.mirror_finalizer);
    assert_int_equal(config->pod_events, POD_EVENTS_WARNINGS);
    assert_true(config->engine.worker_lost_timeout_ns == 15 * CLOCK_MINUTE);
    assert_true(!config->engine.fencing.enabled && config->engine.fencing.after_ns == 5 * CLOCK_MINUTE);
    assert_true(config->engine.fencing.wait);
    assert_true(config->engine.mirror_retention_ns == 10 * CLOCK_MINUTE);
    assert_true(config->memory_per_cluster == (size_t)64 << 20 && config->max_object_size == (size_t)2 << 20);
    assert_int_equal(config->max_object_nodes, 100000);
    assert_int_equal(config->max_status_size, 256 << 10);
    assert_true(config->engine.mass_deletion_max == 20 && config->engine.mass_deletion_percent == 30);
    assert_true(config->engine.orphan_grace_ns == 60 * CLOCK_MINUTE);
    assert_true(config->engine.qps == 500 && config->engine.burst == 1000 && config->engine.status_bytes == 1048576);
    assert_int_equal(config->log_format, LOG_TEXT);
    assert_int_equal(config->log_level, LOG_INFO);
    config_free(config);
}

static void assert_path(const char *path, const char *name) {
    AUTO_TEXT expected = text_format("%s/%s", folder, name);
    assert_string_equal(path, expected);
}

static void every_key_is_read(void **state) {
    (void)state;
    struct problems problems;
    struct config *config = load(
        HEAD "controllerName: acme.example/host\norigin: eu-mgmt\n"
             "management: {kubeconfig: sub/mgmt.kubeconfig, context: admin}\n"
             "workers:\n"
             "- {name: w1, kubeconfig: w1.kubeconfig, context: c1, labels: {region: eu, example.com/tier: \"1\"}}\n"
             "- {name: w2, kubeconfig: \"/abs/w2.kubeconfig:/abs/more::\"}\n"
             "adapters:\n  directory: libs\n  enabled:\n  - name: job\n"
             "  - {name: acme, file: /opt/acme/acme.so, managedBy: acme.example/x, settings: {depth: [1, two]},\n"
             "     sha256: \"ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef0123456789\"}\n"
             "  - {name: old, file: v1/old.so, hybrid: suspend, ownedObjects: batch/v1/jobs}\n"
             "serve: {address: \"[::1]:9440\", socket: run/w.sock, socketGroup: ops}\ncreateNamespaces: "
             "true\nmirrorFinalizer: true\nkueue: "
             "carry\nworkerLostTimeout: "
             "90s\nmirrorRetention: 0\n"
             "memory: {perCluster: 1GiB, maxObjectSize: 512KiB, maxObjectNodes: 5000, maxStatusSize: 1MiB}\n"
             "massDeletion: {max: 7, percent: 100}\norphanGrace: 20m\n"
             "seal: {secret: {namespace: ours, name: seal.keys, key: now_1}, adoptUnsealed: true}\n"
             "credentialPlugins: {allow: [aws, ./bin/kubelogin, /opt/x], env: [AWS_PROFILE, X]}\n"
             "rateLimit: {qps: 2.5, burst: 7, statusBytes: 64KiB}\nlog: {format: json, level: debug}\n",
        &problems);
    assert_int_equal(problems.count, 0);
    assert_string_equal(config->controller_name, "acme.example/host");
    assert_string_equal(config->origin, "eu-mgmt");
    assert_path(config->management.kubeconfig_path, "sub/mgmt.kubeconfig");
    assert_string_equal(config->management.context, "admin");
    assert_int_equal(config->n_workers, 2);
    assert_path(config->workers[0].kubeconfig_path, "w1.kubeconfig");
    assert_string_equal(config->workers[0].settings.labels, "region=eu,example.com/tier=1");
    assert_string_equal(config->workers[1].kubeconfig_path, "/abs/w2.kubeconfig:/abs/more");
    assert_path(config->adapter_directory, "libs");
    assert_int_equal(config->n_adapters, 3);
    assert_path(config->adapters[0].file, "libs/job.so");
    assert_string_equal(config->adapters[1].file, "/opt/acme/acme.so");
    assert_true(config->adapters[1].file_given);
    assert_string_equal(config->adapters[1].managed_by, "acme.example/x");
    assert_string_equal(config->adapters[1].sha256, "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789");
    assert_string_equal(json_string(json_at(json_get(config->adapters[1].settings, "depth"), 1)), "two");
    assert_path(config->adapters[2].file, "libs/v1/old.so");
    assert_false(config->adapters[2].file_given);
    assert_int_equal(config->adapters[2].hybrid, HYBRID_SUSPEND);
    assert_string_equal(config->adapters[2].owned_objects, "batch/v1/jobs");
    assert_int_equal(config->adapters[1].hybrid, HYBRID_REFUSE);
    assert_string_equal(config->serve.address, "[::1]:9440");
    assert_path(config->serve.socket, "run/w.sock");
    assert_string_equal(config->serve.group, "ops");
    assert_true(config->engine.create_namespaces);
    assert_true(config->engine.kueue_carried);
    assert_true(config->engine.mirror_finalizer);
    assert_true(config->engine.worker_lost_timeout_ns == 90 * CLOCK_SECOND);
    assert_true(config->engine.mirror_retention_ns == 0);
    assert_true(config->memory_per_cluster == (size_t)1 << 30 && config->max_object_size == (size_t)512 << 10);
    assert_int_equal(config->max_object_nodes, 5000);
    assert_int_equal(config->max_status_size, 1 << 20);
    assert_true(config->seal.from_secret && config->seal.adopt_unsealed);
    assert_string_equal(config->seal.secret_namespace, "ours");
    assert_string_equal(config->seal.secret_name, "seal.keys");
    assert_string_equal(config->seal.secret_key, "now_1");
    assert_int_equal(config->credential_plugins.n_allow, 3);
    assert_string_equal(config->credential_plugins.allow[0], "aws");
    assert_path(config->credential_plugins.allow[1], "bin/kubelogin");
    assert_string_equal(config->credential_plugins.allow[2], "/opt/x");
    assert_int_equal(config->credential_plugins.n_env, 2);
    assert_string_equal(config->credential_plugins.env[1], "X");
    assert_true(text_has_prefix(config->credential_plugins.setting, "credentialPlugins.allow in /"));
    assert_true(config->engine.mass_deletion_max == 7 && config->engine.mass_deletion_percent == 100);
    assert_true(config->engine.orphan_grace_ns == 20 * CLOCK_MINUTE);
    assert_true(config->engine.qps == 2.5 && config->engine.burst == 7 && config->engine.status_bytes == 65536);
    assert_int_equal(config->log_format, LOG_JSON);
    assert_int_equal(config->log_level, LOG_DEBUG);
    config_free(config);
}

#define PROFILES "workersFrom:\n  clusterProfiles:\n    namespace: fleet\n"
#define PROVIDERS "accessProviders: [{name: p, execConfig: {apiVersion: v1, command: c}}]"

static void sources_of_workers_are_read(void **state) {
    (void)state;
    struct problems problems;
    struct config *config =
        load(HEAD ADAPTERS "namespace: ours\nremoval: move\nworkersFrom:\n  directory: workers.d\n  secrets: true\n"
                           "  clusterProfiles:\n    namespace: fleet\n    accessProviders:\n"
                           "    - {name: google, execConfig: {apiVersion: client.authentication.k8s.io/v1, "
                           "command: gke-gcloud-auth-plugin, args: [a]}}\n    - {name: p, execConfig: {apiVersion: v1, "
                           "command: c}}\n",
             &problems);
    if (problems.count > 0)
        fail_msg("%s", problems.list[0]);
    assert_int_equal(config->n_workers, 0);
    assert_string_equal(config->namespace_, "ours");
    assert_int_equal(config->removal, REMOVAL_MOVE);
    const struct config_workers_from *from = &config->workers_from;
    assert_path(from->directory, "workers.d");
    assert_true(from->secrets && from->cluster_profiles);
    assert_string_equal(from->profile_namespace, "fleet");
    assert_int_equal(from->n_providers, 2);
    assert_string_equal(from->providers[0].name, "google");
    assert_int_equal(from->providers[0].line, 12);
    assert_string_equal(json_string(json_at(json_get(from->providers[0].exec, "args"), 0)), "a");
    config_free(config);
    config = load(HEAD ADAPTERS "workers: []\nworkersFrom: {secrets: true}\nremoval: abandon\n", &problems);
    assert_int_equal(problems.count, 0);
    assert_true(config->n_workers == 0 && config->removal == REMOVAL_ABANDON && !config->workers_from.directory);
    config_free(config);
}

static void workers_may_be_cordoned_and_limited(void **state) {
    (void)state;
    struct problems problems;
    struct config *config =
        load(HEAD ADAPTERS "workers:\n- {name: a, kubeconfig: a, cordoned: true, rateLimit: {qps: 5}}\n"
                           "- {name: b, kubeconfig: b, drain: move, rateLimit: {qps: 9, burst: 3}}\n"
                           "- {name: c, kubeconfig: c, drain: finish}\n",
             &problems);
    assert_int_equal(problems.count, 0);
    const struct worker_spec *workers = config->workers;
    assert_true(workers[0].cordoned && workers[0].drain == DRAIN_NO && workers[0].settings.qps == 5 &&
                workers[0].settings.burst == 10);
    assert_true(!workers[1].cordoned && workers[1].drain == DRAIN_MOVE && workers[1].settings.qps == 9 &&
                workers[1].settings.burst == 3);
    assert_true(workers[2].drain == DRAIN_FINISH && workers[2].settings.qps == 0);
    config_free(config);
}

static const struct {
    const char *text;
    size_t line;
    const char *says[4];
} wrong_files[] = {
    {"", 0, {"found nothing", "expected a mapping"}},
    {"- a\n", 0, {"found a list", "expected a mapping"}},
    {"just words\n", 0, {"\"just words\"", "mapping"}},
    {HEAD "kind: HostConfiguration\n", 3, {"kind"}},
    {GOOD "a: [\n", 0, {file}},
    {GOOD "---\n{}\n", 0, {file}},
    {"apiVersion: wharf.dev/v2\nkind: HostConfiguration\n" WORKERS ADAPTERS, 1, {"\"wharf.dev/v2\"", "v1alpha1"}},
    {"apiVersion: wharf.dev/v1alpha1\nkind: Host\n" WORKERS ADAPTERS, 2, {"kind", "\"Host\"", "HostConfiguration"}},
    {"kind: HostConfiguration\n" WORKERS ADAPTERS, 1, {"apiVersion", "required"}},
    {HEAD ADAPTERS, 1, {"workers", "required"}},
    {HEAD ADAPTERS "workers:\n", 1, {"workers", "required"}},
    {HEAD ADAPTERS "workers: []\n", 4, {"workers", "at least one"}},
    {HEAD ADAPTERS "workers: {name: w1}\n", 4, {"a mapping", "a list"}},
    {HEAD WORKERS, 1, {"adapters", "required"}},
    {HEAD WORKERS "adapters: {}\n", 5, {"adapters", "enabled", "required"}},
    {HEAD WORKERS "adapters: {enabled: []}\n", 5, {"adapters.enabled", "at least one"}},
    // Unknown keys
    {GOOD "worker: []\n", 6, {"worker:", "unknown key", "did you mean \"workers\"?"}},
    {GOOD "CreateNamespace: true\n", 6, {"did you mean \"createNamespaces\"?"}},
    {GOOD "colour: blue\n", 6, {"colour", "unknown key", "expected one of apiVersion, kind"}},
    {HEAD ADAPTERS "workers:\n- name: w1\n  kubeconfig: a\n  kubconfig: b\n",
     7,
     {"workers[0].kubconfig", "did you mean \"kubeconfig\"?"}},
    {HEAD WORKERS "adapters:\n  enabled:\n  - name: job\n    sha265: x\n",
     8,
     {"adapters.enabled[0].sha265", "did you mean \"sha256\"?"}},
    {GOOD "rateLimit: {qsp: 1}\n", 6, {"rateLimit.qsp", "\"qps\""}},
    {GOOD "memroy: {}\n", 6, {"memroy", "did you mean \"memory\"?"}},
    {GOOD "logs: {}\n", 6, {"logs", "did you mean \"log\"?"}},
    {GOOD "leaderElection: {enabled: true, leaseDuration: 2562047h, renewDeadline: 2562046h}\n",
     6,
     {"leaderElection.leaseDuration: expected whole seconds, at most 24h"}},
    {GOOD "colour: blue\n", 6, {"colour", "orphanGrace, memory, rateLimit, leaderElection, shards, log"}},
    // Paths that a shell would have expanded
    {HEAD ADAPTERS "workers:\n- name: w\n  kubeconfig: ~/w1.kubeconfig\n",
     6,
     {"workers[0].kubeconfig: found ~/w1.kubeconfig, expected an absolute path: ~ is not expanded"}},
    {GOOD "management: {kubeconfig: \"/a:~me/b\"}\n",
     6,
     {"management.kubeconfig: found ~me/b, expected an absolute path"}},
    {HEAD WORKERS "adapters:\n  enabled: [{name: job}]\n  directory: ~/libs\n",
     7,
     {"adapters.directory: found ~/libs, expected an absolute path"}},
    {HEAD WORKERS "adapters:\n  enabled: [{name: job, file: ~/job.so}]\n",
     6,
     {"adapters.enabled[0].file: found ~/job.so, expected an absolute path"}},
    {GOOD "seal: {file: ~/seal.keys}\n", 6, {"seal.file: found ~/seal.keys, expected an absolute path"}},
    // Tabs
    {HEAD ADAPTERS "workers:\n\t- name: w\n", 5, {":5:1: found a tab, expected spaces: YAML does not allow tabs"}},
    {HEAD ADAPTERS "workers:\n- name: w\n \tkubeconfig: a\n", 6, {":6:2: found a tab, expected spaces"}},
    // Keys given twice
    {GOOD "origin: a\nlog: {}\norigin: b\n", 8, {":8:1: \"origin\" is a duplicate key: it is already on line 6"}},
    // Types
    {GOOD "controllerName: 5\n", 6, {"controllerName", "found 5", "quotes"}},
    {GOOD "createNamespaces: \"yes\"\n", 6, {"\"yes\"", "true or false"}},
    {GOOD "kueue: keep\n", 6, {"\"keep\"", "strip or carry"}},
    {GOOD "serve: 127.0.0.1:9440\n", 6, {"serve", "a mapping"}},
    {GOOD "log: []\n", 6, {"log", "a list", "a mapping"}},
    {HEAD ADAPTERS "workers: [w1]\n", 4, {"workers[0]", "\"w1\"", "a mapping"}},
    {HEAD WORKERS "adapters: {enabled: [job]}\n", 5, {"adapters.enabled[0]", "\"job\"", "a mapping"}},
    {HEAD WORKERS "adapters: {enabled: [{name: job, settings: [1]}]}\n", 5, {"settings", "a list", "a mapping"}},
    {HEAD ADAPTERS "workers:\n- {name: 12, kubeconfig: a}\n", 5, {"workers[0].name", "found 12", "quotes"}},
    {HEAD ADAPTERS "workers:\n- {name: w, kubeconfig: a, labels: {region: 5}}\n",
     5,
     {"workers[0].labels.region", "found 5", "quotes"}},
    // Values
    {GOOD "controllerName: host\n", 6, {"controllerName", "\"host\"", "domain-prefixed"}},
    {GOOD "origin: Eu_Mgmt\n", 6, {"origin", "\"Eu_Mgmt\"", "RFC 1123"}},
    {GOOD "origin: \"\"\n", 6, {"origin", "\"\""}},
    {GOOD "management: {context: admin}\n", 6, {"management", "context without a kubeconfig"}},
    {HEAD ADAPTERS "workers:\n- {name: W1, kubeconfig: a}\n", 5, {"workers[0].name", "\"W1\""}},
    {HEAD ADAPTERS "workers:\n- {name: a.b, kubeconfig: a}\n", 5, {"workers[0].name", "\"a.b\""}},
    {HEAD ADAPTERS "workers:\n- {name: management, kubeconfig: a}\n", 5, {"workers[0].name", "management cluster"}},
    {HEAD ADAPTERS "workers:\n- {kubeconfig: a}\n", 5, {"workers[0]", "name", "required"}},
    {HEAD ADAPTERS "workers:\n- {name: w1}\n", 5, {"workers[0]", "kubeconfig", "required"}},
    {HEAD ADAPTERS "workers:\n- {name: w, kubeconfig: a, labels: {-x: b}}\n", 5, {"labels.-x", "label"}},
    {HEAD ADAPTERS "workers:\n- {name: w, kubeconfig: a, labels: {x: \"b c\"}}\n", 5, {"labels.x", "\"b c\""}},
    {HEAD WORKERS "adapters: {enabled: [{name: Job}]}\n", 5, {"adapters.enabled[0].name", "\"Job\""}},
    {HEAD WORKERS "adapters: {enabled: [{name: job, sha256: abc}]}\n", 5, {"sha256", "\"abc\"", "64"}},
    {HEAD WORKERS "adapters: {enabled: [{name: job, file: ../job.so}]}\n", 5, {"\"../job.so\"", "absolute"}},
    {HEAD WORKERS "adapters: {enabled: [{name: job, managedBy: 3}]}\n", 5, {"managedBy", "found 3"}},
    {HEAD WORKERS "adapters: {enabled: [{name: job, hybrid: yes please}]}\n",
     5,
     {"hybrid", "refuse, suspend or allow"}},
    {HEAD WORKERS "adapters: {enabled: [{name: job, ownedObjects: pods}]}\n",
     5,
     {"ownedObjects", "\"pods\"", "v1/pods"}},
    {HEAD WORKERS "adapters: {enabled: [{name: job, ownedObjects: batch//jobs}]}\n", 5, {"\"batch//jobs\""}},
    {HEAD WORKERS "adapters: {enabled: [{name: job, ownedObjects: v1/pods/}]}\n", 5, {"\"v1/pods/\""}},
    {HEAD WORKERS "adapters: {enabled: [{name: job, ownedObjects: \"v1/pods?a\"}]}\n", 5, {"\"v1/pods?a\""}},
    {GOOD "serve: {}\n", 6, {"serve", "neither address nor socket", "required"}},
    {GOOD "serve: {address: localhost}\n", 6, {"serve.address", "\"localhost\""}},
    {GOOD "serve: {address: \"127.0.0.1\"}\n", 6, {"serve.address"}},
    {GOOD "serve: {address: \"127.0.0.1:99999\"}\n", 6, {"serve.address"}},
    {GOOD "serve: {address: \"127.0.0.1:http\"}\n", 6, {"serve.address"}},
    {GOOD "serve: {address: \"::1:9440\"}\n", 6, {"serve.address", "[::1]"}},
    {GOOD "serve: {address: \"[::1:9440\"}\n", 6, {"serve.address"}},
    {GOOD "serve: {address: \"[]:9440\"}\n", 6, {"serve.address"}},
    {GOOD "serve: {address: \":9440\"}\n", 6, {"serve.address"}},
    {GOOD "workerLostTimeout: soon\n", 6, {"workerLostTimeout", "\"soon\"", "duration"}},
    {GOOD "workerLostTimeout: 15\n", 6, {"workerLostTimeout", "found 15"}},
    {GOOD "workerLostTimeout: 0\n", 6, {"workerLostTimeout", "more than 0"}},
    {GOOD "fencing: {enabled: true, fenceAfter: 7m}\n", 0, {"workerLostTimeout", "found 15m", "at least 15m50s"}},
    {GOOD "fencing: {enabled: true}\nworkerLostTimeout: 11m\n", 7, {"workerLostTimeout", "at least 11m20s"}},
    {GOOD "fencing: {fenceAfter: 1500ms}\n", 6, {"fenceAfter", "whole seconds"}},
    {GOOD "fencing: {fenceAfter: 5s}\n", 6, {"fenceAfter", "10s"}},
    {GOOD "fencing: {enabled: true, fenceAfter: 29s}\nleaderElection: {enabled: true}\n",
     0,
     {"fencing.fenceAfter", "found 29s", "at least 30s"}},
    {GOOD "fencing: {withoutGuard: yes}\n", 6, {"withoutGuard", "wait or redispatch"}},
    {GOOD "workerLostTimeout: -5m\n", 6, {"workerLostTimeout", "\"-5m\""}},
    {GOOD "mirrorRetention: 10 minutes\n", 6, {"mirrorRetention", "duration"}},
    {GOOD "mirrorRetention: [10m]\n", 6, {"mirrorRetention", "a list"}},
    {GOOD "memory: {perCluster: 16MiB}\n", 6, {"memory.perCluster", "16MiB", "from 32MiB to 64GiB"}},
    {GOOD "memory: {perCluster: 65GiB}\n", 6, {"memory.perCluster"}},
    {GOOD "memory: {perCluster: 64Mi}\n", 6, {"memory.perCluster", "64Mi"}},
    {GOOD "memory: {perCluster: 67108864}\n", 6, {"memory.perCluster", "such as 64MiB"}},
    {GOOD "memory: {maxObjectSize: 63KiB}\n", 6, {"memory.maxObjectSize", "64KiB or more"}},
    {GOOD "memory: {maxStatusSize: 1KiB}\n", 6, {"memory.maxStatusSize", "64KiB or more"}},
    {GOOD "memory: {maxObjectSize: 9MiB}\n", 6, {"memory", "maxObjectSize", "an eighth of perCluster"}},
    {GOOD "memory: {maxObjectNodes: 999}\n", 6, {"memory.maxObjectNodes", "found 999"}},
    {GOOD "memory: {maxObjectNodes: 1000000}\n", 6, {"memory", "maxObjectNodes", "at most 262144"}},
    {GOOD "memory: {limit: 1}\n", 6, {"memory.limit"}},
    {GOOD "massDeletion: {max: -1}\n", 6, {"massDeletion.max", "found -1", "whole number"}},
    {GOOD "massDeletion: {max: 2.5}\n", 6, {"massDeletion.max", "found 2.5"}},
    {GOOD "massDeletion: {percent: 101}\n", 6, {"massDeletion.percent", "found 101", "0 to 100"}},
    {GOOD "massDeletion: {most: 1}\n", 6, {"massDeletion.most"}},
    {GOOD "massDeletion: 20\n", 6, {"massDeletion", "found 20"}},
    {GOOD "credentialPlugins: [aws]\n", 6, {"credentialPlugins", "found a list, expected a mapping"}},
    {GOOD "credentialPlugins: {}\n", 6, {"credentialPlugins", "allow"}},
    {GOOD "credentialPlugins: {allow: aws}\n",
     6,
     {"credentialPlugins.allow", "\"aws\"", "a list of credential plugins"}},
    {GOOD "credentialPlugins: {allow: [1]}\n", 6, {"credentialPlugins.allow[0]", "the name of a program, or its path"}},
    {GOOD "credentialPlugins: {allow: [aws], env: [A=b]}\n", 6, {"credentialPlugins.env[0]: found \"A=b\""}},
    {GOOD "credentialPlugins: {allow: [~/aws]}\n", 6, {"credentialPlugins.allow[0]: found ~/aws"}},
    {GOOD "seal: key\n", 6, {"seal", "\"key\"", "a mapping"}},
    {GOOD "seal: {files: a}\n", 6, {"seal.files", "did you mean \"file\"?"}},
    {GOOD "seal: {file: a, secret: {}}\n", 6, {"seal", "found both file and secret"}},
    {GOOD "seal: {secret: seals}\n", 6, {"seal.secret", "a mapping"}},
    {GOOD "seal: {secret: {name: Seals}}\n", 6, {"seal.secret.name", "\"Seals\"", "Secret"}},
    {GOOD "seal: {secret: {key: a/b}}\n", 6, {"seal.secret.key", "\"a/b\"", "a key of a Secret"}},
    {HEAD WORKERS ADAPTERS "management: {kubeconfig: m}\nseal: {adoptUnsealed: true}\n",
     7,
     {"seal.adoptUnsealed", "found no file and no secret"}},
    {GOOD "orphanGrace: soon\n", 6, {"orphanGrace", "\"soon\"", "duration"}},
    {GOOD "rateLimit: {qps: -1}\n", 6, {"rateLimit.qps", "found -1"}},
    {GOOD "rateLimit: {statusBytes: 15KiB}\n", 6, {"rateLimit.statusBytes", "\"15KiB\"", "16KiB"}},
    {GOOD "rateLimit: {statusBytes: 1}\n", 6, {"rateLimit.statusBytes", "found 1", "1MiB"}},
    {HEAD ADAPTERS "workers:\n- {name: w, kubeconfig: a, rateLimit: {statusBytes: 1}}\n", 5, {"qps, burst"}},
    {GOOD "rateLimit: {qps: fast}\n", 6, {"rateLimit.qps", "\"fast\"", "number"}},
    {GOOD "rateLimit: {qps: 5, burst: 0}\n", 6, {"rateLimit", "burst", "at least 1"}},
    {GOOD "log: {level: trace}\n", 6, {"log.level", "\"trace\"", "debug"}},
    {GOOD "log: {level: wran}\n", 6, {"log.level", "did you mean \"warn\"?"}},
    {GOOD "log: {format: yaml}\n", 6, {"log.format", "text or json"}},
    // Where workers come from
    {GOOD "namespace: Ours\n", 6, {"namespace", "\"Ours\"", "RFC 1123"}},
    {GOOD "removal: kill\n", 6, {"removal", "\"kill\"", "finish, move or abandon"}},
    {GOOD "removal: abandn\n", 6, {"did you mean \"abandon\"?"}},
    {GOOD "workersFrom: workers.d\n", 6, {"workersFrom", "\"workers.d\"", "a mapping"}},
    {GOOD "workersFrom: {}\n", 6, {"workersFrom", "found no source", "secrets: true"}},
    {GOOD "workersFrom: {secrets: false}\n", 6, {"workersFrom", "found no source"}},
    {GOOD "workersFrom: {secrets: label}\n", 6, {"workersFrom.secrets", "\"label\"", "true or false"}},
    {GOOD "workersFrom: {secret: true}\n", 6, {"workersFrom.secret", "did you mean \"secrets\"?"}},
    {GOOD "workersFrom: {directory: ~/w}\n", 6, {"workersFrom.directory", "~ is not expanded"}},
    {GOOD PROFILES "\n", 7, {"accessProviders", "required"}},
    {GOOD PROFILES "    accessProviders: []\n", 9, {"accessProviders", "at least one"}},
    {GOOD "workersFrom:\n  clusterProfiles: {namespace: A, " PROVIDERS "}\n", 7, {"namespace", "\"A\""}},
    {GOOD "workersFrom:\n  clusterProfiles: {namespace: \"\", " PROVIDERS "}\n", 7, {"namespace", "\"\""}},
    {GOOD "workersFrom:\n  clusterProfiles: {" PROVIDERS "}\n", 7, {"namespace", "required"}},
    {GOOD PROFILES "    accessProviders: [{name: p}]\n", 9, {"execConfig", "required"}},
    {GOOD PROFILES "    accessProviders: [{name: p, execConfig: {apiVersion: v1}}]\n",
     9,
     {"accessProviders[0].execConfig", "command", "required"}},
    {GOOD PROFILES "    accessProviders:\n    - {name: p, execConfig: &e {apiVersion: v1, command: c}}\n"
                   "    - {name: p, execConfig: *e}\n",
     11,
     {"accessProviders[1]", "duplicate name \"p\"", "line 10"}},
    {HEAD ADAPTERS "workers:\n- {name: w, kubeconfig: a, cordoned: 1}\n", 5, {"workers[0].cordoned", "found 1"}},
    {HEAD ADAPTERS "workers:\n- {name: w, kubeconfig: a, drain: abandon}\n", 5, {"workers[0].drain", "finish or move"}},
    {HEAD ADAPTERS "workers:\n- {name: w, kubeconfig: a, rateLimit: {qps: 0}}\n", 5, {"rateLimit", "more than 0"}},
    {HEAD ADAPTERS "workers:\n- {name: w, kubeconfig: a, rateLimit: {qps: 2, burst: 0.5}}\n",
     5,
     {"workers[0].rateLimit", "burst", "at least 1"}},
    // Fields that must be unique
    {HEAD ADAPTERS "workers:\n- {name: w, kubeconfig: a}\n- {name: w, kubeconfig: b}\n",
     6,
     {"worker w: duplicate name: line 5 has it already"}},
    {HEAD ADAPTERS "workers:\n- {name: w, kubeconfig: a}\n- {name: v, kubeconfig: ./a}\n",
     6,
     {"worker v", "of worker w", "line 5"}},
    {HEAD ADAPTERS "management: {kubeconfig: a}\nworkers:\n- {name: w, kubeconfig: a}\n",
     6,
     {"worker w", "management cluster", "mirrors"}},
    {HEAD WORKERS "adapters:\n  enabled:\n  - name: job\n  - name: job\n",
     8,
     {"adapter job: duplicate name: line 7 has it already"}},
    {HEAD WORKERS "adapters:\n  enabled:\n  - {name: a, file: /x.so}\n  - {name: b, file: /.//x.so}\n",
     8,
     {"adapter b", "same file as adapter a (line 7)", "/x.so"}},
};

static void problems_are_reported_with_their_line(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(wrong_files); i++) {
        struct problems problems;
        struct config *config = load(wrong_files[i].text, &problems);
        assert_problem(&problems, wrong_files[i].line, wrong_files[i].says);
        problems_free(&problems);
        config_free(config);
    }
}

static void all_problems_come_out_at_once(void **state) {
    (void)state;
    struct problems problems;
    struct config *config = load("apiVersion: v1\nkind: Pod\norigin: A\nworkers: [{name: w}, {kubeconfig: b}]\n"
                                 "adapters: {enabled: [{name: 1}, {name: ok}]}\nlog: {level: x, format: y, z: 1}\n",
                                 &problems);
    assert_int_equal(problems.count, 9);
    assert_non_null(config);
    assert_int_equal(config->n_workers, 1); // the one that can still be checked
    assert_string_equal(config->workers[0].settings.name, "workers[1]");
    assert_int_equal(config->n_adapters, 1);
    problems_free(&problems);
    config_free(config);
}

static void a_file_that_is_not_there_is_one_problem(void **state) {
    (void)state;
    static const char *const paths[] = {"/nowhere/wharf.yaml", "/tmp"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct problems problems = {.count = 0};
        struct config *config = NULL;
        assert_null(config_load(paths[i], &problems, &config));
        assert_null(config);
        assert_int_equal(problems.count, 1);
        assert_non_null(strstr(problems.list[0], paths[i]));
        problems_free(&problems);
    }
}

static void bombs_and_binaries_are_refused(void **state) {
    (void)state;
    AUTO_BUFFER(bomb, 1 << 22);
    buffer_text(&bomb, GOOD "a: &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (int c = 'b'; c <= 'k'; c++)
        buffer_printf(&bomb, "%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", c, c, c - 1, c - 1, c - 1,
                      c - 1, c - 1, c - 1, c - 1, c - 1, c - 1);
    struct problems problems;
    assert_null(load(bomb.data, &problems));
    assert_int_equal(problems.count, 1);
    problems_free(&problems);
    static const char binary[] = "\x7f"
                                 "ELF\0\0\xff\xfe";
    struct config *config = NULL;
    write_file(binary, sizeof(binary));
    assert_null(config_load(file, &problems, &config));
    assert_null(config);
    assert_int_equal(problems.count, 1);
    problems_free(&problems);
    buffer_reset(&bomb);
    while (bomb.len <= (1 << 20))
        buffer_text(&bomb, "# a line of no use at all, many times over\n");
    assert_null(load(bomb.data, &problems));
    assert_int_equal(problems.count, 1);
    assert_non_null(strstr(problems.list[0], "larger than"));
    problems_free(&problems);
}

static void nothing_is_read_where_a_key_has_no_value(void **state) {
    (void)state;
    struct problems problems;
    struct config *config = load(GOOD "origin:\nmanagement:\nserve: ~\nlog: null\nrateLimit:\n", &problems);
    assert_int_equal(problems.count, 0);
    assert_null(config->origin);
    assert_null(config->serve.address);
    config_free(config);
}

static void burst_follows_qps_if_it_is_not_given(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double qps, burst;
    } cases[] = {{GOOD "rateLimit: {qps: 20}\n", 20, 40},
                 {GOOD "rateLimit: {qps: 0}\n", 0, 1},
                 {GOOD "rateLimit: {burst: 5}\n", 500, 5},
                 {GOOD "rateLimit: {}\n", 500, 1000}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct problems problems;
        struct config *config = load(cases[i].text, &problems);
        assert_int_equal(problems.count, 0);
        assert_true(config->engine.qps == cases[i].qps);
        assert_true(config->engine.burst == cases[i].burst);
        config_free(config);
    }
}

static void a_relative_path_to_the_file_gives_absolute_paths_too(void **state) {
    (void)state;
    char before[PATH_MAX];
    assert_non_null(getcwd(before, sizeof(before)));
    write_file(GOOD, strlen(GOOD));
    assert_int_equal(chdir(folder), 0);
    struct problems problems = {.count = 0};
    struct config *config = NULL;
    assert_null(config_load("wharf.yaml", &problems, &config));
    assert_int_equal(chdir(before), 0);
    assert_int_equal(problems.count, 0);
    assert_path(config->workers[0].kubeconfig_path, "w1.kubeconfig");
    config_free(config);
}

static int set_up(void **state) {
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(file, sizeof(file), "%s/wharf.yaml", folder);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    unlink(file);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_file_is_filled_with_defaults),
        cmocka_unit_test(every_key_is_read),
        cmocka_unit_test(sources_of_workers_are_read),
        cmocka_unit_test(workers_may_be_cordoned_and_limited),
        cmocka_unit_test(problems_are_reported_with_their_line),
        cmocka_unit_test(all_problems_come_out_at_once),
        cmocka_unit_test(a_file_that_is_not_there_is_one_problem),
        cmocka_unit_test(bombs_and_binaries_are_refused),
        cmocka_unit_test(nothing_is_read_where_a_key_has_no_value),
        cmocka_unit_test(burst_follows_qps_if_it_is_not_given),
        cmocka_unit_test(a_relative_path_to_the_file_gives_absolute_paths_too),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
