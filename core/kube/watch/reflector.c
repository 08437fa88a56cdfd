// SPDX-License-Identifier: Apache-2.0
#include "core/kube/watch/reflector_internal.h"

// client-go's defaultBackoff* (tools/cache/reflector.go).
#define BACKOFF_FIRST_NS (800 * CLOCK_MS)
#define BACKOFF_MAX_NS (30 * CLOCK_SECOND)
// Without any answer: a refused connection costs little, and a returning server should be used soon.
#define UNHEARD_FIRST_NS (1 * CLOCK_SECOND)
#define UNHEARD_MAX_NS (15 * CLOCK_SECOND)
#define UNHEARD_JITTER 8                 // up to an eighth
#define DENIED_MAX_NS (6 * CLOCK_SECOND) // after a 403: a grant is noticed soon. After a 401 the probe notices
#define BACKOFF_RESET_NS (2 * CLOCK_MINUTE)
#define RETRY_AFTER_MAX_NS (5 * CLOCK_MINUTE)
#define TIMEOUT_NS (40 * CLOCK_SECOND)
#define NOT_ACCEPTABLE 406
#define PATH_MAX_BYTES ((size_t)64 << 10)
#define OPTION_TEXTS 6 // at the begin of struct reflector_options

#define STREAM_HANDLER                                                                                                 \
    { .opened = stream_opened, .data = stream_data, .done = stream_done }

static const struct {
    const char *verb, *action; // for log lines, and for messages
    struct error *(*prepare)(struct reflector *reflector, struct buffer *path, struct http_request *request);
    struct http_handler handler;
    void (*ended)(struct reflector *reflector);
} phases[] = {
    [PHASE_DISCOVER] = {"get", "look for", discovery_prepare, {.done = discovery_done}, discovery_ended},
    [PHASE_LIST] = {"list", "list", list_prepare, {.done = list_done}, list_ended},
    [PHASE_WATCH_LIST] = {"watch", "watch", watch_prepare, STREAM_HANDLER, initial_list_ended},
    [PHASE_PROVE] = {"list", "watch", proof_prepare, {.data = proof_data, .done = proof_done}, proof_ended},
    [PHASE_WATCH] = {"watch", "watch", watch_prepare, STREAM_HANDLER, watch_ended},
};

static const char *or_empty(const char *text) {
    return text ? text : "";
}

struct error *reflector_new(const struct reflector_options *options, struct transport *transport,
                            const struct reflector_handler *handler, struct reflector **out) {
    AUTO_TEXT what = text_format("%s%s%s", options->plural, *options->group ? "." : "", options->group);
    struct reflector made = {
        .options = *options,
        .transport = transport,
        .handler = *handler,
        .limits = {.budget = options->budget, .kept = options->kept, .only = options->only},
        .random = {.state = options->seed},
        .metadata = options->metadata,
        .due_ns = INT64_MIN,
        .ending.retry_after_ns = -1,
        .page_limit = options->from_now ? 1 : LIST_PAGE,
        .discovery.missing_ns = CLOCK_NEVER,
    };
    made.options.label_selector = or_empty(options->label_selector);
    made.options.field_selector = or_empty(options->field_selector);
    made.options.namespace_ = or_empty(options->namespace_);
    made.options.watch_list = options->watch_list && !options->from_now;
    struct reflector *reflector = what ? struct_copy_with_texts(&made, sizeof made, OPTION_TEXTS) : NULL;
    if (!reflector)
        return error_no_memory();
    reflector->what = TAKE(what);
    if (options->served) {
        reflector->phase = reflector_new_list(reflector);
        reflector->watch.unset_version = true;
    }
    if (options->served && !discovery_set(reflector, "")) {
        reflector_free(reflector);
        return error_no_memory();
    }
    *out = reflector;
    return NULL;
}

void reflector_abandon(struct reflector *reflector) {
    if (reflector->exchange != 0)
        reflector->transport->ops->cancel(reflector->transport, reflector->exchange);
    reflector->exchange = 0;
    reflector->ended = false;
    reflector_drop_tail(reflector);
}

