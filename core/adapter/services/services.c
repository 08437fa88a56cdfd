// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/services.h"

#include "core/adapter/phase.h"
#include "core/adapter/services/net.h"
#include "core/adapter/services/services_memory.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"

#include <stdarg.h>
#include <stdatomic.h>

#define REASON_MAX 128
#define NOTE_MAX 1024

// Keeps values that are made with a NULL call reachable until the process ends.
static struct {
    struct adapter_call call;
    atomic_bool begun;
} load;

// An adapter may be loaded while others are called on other threads.
static _Thread_local bool is_loading;

void services_loading(const char *adapter) {
    is_loading = adapter;
    atomic_store(&load.begun, true);
    load.call.adapter = adapter;
    if (adapter)
        load.call.failure = WHARF_OK;
}

struct error *services_loading_failed(void) {
    const struct adapter_call *call = &load.call;
    if (call->failure == WHARF_OK)
        return NULL;
    return call->failure == WHARF_REFUSED ? error_new(ERROR_REFUSED, "start: %s", call->failed) : error_no_memory();
}

bool services_keep(struct json *value) {
    return services_keep_value(&load.call, value);
}

struct adapter_call *services_call(const wharf_call *call) {
    if (call)
        return call->host_data;
    return is_loading || !atomic_load(&load.begun) ? &load.call : NULL;
}

bool services_no_memory(struct adapter_call *call) {
    if (call && call->failure == WHARF_OK)
        call->failure = WHARF_RETRY;
    return false;
}

bool services_refuse(struct adapter_call *call, const char *format, ...) {
    va_list args;
    if (!call || call->failure != WHARF_OK)
        return false;
    va_start(args, format);
    call->failed = services_keep_text(call, text_vformat(format, args));
    va_end(args);
    if (call->failed)
        call->failure = WHARF_REFUSED;
    return false;
}

bool services_reserve(struct adapter_call *call) {
    return array_reserve(&call->values, &call->cap_values, call->n_values + 1, sizeof *call->values) ||
           services_no_memory(call);
}

struct json *services_keep_value(struct adapter_call *call, struct json *value) {
    if (value ? services_reserve(call) : services_no_memory(call))
        return call->values[call->n_values++] = value;
    json_free(value);
    return NULL;
}

char *services_keep_text(struct adapter_call *call, char *text) {
    if (!text || !array_reserve(&call->texts, &call->cap_texts, call->n_texts + 1, sizeof *call->texts)) {
        services_no_memory(call);
        free(text);
        return NULL;
    }
    call->texts[call->n_texts++] = text;
    return text;
}

void services_log(const wharf_call *call, wharf_log_level level, const char *message) {
    static const enum log_level levels[] = {[WHARF_LOG_ERROR] = LOG_ERROR,
                                            [WHARF_LOG_WARN] = LOG_WARN,
                                            [WHARF_LOG_INFO] = LOG_INFO,
                                            [WHARF_LOG_DEBUG] = LOG_DEBUG};
    enum log_level as = level < sizeof levels / sizeof levels[0] ? levels[level] : LOG_INFO;
    if (!message || !log_enabled(as))
        return;
    static const struct adapter_call nobody;
    const struct adapter_call *made = services_call(call);
    made = made ? made : &nobody;
    log_fields(as, message, {"adapter", made->adapter}, {"kind", made->kind ? made->kind->kind : NULL},
               {"cluster", made->call.cluster}, {"object", made->object});
}

static void write_now(const struct call_context *context, char out[CLOCK_RFC3339_MAX]) {
    struct call_clock *clock = context->clock;
    int64_t second = context->now.wall_ns / CLOCK_SECOND;
    if (!clock) {
        clock_rfc3339(context->now.wall_ns, out);
        return;
    }
    if (clock->second != second || clock->text[0] == '\0') {
        clock->second = second;
        clock_rfc3339(context->now.wall_ns, clock->text);
    }
    memcpy(out, clock->text, CLOCK_RFC3339_MAX);
}

