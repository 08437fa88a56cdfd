// SPDX-License-Identifier: Apache-2.0
// The commands that kubeconfigs may run as credential plugins: a kubeconfig may come from elsewhere (a Secret), and its
// commands run with the host's rights.
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>

// NULL instead of a policy allows nothing.
struct exec_policy {
    char **allow; // names, searched in PATH, and absolute paths
    size_t n_allow;
    // Variables that a kubeconfig from a text may set in the environment of plugins. Not given: the defaults in
    // exec_policy.c.
    char **env;
    size_t n_env;
    bool env_is_given;
    bool any;       // every command: a user's own kubeconfig, in a command that this user runs
    bool own_entry; // the exec entry is the host's own, of a kubeconfig from a text: its `env` is trusted
    char *setting;  // the setting that allows commands, for messages: "credentialPlugins.allow in /etc/wharf.yaml"
};

// A copy in *out. False when out of memory.
bool exec_policy_copy(const struct exec_policy *policy, struct exec_policy **out); // NULL: NULL
bool exec_policy_equal(const struct exec_policy *a, const struct exec_policy *b);  // equal permissions
void exec_policy_clear(struct exec_policy *policy);
void exec_policy_free(struct exec_policy *policy); // of a copy; NULL is fine

bool exec_policy_allows_variable(const struct exec_policy *policy, const char *name, const char *value);

// Finds the file of `command`: a name is searched in PATH (absolute folders only, as Go's exec.LookPath), a path with
// "/" is below `directory` (NULL: only absolute paths). ERROR_REFUSED if not allowed, or if others than root and the
// current user could replace the file; ERROR_NOT_FOUND if there is no such command. *path: free().
struct error *exec_policy_resolve(const struct exec_policy *policy, const char *command, const char *directory,
                                  char **path);
