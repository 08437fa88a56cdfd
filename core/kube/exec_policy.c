// SPDX-License-Identifier: Apache-2.0
#include "core/kube/exec_policy.h"

#include "core/base/text.h"
#include "core/base/trust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void exec_policy_clear(struct exec_policy *policy) {
    for (size_t i = 0; i < policy->n_allow; i++)
        free(policy->allow[i]);
    free(policy->allow);
    free(policy->setting);
    *policy = (struct exec_policy){.allow = NULL};
}

void exec_policy_free(struct exec_policy *policy) {
    if (policy)
        exec_policy_clear(policy);
    free(policy);
}

bool exec_policy_equal(const struct exec_policy *a, const struct exec_policy *b) {
    bool same = a->n_allow == b->n_allow && a->any == b->any && a->own_entry == b->own_entry;
    for (size_t i = 0; i < a->n_allow && same; i++)
        same = strcmp(a->allow[i], b->allow[i]) == 0;
    return same;
}

static bool fill(struct exec_policy *copy, const struct exec_policy *policy) {
    copy->any = policy->any;
    copy->own_entry = policy->own_entry;
    copy->setting = policy->setting ? strdup(policy->setting) : NULL;
    copy->allow = calloc(policy->n_allow + 1, sizeof *copy->allow);
    if (!copy->allow || (policy->setting && !copy->setting))
        return false;
    for (; copy->n_allow < policy->n_allow; copy->n_allow++)
        if (!(copy->allow[copy->n_allow] = strdup(policy->allow[copy->n_allow])))
            return false;
    return true;
}

bool exec_policy_copy(const struct exec_policy *policy, struct exec_policy **out) {
    *out = policy ? calloc(1, sizeof **out) : NULL;
    if (!policy || (*out && fill(*out, policy)))
        return true;
    exec_policy_free(*out);
    *out = NULL;
    return false;
}

// Drops "." segments and repeated slashes, in place: paths are compared as text. Symlinks are not resolved for that,
// since a program may be many (busybox) by the name of its symlink.
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

static bool is_program(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

// *path stays NULL if no folder of PATH has it.
static struct error *search(const char *name, char **path) {
    const char *list = getenv("PATH");
    AUTO_TEXT folders = strdup(list ? list : "");
    if (!folders)
        return error_no_memory();
    char *rest = folders;
    char *folder;
    while ((folder = strsep(&rest, ":"))) {
        if (folder[0] != '/')
            continue;
        AUTO_TEXT candidate = text_format("%s/%s", folder, name);
        if (!candidate)
            return error_no_memory();
        clean(candidate);
        if (!is_program(candidate))
            continue;
        *path = candidate;
        candidate = NULL;
        return NULL;
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
        struct error *error = locate(policy->allow[i], NULL, &entry);
        if (error)
            return error;
        *out = strcmp(policy->allow[i], command) == 0 || (path && text_equal(entry, path));
    }
    return NULL;
}

// The allowed path that ends with this name, or NULL: a kubeconfig as a cloud's tool writes it has a bare name, which
// need not be in this process's PATH.
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
    struct error *error = trust_folders_check(path, &real);
    if (error)
        return error;
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
    struct error *error = locate(command, directory, &found);
    if (!error)
        error = is_allowed(policy, command, found, &allowed);
    const char *listed = error || (allowed && found) ? NULL : path_of_name(policy, command);
    if (listed) {
        free(found);
        found = strdup(listed);
        allowed = true;
        error = found ? NULL : error_no_memory();
    }
    if (error)
        return error;
    bool named = found && strcmp(found, command) != 0;
    if (!allowed)
        return error_new(ERROR_REFUSED, "the command \"%s\"%s%s%s may not be run: add it to %s to allow it", command,
                         named ? " (" : "", named ? found : "", named ? ")" : "",
                         policy && policy->setting ? policy->setting : "the allowed credential plugins");
    if (!found)
        return error_new(ERROR_NOT_FOUND, "found no \"%s\" in PATH, expected the credential plugin to be installed",
                         command);
    error = policy->any ? NULL : check_file(found);
    if (error)
        return error;
    *path = found;
    found = NULL;
    return NULL;
}
