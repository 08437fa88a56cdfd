// SPDX-License-Identifier: Apache-2.0
// Who calls, and the rights of callers: of requests, of streams, and of tokens that are new.
#pragma once

#include "core/base/clock.h"
#include "core/kube/client/types.h"
#include "core/serve/http/net.h"

// auth.c
// The identity and the rights of a caller, from the management cluster's API server: TokenReview and
// SubjectAccessReview. Answers are kept for ten seconds, tokens as their salted digests only. From any thread; the
// functions block during a request to the API server.

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

// grants.c
// The rights of streams and sessions, which last longer than the review of their request: from
// the first one on, a thread reviews the token and the right of each again every minute. A grant that was lost stays
// lost, and its stream ends with the reason. From any thread.

#define GRANTS_REVIEW_NS (60 * CLOCK_SECOND)
#define GRANTS_UNVERIFIED (10) // reviews in a row that the API server did not answer, until a grant is lost

struct grants;
struct grant;
// `every_ns`: between two reviews of a grant.
struct error *grants_new(struct auth *auth, int64_t every_ns, struct grants **out);
void grants_free(struct grants *grants); // after all grants; NULL is fine

// Registers that a caller with this token was just allowed `what`, which has no group and no name. Copies the texts.
struct error *grants_add(struct grants *grants, const char *token, const struct auth_attributes *what,
                         struct grant **out);

// NULL: the caller needs no token, and the grant is never lost.
bool grant_is_lost(const struct grant *grant);
const char *grant_reason(const struct grant *grant); // of one that is lost; valid until grant_free
void grant_free(struct grant *grant);                // NULL is fine

// access.c
// Requests with a token that is not known yet. Each invalid one costs the management cluster two reviews with the
// host's own credentials, so a few at a time are reviewed, in the order of their arrival, as long as a budget for
// invalid tokens lasts; beyond the budget they wait. There is one budget for all addresses, since clients behind a NAT
// or the API server's service proxy share one. Requests with a known token, or without one, do not wait here.

#define NEW_TOKENS_BURST 20
#define NEW_TOKENS_NS (CLOCK_SECOND / 10) // until one more invalid token is reviewed
#define NEW_TOKENS_AT_ONCE 2
#define NEW_TOKENS_WAIT_NS (10 * CLOCK_SECOND) // the longest wait for a review

struct web_call;

struct new_tokens {
    struct turnstile turnstile;
    pthread_mutex_t lock;
    int64_t full_ns; // when the whole burst is available again
};
void new_tokens_init(struct new_tokens *tokens);
void new_tokens_destroy(struct new_tokens *tokens);

// Reviews the token of the call, unless the call needs none or the token is known. False: the call was answered.
bool new_tokens_admit(struct web_call *call);
