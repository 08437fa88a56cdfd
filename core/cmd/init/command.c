// SPDX-License-Identifier: Apache-2.0
// `wharf init`: writes a first configuration from the kubeconfig and the kinds of the management cluster, and prints
// the next commands.
#include "core/cmd/cluster.h"
#include "core/cmd/setup.h"
#include "core/kube/kubeconfig/kubeconfig_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#define INIT_CONTEXTS_MAX 100

// The findings.
struct init {
    char *kubeconfig;                      // absolute paths
    struct kubeconfig files;               // with the following texts; none: in the cluster that this runs in
    const char *context;                   // of the management cluster; NULL: none
    const char *plugin;                    // the user's command for credentials; NULL: none
    const char *others[INIT_CONTEXTS_MAX]; // the other contexts
    size_t n_others;
    struct cluster management;
    struct setup all; // all adapters that load without settings
    bool has_generic;
    bool *served; // by the management cluster, for each kind of `all`
};

static bool has_file(const struct init *init) {
    return init->files.count > 0;
}

static void init_clear(struct init *init) {
    cluster_close(&init->management);
    setup_free(&init->all);
    kubeconfig_cleanup(&init->files);
    free(init->served);
    free(init->kubeconfig);
}

// Each path of a list becomes absolute, as the configuration may be anywhere.
static char *absolute(const char *paths) {
    AUTO_TEXT here = getcwd(NULL, 0);
    AUTO_BUFFER(out, 65536);
    AUTO_WORDS words = text_words(paths, ':');
    for (char **path = words; here && path && *path; path++) {
        AUTO_TEXT full = **path ? text_resolve_path(here, *path) : NULL;
        if (full)
            buffer_printf(&out, "%s%s", out.len > 0 ? ":" : "", full);
    }
    return here ? buffer_take(&out, NULL) : NULL;
}

static struct error *find_plugin(struct init *init) {
    struct kubeconfig_entry context, user = {.value = NULL};
    TRY(entry_find(&init->files, "contexts", "context", init->context, &context));
    const char *name = json_string(json_get(context.value, "user"));
    if (name)
        TRY(entry_find(&init->files, "users", "user", name, &user));
    init->plugin = json_string(json_path(user.value, "exec", "command", NULL));
    return NULL;
}

static void find_others(struct init *init) {
    for (size_t i = 0; i < init->files.count; i++) {
        const struct json *list = json_get(init->files.files[i].yaml.value, "contexts");
        for (const struct json *c = json_first(list); c && init->n_others < INIT_CONTEXTS_MAX; c = json_next(c)) {
            const char *name = json_string(json_get(c, "name"));
            if (name && strcmp(name, init->context) != 0)
                init->others[init->n_others++] = name;
        }
    }
}

static struct error *read_kubeconfig(struct init *init, const char *context) {
    const char *current = NULL;
    TRY(cluster_read_kubeconfigs(init->kubeconfig, &init->files));
    TRY(kubeconfig_current_context(&init->files, &current));
    if (!has_file(init))
        return NULL;
    if (!context && !current)
        return error_new(ERROR_INVALID,
                         "%s has no current-context: --management-context names the management cluster's",
                         init->kubeconfig);
    init->context = context ? context : current;
    find_others(init);
    return find_plugin(init);
}

// Adapters that need settings do not load here and are left to the user.
static struct error *load_adapters_here(struct init *init, const char *directory) {
    TRY(setup_all(directory, &init->all, &init->has_generic));
    if (init->all.adapters->count > 0)
        return NULL;
    return error_new(ERROR_NOT_FOUND, "found no adapters in %s: --adapters DIR names another directory",
                     init->all.config->adapter_directory);
}

static struct error *find_kinds(struct init *init) {
    const struct adapters *adapters = init->all.adapters;
    bool any = false;
    init->served = calloc(adapters->n_kinds + 1, sizeof(*init->served));
    if (!init->served)
        return error_no_memory();
    for (size_t i = 0; i < adapters->n_kinds; i++) {
        const wharf_kind *abi = &adapters->kinds[i]->abi;
        TRY(cluster_serves(&init->management, abi->group, abi->plural, abi->versions, &init->served[i]));
        any |= init->served[i];
    }
    return any ? NULL
               : error_new(ERROR_NOT_FOUND, "management: %s serves no kind of the adapters in %s",
                           cluster_server(&init->management), init->all.config->adapter_directory);
}

static bool init_is_served(const struct init *init, const struct adapter *adapter) {
    for (size_t i = 0; i < init->all.adapters->n_kinds; i++)
        if (init->all.adapters->kinds[i]->adapter == adapter && init->served[i])
            return true;
    return false;
}

