// SPDX-License-Identifier: Apache-2.0
#include "core/kube/kubeconfig/kubeconfig.h"

#include "core/base/trust.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static void clear_names(char ***names, size_t *count) {
    for (size_t i = 0; i < *count; i++)
        free((*names)[i]);
    free(*names);
    *names = NULL;
    *count = 0;
}

void exec_policy_clear(struct exec_policy *policy) {
    clear_names(&policy->allow, &policy->n_allow);
    clear_names(&policy->env, &policy->n_env);
    free(policy->setting);
    *policy = (struct exec_policy){.allow = NULL};
}

void exec_policy_free(struct exec_policy *policy) {
    if (policy)
        exec_policy_clear(policy);
    free(policy);
}

static bool same_names(char *const *a, size_t n_a, char *const *b, size_t n_b) {
    bool same = n_a == n_b;
    for (size_t i = 0; i < n_a && same; i++)
        same = strcmp(a[i], b[i]) == 0;
    return same;
}

bool exec_policy_equal(const struct exec_policy *a, const struct exec_policy *b) {
    return a->any == b->any && a->own_entry == b->own_entry && a->env_is_given == b->env_is_given &&
           same_names(a->allow, a->n_allow, b->allow, b->n_allow) && same_names(a->env, a->n_env, b->env, b->n_env);
}

static bool copy_names(char *const *from, size_t count, char ***to, size_t *copied) {
    *to = calloc(count + 1, sizeof **to);
    if (!*to)
        return false;
    for (; *copied < count; (*copied)++)
        if (!((*to)[*copied] = strdup(from[*copied])))
            return false;
    return true;
}

static bool fill(struct exec_policy *copy, const struct exec_policy *policy) {
    copy->any = policy->any;
    copy->own_entry = policy->own_entry;
    copy->env_is_given = policy->env_is_given;
    return text_set(&copy->setting, policy->setting) &&
           copy_names(policy->allow, policy->n_allow, &copy->allow, &copy->n_allow) &&
           copy_names(policy->env, policy->n_env, &copy->env, &copy->n_env);
}

bool exec_policy_copy(const struct exec_policy *policy, struct exec_policy **out) {
    *out = policy ? calloc(1, sizeof **out) : NULL;
    if (!policy || (*out && fill(*out, policy)))
        return true;
    exec_policy_free(*out);
    *out = NULL;
    return false;
}

