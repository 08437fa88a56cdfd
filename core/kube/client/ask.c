// SPDX-License-Identifier: Apache-2.0
#include "core/kube/client/ask.h"

#include "core/kube/transport/curl_transport.h"

#define POLL_NS (200 * CLOCK_MS)

struct pending_answer {
    struct response *response;
    bool answered;
};

static void take_response(void *ctx, struct response *response) {
    struct pending_answer *pending = ctx;
    *pending->response = *response;
    pending->answered = true;
    *response = (struct response){.retry_after_ns = -1}; // owned by the caller now
}

struct error *ask(struct client *client, const struct request *request, struct response *response) {
    struct pending_answer pending = {.response = response};
    *response = (struct response){.retry_after_ns = -1};
    struct error *error = client_submit(client, request, take_response, &pending, NULL);
    while (!error && !pending.answered) {
        struct moment now = clock_now();
        int64_t due_ns = client_tick(client, now);
        int64_t wait_ns = due_ns == CLOCK_NEVER || due_ns - now.mono_ns > POLL_NS ? POLL_NS : due_ns - now.mono_ns;
        if (!pending.answered)
            curl_transport_poll(client_transport(client), wait_ns > 0 ? wait_ns : 0);
    }
    return error;
}

struct error *ask_raw(struct client *client, const char *path, struct response *response) {
    struct request request = {.verb = VERB_RAW_GET,
                              .resource = {.group = "", .version = "v1", .plural = "", .cluster_scoped = true},
                              .namespace_ = "",
                              .name = path};
    return ask(client, &request, response);
}

void ask_cleanup(struct response *response) {
    response_clear(response);
}
