// SPDX-License-Identifier: Apache-2.0
// The host's side of the last words of failed workloads.
#include "core/host/host_internal.h"

#include "core/engine/history/inspect.h"

static struct error *find_endpoint(void *host, const char *cluster, struct endpoint **out) {
    return host_endpoint(host, cluster, out);
}

static const wharf_kind *find_kind(void *host, size_t kind) {
    return &host_adapters(host)->kinds[kind]->abi;
}

// Without waiting for room: there are no more such events than places in the queue of the wishes.
static void post(void *ctx, struct engine_event *event) {
    struct host *host = ctx;
    inbox_post_now(host->inbox, event);
}

struct gone_question {
    const char *resource, *namespace_, *name, *uid;
    bool is;
};

static void look(void *arg, struct engine *engine, struct moment now) {
    struct gone_question *gone = arg;
    (void)now;
    gone->is = inspect_is_gone(engine, gone->resource, gone->namespace_, gone->name, gone->uid);
}

static bool is_gone(void *host, const char *resource, const char *namespace_, const char *name, const char *uid) {
    struct gone_question gone = {resource, namespace_, name, uid, false};
    AUTO_ERROR error = host_query(host, look, &gone);
    return !error && gone.is;
}

struct error *host_words_begin(struct host *host) {
    const struct words_source source = {find_endpoint, find_kind, post, is_gone, host};
    return last_words_new(&source, &host->words);
}

void host_words_configure(struct host *host) {
    last_words_configure(host->words, config_last_words(host->current), startup_origin(host->startup));
}

void host_words_take(void *ctx, struct words_wish *wish) {
    struct host *host = ctx;
    last_words_take(host->words, wish);
}
