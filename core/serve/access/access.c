// SPDX-License-Identifier: Apache-2.0
// The right that each route needs (docs/security.md has the table).
#include "core/base/clock.h"
#include "core/serve/http/server.h"

static struct error *check_access(struct web_call *call, const struct auth_attributes *what) {
    return auth_allow(call->server->auth, &call->user, what, clock_now().mono_ns);
}

static struct error *allow_kind(struct web_call *call, const char *verb, const struct kind *kind,
                                const char *namespace_, const char *name) {
    return check_access(call, &(struct auth_attributes){.verb = verb,
                                                        .group = kind->abi.group,
                                                        .resource = kind->abi.plural,
                                                        .namespace_ = namespace_,
                                                        .name = name});
}

// Without a kind: all kinds.
static struct error *allow_list(struct web_call *call) {
    const struct api_source *api = call->server->source.api;
    const char *named = web_parameter(call, "kind"), *namespace_ = web_parameter(call, "namespace");
    const struct kind *kind = NULL;
    if (named && *named) {
        struct error *error = api_find_kind(api, named, &kind);
        return error ? error : allow_kind(call, "list", kind, namespace_, NULL);
    }
    struct error *error = NULL;
    const struct adapters *adapters = api_adapters_of(api);
    for (size_t k = 0; k < adapters->n_kinds && !error; k++)
        error = allow_kind(call, "list", adapters->kinds[k], namespace_, NULL);
    return error;
}

static struct error *allow_get(struct web_call *call) {
    const struct kind *kind = NULL;
    struct error *error = api_find_kind(call->server->source.api, call->segments[0], &kind);
    return error ? error : allow_kind(call, "get", kind, call->segments[1], call->segments[2]);
}

// A right to one thing; a stream or session has a grant from here on.
static struct error *allow_one(struct web_call *call, const char *token, const struct auth_attributes *what) {
    struct error *error = check_access(call, what);
    if (error || call->route->kind == CONNECTION_SHORT)
        return error;
    return grants_add(call->server->grants, token, what, &call->grant);
}

static struct error *allow_pods(struct web_call *call, const char *token, const char *verb, const char *subresource) {
    return allow_one(call, token,
                     &(struct auth_attributes){.verb = verb,
                                               .group = "",
                                               .resource = "pods",
                                               .subresource = subresource,
                                               .namespace_ = call->segments[1]});
}

static struct error *authorize(struct web_call *call, const char *token) {
    switch (call->route->access) {
    case ACCESS_WHARF:
        return allow_one(call, token, &(struct auth_attributes){.verb = "get", .path = "/wharf"});
    case ACCESS_WORKLOADS:
        return allow_list(call);
    case ACCESS_EXPLAIN:
        return allow_get(call);
    case ACCESS_LOGS:
        return allow_pods(call, token, "get", "log");
    case ACCESS_EXEC:
        return allow_pods(call, token, "create", "exec");
    case ACCESS_OPEN:
        break;
    }
    return NULL;
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
