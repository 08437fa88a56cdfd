// SPDX-License-Identifier: Apache-2.0
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/cmd/document.h"
#include "core/cmd/init/init.h"
#include "core/cmd/setup.h"
#include "core/kube/kubeconfig/kubeconfig_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void init_clear(struct init *init) {
    cluster_close(&init->management);
    setup_free(&init->all);
    for (size_t i = 0; i < init->n_contexts; i++)
        free(init->contexts[i].name);
    free(init->kinds);
    free(init->kubeconfig);
    free(init->context);
    free(init->plugin);
}

// Each path of a list becomes absolute, as the configuration may be anywhere.
static char *absolute(const char *paths) {
    AUTO_TEXT here = getcwd(NULL, 0);
    AUTO_BUFFER(out, 65536);
    size_t len = 0;
    for (const char *rest = paths, *at; here && document_next_word(&rest, ':', &at, &len);) {
        AUTO_TEXT path = strndup(at, len);
        AUTO_TEXT full = path && len > 0 ? text_resolve_path(here, path) : NULL;
        if (full)
            buffer_printf(&out, "%s%s", out.len > 0 ? ":" : "", full);
    }
    return here ? buffer_take(&out, NULL) : NULL;
}

static struct error *find_plugin(struct init *init, const struct kubeconfig *files) {
    struct kubeconfig_entry context, user = {.value = NULL};
    struct error *error = entry_find(files, "contexts", "context", init->context, &context);
    const char *name = error ? NULL : json_string(json_get(context.value, "user"));
    if (!error && name)
        error = entry_find(files, "users", "user", name, &user);
    const char *command = error ? NULL : json_string(json_path(user.value, "exec", "command", NULL));
    if (command && !(init->plugin = strdup(command)))
        return error_no_memory();
    return error;
}

static struct error *find_contexts(struct init *init, const struct kubeconfig *files) {
    for (size_t i = 0; i < files->count; i++) {
        const struct json *list = json_get(files->files[i].yaml.value, "contexts");
        for (const struct json *c = json_first(list); c && init->n_contexts < INIT_CONTEXTS_MAX; c = json_next(c)) {
            const char *name = json_string(json_get(c, "name"));
            struct init_context *found = &init->contexts[init->n_contexts];
            if (!name)
                continue;
            *found = (struct init_context){.name = strdup(name), .management = strcmp(name, init->context) == 0};
            if (!found->name)
                return error_no_memory();
            init->n_contexts++;
        }
    }
    return NULL;
}

static struct error *read_kubeconfig(struct init *init, const char *context) {
    __attribute__((cleanup(kubeconfig_cleanup))) struct kubeconfig files = {.count = 0};
    const char *current = NULL;
    struct error *error = cluster_read_kubeconfigs(init->kubeconfig, &files);
    if (!error)
        error = kubeconfig_current_context(&files, &current);
    init->has_file = files.count > 0;
    if (error || !init->has_file)
        return error;
    if (!context && !current)
        return error_new(ERROR_INVALID,
                         "%s has no current-context: --management-context names the management cluster's",
                         init->kubeconfig);
    init->context = strdup(context ? context : current);
    if (!init->context)
        return error_no_memory();
    error = find_plugin(init, &files);
    return error ? error : find_contexts(init, &files);
}

// Adapters that need settings, like generic, do not load here; they are left to the user.
static struct error *load_adapters_here(struct init *init, const char *directory) {
    __attribute__((cleanup(setup_names_free))) struct setup_names names = {.count = 0};
    struct error *error = setup_without_file("--adapters", directory, &init->all.config);
    if (error)
        return error;
    setup_read_names(init->all.config->adapter_directory, &names);
    init->has_generic = names.has_generic;
    for (size_t i = 0; !error && i < names.count; i++)
        error = config_enable(init->all.config, names.list[i]);
    if (!error)
        error = setup_adapters(init->all.config, &init->all.problems, &init->all.adapters);
    if (!error && init->all.adapters->count == 0)
        error = error_new(ERROR_NOT_FOUND, "found no adapters in %s: --adapters DIR names another directory",
                          init->all.config->adapter_directory);
    return error;
}

static struct error *find_kinds(struct init *init) {
    const struct adapters *adapters = init->all.adapters;
    init->kinds = calloc(adapters->n_kinds + 1, sizeof(*init->kinds));
    struct error *error = init->kinds ? NULL : error_no_memory();
    bool any = false;
    for (size_t i = 0; !error && i < adapters->n_kinds; i++) {
        const wharf_kind *abi = &adapters->kinds[i]->abi;
        init->kinds[i].kind = adapters->kinds[i];
        error = cluster_serves(&init->management, abi->group, abi->plural, abi->versions, &init->kinds[i].served);
        any |= init->kinds[i].served;
    }
    if (!error && !any)
        error = error_new(ERROR_NOT_FOUND, "management: %s serves no kind of the adapters in %s",
                          cluster_server(&init->management), init->all.config->adapter_directory);
    return error;
}

bool init_is_served(const struct init *init, const struct adapter *adapter) {
    for (size_t i = 0; i < init->all.adapters->n_kinds; i++)
        if (init->kinds[i].kind->adapter == adapter && init->kinds[i].served)
            return true;
    return false;
}

struct error *init_find(struct init *init, const char *kubeconfig, const char *context, const char *adapters) {
    AUTO_TEXT paths = cluster_kubeconfig(kubeconfig);
    init->kubeconfig = paths ? absolute(paths) : NULL;
    init->directory_given = adapters;
    if (!init->kubeconfig)
        return error_no_memory();
    struct error *error = read_kubeconfig(init, context);
    bool in_cluster = !error && !init->has_file && !kubeconfig && getenv("KUBERNETES_SERVICE_HOST");
    if (!error && !init->has_file && !in_cluster)
        error = error_new(ERROR_NOT_FOUND, "found no kubeconfig at %s: --kubeconfig or KUBECONFIG names it",
                          init->kubeconfig);
    if (!error)
        error = load_adapters_here(init, adapters);
    if (error)
        return error;
    struct endpoint *endpoint = NULL;
    error =
        in_cluster ? kubeconfig_in_cluster("", &endpoint) : cluster_load(init->kubeconfig, init->context, &endpoint);
    error = cluster_open(&init->management, "management", error, &endpoint);
    return error ? error : find_kinds(init);
}
