// SPDX-License-Identifier: Apache-2.0
// Requests that wait for the response: for commands, and for threads with a connection of their own.
#pragma once

#include "core/kube/client/client.h"

// The client's transport is from curl_transport_new and nothing else polls it. Blocks until the response arrives, at
// most for the request timeout. `response` is owned by the caller (ask_cleanup). Returns an error for an invalid
// request; `response` is then empty.
struct error *ask(struct client *client, const struct request *request, struct response *response);

// The same for at most `for_ns` (ERROR_LIMIT), and until *stop is true (ERROR_STOPPED).
struct error *ask_within(struct client *client, const struct request *request, int64_t for_ns, const atomic_bool *stop,
                         struct response *response);

// GET of a whole path; the document is response->value.
struct error *ask_raw(struct client *client, const char *path, struct response *response);

// The objects of a list, page by page; `path` has a query with a limit. `metadata` as in struct request. Calls `visit`
// for each, until the first error. `response` is that of the last page: reason OK if the list was read to its end.
typedef struct error *(*ask_visit)(void *ctx, const struct json *object);
struct error *ask_list(struct client *client, const char *path, bool metadata, ask_visit visit, void *ctx,
                       struct response *response);

// For __attribute__((cleanup)); an empty response (zeroed) is fine.
void ask_cleanup(struct response *response);
