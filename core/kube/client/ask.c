// SPDX-License-Identifier: Apache-2.0
#include "core/kube/client/ask.h"

#include "core/kube/transport/curl_transport.h"

#define POLL_NS (100 * CLOCK_MS)

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

struct error *ask_within(struct client *client, const struct request *request, int64_t for_ns, const atomic_bool *stop,
                         struct response *response) {
    struct pending_answer pending = {.response = response};
    int64_t until_ns = clock_after(clock_now().mono_ns, for_ns);
    uint64_t id = 0;
    *response = (struct response){.retry_after_ns = -1};
    TRY(client_submit(client, request, take_response, &pending, &id));
    while (!pending.answered) {
        struct moment now = clock_now();
        bool stopped = stop && atomic_load(stop);
        if (stopped || now.mono_ns >= until_ns) {
            client_cancel(client, id);
            return stopped ? error_new(ERROR_STOPPED, "the host is stopping")
                           : error_new(ERROR_LIMIT, "the API server has not answered for %d s",
                                       (int)(for_ns / CLOCK_SECOND));
        }
        int64_t due_ns = client_tick(client, now);
        int64_t wait_ns = due_ns == CLOCK_NEVER || due_ns - now.mono_ns > POLL_NS ? POLL_NS : due_ns - now.mono_ns;
        if (!pending.answered)
            curl_transport_poll(client_transport(client), wait_ns > 0 ? wait_ns : 0);
    }
    return NULL;
}

struct error *ask(struct client *client, const struct request *request, struct response *response) {
    return ask_within(client, request, CLOCK_NEVER, NULL, response);
}

struct error *ask_raw(struct client *client, const char *path, struct response *response) {
    return ask(client, &(const struct request){.verb = VERB_RAW_GET, .name = path}, response);
}

static struct error *visit_page(const struct json *list, ask_visit visit, void *ctx) {
    for (const struct json *object = json_first(json_get(list, "items")); object; object = json_next(object))
        TRY(visit(ctx, object));
    return NULL;
}

struct error *ask_list(struct client *client, const char *path, bool metadata, ask_visit visit, void *ctx,
                       struct response *response) {
    AUTO_TEXT next = strdup(path);
    *response = (struct response){.retry_after_ns = -1};
    for (bool more = true; more;) {
        const struct request request = {.verb = VERB_RAW_GET, .name = next, .metadata = metadata};
        response_clear(response);
        TRY(next ? ask(client, &request, response) : error_no_memory());
        TRY(visit_page(response->value, visit, ctx));
        const char *token = json_string_or(json_path(response->value, "metadata", "continue", NULL), "");
        more = *token;
        free(next);
        next = more ? text_format("%s&continue=%s", path, token) : NULL;
    }
    return NULL;
}

void ask_cleanup(struct response *response) {
    response_clear(response);
}
