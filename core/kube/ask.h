// SPDX-License-Identifier: Apache-2.0
// One request after another, each waited for: for commands that look at a cluster and end.
#ifndef WHARF_KUBE_ASK_H
#define WHARF_KUBE_ASK_H

#include "core/kube/client.h"

// The client's transport is one of curl_transport_new, and nobody else polls it. Returns once the answer is there; it
// always comes, since requests have a time limit. All of `response` is the caller's then: ask_cleanup. An error is
// returned for a request that cannot be made; the response is empty then.
struct error *ask(struct client *client, const struct request *request, struct response *response);

// GET of a whole path; the document is response->value.
struct error *ask_raw(struct client *client, const char *path, struct response *response);

// For __attribute__((cleanup)); an empty response (zeroed) is fine.
void ask_cleanup(struct response *response);

#endif
