// SPDX-License-Identifier: Apache-2.0
// A command's way to the running host: the local address, or the service proxy of the management cluster's API server;
// and to the management cluster itself, with the caller's own kubeconfig.
#pragma once

#include "core/cmd/cluster.h"
#include "core/cmd/main.h"
#include "core/kube/api/requests.h"
#include "core/kube/client/ask.h"

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

#define REMOTE_PLACES 3 // a Unix socket, an address, and the Service in the management cluster

// Where the host may be.
struct remote_place {
    const char *name; // "./wharf.yaml": the source of the address, for messages
    char *server;     // "http://127.0.0.1:9440", "unix:/run/wharf/9440.sock"; NULL: behind the Service
    bool doubtful;    // another program may answer there
};

struct remote {
    struct remote_options options;
    struct config *config;     // of the host; or NULL
    struct cluster management; // with an endpoint once loaded, with a client once open
    bool management_checked;   // the management cluster is the host's

    struct remote_place places[REMOTE_PLACES]; // in the order of the attempts
    size_t n_places;
    char *missing; // the sources that name no place, for messages; NULL: none

    // The state of the place in use; zero without one.
    const struct remote_place *place;
    struct cluster host; // with the management cluster's endpoint, or the place's own
    char *prefix;        // of paths at the endpoint
    char *token;         // for this place; NULL: not obtained yet
    char *account;       // "NAMESPACE/NAME" of the token's ServiceAccount; NULL: the caller's own token
    bool withheld;       // the caller has a token, which is not sent to this place
    bool authorized;     // the transport sends the token
    char *tried;         // the places before this one with their results, for messages
};

// Whether requests go to the host itself, not through the API server of the management cluster.
static inline bool remote_is_direct(const struct remote *remote) {
    return remote->place && remote->place->server;
}

// Opens call->remote, the host that the flags of the call name; nothing is sent yet.
struct error *remote_open_call(struct call *call);
struct error *remote_open(const struct remote_options *options, struct remote **out);
void remote_close(struct remote *remote); // NULL is fine

// GET of a path of the host's API ("/api/v1/workers"). The errors are sentences of the host, or name the ways to it
// that failed. ERROR_NOT_FOUND for a 404, ERROR_REFUSED for a 401 or 403.
struct error *remote_get(struct remote *remote, const char *path, struct json **out);

// Prints a body to standard output as it arrives, until it ends, and the host's remark (the header Wharf-Note) to
// stderr.
struct error *remote_print(struct remote *remote, const char *path);

// For a connection of the caller's own with the transport that requests use: `remote_authorize` finds the host and
// makes the transport send the token; afterwards host.connection has the transport.
struct error *remote_authorize(struct remote *remote);

// The management cluster, opened at the first call: of --context or --kubeconfig; or that of the host's configuration,
// with the caller's credentials if the current context is the same cluster, else with those of the configuration; or
// the current context's. ERROR_REFUSED if the host, where it answers directly, has another management cluster.
struct error *remote_management(struct remote *remote, struct client **out);
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

// Between remote.c (opening, and where the host is) and requests.c (the token, and requests).
// Uses the first place that answers; the last one without a probe.
struct error *remote_locate(struct remote *remote);
void remote_leave_place(struct remote *remote);
// The sentence for a host that was not reached; the next request tries all places again.
struct error *remote_unreached(struct remote *remote, const char *result);
void remote_forget_token(struct remote *remote);
// Loads the endpoint of the management cluster, unless already loaded; the second function also opens the endpoint.
struct error *remote_load_management(struct remote *remote);
struct error *remote_open_management(struct remote *remote);
