// SPDX-License-Identifier: Apache-2.0
#include "core/kube/transport/curl_transport.h"

#include "core/base/thread.h"

struct posted {
    struct posted *next;
    void (*run)(void *arg);
    void *arg;
};

struct loop {
    struct transport *transport;
    int64_t (*tick)(void *ctx, struct moment now);
    void *ctx;
    pthread_t thread;
    pthread_mutex_t lock;
    struct posted *first, **end; // under `lock`, like `stopping`
    bool stopping;
};

// Takes all posted functions. *last: no more can be posted.
static struct posted *take_posted(struct loop *loop, bool *last) {
    AUTO_LOCK(&loop->lock);
    loop->end = &loop->first;
    *last = loop->stopping;
    return TAKE(loop->first);
}

static void run_posted(struct posted *posted) {
    while (posted) {
        struct posted *next = posted->next;
        posted->run(posted->arg);
        free(posted);
        posted = next;
    }
}

static void *loop_main(void *arg) {
    struct loop *loop = arg;
    for (;;) {
        bool last;
        run_posted(take_posted(loop, &last));
        if (last)
            return NULL;
        int64_t next_ns = loop->tick(loop->ctx, clock_now());
        bool never = next_ns == CLOCK_NEVER;
        curl_transport_poll(loop->transport, never ? CLOCK_NEVER : clock_later(next_ns - clock_now().mono_ns, 0));
    }
}

struct error *loop_start(const char *name, struct transport *transport, int64_t (*tick)(void *ctx, struct moment now),
                         void *ctx, struct loop **out) {
    struct loop *loop = calloc(1, sizeof *loop);
    if (!loop)
        return error_no_memory();
    loop->transport = transport;
    loop->tick = tick;
    loop->ctx = ctx;
    loop->end = &loop->first;
    pthread_mutex_init(&loop->lock, NULL);
    int code = thread_start(name, 0, loop_main, loop, &loop->thread);
    if (code != 0) {
        pthread_mutex_destroy(&loop->lock);
        free(loop);
        return error_new(ERROR_IO, "cannot start the thread \"%s\": %s", name, strerror(code));
    }
    *out = loop;
    return NULL;
}

bool loop_post(struct loop *loop, void (*run)(void *arg), void *arg) {
    struct posted *posted = malloc(sizeof *posted);
    if (!posted)
        return false;
    *posted = (struct posted){.run = run, .arg = arg};
    AUTO_LOCK(&loop->lock);
    if (loop->stopping) {
        free(posted);
        return false;
    }
    if (!loop->first) // else an earlier post has woken the thread
        curl_transport_wakeup(loop->transport);
    *loop->end = posted;
    loop->end = &posted->next;
    return true;
}

void loop_stop(struct loop *loop) {
    pthread_mutex_lock(&loop->lock);
    loop->stopping = true;
    pthread_mutex_unlock(&loop->lock);
    curl_transport_wakeup(loop->transport);
    pthread_join(loop->thread, NULL);
    pthread_mutex_destroy(&loop->lock);
    free(loop);
}
