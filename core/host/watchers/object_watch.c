// SPDX-License-Identifier: Apache-2.0
#include "core/host/watchers/object_watch.h"

#include "core/base/memory.h"
#include "core/base/text.h"

#include <string.h>

#define REFUSED_NS (10 * CLOCK_MINUTE) // delay after a refusal
// The first delay for a kind that is not served yet, doubled each time.
#define ABSENT_FIRST_NS CLOCK_SECOND
#define ABSENT_LAST_NS CLOCK_MINUTE
#define NO_MEMORY_NS CLOCK_SECOND

static void on_listing(void *ctx, const char *version) {
    struct object_watch *watch = ctx;
    watch->listing = true;
    if (watch->handler.listing)
        watch->handler.listing(watch->handler.ctx, version);
}

static void on_seen(void *ctx, struct object *object) {
    const struct object_watch *watch = ctx;
    if (watch->handler.seen)
        watch->handler.seen(watch->handler.ctx, object);
    object_free(object);
}

static void on_gone(void *ctx, struct object *object) {
    const struct object_watch *watch = ctx;
    if (watch->handler.gone)
        watch->handler.gone(watch->handler.ctx, object);
    object_free(object);
}

static void on_listed(void *ctx, const char *version) {
    struct object_watch *watch = ctx;
    (void)version;
    bool restored = watch->restored;
    watch->listing = watch->restored = false;
    if (watch->handler.listed)
        watch->handler.listed(watch->handler.ctx, restored);
}

static void on_state(void *ctx, enum reflector_state state, const char *problem) {
    struct object_watch *watch = ctx;
    watch->state = state;
    if (watch->handler.state)
        watch->handler.state(watch->handler.ctx, state, problem);
    if (state != REFLECTOR_CONNECTED)
        return;
    watch->reported = false;
    watch->absent_ns = ABSENT_FIRST_NS;
}

static void on_rewound(void *ctx, const char *problem) {
    struct object_watch *watch = ctx;
    (void)problem;
    watch->restored = true;
}

void object_watch_init(struct object_watch *watch, const struct reflector_options *options, struct transport *transport,
                       const struct object_watch_handler *handler, bool persistent) {
    *watch = (struct object_watch){.options = *options,
                                   .transport = transport,
                                   .handler = *handler,
                                   .persistent = persistent,
                                   .random = {options->seed},
                                   .absent_ns = ABSENT_FIRST_NS};
}

void object_watch_clear(struct object_watch *watch) {
    reflector_free(watch->reflector);
    *watch = (struct object_watch){.reflector = NULL};
}

void object_watch_close(struct object_watch *watch, int64_t open_ns) {
    watch->open_ns = open_ns;
    if (!watch->reflector)
        return;
    reflector_free(TAKE(watch->reflector));
    watch->listing = false;
    on_state(watch, REFLECTOR_STARTING, NULL);
}

static void open_reflector(struct object_watch *watch, struct moment now) {
    struct reflector_handler handler = {on_listing, on_seen, on_gone, on_listed, on_state, on_rewound, watch};
    struct error *error = reflector_new(&watch->options, watch->transport, &handler, &watch->reflector);
    if (error)
        watch->open_ns = now.mono_ns + NO_MEMORY_NS;
    error_free(error);
}

static void close_refused(struct object_watch *watch, struct moment now) {
    const char *text = reflector_problem(watch->reflector);
    AUTO_TEXT problem = text ? strdup(text) : NULL;
    bool first = !watch->reported;
    watch->reported = true;
    if (!watch->persistent)
        object_watch_close(watch, now.mono_ns + REFUSED_NS);
    if (first && watch->handler.refused)
        watch->handler.refused(watch->handler.ctx, problem ? problem : "refused");
}

// With a jitter of a quarter, so that a kind that comes to several clusters is not looked for in all at once.
static void close_absent(struct object_watch *watch, struct moment now) {
    uint64_t jitter = random_below(&watch->random, (uint64_t)watch->absent_ns / 4);
    object_watch_close(watch, now.mono_ns + watch->absent_ns + (int64_t)jitter);
    watch->absent_ns = clock_earlier(2 * watch->absent_ns, ABSENT_LAST_NS);
}

int64_t object_watch_tick(struct object_watch *watch, bool wanted, struct moment now) {
    if (!wanted) {
        object_watch_close(watch, watch->open_ns);
        return CLOCK_NEVER;
    }
    if (!watch->reflector && now.mono_ns >= watch->open_ns)
        open_reflector(watch, now);
    int64_t next_ns = watch->reflector ? reflector_tick(watch->reflector, now) : watch->open_ns;
    if (watch->state == REFLECTOR_LOST && reason_is_refusal(reflector_ending(watch->reflector)))
        close_refused(watch, now);
    else if (watch->state == REFLECTOR_ABSENT && !watch->persistent)
        close_absent(watch, now);
    return watch->reflector ? next_ns : watch->open_ns;
}

void object_watch_select(struct object_watch *watch, const char *field_selector) {
    watch->options.field_selector = field_selector;
    object_watch_close(watch, watch->reflector ? 0 : watch->open_ns);
}

void object_watch_hurry(struct object_watch *watch) {
    if (watch->reflector)
        reflector_hurry(watch->reflector);
}

void object_watch_relist(struct object_watch *watch) {
    if (watch->reflector)
        reflector_relist(watch->reflector);
}
