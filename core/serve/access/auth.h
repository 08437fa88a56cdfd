// SPDX-License-Identifier: Apache-2.0
// The identity and the rights of a caller, from the management cluster's API server: TokenReview and
// SubjectAccessReview. Answers are kept for ten seconds, tokens as their salted digests only. From any thread; the
// functions block during a request to the API server.
#pragma once

#include "core/base/clock.h"
#include "core/kube/client/types.h"

#define AUTH_AUDIENCE "wharf.dev"
#define AUTH_KEPT_NS (10 * CLOCK_SECOND)
#define AUTH_KNOWN_NS (3600 * CLOCK_SECOND)

// Creates a review. An error: no answer.
struct auth_reviewer {
    struct error *(*review)(void *ctx, const struct request *request, struct response *response);
    void *ctx;
    int64_t kept_ns; // how long an answer is kept; 0: ten seconds
};

struct auth;
struct error *auth_new(const struct auth_reviewer *reviewer, struct auth **out);
void auth_free(struct auth *auth); // NULL is fine

struct auth_user {
    char *name;
    char *spec; // the members user, groups, uid and extra of a SubjectAccessReview's spec, without braces
};
void auth_user_clear(struct auth_user *user);

// Whether the token was valid within the last hour.
bool auth_knows(struct auth *auth, const char *token, int64_t now_ns);

// ERROR_REFUSED: the token is not valid. Other errors: no answer.
struct error *auth_identify(struct auth *auth, const char *token, int64_t now_ns, struct auth_user *out);

// An access. For a path (nonResourceAttributes) all are NULL but `path` and `verb`.
struct auth_attributes {
    const char *verb;
    const char *path;
    const char *group, *resource, *subresource, *namespace_, *name; // subresource, namespace_ and name may be NULL
};

// NULL: allowed. ERROR_REFUSED: the user does not have the right; other errors: no answer.
struct error *auth_allow(struct auth *auth, const struct auth_user *user, const struct auth_attributes *what,
                         int64_t now_ns);

// The token of "Bearer TOKEN" (RFC 6750 section 2.1); NULL: there is none.
const char *auth_bearer(const char *header);

// Whether the Host header of a request names this machine: localhost or a loopback address, with or without a port. A
// page of another origin with a name that resolves to such an address (DNS rebinding) sends its own name.
bool auth_host_is_local(const char *host);