static struct error *init_find(struct init *init, const struct call *call) {
    const char *kubeconfig = flags_value(call, "kubeconfig"), *adapters = flags_value(call, "adapters");
    AUTO_TEXT paths = cluster_kubeconfig(kubeconfig);
    init->kubeconfig = paths ? absolute(paths) : NULL;
    if (!init->kubeconfig)
        return error_no_memory();
    TRY(read_kubeconfig(init, flags_value(call, "management-context")));
    bool in_cluster = !has_file(init) && !kubeconfig && getenv("KUBERNETES_SERVICE_HOST");
    if (!has_file(init) && !in_cluster)
        return error_new(ERROR_NOT_FOUND, "found no kubeconfig at %s: --kubeconfig or KUBECONFIG names it",
                         init->kubeconfig);
    TRY(load_adapters_here(init, adapters));
    struct endpoint *endpoint = NULL;
    struct error *error =
        in_cluster ? kubeconfig_in_cluster("", &endpoint) : cluster_load(init->kubeconfig, init->context, &endpoint);
    TRY(cluster_open(&init->management, "management", error, &endpoint));
    return find_kinds(init);
}

#define ADAPTER_WIDTH 14

// Appends and takes a text of document_text: JSON's strings are double-quoted YAML scalars. NULL: out of memory.
static void append_taken(struct buffer *out, char *text) {
    out->failed |= !text || !buffer_text(out, text);
    free(text);
}

static void write_management(const struct init *init, struct buffer *out) {
    buffer_text(out, "# Where users create workloads.\n");
    if (has_file(init))
        append_taken(
            out, document_text("management:\n  kubeconfig: %s\n  context: %s\n\n", init->kubeconfig, init->context));
    else
        buffer_text(out, "# The cluster that the host runs in, with the credentials of its pod.\n"
                         "# management: {kubeconfig: mgmt.kubeconfig}\n\n");
    if (init->plugin)
        append_taken(
            out,
            document_text(
                "# The only commands that kubeconfigs may run for credentials.\ncredentialPlugins:\n  allow: [%s]\n\n",
                init->plugin));
}

// "Job (batch)", "RayJob, RayCluster (ray.io)".
static void write_kinds(const struct init *init, const struct adapter *adapter, struct buffer *out) {
    if (adapter->n_kinds == 0) {
        buffer_text(out, "rates workers for all kinds\n");
        return;
    }
    for (size_t i = 0; i < adapter->n_kinds; i++)
        buffer_printf(out, "%s%s", i > 0 ? ", " : "", adapter->kinds[i]->abi.kind);
    const char *group = adapter->kinds[0]->abi.group;
    buffer_printf(out, " (%s)%s\n", group, init_is_served(init, adapter) ? "" : ": not served there");
}

static void write_adapters(const struct init *init, struct buffer *out) {
    const struct adapters *adapters = init->all.adapters;
    const struct config *config = init->all.config;
    buffer_text(out, "# The kinds that the management cluster serves.\nadapters:\n");
    if (config->adapter_directory_from == DIRECTORY_FLAG)
        append_taken(out, document_text("  directory: %s\n", config->adapter_directory));
    buffer_text(out, "  enabled:\n");
    for (size_t i = 0; i < adapters->count; i++) {
        const struct adapter *adapter = adapters->list[i];
        const char *before = init_is_served(init, adapter) ? "  - " : "  # - ";
        int width = ADAPTER_WIDTH - (int)strlen(adapter->name) + (before[2] == '#' ? 0 : 2);
        buffer_printf(out, "%sname: %s%*s # ", before, adapter->name, width > 0 ? width : 0, "");
        write_kinds(init, adapter, out);
    }
    if (init->has_generic)
        buffer_printf(out, "  # - name: %-*s # any other kind, described in its settings\n", ADAPTER_WIDTH, "generic");
    buffer_char(out, '\n');
}

static const char dependencies[] = "# Copied into the worker before a workload that refers to them, or required there; "
                                   "`wharf rbac` and `wharf join` grant\n"
                                   "# the rights. labelled: only Secrets with the label wharf.dev/copy: \"true\".\n"
                                   "# dependencies:\n"
                                   "#   copy: [configmaps, serviceaccounts, secrets]\n"
                                   "#   check: [persistentvolumeclaims, priorityclasses.scheduling.k8s.io]\n"
                                   "#   secrets: labelled\n\n";

