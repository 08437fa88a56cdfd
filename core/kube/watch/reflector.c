// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/kube/watch/reflector_internal.h"

#include "core/base/log.h"

#include <stdlib.h>
#include <string.h>

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
#define BOOKMARK_NS (60 * CLOCK_SECOND)
#define NOT_ACCEPTABLE 406
#define PATH_MAX_BYTES ((size_t)64 << 10)

static bool copy_versions(struct reflector *reflector, const char *const *versions) {
    size_t count = 0;
    while (versions[count])
        count++;
    reflector->versions = calloc(count + 1, sizeof(*reflector->versions));
    if (!reflector->versions)
        return false;
    for (; reflector->version_count < count; reflector->version_count++)
        if (!text_set(&reflector->versions[reflector->version_count], versions[reflector->version_count]))
            return false;
    return true;
}

static bool copy_selector(char **out, const char *parameter, const char *selector) {
    if (!selector || selector[0] == '\0')
        return true;
    AUTO_BUFFER(encoded, PATH_MAX_BYTES);
    buffer_printf(&encoded, "%s=", parameter);
    text_percent_encode(&encoded, selector);
    buffer_char(&encoded, '&');
    *out = buffer_take(&encoded, NULL);
    return *out;
}

static bool copy_options(struct reflector *reflector, const struct reflector_options *options) {
    const char *group = options->group;
    reflector->cluster_scoped = options->cluster_scoped;
    reflector->watch_list = options->watch_list && !options->from_now;
    reflector->probe = options->probe;
    reflector->budget = options->budget;
    reflector->limits = (struct object_limits){.budget = options->budget, .kept = options->kept, .only = options->only};
    reflector->from_now = options->from_now;
    reflector->metadata = options->metadata;
    reflector->page_limit = options->from_now ? 1 : LIST_PAGE;
    reflector->bookmark_ns = options->bookmark_interval_ns > 0 ? options->bookmark_interval_ns : BOOKMARK_NS;
    reflector->random.state = options->seed;
    reflector->what = text_format("%s%s%s", options->plural, group[0] != '\0' ? "." : "", group);
    return reflector->what && text_set(&reflector->cluster, options->cluster) && text_set(&reflector->group, group) &&
           text_set(&reflector->plural, options->plural) && text_set(&reflector->namespace_, options->namespace_) &&
           copy_selector(&reflector->selector, "labelSelector", options->label_selector) &&
           copy_selector(&reflector->fields, "fieldSelector", options->field_selector) &&
           copy_versions(reflector, options->versions);
}

void reflector_ignore_object(void *ctx, struct object *object) {
    (void)ctx;
    object_free(object);
}

void reflector_ignore_version(void *ctx, const char *version) {
    (void)ctx;
    (void)version;
}

struct error *reflector_new(const struct reflector_options *options, struct transport *transport,
                            const struct reflector_handler *handler, struct reflector **out) {
    struct reflector *reflector = calloc(1, sizeof(*reflector));
    if (!reflector)
        return error_no_memory();
    buffer_init(&reflector->watch.tail, budget_or_default(options->budget)->max_frame);
    reflector->transport = transport;
    reflector->meter = options->meter;
    reflector->handler = *handler;
    reflector->due_ns = INT64_MIN;
    reflector->discovery.missing_ns = CLOCK_NEVER;
    reflector->ending.retry_after_ns = -1;
    if (!copy_options(reflector, options)) {
        reflector_free(reflector);
        return error_no_memory();
    }
    *out = reflector;
    return NULL;
}

void reflector_free(struct reflector *reflector) {
    if (!reflector)
        return;
    if (reflector->exchange != 0)
        reflector->transport->ops->cancel(reflector->transport, reflector->exchange);
    for (size_t i = 0; i < reflector->version_count; i++)
        free(reflector->versions[i]);
    free(reflector->versions);
    free(reflector->cluster);
    free(reflector->group);
    free(reflector->plural);
    free(reflector->namespace_);
    free(reflector->selector);
    free(reflector->fields);
    free(reflector->what);
    free(reflector->problem);
    free(reflector->discovery.api_version);
    free(reflector->discovery.kind);
    list_reset(&reflector->list);
    response_clear(&reflector->ending);
    reflector_drop_tail(reflector);
    request_log_free(&reflector->log);
    free(reflector);
}