void adapter_call_begin(struct adapter_call *call, const struct call_context *context) {
    *call = (struct adapter_call){
        .kind = context->kind,
        .adapter = context->adapter,
        .object = context->object,
        .ticks = context->clock && context->times ? context->clock->ticks : NULL,
        .times = context->times,
        .aside = context->aside,
        .troubled = context->troubled,
        .troubled_ctx = context->troubled_ctx,
        .answer = {.size = sizeof(wharf_answer)},
    };
    write_now(context, call->now);
    call->call = (wharf_call){
        .size = sizeof(wharf_call),
        .kind = context->given ? context->given : context->kind,
        .now = call->now,
        .now_ns = context->now.wall_ns,
        .cluster = context->cluster,
        .attempt = context->attempt,
        .version = context->version,
        .answer = &call->answer,
        .host_data = call,
        .mirror_state = context->mirror_state,
    };
}

void adapter_call_end(struct adapter_call *call) {
    for (size_t i = 0; i < call->n_values; i++)
        json_free(call->values[i]);
    for (size_t i = 0; i < call->n_texts; i++)
        free(call->texts[i]);
    free(call->values);
    free(call->texts);
    *call = (struct adapter_call){.kind = NULL};
}

void services_prepare(struct adapter_call *call, const struct json *workload) {
    call->answer = (wharf_answer){.size = sizeof(wharf_answer)};
    call->workload = workload;
    call->failure = WHARF_OK;
    call->failed = NULL;
    call->part_given = false;
    call->trouble = CALL_FINE;
}

void call_set_trouble(const wharf_call *call, enum call_trouble trouble, const char *format, ...) {
    struct adapter_call *owner = services_call(call);
    if (!owner)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(owner->trouble_text, sizeof owner->trouble_text, format, args);
    va_end(args);
    owner->trouble = trouble;
}

wharf_result services_conclude(struct adapter_call *call, wharf_result result) {
    if (call->failure != WHARF_OK) {
        call->answer = (wharf_answer){.size = sizeof(wharf_answer), .message = call->failed};
        return call->failure;
    }
    return result == WHARF_OK || result == WHARF_REFUSED ? result : WHARF_RETRY;
}

const char *adapter_function_name(enum adapter_function function) {
    static const char *const names[ADAPTER_FUNCTIONS] = {"phase",          "accept",   "mirror",       "update",
                                                         "status",         "pod_sets", "dependencies", "progress",
                                                         "child_progress", "score"};
    return names[function];
}

bool adapter_has(const wharf_kind *kind, enum adapter_function function) {
    const bool has[ADAPTER_FUNCTIONS] = {
        [FUNCTION_PHASE] = kind->phase,
        [FUNCTION_ACCEPT] = kind->accept,
        [FUNCTION_MIRROR] = kind->mirror,
        [FUNCTION_UPDATE] = kind->update,
        [FUNCTION_STATUS] = kind->status,
        [FUNCTION_POD_SETS] = kind->pod_sets,
        [FUNCTION_DEPENDENCIES] = kind->dependencies,
        [FUNCTION_PROGRESS] = kind->progress,
        [FUNCTION_CHILD_PROGRESS] = kind->child_progress,
    };
    return has[function];
}

wharf_result adapter_invoke(const wharf_kind *kind, const struct adapter_invocation *in) {
    switch (in->function) {
    case FUNCTION_PHASE:
        return kind->phase(in->call, in->workload, in->phase);
    case FUNCTION_ACCEPT:
        return kind->accept(in->call, in->workload);
    case FUNCTION_MIRROR:
        return kind->mirror(in->call, in->workload, in->changed);
    case FUNCTION_UPDATE:
        return kind->update(in->call, in->workload, in->mirror, in->changed);
    case FUNCTION_STATUS:
        return kind->status(in->call, in->workload, in->mirror, in->changed);
    case FUNCTION_POD_SETS:
        return kind->pod_sets(in->call, in->workload, in->changed);
    case FUNCTION_DEPENDENCIES:
        return kind->dependencies(in->call, in->workload, in->changed);
    case FUNCTION_PROGRESS:
        return kind->progress(in->call, in->workload, in->mirror, in->changed);
    case FUNCTION_CHILD_PROGRESS:
        return kind->child_progress(in->call, in->workload, in->mirror, in->changed);
    case FUNCTION_SCORE:
    case ADAPTER_FUNCTIONS:
        break;
    }
    return WHARF_OK;
}