void reflector_free(struct reflector *reflector) {
    if (!reflector)
        return;
    reflector_abandon(reflector);
    free(reflector->what);
    free(reflector->problem);
    free(reflector->discovery.api_version);
    free(reflector->discovery.kind);
    list_reset(&reflector->list);
    response_clear(&reflector->ending);
    request_log_free(&reflector->log);
    free(reflector);
}

void reflector_log(const struct reflector *reflector, enum log_level level, const char *message, const char *error) {
    log_fields(level, message, {"cluster", reflector->options.cluster}, {"kind", reflector->what}, {"error", error});
}

void reflector_set_state(struct reflector *reflector, enum reflector_state state, const char *problem) {
    if (state != reflector->state) {
        reflector->state = state;
        reflector->handler.state(reflector->handler.ctx, state, problem);
    } else if (problem && !text_equal(problem, reflector->problem)) {
        reflector_log(reflector, LOG_INFO, "still no watch", problem);
    }
    (void)text_set(&reflector->problem, problem);
}

void reflector_go(struct reflector *reflector, enum phase phase) {
    reflector->phase = phase;
    reflector->due_ns = reflector->now_ns;
}

// The last exchange got no answer.
static bool is_unheard(const struct reflector *reflector) {
    enum reason reason = reflector->ending.reason;
    return reflector->ending.code == 0 && (reason == REASON_NOT_SENT || reason == REASON_UNKNOWN_OUTCOME);
}

static int64_t next_backoff(struct reflector *reflector) {
    bool unheard = is_unheard(reflector);
    bool denied = reflector->ending.reason == REASON_FORBIDDEN;
    int64_t max_ns = unheard ? UNHEARD_MAX_NS : denied ? DENIED_MAX_NS : BACKOFF_MAX_NS;
    bool quiet = reflector->now_ns - reflector->backed_off_ns > BACKOFF_RESET_NS;
    if (reflector->backoff_ns == 0 || quiet)
        reflector->backoff_ns = unheard ? UNHEARD_FIRST_NS : BACKOFF_FIRST_NS;
    int64_t step = clock_earlier(reflector->backoff_ns, max_ns);
    reflector->backoff_ns = clock_earlier(step * 2, max_ns);
    int64_t jitter_ns = unheard ? step / UNHEARD_JITTER : step;
    return step + (int64_t)random_below(&reflector->random, (uint64_t)jitter_ns + 1);
}

void reflector_hurry(struct reflector *reflector) {
    bool helps = is_unheard(reflector) || reason_is_refusal(reflector->ending.reason);
    if (reflector->exchange == 0 && reflector->state != REFLECTOR_CONNECTED && helps &&
        reflector->ending.retry_after_ns < 0)
        reflector->due_ns = INT64_MIN;
}

void reflector_wait_as(struct reflector *reflector, enum phase phase, enum reflector_state state, const char *problem) {
    int64_t asked_ns = clock_earlier(reflector->ending.retry_after_ns, RETRY_AFTER_MAX_NS);
    reflector->phase = phase;
    reflector->due_ns = reflector->now_ns + clock_later(next_backoff(reflector), asked_ns);
    reflector->backed_off_ns = reflector->due_ns;
    reflector->refreshed = false;
    reflector_set_state(reflector, state, problem);
}

void reflector_wait(struct reflector *reflector, enum phase phase, const char *action) {
    AUTO_TEXT problem = text_format("cannot %s %s: %s", action, reflector->what,
                                    reflector->ending.message ? reflector->ending.message : "no answer");
    reflector_wait_as(reflector, phase, REFLECTOR_LOST, problem ? problem : "out of memory");
}

enum phase reflector_new_list(struct reflector *reflector) {
    list_reset(&reflector->list);
    reflector->watch.early_ends = 0;
    return reflector->options.watch_list ? PHASE_WATCH_LIST : PHASE_LIST;
}

bool reflector_conclude(struct reflector *reflector, enum reason reason, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *message = text_vformat(format, args); // may quote the message before
    va_end(args);
    response_clear(&reflector->ending);
    reflector->ending.reason = reason;
    reflector->ending.message = message;
    return false;
}

bool reflector_conclude_no_memory(struct reflector *reflector) {
    return reflector_conclude(reflector, REASON_TOO_MANY, "out of memory");
}

