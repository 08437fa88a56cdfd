// SPDX-License-Identifier: Apache-2.0
#include "core/serve/access/newcomers.h"

#include "core/base/bucket.h"
#include "core/serve/http/server.h"

#include <poll.h>

#define POLL_MS 20

struct error *newcomers_init(struct newcomers *newcomers) {
    pthread_mutex_init(&newcomers->lock, NULL);
    return tasks_new(NEWCOMERS_THREADS, CONNECTIONS_REVIEW, &newcomers->tasks);
}

void newcomers_destroy(struct newcomers *newcomers) {
    if (!newcomers->tasks)
        return;
    tasks_free(newcomers->tasks);
    pthread_mutex_destroy(&newcomers->lock);
}

bool newcomers_concern(struct web_call *call) {
    const char *token = access_token(call);
    return !call->reviewed && token && !auth_knows(call->server->auth, token, clock_now().mono_ns);
}

static bool within_budget(struct newcomers *newcomers, int64_t now_ns) {
    pthread_mutex_lock(&newcomers->lock);
    bool within = newcomers->full_ns - now_ns < NEWCOMERS_BURST * NEWCOMERS_NS;
    pthread_mutex_unlock(&newcomers->lock);
    return within;
}

static void charge(struct newcomers *newcomers, int64_t now_ns) {
    pthread_mutex_lock(&newcomers->lock);
    bucket_spend(&newcomers->full_ns, now_ns, NEWCOMERS_NS);
    pthread_mutex_unlock(&newcomers->lock);
}

// Waits for the budget. False: the call has waited for too long, or the host stops.
static bool wait_turn(struct web_call *call) {
    struct http_server *server = call->server;
    int64_t now_ns;
    while (now_ns = clock_now().mono_ns, !within_budget(&server->newcomers, now_ns)) {
        if (now_ns - call->since_ns >= NEWCOMERS_WAIT_NS || atomic_load(&server->stopping))
            return false;
        (void)poll(NULL, 0, POLL_MS);
    }
    return now_ns - call->since_ns < NEWCOMERS_WAIT_NS && !atomic_load(&server->stopping);
}

static void review(void *arg) {
    struct web_call *call = arg;
    struct http_server *server = call->server;
    struct auth_user user;
    if (!wait_turn(call)) {
        web_fail(call, MHD_HTTP_TOO_MANY_REQUESTS, "too many tokens that are not valid are being reviewed: try again");
        return;
    }
    int64_t now_ns = clock_now().mono_ns;
    struct error *error = auth_identify(server->auth, access_token(call), now_ns, &user);
    if (!error) {
        auth_user_clear(&user);
        call->reviewed = true;
        web_begin_again(call);
        return;
    }
    bool refused = error->code == ERROR_REFUSED;
    if (refused)
        charge(&server->newcomers, now_ns);
    web_fail(call, refused ? MHD_HTTP_UNAUTHORIZED : MHD_HTTP_SERVICE_UNAVAILABLE, "%s", error_text(error));
    error_free(error);
}

bool newcomers_add(struct newcomers *newcomers, struct web_call *call) {
    call->since_ns = clock_now().mono_ns;
    return tasks_submit(newcomers->tasks, review, call);
}
