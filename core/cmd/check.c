// SPDX-License-Identifier: Apache-2.0
// `wharf check`: all problems that `wharf run` would have, at once.
#include "core/cmd/rbac/rbac.h"
#include "core/config/dependencies.h"
#include "core/host/check/preflight.h"
#include "core/host/io/cluster_connection.h"
#include "core/host/startup/seal_source.h"
#include "core/kube/credentials/credentials.h"
#include "core/kube/transport/curl_transport.h"
#include "core/serve/http/http.h"

static const struct flag flags[] = {
    FLAG_CONFIG,
    FLAG_ADAPTERS,
    SWITCH("online", 0,
           "also check that each cluster responds, serves the adapters' kinds, and grants the\n"
           "permissions that the host needs; workers come from the same sources as those of\n"
           "the host"),
    FLAG("namespaced", 0, "A,B",
         "with --online: check the rights to write in these namespaces only, which wharf rbac\n"
         "--namespaced grants"),
};

struct check {
    struct setup setup;
    struct preflight preflight;     // connections: owned, without an endpoint where a kubeconfig is invalid
    struct rbac_options namespaced; // the worker's namespaces
    bool online;
};

static void check_cleanup(struct check *check) {
    struct cluster_connection *connections = check->preflight.connections;
    for (size_t i = 0; connections && i <= check->setup.config->n_workers; i++)
        connection_close(&connections[i]);
    free(connections);
    source_items_free(&check->preflight.found[SOURCE_DIRECTORY]);
    rbac_options_clear(&check->namespaced);
    problems_free(&check->preflight.warnings);
    problems_free(&check->preflight.notes);
    setup_free(&check->setup);
}

static struct error *load_kubeconfigs(struct check *check) {
    const struct config *config = check->setup.config;
    struct cluster_connection *connections = calloc(config->n_workers + 1, sizeof(*connections));
    check->preflight.connections = connections;
    if (!connections)
        return error_no_memory();
    for (size_t i = 0; i <= config->n_workers; i++) {
        const struct worker_spec *cluster = i == 0 ? &config->management : &config->workers[i - 1];
        struct error *error =
            connection_load(&connections[i], cluster, &config->credential_plugins, clock_now().wall_ns);
        size_t line = cluster->kubeconfig_line > 0 ? cluster->kubeconfig_line : cluster->line;
        if (line > 0)
            error = error_wrap(error, "%s:%zu: %s", config->path, line, cluster->settings.name);
        else
            error = error_wrap(error, "%s: %s", config->path, cluster->settings.name);
        problems_add_error(&check->setup.problems, error);
    }
    return NULL;
}

static struct error *check_clusters(struct check *check) {
    TRY(curl_transport_setup());
    check->preflight.adapters = check->setup.adapters;
    check->preflight.namespaces = check->namespaced.namespaces;
    check->preflight.n_namespaces = check->namespaced.n_namespaces;
    return preflight_check(&check->preflight, &check->setup.problems);
}

// A missing file is created at the first start.
static void check_seal(struct check *check) {
    struct sealing sealing = {0};
    struct error *error = NULL;
    if (check->setup.config->seal.file)
        error = error_wrap(seal_file_load(check->setup.config->seal.file, false, &sealing), "%s:%zu: seal.file",
                           check->setup.config->path, check->setup.config->seal.line);
    seal_keys_free(sealing.keys);
    if (error && error->code == ERROR_NOT_FOUND)
        error_free(error);
    else
        problems_add_error(&check->setup.problems, error);
}

static void check_tls(struct check *check) {
    const struct config_serve *serve = &check->setup.config->serve;
    const struct http_tls tls = {serve->cert_file, serve->key_file};
    if (tls.cert_file && tls.key_file)
        problems_add_error(&check->setup.problems, error_wrap(http_tls_check(&tls), "%s:%zu: serve.tls",
                                                              check->setup.config->path, serve->tls_line));
}

// The directory of kubeconfigs, and the plugins for ClusterProfiles.
static void check_sources(struct check *check) {
    const struct config *config = check->setup.config;
    const struct config_workers_from *from = &config->workers_from;
    check->preflight.config = config;
    preflight_read_directory(&check->preflight, &check->setup.problems);
    check->preflight.n_workers = config->n_workers + check->preflight.found[SOURCE_DIRECTORY].count;
    for (size_t i = 0; i < from->n_providers; i++) {
        const char *command = json_string_or(json_get(from->providers[i].exec, "command"), "");
        char *path = NULL;
        struct error *error = exec_policy_resolve(&config->credential_plugins, command, NULL, &path);
        problems_add_error(&check->setup.problems, error_wrap(error, "%s:%zu: access provider %s", config->path,
                                                              from->providers[i].line, from->providers[i].name));
        free(path);
    }
}

// The files that the configuration names, and with `online` the clusters.
static struct error *check_files(struct check *check) {
    TRY(load_kubeconfigs(check));
    struct error *error = setup_adapters(check->setup.config, true, &check->setup.problems, &check->setup.adapters);
    check_seal(check);
    check_tls(check);
    check_sources(check);
    if (!error && check->online)
        error = check_clusters(check);
    return error;
}

// Not a problem, but worth reporting.
static void print_seal(const struct config *config) {
    enum seal_source source = seal_source_of(config);
    if (source == SEAL_FROM_NOTHING)
        printf(
            "%s: mirrors are not sealed: there is no key (seal.file or seal.secret); a user with the right to create "
            "objects in a worker can forge a mirror\n",
            config->path);
    else if (source == SEAL_FROM_DEFAULT_SECRET)
        printf("%s: mirrors are sealed with the key in Secret " SEAL_SECRET_NAME
               " in the host's own namespace, if the host may read or create it\n",
               config->path);
}