void reflector_note_end(struct reflector *reflector, const struct http_result *result) {
    reflector->exchange = 0;
    reflector->ended = true;
    request_log_end(&reflector->log, reflector->options.cluster, result);
    if (reflector->phase == PHASE_LIST)
        meter_request(reflector->options.meter, METER_LIST, result->status, clock_now().mono_ns - reflector->sent_ns);
    probe_ended(reflector->options.probe, result);
}

void reflector_read(struct reflector *reflector, const struct http_result *result) {
    response_clear(&reflector->ending);
    response_read_within(&reflector->ending, result, VERB_RAW_GET, reflector->options.budget);
}

void reflector_drop_tail(struct reflector *reflector) {
    buffer_free(&reflector->watch.tail);
    budget_give(reflector->options.budget, reflector->charged);
    reflector->charged = 0;
}

bool reflector_keep_tail(struct reflector *reflector, const char *bytes, size_t len) {
    struct budget *budget = reflector->options.budget;
    struct buffer *tail = &reflector->watch.tail;
    size_t needed = tail->len + len;
    tail->max = budget_or_default(budget)->max_frame; // which may have changed
    if (tail->len > tail->max || len > tail->max - tail->len)
        return reflector_conclude(reflector, REASON_GARBAGE,
                                  "the server sent an event larger than %zu bytes, the maximum of the memory budget",
                                  tail->max);
    if (needed > reflector->charged && !budget_take(budget, needed - reflector->charged))
        return reflector_conclude(reflector, REASON_GARBAGE,
                                  "incomplete data from the server exceeds the memory budget of the cluster");
    reflector->charged = needed > reflector->charged ? needed : reflector->charged;
    return buffer_append(tail, bytes, len) || reflector_conclude_no_memory(reflector);
}

const char *reflector_api_version(const struct reflector *reflector) {
    return reflector->options.versions[reflector->discovery.index];
}

static void put_selector(struct buffer *out, const char *parameter, const char *selector) {
    if (!*selector)
        return;
    buffer_printf(out, "%s=", parameter);
    text_percent_encode(out, selector);
    buffer_char(out, '&');
}

struct error *reflector_path(const struct reflector *reflector, bool selected, struct buffer *out) {
    const struct reflector_options *options = &reflector->options;
    struct resource resource = {.group = options->group,
                                .version = reflector_api_version(reflector),
                                .plural = options->plural,
                                .cluster_scoped = options->cluster_scoped};
    TRY(resource_path(&resource, options->namespace_, NULL, NULL, out));
    buffer_char(out, '?');
    if (selected)
        put_selector(out, "labelSelector", options->label_selector);
    put_selector(out, "fieldSelector", options->field_selector);
    return NULL;
}

// A server that does not know the form takes the second one.
const char *reflector_accept(const struct reflector *reflector, bool list) {
    if (!reflector->metadata)
        return "application/json";
    return list ? ACCEPT_METADATA_LIST : ACCEPT_METADATA;
}

bool reflector_set_version(struct reflector *reflector, const char *version) {
    if (!text_is_within(version, sizeof(reflector->version) - 1))
        return reflector_conclude(reflector, REASON_GARBAGE, "the server sent a resourceVersion longer than 255 bytes");
    text_copy(reflector->version, sizeof(reflector->version), version);
    return true;
}

bool reflector_deliver(struct reflector *reflector, struct error *problem, struct object *object, bool gone,
                       bool advance) {
    __attribute__((cleanup(error_cleanup))) struct error *error = problem;
    struct reflector_handler *handler = &reflector->handler;
    if (error && (error->code == ERROR_NO_MEMORY || error->code == ERROR_STOPPED))
        return reflector_conclude(reflector, REASON_TOO_MANY, "%s", error_text(error));
    if (error) {
        if (!reflector->skip_logged)
            reflector_log(reflector, LOG_WARN,
                          "the server sent an invalid object; it is skipped, and others are skipped without a message",
                          error_text(error));
        reflector->skip_logged = true;
        return true;
    }
    if (advance && !reflector_set_version(reflector, object_version(object->value))) {
        object_free(object);
        return false;
    }
    (gone ? handler->gone : handler->seen)(handler->ctx, object);
    return true;
}

void reflector_begin_list(struct reflector *reflector) {
    if (reflector->list.begun)
        return;
    reflector->list.begun = true;
    reflector->handler.listing(reflector->handler.ctx, reflector_api_version(reflector));
}

