// SPDX-License-Identifier: Apache-2.0
// The credentials of a transport: the bearer token and the certificates, reloaded after changes of the kubeconfig or of
// its files, or from a credential plugin. After a failed reload, the previous credentials stay in use.
#pragma once

#include "core/kube/kubeconfig/kubeconfig.h"

#include <stdatomic.h>

// Exec credential plugins (client.authentication.k8s.io v1 and v1beta1): a program that prints a token or a client
// certificate. This module has the plugin's configuration, one run of the plugin, and the credential in its output.

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

// Decides when a credential plugin runs: before the first request, shortly before its credential expires, and after the
// server rejected the credential; one run at a time. Belongs to one thread, and blocks only to stop a run.
struct exec_source {
    const struct exec_plugin *plugin; // NULL: none
    int wake_fd;                      // an eventfd, written when a run is over
    bool running;                     // a run is under way, with the following:
    pthread_t thread;
    int cancel_fd;
    atomic_bool over; // `result` or `error` is complete
    struct exec_credential result;
    struct error *error; // NULL: success
    struct exec_credential held;
    bool accepted;         // by the server
    bool rejected;         // by the server
    uint64_t generation;   // of `held`: 1 for the first, 0 for none
    int64_t due_ns;        // when to run next, monotonic; CLOCK_NEVER: after a rejection
    int64_t started_ns;    // the last run
    int64_t expires_ns;    // `held`, monotonic
    unsigned failures;     // in a row
    struct error *problem; // of the last run; NULL: success
};

void exec_source_open(struct exec_source *source, const struct exec_plugin *plugin, int wake_fd, struct moment now);
void exec_source_close(struct exec_source *source);

// Starts a run that is due, and takes the result of one that is over. True: `held` changed.
bool exec_source_update(struct exec_source *source, struct moment now);

// Whether requests have to wait: there is no usable credential, but a run is under way.
bool exec_source_is_waiting(const struct exec_source *source, int64_t now_ns);

// Why there is no usable credential; NULL: there is one.
const struct error *exec_source_problem(const struct exec_source *source, int64_t now_ns);

// The status of a response to a request that was sent with `generation`.
void exec_source_answered(struct exec_source *source, uint64_t generation, int status);

// After a 401. True: the request may be sent again, with a credential that is newer or is being fetched. False: the
// plugin ran only just now, and will run again later.
bool exec_source_renew(struct exec_source *source, int64_t now_ns);

// PEM texts that curl handles point into: reference-counted, immutable.
struct pem_set {
    size_t users;
    char *ca, *cert, *key; // NULL: none
    int64_t expires_ns;    // of the client certificate, in nanoseconds since 1970; 0: there is none
};
void pem_set_release(struct pem_set *pem_set); // NULL is fine

#define CREDENTIALS_BEARER "Authorization: Bearer "

enum { CREDENTIAL_FILES = 3 }; // CA, client certificate, client key

struct credentials {
    const struct endpoint *endpoint;   // the transport's, or `own`
    struct endpoint *own;              // the changed kubeconfig's; NULL: no change yet
    bool secure;                       // false for http: no credentials are sent
    bool moved;                        // the kubeconfig now names another address
    struct pem_set *pem_set;           // never NULL
    char *authorization;               // "Authorization: ..."; NULL: none
    uint64_t generation;               // of the credential
    struct error *problem;             // why a required `authorization` is missing; NULL: not missing
    struct exec_source exec;           // a credential plugin, if there is one
    int64_t token_due_ns;              // when the token file is reloaded; CLOCK_NEVER without one
    int64_t files_due_ns;              // when the kubeconfig and the certificate files are checked again; CLOCK_NEVER
                                       // without any
    uint64_t warned;                   // hash of the last warning about the kubeconfig
    uint64_t stamps[CREDENTIAL_FILES]; // endpoint_file_stamp of the files in use; 0: to be read again
};

// `wake_fd`, an eventfd, becomes readable when credentials_update has work.
struct error *credentials_open(struct credentials *credentials, const struct endpoint *endpoint, bool secure,
                               int wake_fd, struct moment now);
void credentials_close(struct credentials *credentials);

// Reloads due credentials. True if the client certificate changed: streams with the old certificate must end.
bool credentials_update(struct credentials *credentials, struct moment now);

// The monotonic time of the next update that must not wait for a request.
int64_t credentials_due(const struct credentials *credentials);

// Whether requests have to wait for credentials.
bool credentials_are_pending(const struct credentials *credentials, int64_t now_ns);

// Why no usable credentials exist; NULL: usable, or none needed.
const struct error *credentials_problem(const struct credentials *credentials, int64_t now_ns);

// After a 401: makes everything due that can change. False: nothing can, or not at once.
bool credentials_expire(struct credentials *credentials, int64_t now_ns);

// Checks the files at the next update.
void credentials_recheck(struct credentials *credentials);

// Uses `fresh`, of the same address, from now on; takes ownership. True: as credentials_update.
bool credentials_replace(struct credentials *credentials, struct endpoint *fresh, struct moment now);
