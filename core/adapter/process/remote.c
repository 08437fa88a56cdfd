// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/process/remote.h"

#include "core/adapter/process/call.h"
#include "core/adapter/process/hello.h"
#include "core/adapter/process/process.h"
#include "core/adapter/services/services_memory.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"

#define START_MAX ((size_t)64 << 20)
#define SHOWN_MAX ((size_t)16 << 10) // of a reason

struct remote_kind { // wharf_call.kind leads here
    wharf_kind abi;
    struct adapter_process *process;
    uint32_t index;
};

struct remote_adapter {
    struct adapter_process *process;
    struct hello hello;
    struct hello_memory *memory;
    struct remote_kind *kinds;
    const wharf_kind **list;
};

// -- calls --

static bool retire(void *ctx, struct json *value) {
    return services_keep_value(ctx, value);
}

static const char *keep_text(struct adapter_call *owner, const char *text) {
    char *copy = text ? strdup(text) : NULL;
    return text ? services_keep_text(owner, copy) : NULL;
}

// `call` NULL: of `start`.
static void write_logs(const wharf_call *call, const struct call_log *logs, size_t count, size_t lost) {
    const wharf_host *host = services_table();
    for (size_t i = 0; i < count; i++)
        if (text_utf8_valid(logs[i].message, strlen(logs[i].message)) == strlen(logs[i].message))
            host->log(call, logs[i].level, logs[i].message);
    if (lost > 0)
        host->log(call, WHARF_LOG_WARN, "further log lines of this call were dropped: there were too many");
}

static void take_phase(struct adapter_call *owner, const wharf_phase *from, wharf_phase *out) {
    out->phase = from->phase;
    out->reason = keep_text(owner, from->reason);
    out->message = keep_text(owner, from->message);
    out->since_ns = from->since_ns;
    out->not_started = from->not_started;
}

// NULL, or what is wrong with the answer. Memory is the call's own problem.
static const char *take_answer(const struct adapter_invocation *in, struct wire *wire, wharf_result *result) {
    struct adapter_call *owner = services_call(in->call);
    const struct delta_memory memory = {retire, owner};
    struct call_answer answer;
    if (!call_read_answer(wire, &answer))
        return "a field is missing or impossible";
    write_logs(in->call, answer.logs, answer.n_logs, answer.lost_logs);
    *result = answer.result;
    owner->answer.reason = keep_text(owner, answer.reason);
    owner->answer.message = keep_text(owner, answer.message);
    owner->answer.retry_after_ms = answer.retry_after_ms;
    if (in->phase)
        take_phase(owner, &answer.phase, in->phase);
    if (!in->changed)
        return wire_is_done(&answer.delta) ? NULL : "it is too long";
    struct json *changed = (struct json *)in->changed;
    owner->part_given = true; // its depth is unknown
    if (!delta_apply(&answer.delta, &changed, true, &memory) || !wire_is_done(&answer.delta))
        return owner->failure == WHARF_OK ? "the change of the value is impossible" : NULL;
    return NULL;
}

// The document that `changed` was probably made of.
static const wharf_value *base_of(const struct adapter_invocation *in) {
    if (in->function == FUNCTION_MIRROR)
        return in->workload;
    if (in->function == FUNCTION_UPDATE || in->function == FUNCTION_STATUS)
        return in->mirror ? in->mirror : in->workload;
    return NULL;
}

// `question` is that of `in`.
static wharf_result ask_process(struct adapter_process *process, const struct adapter_invocation *in,
                                const struct call_question *question) {
    char text[CALL_TROUBLE_MAX] = "";
    struct wire answer;
    uint32_t wait_ms = 0;
    enum call_trouble trouble = process_begin(process, question, &answer, text, &wait_ms);
    wharf_result result = WHARF_RETRY;
    if (trouble == CALL_FINE) {
        const char *garbage = take_answer(in, &answer, &result);
        process_end(process, garbage);
        if (garbage)
            call_set_trouble(in->call, CALL_INVALID, "garbage as an answer: %s", garbage);
        return result;
    }
    in->call->answer->retry_after_ms = trouble == CALL_WAITS ? wait_ms : 0;
    call_set_trouble(in->call, trouble, "%s", text);
    return WHARF_RETRY;
}

