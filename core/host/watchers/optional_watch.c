// SPDX-License-Identifier: Apache-2.0
#include "core/host/watchers/optional_watch.h"

#include "core/base/memory.h"
#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

#define REFUSED_NS (10 * CLOCK_MINUTE) // until a watch that was refused is tried again
// The same for a kind that is not served, doubled each time: it may be installed.
#define ABSENT_FIRST_NS CLOCK_SECOND
#define ABSENT_LAST_NS CLOCK_MINUTE
#define NO_MEMORY_NS CLOCK_SECOND

struct optional_watch {
    struct optional_watch_options options;
    struct reflector *reflector; // NULL: closed
    struct random random;
    int64_t open_ns;
    int64_t absent_ns; // the next delay
    bool told;         // that it is refused
    enum reflector_state state;
};

static void on_listing(void *ctx, const char *version) {
    const struct reflector_handler *own = &((struct optional_watch *)ctx)->options.handler;
    own->listing(own->ctx, version);
}

static void on_seen(void *ctx, struct object *object) {
    const struct reflector_handler *own = &((struct optional_watch *)ctx)->options.handler;
    own->seen(own->ctx, object);
}

static void on_gone(void *ctx, struct object *object) {
    const struct reflector_handler *own = &((struct optional_watch *)ctx)->options.handler;
    own->gone(own->ctx, object);
}

static void on_listed(void *ctx, const char *version) {
    const struct reflector_handler *own = &((struct optional_watch *)ctx)->options.handler;
    own->listed(own->ctx, version);
}

static void tell_state(const struct optional_watch *watch, enum reflector_state state, const char *problem) {
    watch->options.handler.state(watch->options.handler.ctx, state, problem);
}

static void on_state(void *ctx, enum reflector_state state, const char *problem) {
    struct optional_watch *watch = ctx;
    watch->state = state;
    tell_state(watch, state, problem);
    if (state != REFLECTOR_CONNECTED)
        return;
    watch->told = false;
    watch->absent_ns = ABSENT_FIRST_NS;
}

struct error *optional_watch_new(const struct optional_watch_options *options, struct optional_watch **out) {
    struct optional_watch *watch = calloc(1, sizeof *watch);
    *out = watch;
    if (!watch)
        return error_no_memory();
    watch->options = *options;
    watch->random.state = options->reflector.seed;
    watch->absent_ns = ABSENT_FIRST_NS;
    return NULL;
}

void optional_watch_free(struct optional_watch *watch) {
    if (!watch)
        return;
    reflector_free(watch->reflector);
    free(watch);
}

void optional_watch_close(struct optional_watch *watch, int64_t open_ns) {
    watch->open_ns = open_ns;
    watch->state = REFLECTOR_STARTING;
    if (!watch->reflector)
        return;
    reflector_free(TAKE(watch->reflector));
    tell_state(watch, REFLECTOR_STARTING, NULL);
}

static void open_reflector(struct optional_watch *watch, struct moment now) {
    struct reflector_handler handler = {on_listing, on_seen, on_gone, on_listed, on_state, NULL, watch};
    struct error *error =
        reflector_new(&watch->options.reflector, watch->options.transport, &handler, &watch->reflector);
    if (error)
        watch->open_ns = now.mono_ns + NO_MEMORY_NS;
    error_free(error);
}

static void close_refused(struct optional_watch *watch, struct moment now) {
    const char *text = reflector_problem(watch->reflector);
    AUTO_TEXT problem = text ? strdup(text) : NULL;
    bool first = !watch->told;
    watch->told = true;
    if (watch->options.persistent) {
        if (first)
            watch->options.refused(watch->options.handler.ctx, true, 0, problem ? problem : "refused");
        return;
    }
    optional_watch_close(watch, now.mono_ns + REFUSED_NS);
    watch->options.refused(watch->options.handler.ctx, first, watch->open_ns, problem ? problem : "refused");
}

// With a jitter of a quarter: a kind that comes to several clusters is not looked for in all of them at once.
static void close_absent(struct optional_watch *watch, struct moment now) {
    uint64_t jitter = random_below(&watch->random, (uint64_t)watch->absent_ns / 4);
    optional_watch_close(watch, now.mono_ns + watch->absent_ns + (int64_t)jitter);
    watch->absent_ns = clock_earlier(2 * watch->absent_ns, ABSENT_LAST_NS);
}

int64_t optional_watch_tick(struct optional_watch *watch, bool wanted, struct moment now) {
    if (!wanted) {
        optional_watch_close(watch, watch->open_ns);
        return CLOCK_NEVER;
    }
    if (!watch->reflector && now.mono_ns >= watch->open_ns)
        open_reflector(watch, now);
    int64_t next_ns = watch->reflector ? reflector_tick(watch->reflector, now) : watch->open_ns;
    if (watch->state == REFLECTOR_LOST && reason_is_refusal(reflector_ending(watch->reflector)))
        close_refused(watch, now);
    else if (watch->state == REFLECTOR_ABSENT)
        close_absent(watch, now);
    return watch->reflector ? next_ns : watch->open_ns;
}

void optional_watch_select(struct optional_watch *watch, const char *field_selector) {
    watch->options.reflector.field_selector = field_selector;
    if (watch->reflector)
        optional_watch_close(watch, 0);
}

void optional_watch_hurry(struct optional_watch *watch) {
    if (watch->reflector)
        reflector_hurry(watch->reflector);
}

void optional_watch_relist(struct optional_watch *watch) {
    if (watch->reflector)
        reflector_relist(watch->reflector);
}
