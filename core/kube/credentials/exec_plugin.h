// SPDX-License-Identifier: Apache-2.0
// Exec credential plugins (client.authentication.k8s.io v1 and v1beta1): a program that prints a token or a client
// certificate. This module has the plugin's configuration, one run of the plugin, and the credential in its output.
#pragma once

#include "core/kube/kubeconfig/kubeconfig.h"

#include <stdint.h>

struct exec_plugin {
    char *where;        // for messages: "w1.kubeconfig:12: users[0].user.exec"
    char *command;      // as the kubeconfig has it
    char *directory;    // base of a relative command; NULL: a text, without relative commands
    char *api_version;  // "client.authentication.k8s.io/v1"
    char **args;        // args[0] is the command; ends with NULL
    char **env;         // "NAME=value", besides the environment of this process; ends with NULL
    char *info;         // KUBERNETES_EXEC_INFO
    char *install_hint; // one line; NULL: none
    struct exec_policy *policy;
    struct exec_cache *cache; // NULL: credentials are not shared
};
void exec_plugin_free(struct exec_plugin *plugin); // NULL is fine

// Whether running one is the same as running the other.
bool exec_plugin_equal(const struct exec_plugin *a, const struct exec_plugin *b);

// Finds the file to run (exec_policy_resolve), with the place and the installation hint in the error.
struct error *exec_plugin_find(const struct exec_plugin *plugin, char **path);

struct exec_credential {
    char *token;        // NULL: none
    char *cert, *key;   // PEM, both or none
    int64_t expires_ns; // wall clock; CLOCK_NEVER: no expiry
};
void exec_credential_clear(struct exec_credential *credential);

// The plugin's last credential, so that the transports of one endpoint do not each run the plugin. From any thread;
// NULL is fine.
struct exec_cache *exec_cache_new(void); // NULL when out of memory
void exec_cache_free(struct exec_cache *cache);
void exec_cache_put(struct exec_cache *cache, const struct exec_credential *fresh);
// A copy of the credential, if valid beyond `until_ns` (wall clock) and not `other_than` (NULL: any).
bool exec_cache_get(struct exec_cache *cache, const struct exec_credential *other_than, int64_t until_ns,
                    struct exec_credential *out);

// Reads a plugin's output, an ExecCredential of the plugin's version. No error message quotes the output.
struct error *exec_credential_read(const struct exec_plugin *plugin, const char *text, size_t len,
                                   struct exec_credential *out);

#define EXEC_TIMEOUT (60 * CLOCK_SECOND)

// Runs the plugin and waits for its end, at most `timeout_ns`; earlier when `cancel_fd` (-1: none) becomes readable. A
// plugin that still runs then is killed with its process group.
struct error *exec_plugin_run(const struct exec_plugin *plugin, int64_t timeout_ns, int cancel_fd,
                              struct exec_credential *out);