static wharf_result conclude_trouble(struct adapter_call *call) {
    if (call->troubled)
        call->troubled(call, call->troubled_ctx);
    return WHARF_RETRY;
}

static int64_t ticks_of(const struct adapter_call *call) {
    return call->ticks ? call->ticks() : 0;
}

// The effective result of a function that returned `result`. Each change of `changed` was within the limit of the
// depth, but counted from the part that was changed.
static wharf_result conclude(struct adapter_call *call, enum adapter_function function, int64_t begun_ns,
                             const struct json *changed, wharf_result result) {
    if (call->ticks) {
        call->times[function].count++;
        call->times[function].sum_ns += call->ticks() - begun_ns;
    }
    if (call->trouble != CALL_FINE)
        return conclude_trouble(call);
    if (result == WHARF_OK && call->part_given && services_is_too_deep(changed, 0))
        services_refuse_depth(call, "what the adapter made is");
    return services_conclude(call, result);
}

// Invokes an optional function of the kind, and applies the rules of the ABI.
static wharf_result run(struct adapter_call *call, enum adapter_function function, const struct json *workload,
                        const struct json *mirror, struct json *changed, wharf_phase *phase) {
    const struct adapter_invocation in = {
        function, &call->call, (const wharf_value *)workload, (const wharf_value *)mirror, (wharf_value *)changed,
        phase};
    services_prepare(call, workload);
    if (!adapter_has(call->kind, function))
        return WHARF_OK;
    call->function = function;
    call->mirror = mirror;
    if (call->aside) {
        call->trouble = CALL_ASIDE;
        return conclude_trouble(call);
    }
    int64_t begun_ns = ticks_of(call);
    net_enter(call);
    wharf_result result = adapter_invoke(call->kind, &in);
    net_leave();
    return conclude(call, function, begun_ns, changed, result);
}

wharf_result adapter_phase(struct adapter_call *call, const struct json *object, wharf_phase *out) {
    phase_by_rules(call->kind, object, out);
    wharf_result result = run(call, FUNCTION_PHASE, object, NULL, NULL, out);
    if (result != WHARF_OK)
        *out = (wharf_phase){.phase = WHARF_ACTIVE};
    bool endless = (call->kind->flags & WHARF_KIND_NEVER_FINISHES) != 0;
    if (out->phase > WHARF_FAILED || (endless && phase_is_final(out->phase)))
        out->phase = WHARF_ACTIVE;
    if (!phase_is_final(out->phase))
        out->since_ns = 0;
    out->size = sizeof(wharf_phase);
    return result;
}

wharf_result adapter_accept(struct adapter_call *call, const struct json *workload) {
    return run(call, FUNCTION_ACCEPT, workload, NULL, NULL, NULL);
}

wharf_result adapter_mirror(struct adapter_call *call, const struct json *workload, struct json *mirror) {
    return run(call, FUNCTION_MIRROR, workload, NULL, mirror, NULL);
}

wharf_result adapter_update(struct adapter_call *call, const struct json *workload, const struct json *mirror,
                            struct json *desired) {
    return run(call, FUNCTION_UPDATE, workload, mirror, desired, NULL);
}

wharf_result adapter_status(struct adapter_call *call, const struct json *workload, const struct json *mirror,
                            struct json *object) {
    return run(call, FUNCTION_STATUS, workload, mirror, object, NULL);
}

wharf_result adapter_pod_sets(struct adapter_call *call, const struct json *workload, struct json *sets) {
    return run(call, FUNCTION_POD_SETS, workload, NULL, sets, NULL);
}

