// SPDX-License-Identifier: Apache-2.0
// From kubeconfig files to an endpoint: one file, or several merged (kubeconfig.h).
#include "core/kube/kubeconfig/kubeconfig.h"

#include "core/kube/kubeconfig/kubeconfig_file.h"

#include <sys/stat.h>

#define AUTO_KUBECONFIG __attribute__((cleanup(kubeconfig_cleanup))) struct kubeconfig

// `name` NULL: there is none.
static struct error *not_found(const struct kubeconfig *config, const char *section, const char *what,
                               const char *name) {
    AUTO_BUFFER(names, 512); // a long list is truncated
    (void)entry_names(config, section, &names);
    const char *quote = name ? "\"" : "";
    return error_new(ERROR_NOT_FOUND, "found no %s%s%s%s%s, expected one of %s: %s%s", what, name ? " " : "", quote,
                     name ? name : "", quote, section, names.len > 0 ? names.data : "(none)",
                     names.failed ? ", ..." : "");
}

// The context to use, by name or by default.
static struct error *find_context(const struct kubeconfig *config, const char *name, struct kubeconfig_entry *out,
                                  const char **found_name) {
    if (!name || !*name)
        TRY(kubeconfig_current_context(config, &name));
    if (!name || !*name)
        return error_wrap(not_found(config, "contexts", "current-context", NULL), "%s", config->files[0].path);
    *found_name = name;
    TRY(entry_find(config, "contexts", "context", name, out));
    return out->file ? NULL : error_wrap(not_found(config, "contexts", "context", name), "%s", config->files[0].path);
}

// Resolves the cluster or user of a context; its file is NULL if the context has none.
static struct error *follow(const struct kubeconfig *config, const struct kubeconfig_entry *context, const char *field,
                            const char *section, struct kubeconfig_entry *out) {
    *out = (struct kubeconfig_entry){.section = section, .inner = field};
    const char *name;
    TRY(entry_text(context, field, &name));
    if (name)
        TRY(entry_find(config, section, field, name, out));
    return !name || out->file ? NULL : entry_wrap(context, field, not_found(config, section, field, name));
}

static struct error *read_context(const struct kubeconfig *config, const char *name, const struct exec_policy *policy,
                                  struct endpoint *endpoint) {
    struct kubeconfig_entry context = {0}, cluster, user;
    TRY(find_context(config, name, &context, &name));
    endpoint->description = text_format("%s, context %s", context.file ? context.file->path : "", name);
    if (!endpoint->description)
        return error_no_memory();
    TRY(follow(config, &context, "cluster", "clusters", &cluster));
    if (!cluster.file)
        return entry_error(&context, "cluster", ERROR_INVALID, "found nothing, expected the name of a cluster");
    TRY(follow(config, &context, "user", "users", &user));
    TRY(kubeconfig_read_cluster(&cluster, endpoint));
    // As client-go: without TLS no credentials are sent, and nothing of the user is read.
    if (user.file && text_has_prefix(endpoint->server, "https://"))
        TRY(kubeconfig_read_user(&user, &cluster, policy, endpoint));
    return entry_copy(&context, "namespace", NULL, &endpoint->namespace_);
}

struct error *kubeconfig_parse(const char *text, size_t len, const char *name, const char *context,
                               const struct exec_policy *policy, struct endpoint **out) {
    AUTO_KUBECONFIG config = {0};
    AUTO_ENDPOINT endpoint = calloc(1, sizeof *endpoint);
    TRY(endpoint ? kubeconfig_add_text(&config, name, text, len) : error_no_memory());
    TRY(read_context(&config, context, policy, endpoint));
    *out = TAKE(endpoint);
    return NULL;
}

static bool was_added(const struct kubeconfig *config, const char *path) {
    for (size_t i = 0; i < config->count; i++)
        if (strcmp(config->files[i].path, path) == 0)
            return true;
    return false;
}

static struct error *read_list(const char *paths, struct kubeconfig *config) {
    AUTO_TEXT list = strdup(paths);
    if (!list)
        return error_no_memory();
    char *rest = list;
    char *path;
    while ((path = strsep(&rest, ":")))
        if (*path && !was_added(config, path))
            TRY(kubeconfig_add(config, path, true));
    if (config->count == 0)
        return error_new(ERROR_NOT_FOUND, "found no kubeconfig in the list \"%s\", expected at least one that exists",
                         paths);
    return NULL;
}

uint64_t endpoint_file_stamp(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0)
        return 1;
    AUTO_TEXT text =
        text_format("%lld.%ld %lld.%ld %llu %llu %lld", (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec,
                    (long long)info.st_ctim.tv_sec, info.st_ctim.tv_nsec, (unsigned long long)info.st_ino,
                    (unsigned long long)info.st_dev, (long long)info.st_size);
    return text ? text_hash(TEXT_HASH, text) : 0;
}

static uint64_t stamp_files(const struct endpoint *endpoint) {
    if (!endpoint->is_list)
        return endpoint_file_stamp(endpoint->paths);
    AUTO_TEXT list = strdup(endpoint->paths);
    uint64_t stamp = 0;
    char *rest = list;
    char *path;
    while ((path = strsep(&rest, ":")))
        stamp = stamp * 31 + (*path ? endpoint_file_stamp(path) : 0);
    return stamp;
}

static struct error *load(const char *paths, bool list, const char *context, const struct exec_policy *policy,
                          struct endpoint **out) {
    AUTO_KUBECONFIG config = {0};
    AUTO_ENDPOINT endpoint = calloc(1, sizeof *endpoint);
    if (!endpoint || !text_set(&endpoint->paths, paths) || !text_set(&endpoint->context, context) ||
        !exec_policy_copy(policy, &endpoint->policy))
        return error_no_memory();
    endpoint->is_list = list;
    endpoint->stamp = stamp_files(endpoint);
    TRY(list ? read_list(paths, &config) : kubeconfig_add(&config, paths, false));
    TRY(read_context(&config, context, policy, endpoint));
    *out = TAKE(endpoint);
    return NULL;
}

struct error *kubeconfig_load(const char *path, const char *context, const struct exec_policy *policy,
                              struct endpoint **out) {
    return load(path, false, context, policy, out);
}

struct error *kubeconfig_load_list(const char *paths, const char *context, const struct exec_policy *policy,
                                   struct endpoint **out) {
    return load(paths, true, context, policy, out);
}

bool endpoint_is_outdated(const struct endpoint *endpoint) {
    return endpoint->paths && stamp_files(endpoint) != endpoint->stamp;
}

struct error *endpoint_reload(const struct endpoint *endpoint, struct endpoint **out) {
    return load(endpoint->paths, endpoint->is_list, endpoint->context, endpoint->policy, out);
}