static wharf_result ask(const struct adapter_invocation *in) {
    const struct remote_kind *kind = (const struct remote_kind *)in->call->kind;
    const struct call_question question = {
        .kind = kind->index,
        .function = in->function,
        .call = in->call,
        .documents = {(const struct json *)in->workload, (const struct json *)in->mirror},
        .changed = (const struct json *)in->changed,
        .base = (const struct json *)base_of(in),
        .phase = in->phase};
    return ask_process(kind->process, in, &question);
}

static wharf_result ask_score(const wharf_call *call, const wharf_value *workload, const wharf_value *pod_sets,
                              const wharf_value *workers, wharf_value *scores) {
    const struct remote_kind *kind = (const struct remote_kind *)call->kind;
    const struct adapter_invocation in = {.function = FUNCTION_SCORE, .call = call, .changed = scores};
    const struct call_question question = {
        .kind = kind ? kind->index : CALL_NO_KIND,
        .function = FUNCTION_SCORE,
        .call = call,
        .documents = {(const struct json *)workload, (const struct json *)pod_sets, (const struct json *)workers},
        .changed = (const struct json *)scores};
    return ask_process(services_call(call)->scorer->owner->process, &in, &question);
}

static wharf_result ask_phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    return ask(
        &(struct adapter_invocation){.function = FUNCTION_PHASE, .call = call, .workload = object, .phase = out});
}

static wharf_result ask_accept(const wharf_call *call, const wharf_value *workload) {
    return ask(&(struct adapter_invocation){.function = FUNCTION_ACCEPT, .call = call, .workload = workload});
}

static wharf_result ask_mirror(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    return ask(&(struct adapter_invocation){
        .function = FUNCTION_MIRROR, .call = call, .workload = workload, .changed = mirror});
}

static wharf_result ask_update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                               wharf_value *desired) {
    return ask(&(struct adapter_invocation){FUNCTION_UPDATE, call, workload, mirror, desired, NULL});
}

static wharf_result ask_status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                               wharf_value *object) {
    return ask(&(struct adapter_invocation){FUNCTION_STATUS, call, workload, mirror, object, NULL});
}

static wharf_result ask_pod_sets(const wharf_call *call, const wharf_value *workload, wharf_value *sets) {
    return ask(&(struct adapter_invocation){
        .function = FUNCTION_POD_SETS, .call = call, .workload = workload, .changed = sets});
}

static wharf_result ask_dependencies(const wharf_call *call, const wharf_value *workload, wharf_value *list) {
    return ask(&(struct adapter_invocation){
        .function = FUNCTION_DEPENDENCIES, .call = call, .workload = workload, .changed = list});
}

static wharf_result ask_progress(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                                 wharf_value *object) {
    return ask(&(struct adapter_invocation){FUNCTION_PROGRESS, call, workload, mirror, object, NULL});
}

static wharf_result ask_child_progress(const wharf_call *call, const wharf_value *former, const wharf_value *child,
                                       wharf_value *object) {
    return ask(&(struct adapter_invocation){FUNCTION_CHILD_PROGRESS, call, former, child, object, NULL});
}

// -- loading --

static struct error *write_start(const struct loading *loading, const struct adapter_limits *limits,
                                 struct buffer *out) {
    const struct adapter_wanted *wanted = loading->wanted;
    start_write(out, &(struct start_frame){.version = WHARF_VERSION,
                                           .name = wanted->name,
                                           .managed_by = wanted->managed_by,
                                           .controller_name = loading->options->controller_name,
                                           .settings = (struct json *)wanted->settings,
                                           .limits = *limits});
    return out->failed ? error_no_memory() : NULL;
}

static struct error *refusal(struct loading *loading, const struct hello *hello) {
    enum error_code code = hello->code <= ERROR_USAGE ? (enum error_code)hello->code : ERROR_REFUSED;
    loading->settings = hello->settings;
    loading->line = hello->line ? hello->line : loading->line;
    AUTO_BUFFER(shown, SHOWN_MAX);
    bool fine = text_show(&shown, hello->message);
    return error_new(code, "%s", fine ? shown.data : "cannot be loaded");
}