static void print_list(const char *list) {
    const char *at;
    size_t len = 0;
    for (bool first = true; text_next_word(&list, ',', &at, &len); first = false)
        printf("%s%.*s", first ? " " : ", ", (int)len, at);
}

// Only labelled Secrets are copied unless the configuration has all, which a user may not expect.
static void print_dependencies(const struct config *config) {
    const struct dependency_options *options = &config->engine.dependencies;
    bool secrets = dependency_use_of(options, "secrets") == DEPENDENCY_COPIED;
    if (!dependency_options_any(options))
        return;
    printf("%s: objects that workloads refer to:", config->path);
    if (options->copy)
        printf(" copied into workers:");
    print_list(options->copy);
    if (secrets)
        printf(options->secrets == SECRETS_ALL ? " (all Secrets)"
                                               : " (Secrets with the label wharf.dev/copy: \"true\")");
    if (options->check)
        printf("%s checked there:", options->copy ? ";" : "");
    print_list(options->check);
    putchar('\n');
}

// The credential plugins, already run with `online`.
static void print_plugins(const struct check *check, bool online) {
    for (size_t i = 0; i <= check->setup.config->n_workers; i++) {
        const struct endpoint *endpoint = check->preflight.connections[i].endpoint;
        const struct exec_plugin *plugin = endpoint ? endpoint->exec : NULL;
        char *path = NULL;
        error_free(plugin ? exec_plugin_find(plugin, &path) : NULL);
        if (plugin)
            printf("%s: credential plugin %s: %s, allowed by %s%s\n",
                   i == 0 ? "management" : check->setup.config->workers[i - 1].settings.name, plugin->command,
                   path ? path : "gone", check->setup.config->credential_plugins.setting,
                   online ? "; its credential is accepted" : "");
        free(path);
    }
}

static void warn_of_no_workers(const struct check *check) {
    const struct config_workers_from *from = &check->setup.config->workers_from;
    const char *sources = from->secrets && from->cluster_profiles ? "Secrets and ClusterProfiles"
                          : from->secrets                         ? "Secrets"
                          : from->cluster_profiles                ? "ClusterProfiles"
                                                                  : NULL;
    if (sources && !check->online)
        fprintf(stderr, "%s: warning: 0 workers in files: those from %s are read with --online only\n",
                check->setup.config->path, sources);
    else
        fprintf(stderr, "%s: warning: 0 workers: no workload can run until there is one (wharf join adds one)\n",
                check->setup.config->path);
}

static void print_success(const struct check *check) {
    size_t warnings = check->preflight.warnings.count;
    AUTO_TEXT counted = warnings > 0 ? text_format(", %zu warning%s", warnings, warnings == 1 ? "" : "s") : NULL;
    printf("%s: no problems%s: %zu worker%s, %zu adapter%s, %zu kind%s%s\n", check->setup.config->path,
           counted ? counted : "", check->preflight.n_workers, check->preflight.n_workers == 1 ? "" : "s",
           check->setup.adapters->count, check->setup.adapters->count == 1 ? "" : "s", check->setup.adapters->n_kinds,
           check->setup.adapters->n_kinds == 1 ? "" : "s",
           !check->online  ? ""
           : warnings == 0 ? ", and all clusters respond and grant the permissions that are needed"
                           : ", and all clusters respond");
    for (size_t i = 0; i < check->preflight.notes.count; i++)
        printf("%s\n", check->preflight.notes.list[i]);
    print_seal(check->setup.config);
    print_dependencies(check->setup.config);
    print_plugins(check, check->online);
}

static struct error *run_check(struct call *call) {
    const char *path = flags_value(call, "config"), *namespaced = flags_value(call, "namespaced");
    if (namespaced && !flags_value(call, "online"))
        return error_new(ERROR_USAGE, "--namespaced: expected --online too");
    __attribute__((cleanup(check_cleanup))) struct check check = {.online = flags_value(call, "online")};
    if (namespaced)
        TRY(rbac_read_namespaces(namespaced, &check.namespaced));
    struct error *error = setup_config(path, flags_value(call, "adapters"), &check.setup.problems, &check.setup.config);
    bool readable = !error && check.setup.config && check.setup.problems.count == 0;
    if (!error && check.setup.config) {
        config_warn(check.setup.config, &check.preflight.warnings);
        error = check_files(&check);
    }
    size_t count = main_print_problems("", &check.setup.problems);
    for (size_t i = 0; i < check.preflight.warnings.count; i++)
        fprintf(stderr, "%s: warning: %s\n", path, check.preflight.warnings.list[i]);
    if (!error && readable && check.preflight.n_workers == 0)
        warn_of_no_workers(&check);
    if (error)
        return error;
    if (count > 0 || !check.setup.config) {
        fprintf(stderr, "%s: %zu problem%s\n", path, count, count == 1 ? "" : "s");
        call->code = EXIT_FAILURE;
    } else
        print_success(&check);
    return NULL;
}

SUBCOMMAND(check, run_check, "check the configuration, kubeconfigs and adapters",
           "Reads the configuration with each of its kubeconfigs and certificates, and loads every adapter.\n"
           "Reports each problem on its own line on stderr. Exits with 0 if there are none, else with 1.\n",
           FLAGS(flags));
