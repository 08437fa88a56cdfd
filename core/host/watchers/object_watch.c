// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/host/watchers/watcher.h"

#define REFUSED_NS (10 * CLOCK_MINUTE) // delay after a refusal
// The first delay for a kind that is not served yet, doubled each time.
#define ABSENT_FIRST_NS CLOCK_SECOND
#define ABSENT_LAST_NS CLOCK_MINUTE
#define NO_MEMORY_NS CLOCK_SECOND

static void notify(const struct object_watch *watch, struct cluster_notice *notice) {
    notice->kind = watch->kind;
    notice->own = !watch->of_kind;
    watch->handle(watch->ctx, notice);
    if (!watch->of_kind)
        object_free(notice->object);
}

static void on_listing(void *ctx, const char *version) {
    struct object_watch *watch = ctx;
    watch->listing = true;
    notify(watch, &(struct cluster_notice){.type = NOTICE_LISTING, .version = version});
}

static void on_seen(void *ctx, struct object *object) {
    notify(ctx, &(struct cluster_notice){.type = NOTICE_SEEN, .object = object});
}

static void on_gone(void *ctx, struct object *object) {
    notify(ctx, &(struct cluster_notice){.type = NOTICE_GONE, .object = object});
}

static void on_listed(void *ctx, const char *version) {
    struct object_watch *watch = ctx;
    bool restored = watch->restored;
    watch->listing = watch->restored = false;
    notify(watch, &(struct cluster_notice){.type = NOTICE_LISTED, .version = version, .restored = restored});
}

static void on_state(void *ctx, enum reflector_state state, const char *problem) {
    struct object_watch *watch = ctx;
    watch->state = state;
    notify(watch, &(struct cluster_notice){.type = NOTICE_STATE, .state = state, .problem = problem});
    if (state != REFLECTOR_CONNECTED)
        return;
    watch->reported = false;
    watch->absent_ns = ABSENT_FIRST_NS;
}

static void on_rewound(void *ctx, const char *problem) {
    struct object_watch *watch = ctx;
    bool known = watch->restored;
    watch->restored = true;
    notify(watch, &(struct cluster_notice){.type = NOTICE_RESTORED, .problem = problem, .restored = known});
}

void object_watch_init(struct object_watch *watch, const struct reflector_options *options, struct transport *transport,
                       notice_handler handle, void *ctx) {
    *watch = (struct object_watch){.options = *options,
                                   .transport = transport,
                                   .handle = handle,
                                   .ctx = ctx,
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
    if (error) {
        log_fields(LOG_ERROR, "a kind cannot be watched yet", {"cluster", watch->options.cluster},
                   {"kind", watch->options.plural}, {"error", error_text(error)});
        watch->open_ns = now.mono_ns + NO_MEMORY_NS;
    }
    error_free(error);
}

static void handle_refusal(struct object_watch *watch, struct moment now) {
    bool first = !watch->reported;
    if (!first && watch->persistent)
        return;
    const char *text = reflector_problem(watch->reflector);
    AUTO_TEXT problem = text ? strdup(text) : NULL;
    watch->reported = true;
    if (!watch->persistent)
        object_watch_close(watch, now.mono_ns + REFUSED_NS);
    if (first)
        notify(watch, &(struct cluster_notice){.type = NOTICE_REFUSED, .problem = problem ? problem : "refused"});
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
        handle_refusal(watch, now);
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

void object_watch_rewind(struct object_watch *watch, const char *problem) {
    if (watch->reflector)
        reflector_rewind(watch->reflector, problem);
}
