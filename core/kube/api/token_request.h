// SPDX-License-Identifier: Apache-2.0
// Bound tokens of service accounts (authentication.k8s.io/v1 TokenRequest).
#ifndef WHARF_KUBE_API_TOKEN_REQUEST_H
#define WHARF_KUBE_API_TOKEN_REQUEST_H

#include "core/kube/client/types.h"

struct token_request {
    struct request request; // for client_submit or ask; its strings are the caller's and of `body`
    char *body;
};

// `seconds`: the wanted life, which the server may change; at least 600. `audience` NULL: the API server's.
struct error *token_request_make(const char *namespace_, const char *service_account, int64_t seconds,
                                 const char *audience, struct token_request *out);
void token_request_clear(struct token_request *request);

// The token of the answer, free(), and when it expires (wall clock; 0: not given). Errors say what the server answered.
struct error *token_request_read(const struct response *response, char **token, int64_t *expires_wall_ns);

#endif
