// SPDX-License-Identifier: Apache-2.0
// The right that each route needs (docs/security.md has the table).
#include "core/base/clock.h"
#include "core/serve/http/server.h"

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

static struct error *allow_get(struct web_call *call) {
    const struct kind *kind = NULL;
    TRY(api_find_kind(call->server->source.api, call->segments[0], &kind));
    return allow_kind(call, "get", kind, call->segments[1], call->segments[2]);
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
    if (call->route->access == ACCESS_WORKLOADS)
        return allow_list(call);
    return call->route->access == ACCESS_EXPLAIN ? allow_get(call) : allow_one(call, token);
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
