// SPDX-License-Identifier: Apache-2.0
#include "core/serve/access/new_tokens.h"

#include "core/base/bucket.h"
#include "core/base/thread.h"
#include "core/serve/http/server.h"

#include <poll.h>

#define POLL_MS 20

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

static void charge_budget(struct new_tokens *tokens, int64_t now_ns) {
    AUTO_LOCK(&tokens->lock);
    bucket_spend(&tokens->full_ns, now_ns, NEW_TOKENS_NS);
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
    struct error *error = auth_identify(server->auth, token, now_ns, &user);
    if (!error)
        return true;
    bool refused = error->code == ERROR_REFUSED;
    if (refused)
        charge_budget(&server->new_tokens, now_ns);
    web_fail(call, refused ? MHD_HTTP_UNAUTHORIZED : MHD_HTTP_SERVICE_UNAVAILABLE, "%s", error_text(error));
    error_free(error);
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