wharf_result adapter_dependencies(struct adapter_call *call, const struct json *workload, struct json *list) {
    return run(call, FUNCTION_DEPENDENCIES, workload, NULL, list, NULL);
}

wharf_result adapter_progress(struct adapter_call *call, const struct json *workload, const struct json *mirror,
                              struct json *object) {
    return run(call, FUNCTION_PROGRESS, workload, mirror, object, NULL);
}

wharf_result adapter_child_progress(struct adapter_call *call, const struct json *former, const struct json *child,
                                    struct json *object) {
    return run(call, FUNCTION_CHILD_PROGRESS, former, child, object, NULL);
}

// A name in `scores` that no worker has.
static const char *find_stranger(const struct json *workers, const struct json *scores) {
    size_t known = 0;
    for (const struct json *worker = json_first(workers); worker; worker = json_next(worker))
        known += json_get(scores, json_string_or(json_get(worker, "name"), "")) ? 1 : 0;
    const struct json *score = known < json_size(scores) ? json_first(scores) : NULL;
    while (score && json_find_item(workers, "name", json_key(score)))
        score = json_next(score);
    return score ? json_key(score) : NULL;
}

static wharf_result check_scores(struct adapter_call *call, const struct json *workers, const struct json *scores) {
    const char *stranger = find_stranger(workers, scores);
    if (stranger)
        services_refuse(call, "found a score of \"%.80s\", expected the name of one of the workers", stranger);
    for (const struct json *score = json_first(scores); score; score = json_next(score)) {
        int64_t value = json_int64(score, -1);
        const char *found = json_is(score, JSON_NUMBER) ? json_number_text(score) : services_type_name(score);
        if (value < 0 || value > SCORE_MAX)
            services_refuse(call, "found %.40s as the score of %s, expected an integer from 0 to %d", found,
                            json_key(score), SCORE_MAX);
    }
    return services_conclude(call, WHARF_OK);
}

wharf_result adapter_score(struct adapter_call *call, const struct scorer *scorer, const struct json *workload,
                           const struct json *pod_sets, const struct json *workers, struct json *scores) {
    call->scorer = scorer;
    call->adapter = scorer->name;
    call->troubled = NULL;
    if (scorer->every_kind)
        call->call.kind = NULL;
    services_prepare(call, workload);
    call->function = FUNCTION_SCORE;
    if (call->aside) {
        call_set_trouble(&call->call, CALL_ASIDE, "the workload is set aside");
        return WHARF_RETRY;
    }
    int64_t begun_ns = ticks_of(call);
    net_enter(call);
    wharf_result result = scorer->score(&call->call, (const wharf_value *)workload, (const wharf_value *)pod_sets,
                                        (const wharf_value *)workers, (wharf_value *)scores);
    net_leave();
    result = conclude(call, FUNCTION_SCORE, begun_ns, scores, result);
    return result == WHARF_OK ? check_scores(call, workers, scores) : result;
}

bool adapter_is_reason(const char *text) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    return text[0] >= 'A' && text[0] <= 'Z' && text[strspn(text, letters)] == '\0' && text_is_within(text, REASON_MAX);
}

const char *adapter_answer_reason(const struct adapter_call *call, const char *fallback) {
    const char *reason = call->answer.reason;
    return reason && adapter_is_reason(reason) ? reason : fallback;
}

const char *adapter_answer_message(struct adapter_call *call, const char *fallback) {
    const char *message = call->answer.message;
    if (!message || message[0] == '\0')
        return fallback;
    size_t len = strlen(message);
    if (text_utf8_valid(message, len) != len)
        return fallback;
    if (len <= NOTE_MAX)
        return message;
    char *cut = malloc(NOTE_MAX + 1);
    if (!cut)
        return fallback;
    text_copy(cut, NOTE_MAX + 1, message);
    message = services_keep_text(call, cut);
    return message ? message : fallback;
}
