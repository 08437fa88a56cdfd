// SPDX-License-Identifier: Apache-2.0
// Synchronous requests, for commands that read from a cluster and exit.
#ifndef WHARF_KUBE_CLIENT_ASK_H
#define WHARF_KUBE_CLIENT_ASK_H

#include "core/kube/client/client.h"

// The client's transport is from curl_transport_new and must not be polled by anything else. Blocks until the response
// arrives, bounded by the request timeout. `response` is owned by the caller (ask_cleanup). Returns an error for an
// invalid request; `response` is then empty.
struct error *ask(struct client *client, const struct request *request, struct response *response);

// GET of a whole path; the document is response->value.
struct error *ask_raw(struct client *client, const char *path, struct response *response);

// For __attribute__((cleanup)); an empty response (zeroed) is fine.
void ask_cleanup(struct response *response);

#endif
