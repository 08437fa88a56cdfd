// SPDX-License-Identifier: Apache-2.0
// Shared by remote.c (opening, and the management cluster), find.c (where the host is), token.c (who calls) and
// requests.c.
#pragma once

#include "core/cmd/cluster.h"
#include "core/cmd/remote/remote.h"
#include "core/kube/transport/curl_transport.h"

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

// find.c
// The places that the options and the environment name.
struct error *remote_find(struct remote *remote);
// Uses the first place that answers; the last one without a probe.
struct error *remote_locate(struct remote *remote);
void remote_leave_place(struct remote *remote);
// The sentence for a host that was not reached; the next request tries all places again.
struct error *remote_unreached(struct remote *remote, const char *result);

// token.c. Obtains a token for the place in use, and adds the token to the transport.
struct error *remote_send_token(struct remote *remote);
void remote_forget_token(struct remote *remote);

// remote.c. Loads the endpoint of the management cluster, unless already loaded; the second function also opens the
// endpoint.
struct error *remote_load_management(struct remote *remote);
struct error *remote_open_management(struct remote *remote);