void reflector_set_state(struct reflector *reflector, enum reflector_state state, const char *problem) {
    if (state == reflector->state) {
        if (problem && !text_equal(problem, reflector->problem)) {
            log_fields(LOG_INFO, "still no watch", {"cluster", reflector->cluster}, {"kind", reflector->what},
                       {"error", problem});
        }
    } else {
        reflector->state = state;
        reflector->handler.state(reflector->handler.ctx, state, problem);
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
    int64_t first_ns = unheard ? UNHEARD_FIRST_NS : BACKOFF_FIRST_NS;
    bool denied = reflector->ending.reason == REASON_FORBIDDEN;
    int64_t max_ns = unheard ? UNHEARD_MAX_NS : denied ? DENIED_MAX_NS : BACKOFF_MAX_NS;
    bool quiet = reflector->now_ns - reflector->backed_off_ns > BACKOFF_RESET_NS;
    if (reflector->backoff_ns == 0 || quiet)
        reflector->backoff_ns = first_ns;
    int64_t step = reflector->backoff_ns < max_ns ? reflector->backoff_ns : max_ns;
    reflector->backoff_ns = step * 2 < max_ns ? step * 2 : max_ns;
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
    int64_t wait_ns = next_backoff(reflector);
    int64_t asked_ns = reflector->ending.retry_after_ns;
    asked_ns = asked_ns < RETRY_AFTER_MAX_NS ? asked_ns : RETRY_AFTER_MAX_NS;
    wait_ns = wait_ns > asked_ns ? wait_ns : asked_ns;
    reflector->phase = phase;
    reflector->due_ns = reflector->now_ns + wait_ns;
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
    return reflector->watch_list ? PHASE_WATCH_LIST : PHASE_LIST;
}

void reflector_conclude(struct reflector *reflector, enum reason reason, const char *message) {
    response_clear(&reflector->ending);
    reflector->ending.reason = reason;
    (void)text_set(&reflector->ending.message, message);
}

void reflector_conclude_no_memory(struct reflector *reflector) {
    reflector_conclude(reflector, REASON_TOO_MANY, "out of memory");
}

void reflector_note_end(struct reflector *reflector, const struct http_result *result) {
    reflector->exchange = 0;
    reflector->ended = true;
    request_log_end(&reflector->log, reflector->cluster, result);
    if (reflector->meter && reflector->phase == PHASE_LIST)
        meter_request(reflector->meter, METER_LIST, result->status, clock_now().mono_ns - reflector->sent_ns);
    probe_ended(reflector->probe, result);
}

void reflector_read(struct reflector *reflector, const struct http_result *result) {
    response_clear(&reflector->ending);
    response_read_within(&reflector->ending, result, VERB_RAW_GET, reflector->budget);
}

void reflector_drop_tail(struct reflector *reflector) {
    buffer_free(&reflector->watch.tail);
    budget_give(reflector->budget, reflector->charged);
    reflector->charged = 0;
}

bool reflector_keep_tail(struct reflector *reflector, const char *bytes, size_t len) {
    struct buffer *tail = &reflector->watch.tail;
    size_t needed = tail->len + len;
    tail->max = budget_or_default(reflector->budget)->max_frame; // which may have changed
    if (tail->len > tail->max || len > tail->max - tail->len) {
        AUTO_TEXT message =
            text_format("the server sent an event larger than %zu bytes, the maximum of the memory budget", tail->max);
        reflector_conclude(reflector, REASON_GARBAGE, message);
        return false;
    }
    if (needed > reflector->charged && !budget_take(reflector->budget, needed - reflector->charged)) {
        reflector_conclude(reflector, REASON_GARBAGE,
                           "incomplete data from the server exceeds the memory budget of the cluster");
        return false;
    }
    reflector->charged = needed > reflector->charged ? needed : reflector->charged;
    if (!buffer_append(tail, bytes, len)) {
        reflector_conclude_no_memory(reflector);
        return false;
    }
    return true;
}

struct error *reflector_path(const struct reflector *reflector, bool selected, struct buffer *out) {
    struct resource resource = {.group = reflector->group,
                                .version = reflector->versions[reflector->discovery.index],
                                .plural = reflector->plural,
                                .cluster_scoped = reflector->cluster_scoped};
    buffer_init(out, PATH_MAX_BYTES);
    TRY(resource_path(&resource, reflector->namespace_, NULL, NULL, out));
    buffer_char(out, '?');
    if (selected && reflector->selector)
        buffer_text(out, reflector->selector);
    if (reflector->fields)
        buffer_text(out, reflector->fields);
    return NULL;
}

// A server that does not know the form takes the second one.
const char *reflector_accept(const struct reflector *reflector, bool list) {
    if (!reflector->metadata)
        return "application/json";
    return list ? ACCEPT_METADATA_LIST : ACCEPT_METADATA;
}

void reflector_submit(struct reflector *reflector, const struct http_request *request,
                      const struct http_handler *handler) {
    static const char *const verbs[] = {[PHASE_DISCOVER] = "get",
                                        [PHASE_LIST] = "list",
                                        [PHASE_WATCH_LIST] = "watch",
                                        [PHASE_PROVE] = "list",
                                        [PHASE_WATCH] = "watch"};
    reflector->sent_ns = reflector->now_ns;
    reflector->ended = false;
    reflector->exchange = reflector->transport->ops->submit(reflector->transport, request, handler);
    if (reflector->exchange == 0) {
        reflector_conclude_no_memory(reflector);
        reflector_wait(reflector, reflector->phase, "request");
        return;
    }
    request_log_begin(&reflector->log, verbs[reflector->phase], request->path);
    bool watch = reflector->phase == PHASE_WATCH || reflector->phase == PHASE_WATCH_LIST;
    if (watch && reflector->watched)
        meter_restart(reflector->meter);
    reflector->watched |= watch;
}

static void log_skip(struct reflector *reflector, const struct error *error) {
    if (!reflector->skip_logged) {
        reflector->skip_logged = true;
        log_fields(LOG_WARN,
                   "the server sent an invalid object; it is skipped, and others are skipped without a message",
                   {"cluster", reflector->cluster}, {"kind", reflector->what}, {"error", error_text(error)});
    }
}

bool reflector_set_version(struct reflector *reflector, const char *version) {
    size_t len = strlen(version);
    if (len >= sizeof(reflector->version)) {
        reflector_conclude(reflector, REASON_GARBAGE, "the server sent a resourceVersion longer than 255 bytes");
        return false;
    }
    memcpy(reflector->version, version, len + 1);
    return true;
}

bool reflector_deliver(struct reflector *reflector, struct error *problem, struct object *object, bool gone,
                       bool advance) {
    __attribute__((cleanup(error_cleanup))) struct error *error = problem;
    if (error && error->code == ERROR_NO_MEMORY) {
        reflector_conclude_no_memory(reflector);
        return false;
    }
    if (error && error->code == ERROR_STOPPED) {
        reflector_conclude(reflector, REASON_TOO_MANY, error_text(error));
        return false;
    }
    if (error) {
        log_skip(reflector, error);
        return true;
    }
    if (advance && !reflector_set_version(reflector, object_version(object->value))) {
        object_free(object);
        return false;
    }
    struct reflector_handler *handler = &reflector->handler;
    (gone ? handler->gone : handler->seen)(handler->ctx, object);
    return true;
}

// After a 401: retries once with reloaded credentials, if they come from a file.
static bool refreshed(struct reflector *reflector) {
    if (reflector->ending.reason == REASON_OK)
        reflector->refreshed = false;
    if (reflector->ending.reason != REASON_UNAUTHORIZED || reflector->refreshed ||
        !reflector->transport->ops->refresh(reflector->transport))
        return false;
    reflector->refreshed = true;
    reflector_go(reflector, reflector->phase);
    return true;
}

// A server that rejects the form of metadata sends whole objects instead.
static bool gets_more(struct reflector *reflector) {
    if (!reflector->metadata || reflector->ending.code != NOT_ACCEPTABLE)
        return false;
    reflector->metadata = false;
    reflector_go(reflector, reflector->phase);
    return true;
}

static void decide(struct reflector *reflector) {
    reflector->ended = false;
    if (refreshed(reflector) || gets_more(reflector))
        return;
    switch (reflector->phase) {
    case PHASE_DISCOVER:
        discovery_ended(reflector);
        break;
    case PHASE_LIST:
        list_ended(reflector);
        break;
    case PHASE_PROVE:
        prove_ended(reflector);
        break;
    case PHASE_WATCH_LIST:
    case PHASE_WATCH:
        watch_ended(reflector);
        break;
    }
}

static void start(struct reflector *reflector) {
    if (reflector->phase == PHASE_WATCH && !reflector->proven)
        reflector->phase = PHASE_PROVE;
    switch (reflector->phase) {
    case PHASE_DISCOVER:
        discovery_start(reflector);
        break;
    case PHASE_LIST:
        list_start(reflector);
        break;
    case PHASE_PROVE:
        prove_start(reflector);
        break;
    case PHASE_WATCH_LIST:
    case PHASE_WATCH:
        watch_start(reflector);
        break;
    }
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