// By default: a profile, region or credentials of a cloud. None names a file, a program or a server.
static bool is_harmless(const char *name, const char *value) {
    static const char *const names[] = {"AAD_LOGIN_METHOD",
                                        "AAD_SERVICE_PRINCIPAL_CLIENT_ID",
                                        "AAD_SERVICE_PRINCIPAL_CLIENT_SECRET",
                                        "AWS_ACCESS_KEY_ID",
                                        "AWS_DEFAULT_REGION",
                                        "AWS_PROFILE",
                                        "AWS_REGION",
                                        "AWS_SECRET_ACCESS_KEY",
                                        "AWS_SESSION_TOKEN",
                                        "AZURE_CLIENT_ID",
                                        "AZURE_CLIENT_SECRET",
                                        "AZURE_TENANT_ID",
                                        "AWS_STS_REGIONAL_ENDPOINTS"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return !strchr(value, '/') || strstr(name, "SECRET") || strstr(name, "TOKEN");
    return false;
}

bool exec_policy_allows_variable(const struct exec_policy *policy, const char *name, const char *value) {
    if (!policy || !policy->env_is_given)
        return is_harmless(name, value);
    for (size_t i = 0; i < policy->n_env; i++)
        if (strcmp(policy->env[i], name) == 0)
            return true;
    return false;
}

// Drops "." segments and repeated slashes, in place: paths are compared as text. Symlinks stay unresolved, since one
// program may be many (busybox) by the name of its symlink.
static void clean(char *path) {
    char *out = path;
    for (const char *at = path; *at;) {
        size_t len = strcspn(at, "/");
        if (len > 0 && !(len == 1 && *at == '.')) {
            if (out != path || *path == '/')
                *out++ = '/';
            memmove(out, at, len);
            out += len;
        }
        at += len;
        at += strspn(at, "/");
    }
    *out = '\0';
}

// *path stays NULL if no folder of PATH has the program.
static struct error *search(const char *name, char **path) {
    const char *list = getenv("PATH");
    AUTO_TEXT folders = strdup(list ? list : "");
    if (!folders)
        return error_no_memory();
    char *rest = folders;
    for (char *folder; !*path && (folder = strsep(&rest, ":"));) {
        AUTO_TEXT candidate = text_format("%s/%s", folder, name);
        struct stat info;
        if (!candidate)
            return error_no_memory();
        clean(candidate);
        if (folder[0] == '/' && stat(candidate, &info) == 0 && S_ISREG(info.st_mode) && access(candidate, X_OK) == 0)
            *path = TAKE(candidate);
    }
    return NULL;
}

// Where a command would be; *path is NULL for a name that is not in PATH.
static struct error *locate(const char *command, const char *directory, char **path) {
    *path = NULL;
    if (!strchr(command, '/'))
        return search(command, path);
    *path = text_resolve_path(directory ? directory : "/", command);
    if (!*path)
        return error_no_memory();
    clean(*path);
    return NULL;
}

static struct error *is_allowed(const struct exec_policy *policy, const char *command, const char *path, bool *out) {
    *out = policy && policy->any;
    for (size_t i = 0; policy && i < policy->n_allow && !*out; i++) {
        AUTO_TEXT entry = NULL;
        TRY(locate(policy->allow[i], NULL, &entry));
        *out = strcmp(policy->allow[i], command) == 0 || (path && text_equal(entry, path));
    }
    return NULL;
}

// The allowed path that ends with this name, or NULL: kubeconfigs from cloud tools have a bare name, which need not be
// in this process's PATH.
static char *path_of_name(const struct exec_policy *policy, const char *name) {
    for (size_t i = 0; policy && i < policy->n_allow && !strchr(name, '/'); i++) {
        const char *slash = strrchr(policy->allow[i], '/');
        if (policy->allow[i][0] == '/' && strcmp(slash + 1, name) == 0)
            return policy->allow[i];
    }
    return NULL;
}

static struct error *check_file(const char *path) {
    struct stat info;
    AUTO_TEXT real = NULL;
    TRY(trust_folders_check(path, &real));
    if (stat(real, &info) != 0)
        return error_new(ERROR_IO, "%s: %s", real, strerror(errno));
    if (!S_ISREG(info.st_mode) || access(real, X_OK) != 0)
        return error_new(ERROR_REFUSED, "%s: found no executable file", real);
    return trust_owner_check(real, "file", &info);
}

struct error *exec_policy_resolve(const struct exec_policy *policy, const char *command, const char *directory,
                                  char **path) {
    *path = NULL;
    if (!directory && strchr(command, '/') && command[0] != '/')
        return error_new(ERROR_REFUSED, "found the relative path \"%s\", expected a name or an absolute path", command);
    AUTO_TEXT found = NULL;
    bool allowed = false;
    TRY(locate(command, directory, &found));
    TRY(is_allowed(policy, command, found, &allowed));
    const char *listed = allowed && found ? NULL : path_of_name(policy, command);
    if (listed && !text_set(&found, listed))
        return error_no_memory();
    allowed = allowed || listed;
    bool named = found && strcmp(found, command) != 0;
    if (!allowed)
        return error_new(ERROR_REFUSED, "the command \"%s\"%s%s%s may not be run: add it to %s to allow it", command,
                         named ? " (" : "", named ? found : "", named ? ")" : "",
                         policy && policy->setting ? policy->setting : "the allowed credential plugins");
    if (!found)
        return error_new(ERROR_NOT_FOUND, "found no \"%s\" in PATH, expected the credential plugin to be installed",
                         command);
    if (!policy->any)
        TRY(check_file(found));
    *path = TAKE(found);
    return NULL;
}