static bool init_write(const struct init *init, struct buffer *out) {
    buffer_text(out, "# Configuration of the wharf host, made by `wharf init`. Keys that are not here have their "
                     "defaults; the example\n"
                     "# wharf.yaml in wharf's documents has them all.\napiVersion: wharf.dev/v1alpha1\n"
                     "kind: HostConfiguration\n\n");
    write_management(init, out);
    buffer_text(out, "# Where they run: clusters that `wharf join` has made workers, taken up and given up without a "
                     "restart.\nworkersFrom:\n  secrets: true\n# Or named here:\n# workers:\n# - name: w1\n#   "
                     "kubeconfig: w1.kubeconfig\n\n");
    write_adapters(init, out);
    buffer_text(out, dependencies);
    if (has_file(init)) // a host in the cluster has a Secret for the key by default
        buffer_text(out, "# The key by which the host knows its mirrors; made at the first start.\nseal:\n  file: "
                         "wharf-seal.keys\n\n");
    buffer_text(out, "# /healthz, /readyz, /metrics, the API and the page.\nserve:\n  address: ");
    buffer_text(out, has_file(init) ? "127.0.0.1:9440\n" : "0.0.0.0:9440\n");
    return !out->failed;
}

#define TEXT_MAX ((size_t)1 << 20)

static const struct flag flags[] = {
    FLAG("output", 'o', "FILE", "the file to create, which must not exist; - is standard output",
         .fallback = "wharf.yaml"),
    FLAG_KUBECONFIG,
    FLAG("management-context", 0, "CONTEXT", "the management cluster's (default: the current one)"),
    FLAG_ADAPTERS,
};

static struct error *file_exists(const char *path) {
    return error_new(ERROR_REFUSED, "%s exists and is not overwritten: -o names another file", path);
}

static struct error *write_new(const char *path, const struct buffer *text) {
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0)
        return errno == EEXIST ? file_exists(path) : error_new(ERROR_IO, "%s: %s", path, strerror(errno));
    bool done = text_write_fd(file, text->data, text->len);
    struct error *error = close(file) == 0 && done ? NULL : error_new(ERROR_IO, "%s: %s", path, strerror(errno));
    if (error)
        unlink(path);
    return error;
}

// A command line: words of wharf, and flags with values, which the shell gets in quotes; NULL ends them.
static void print_command(const char *command, ...) {
    AUTO_BUFFER(text, TEXT_MAX);
    va_list args;
    va_start(args, command);
    buffer_printf(&text, "  wharf %s", command);
    for (const char *flag; (flag = va_arg(args, const char *));) {
        const char *value = va_arg(args, const char *);
        if (value) {
            buffer_printf(&text, " %s ", flag);
            text_shell_word(&text, value);
        }
    }
    va_end(args);
    fputs(text.data ? text.data : "", stdout);
}

static void print_join(const struct call *call, const char *context) {
    print_command("join", "--context", context, "--kubeconfig", flags_value(call, "kubeconfig"), "--management-context",
                  flags_value(call, "management-context"), "--config", flags_value(call, "output"), NULL);
    putchar('\n');
}

static void print_next(const struct call *call, const struct init *init) {
    puts("Next:");
    if (!has_file(init)) {
        print_command("rbac --for management", "--config", flags_value(call, "output"), NULL);
        puts(" | kubectl apply -f -");
    }
    print_command("run", "--config", flags_value(call, "output"), NULL);
    putchar('\n');
    for (size_t i = 0; i < init->n_others; i++)
        print_join(call, init->others[i]);
    if (init->n_others == 0)
        print_join(call, "CONTEXT");
}

static struct error *run_init(struct call *call) {
    const char *path = flags_value(call, "output");
    __attribute__((cleanup(init_clear))) struct init init = {.kubeconfig = NULL};
    AUTO_BUFFER(text, TEXT_MAX);
    bool to_file = strcmp(path, "-") != 0;
    if (to_file && access(path, F_OK) == 0)
        return file_exists(path);
    TRY(init_find(&init, call));
    if (!init_write(&init, &text))
        return error_no_memory();
    if (to_file)
        TRY(write_new(path, &text));
    if (!to_file)
        fputs(text.data, stdout);
    else {
        printf("%s created\n", path);
        print_next(call, &init);
    }
    return NULL;
}

SUBCOMMAND(
    init, run_init, "write a first configuration",
    "Writes a commented configuration: the management cluster of your kubeconfig's current context (or of the pod\n"
    "of this process), the adapters for the kinds of that cluster, and workers from Secrets. Prints the next\n"
    "commands. Asks no questions, overwrites no file, and changes nothing in any cluster.\n",
    FLAGS(flags));