static struct error *read_hello(struct loading *loading, const void *frame, size_t len, struct remote_adapter *remote) {
    struct wire wire = wire_of(frame, len);
    if (!hello_read(&wire, &remote->hello, &remote->memory))
        return error_new(ERROR_REFUSED, "cannot be loaded: its process sent garbage");
    services_loading(loading->wanted->name); // for the name in the lines
    write_logs(NULL, remote->hello.logs, remote->hello.n_logs, remote->hello.lost_logs);
    services_loading(NULL);
    if (strcmp(remote->hello.version, WHARF_VERSION) != 0)
        return error_new(ERROR_REFUSED,
                         "cannot be loaded: the program wharf-adapter is of version %s, expected %s, that of wharf: "
                         "restart wharf after an upgrade",
                         remote->hello.version, WHARF_VERSION);
    if (remote->hello.refused)
        return refusal(loading, &remote->hello);
    for (const char *const *missing = remote->hello.missing; missing && *missing; missing++)
        log_fields(LOG_WARN, "an isolated adapter is less confined than it could be",
                   {"adapter", loading->wanted->name}, {"reason", *missing});
    return NULL;
}

static void set_functions(wharf_kind *abi) {
    abi->phase = abi->phase ? ask_phase : NULL;
    abi->accept = abi->accept ? ask_accept : NULL;
    abi->mirror = abi->mirror ? ask_mirror : NULL;
    abi->update = abi->update ? ask_update : NULL;
    abi->status = abi->status ? ask_status : NULL;
    abi->pod_sets = abi->pod_sets ? ask_pod_sets : NULL;
    abi->dependencies = abi->dependencies ? ask_dependencies : NULL;
    abi->progress = abi->progress ? ask_progress : NULL;
    abi->child_progress = abi->child_progress ? ask_child_progress : NULL;
}

static struct error *make_kinds(struct remote_adapter *remote) {
    size_t count = 0;
    while (remote->hello.kinds[count])
        count++;
    remote->kinds = calloc(count + 1, sizeof *remote->kinds);
    remote->list = calloc(count + 1, sizeof *remote->list);
    if (!remote->kinds || !remote->list)
        return error_no_memory();
    for (size_t i = 0; i < count; i++) {
        remote->kinds[i] =
            (struct remote_kind){.abi = *remote->hello.kinds[i], .process = remote->process, .index = (uint32_t)i};
        set_functions(&remote->kinds[i].abi);
        remote->list[i] = &remote->kinds[i].abi;
    }
    remote->hello.module.kinds = remote->list;
    remote->hello.module.score = remote->hello.scores ? ask_score : NULL;
    return NULL;
}

static struct error *load(struct loading *loading, const struct adapter_file *file, struct remote_adapter *remote) {
    const struct adapter_limits *given = &loading->options->limits;
    const struct adapter_limits limits = {.cpu_ns = given->cpu_ns ? given->cpu_ns : PROCESS_CPU_NS,
                                          .memory = given->memory ? given->memory : PROCESS_MEMORY,
                                          .answer = given->answer ? given->answer : PROCESS_ANSWER};
    AUTO_BUFFER(start, START_MAX);
    TRY(write_start(loading, &limits, &start));
    const struct process_options options = {.name = loading->wanted->name,
                                            .program = loading->options->program,
                                            .file = file->fd,
                                            .limits = limits,
                                            .patient = loading->options->patient,
                                            .start = start.data,
                                            .start_len = start.len};
    const void *hello = NULL;
    size_t len = 0;
    TRY(process_new(&options, &remote->process, &hello, &len));
    TRY(read_hello(loading, hello, len, remote));
    return make_kinds(remote);
}

struct error *remote_load(struct loading *loading, const struct adapter_file *file, struct remote_adapter **out) {
    struct remote_adapter *remote = calloc(1, sizeof *remote);
    struct error *error = remote ? load(loading, file, remote) : error_no_memory();
    if (error)
        remote_free(TAKE(remote));
    *out = remote;
    return error;
}

const wharf_module *remote_module(const struct remote_adapter *remote) {
    return &remote->hello.module;
}

bool remote_kinds_are_of_settings(const struct remote_adapter *remote) {
    return remote->hello.of_settings;
}

struct adapter_process *remote_process(const struct remote_adapter *remote) {
    return remote->process;
}

void remote_free(struct remote_adapter *remote) {
    if (!remote)
        return;
    process_free(remote->process);
    hello_memory_free(remote->memory);
    free(remote->kinds);
    free(remote->list);
    free(remote);
}
