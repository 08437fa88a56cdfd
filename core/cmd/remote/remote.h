// SPDX-License-Identifier: Apache-2.0
// A command's way to the running host: the local address, or the service proxy of the management cluster's API server;
// and to the management cluster itself, with the caller's own kubeconfig.
#pragma once

#include "core/cmd/main.h"
#include "core/json/json.h"
#include "core/kube/client/client.h"

struct remote_options { // NULL: not given
    const char *server; // "http://127.0.0.1:9440", "unix:/run/wharf/9440.sock"
    const char *kubeconfig, *context;
    const char *config;          // the host's
    const char *host_namespace;  // where the host runs; NULL: REMOTE_NAMESPACE
    const char *service_account; // "NAMESPACE/NAME" for the token of a caller with a client certificate
    const char *authority;       // file of the CA of an https server
    bool search;                 // without any of the flags: WHARF_SERVER, WHARF_CONFIG, and the default places
};

#define REMOTE_NAMESPACE "wharf-system" // unless the configuration names another one

#define REMOTE_N_FLAGS 7
extern const struct flag remote_flags[REMOTE_N_FLAGS]; // of commands that ask the host

struct remote;
// Opens call->remote, the host that the flags of the call name; nothing is sent yet.
struct error *remote_open_call(struct call *call);
struct error *remote_open(const struct remote_options *options, struct remote **out);
void remote_close(struct remote *remote); // NULL is fine

// GET of a path of the host's API ("/api/v1/workers"). The errors are sentences of the host, or name the failed ways to
// reached. ERROR_NOT_FOUND for a 404, ERROR_REFUSED for a 401 or 403.
struct error *remote_get(struct remote *remote, const char *path, struct json **out);

// The same for a body that is passed on as it arrives, until it ends. `data` returns false to end it. `opened` may be
// NULL; it gets the host's remark (the header Wharf-Note), or NULL.
struct remote_reader {
    void (*opened)(void *ctx, const char *note);
    bool (*data)(void *ctx, const char *bytes, size_t len);
    void *ctx;
};
struct error *remote_stream(struct remote *remote, const char *path, const struct remote_reader *reader);

// For a connection of the caller's own with the transport that requests use: `remote_authorize` finds the host and
// makes the transport send the token; afterwards there is a transport, and a prefix for paths.
struct error *remote_authorize(struct remote *remote);
struct transport *remote_transport(struct remote *remote);
const char *remote_prefix(const struct remote *remote);
// The ServiceAccount "NAMESPACE/NAME" instead of the caller's token, which the host does not get; NULL: the host got
// the caller's token, or needed none. free()
char *remote_account(const struct remote *remote);
// Whether the caller has a token that this address does not get, see token.c.
bool remote_withholds_token(const struct remote *remote);

// The management cluster, opened at the first call: of --context or --kubeconfig; or that of the host's configuration,
// with the caller's credentials if the current context is the same cluster, else with those of the configuration; or
// the current context's. ERROR_REFUSED if the host, where it answers directly, has another management cluster.
struct error *remote_management(struct remote *remote, struct client **out);
const char *remote_host_namespace(const struct remote *remote);
// --namespace of the call, else the namespace of the context, else "default".
const char *remote_namespace(struct call *call);

// Appends a parameter of the query to a path, encoded; nothing for NULL.
void remote_parameter(struct buffer *path, const char *name, const char *value);

// Appends "PREFIX/KIND/NAMESPACE/NAME" for the object of the call.
void remote_object_path(struct call *call, const char *prefix, struct buffer *out);

// The host's item of a worker, a copy; NULL: none. `list`: all items, or NULL.
struct error *remote_worker(struct remote *remote, const char *name, struct json **out, struct json **list);

// Pauses before a condition is checked again. False at once: `until_ns` (monotonic) is over.
bool remote_wait(int64_t until_ns, int64_t pause_ns);
