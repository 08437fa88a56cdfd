// SPDX-License-Identifier: Apache-2.0
// The right that each route needs (docs/security.md has the table), and the review of new tokens.
#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/serve/http/server.h"

#include <poll.h>

#define POLL_MS 20

static struct error *allow_kind(struct web_call *call, const char *verb, const struct kind *kind,
                                const char *namespace_, const char *name) {
    const struct auth_attributes what = {
        .verb = verb, .group = kind->abi.group, .resource = kind->abi.plural, .namespace_ = namespace_, .name = name};
    return auth_allow(call->server->auth, &call->user, &what, clock_now().mono_ns);
}

// Without a kind: all kinds.
static struct error *allow_list(struct web_call *call) {
    const struct api_source *api = call->server->source.api;
    const char *named = web_parameter(call, "kind"), *namespace_ = web_parameter(call, "namespace");
    const struct kind *kind = NULL;
    if (named && *named) {
        TRY(api_find_kind(api, named, &kind));
        return allow_kind(call, "list", kind, namespace_, NULL);
    }
    const struct adapters *adapters = api_adapters_of(api);
    for (size_t k = 0; k < adapters->n_kinds; k++)
        TRY(allow_kind(call, "list", adapters->kinds[k], namespace_, NULL));
    return NULL;
}

// A right to one thing; a stream or session has a grant from here on.
static struct error *allow_one(struct web_call *call, const char *token) {
    static const struct auth_attributes rights[] = {
        [ACCESS_WHARF] = {.verb = "get", .path = "/wharf"},
        [ACCESS_LOGS] = {.verb = "get", .resource = "pods", .subresource = "log"},
        [ACCESS_EXEC] = {.verb = "create", .resource = "pods", .subresource = "exec"},
    };
    struct auth_attributes what = rights[call->route->access];
    what.namespace_ = what.resource ? call->segments[1] : NULL;
    TRY(auth_allow(call->server->auth, &call->user, &what, clock_now().mono_ns));
    return call->route->kind == CONNECTION_SHORT ? NULL : grants_add(call->server->grants, token, &what, &call->grant);
}

static struct error *authorize(struct web_call *call, const char *token) {
    const struct kind *kind = NULL;
    if (call->route->access == ACCESS_WORKLOADS)
        return allow_list(call);
    if (call->route->access != ACCESS_EXPLAIN)
        return allow_one(call, token);
    TRY(api_find_kind(call->server->source.api, call->segments[0], &kind));
    return allow_kind(call, "get", kind, call->segments[1], call->segments[2]);
}

// Logs and sessions need a token from everywhere.
static bool needs_token(const struct web_call *call) {
    enum access access = call->route->access;
    return access != ACCESS_OPEN && (!call->local || access == ACCESS_LOGS || access == ACCESS_EXEC);
}

// The API server's service proxy removes Authorization.
const char *access_token(const struct web_call *call) {
    if (!needs_token(call))
        return NULL;
    const char *token = auth_bearer(web_header(call, "Wharf-Authorization"));
    return token ? token : auth_bearer(web_header(call, "Authorization"));
}

struct error *access_check(struct web_call *call, unsigned *code) {
    if (!needs_token(call))
        return NULL;
    const char *token = access_token(call);
    *code = MHD_HTTP_UNAUTHORIZED;
    if (!token)
        return error_new(ERROR_REFUSED, "a token of the management cluster is needed: Authorization: Bearer TOKEN, or "
                                        "Wharf-Authorization through the API server's proxy");
    struct error *error = auth_identify(call->server->auth, token, clock_now().mono_ns, &call->user);
    if (error) {
        *code = error->code == ERROR_REFUSED ? MHD_HTTP_UNAUTHORIZED : MHD_HTTP_SERVICE_UNAVAILABLE;
        return error;
    }
    error = authorize(call, token);
    *code = error ? api_code(error) : MHD_HTTP_OK;
    if (*code >= 500) // the API server did not answer
        *code = MHD_HTTP_SERVICE_UNAVAILABLE;
    return error;
}

void new_tokens_init(struct new_tokens *tokens) {
    pthread_mutex_init(&tokens->lock, NULL);
    turnstile_init(&tokens->turnstile, NEW_TOKENS_AT_ONCE, CONNECTIONS_REVIEW);
}

void new_tokens_destroy(struct new_tokens *tokens) {
    turnstile_destroy(&tokens->turnstile);
    pthread_mutex_destroy(&tokens->lock);
}

static bool is_within_budget(struct new_tokens *tokens, int64_t now_ns) {
    AUTO_LOCK(&tokens->lock);
    return tokens->full_ns - now_ns < NEW_TOKENS_BURST * NEW_TOKENS_NS;
}

// False: the call has waited for too long, or the host stops.
static bool wait_for_budget(struct http_server *server, int64_t until_ns) {
    int64_t now_ns;
    while (now_ns = clock_now().mono_ns, now_ns < until_ns && !atomic_load(&server->stopping)) {
        if (is_within_budget(&server->new_tokens, now_ns))
            return true;
        (void)poll(NULL, 0, POLL_MS);
    }
    return false;
}

static bool review_token(struct web_call *call, const char *token, int64_t until_ns) {
    struct http_server *server = call->server;
    __attribute__((cleanup(auth_user_clear))) struct auth_user user = {.name = NULL};
    if (!wait_for_budget(server, until_ns)) {
        web_fail(call, MHD_HTTP_TOO_MANY_REQUESTS, "too many tokens that are not valid are being reviewed: try again");
        return false;
    }
    int64_t now_ns = clock_now().mono_ns;
    AUTO_ERROR error = auth_identify(server->auth, token, now_ns, &user);
    if (!error)
        return true;
    bool refused = error->code == ERROR_REFUSED;
    if (refused) {
        AUTO_LOCK(&server->new_tokens.lock);
        bucket_spend(&server->new_tokens.full_ns, now_ns, NEW_TOKENS_NS);
    }
    web_fail(call, refused ? MHD_HTTP_UNAUTHORIZED : MHD_HTTP_SERVICE_UNAVAILABLE, "%s", error_text(error));
    return false;
}

bool new_tokens_admit(struct web_call *call) {
    struct turnstile *turnstile = &call->server->new_tokens.turnstile;
    const char *token = access_token(call);
    int64_t now_ns = clock_now().mono_ns;
    if (!token || auth_knows(call->server->auth, token, now_ns))
        return true;
    if (!http_extend(call, CONNECTION_REVIEW) || !turnstile_enter(turnstile)) {
        web_fail(call, MHD_HTTP_TOO_MANY_REQUESTS, "too many new tokens wait for their review: try again");
        return false;
    }
    bool known = review_token(call, token, now_ns + NEW_TOKENS_WAIT_NS);
    turnstile_leave(turnstile);
    if (known)
        http_served(call);
    return known;
}