void reflector_end_list(struct reflector *reflector) {
    struct watch *watch = &reflector->watch;
    list_reset(&reflector->list);
    watch->initial = watch->unset_version = false;
    watch->after_list = true;
    watch->early_ends = 0;
    reflector->discovery.fresh = false;
    reflector->discovery.was_there = true;
    reflector->phase = PHASE_WATCH;
    reflector->handler.listed(reflector->handler.ctx, reflector_api_version(reflector));
}

// After a 401: retries once with reloaded credentials, if they come from a file.
static bool refreshed(struct reflector *reflector) {
    if (reflector->ending.reason == REASON_OK)
        reflector->refreshed = false;
    if (reflector->ending.reason != REASON_UNAUTHORIZED || reflector->refreshed ||
        !reflector->transport->ops->refresh(reflector->transport))
        return false;
    reflector->refreshed = true;
    return true;
}

static void decide(struct reflector *reflector) {
    reflector->ended = false;
    reflector_drop_tail(reflector); // an incomplete frame is never applied
    // A server that rejects the form of metadata sends whole objects instead.
    bool gets_more = reflector->metadata && reflector->ending.code == NOT_ACCEPTABLE;
    reflector->metadata = reflector->metadata && !gets_more;
    if (gets_more || refreshed(reflector))
        reflector_go(reflector, reflector->phase);
    else
        phases[reflector->phase].ended(reflector);
}

static void submit(struct reflector *reflector, const struct http_request *request) {
    struct http_handler handler = phases[reflector->phase].handler;
    handler.ctx = reflector;
    reflector->sent_ns = reflector->now_ns;
    reflector->ended = false;
    reflector->exchange = reflector->transport->ops->submit(reflector->transport, request, &handler);
    if (reflector->exchange == 0) {
        reflector_conclude_no_memory(reflector);
        reflector_wait(reflector, reflector->phase, "request");
        return;
    }
    request_log_begin(&reflector->log, phases[reflector->phase].verb, request->path);
    bool watch = reflector->phase == PHASE_WATCH || reflector->phase == PHASE_WATCH_LIST;
    if (watch && reflector->watched)
        meter_restart(reflector->options.meter);
    reflector->watched |= watch;
}

static void start(struct reflector *reflector) {
    if (reflector->phase == PHASE_WATCH && !reflector->proven)
        reflector->phase = PHASE_PROVE;
    struct http_request request = {.method = HTTP_GET,
                                   .accept = "application/json",
                                   .max_body = budget_or_default(reflector->options.budget)->max_answer,
                                   .timeout_ns = TIMEOUT_NS,
                                   .sensitive = reflector->options.sensitive};
    AUTO_BUFFER(path, PATH_MAX_BYTES);
    __attribute__((cleanup(error_cleanup))) struct error *error =
        phases[reflector->phase].prepare(reflector, &path, &request);
    request.path = path.data;
    if (!error && !path.failed) {
        submit(reflector, &request);
        return;
    }
    const char *action = phases[reflector->phase].action;
    reflector_conclude(reflector, REASON_BAD_REQUEST, "%s", error ? error_text(error) : "out of memory");
    bool list = reflector->phase == PHASE_LIST;
    reflector_wait(reflector, list ? reflector_new_list(reflector) : reflector->phase, action);
}

const char *reflector_version(const struct reflector *reflector) {
    return reflector->version;
}

enum reason reflector_ending(const struct reflector *reflector) {
    return reflector->ending.reason;
}

const char *reflector_problem(const struct reflector *reflector) {
    return reflector->problem;
}

int64_t reflector_tick(struct reflector *reflector, struct moment now) {
    int64_t next_ns = CLOCK_NEVER;
    reflector->now_ns = now.mono_ns;
    if (reflector->ended)
        decide(reflector);
    else if (reflector->exchange != 0)
        next_ns = watch_check(reflector);
    if (reflector->exchange == 0 && now.mono_ns >= reflector->due_ns) {
        start(reflector);
        next_ns = reflector->exchange != 0 ? watch_check(reflector) : CLOCK_NEVER;
    }
    return reflector->exchange != 0 ? next_ns : reflector->due_ns;
}
