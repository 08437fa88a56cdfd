// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/process/hello.h"
#include "core/adapter/services.h"
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/isolate/isolate.h"
#include "core/isolate/sandbox.h"

#include <stdio.h>
#include <unistd.h>

#define START_MAX ((size_t)512 << 20)
#define SLACK ((size_t)32 << 10) // of an answer, besides the value

#define OBJECT "/proc/self/fd/4"

// For the handler of a forbidden system call, which has no argument.
static struct isolate *confined;

static void on_forbidden(const char *name) {
    char words[128];
    snprintf(words, sizeof words, "forbidden system call %s", name);
    struct { // a frame without allocating
        uint32_t len;
        unsigned char type;
        char rest[sizeof(uint32_t) + sizeof words];
    } __attribute__((packed)) frame = {.type = FRAME_LAST_WORDS};
    uint32_t len = (uint32_t)strlen(words) + 1;
    memcpy(frame.rest, &len, sizeof len);
    memcpy(frame.rest + sizeof len, words, len);
    frame.len = 1 + (uint32_t)sizeof len + len;
    if (write(confined->channel, &frame, sizeof frame.len + frame.len) < 0)
        return; // the host is gone
}

void isolate_die(struct isolate *isolate, enum frame_type as, const char *format, ...) {
    char words[256];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    frame_begin(&isolate->out, as);
    wire_put_text(&isolate->out, words);
    frame_send(isolate->channel, &isolate->out, CLOCK_NEVER);
    _exit(1);
}

static bool answer(struct isolate *isolate, const struct hello *hello) {
    hello_write(&isolate->out, hello);
    return frame_send(isolate->channel, &isolate->out, CLOCK_NEVER);
}

static struct error *load_module(struct isolate *isolate, struct loading *loading, wharf_module *module) {
    void *handle = NULL;
    TRY(adapter_module_open(OBJECT, &handle));
    TRY(adapter_module_find(handle, module));
    TRY(adapter_module_check(module));
    isolate->adapter.owned_objects = "";
    return adapter_module_start(module, loading, &isolate->adapter);
}

static struct error *confine(struct isolate *isolate, struct problems *missing) {
    const struct sandbox_limits limits = {.memory = isolate->limits.memory};
    TRY(sandbox_limits(&limits, missing));
    return sandbox_for_load(CHANNEL_FILE_FD, OBJECT, isolate->channel, missing);
}

// The list of problems as a list that ends with NULL; its items are those of `missing`.
static const char **list_of(const struct problems *missing) {
    const char **list = calloc(missing->count + 1, sizeof *list);
    for (size_t i = 0; list && i < missing->count; i++)
        list[i] = missing->list[i];
    return list;
}

// The kinds as the host will use them, not as the adapter laid them out.
static const wharf_kind **kinds_of(const struct adapter *adapter) {
    const wharf_kind **kinds = calloc(adapter->n_kinds + 1, sizeof *kinds);
    for (size_t i = 0; kinds && i < adapter->n_kinds; i++)
        kinds[i] = &adapter->kinds[i]->abi;
    return kinds;
}

static bool load(struct isolate *isolate, const struct start_frame *start) {
    const struct adapter_wanted wanted = {
        .name = start->name, .file = OBJECT, .managed_by = start->managed_by, .settings = isolate->settings};
    const struct adapters_options options = {.controller_name = start->controller_name};
    struct loading loading = {.options = &options, .wanted = &wanted, .apart = true};
    struct problems missing = {.count = 0};
    struct hello hello = {.version = WHARF_VERSION};
    struct error *error = confine(isolate, &missing);
    error = error ? error : load_module(isolate, &loading, &hello.module);
    error = error ? error : sandbox_for_calls();
    hello.missing = list_of(&missing);
    hello.kinds = kinds_of(&isolate->adapter);
    hello.of_settings = loading.of_settings;
    hello.refused = error;
    hello.code = error ? error->code : 0;
    hello.message = error_text(error);
    hello.line = loading.line;
    hello.settings = loading.settings;
    memcpy(hello.logs, isolate->logs.list, sizeof hello.logs);
    hello.n_logs = isolate->logs.count;
    hello.lost_logs = isolate->logs.lost;
    bool done = answer(isolate, &hello);
    isolate_clear_logs(&isolate->logs);
    free(hello.missing);
    free(hello.kinds);
    problems_free(&missing);
    error_free(error);
    return done && !hello.refused;
}

// After a refusal, until the host has read it.
static void await_end(struct isolate *isolate) {
    buffer_reset(&isolate->in);
    frame_receive(isolate->channel, &isolate->in, CLOCK_NEVER);
}

bool isolate_load(struct isolate *isolate) {
    struct start_frame start;
    buffer_init(&isolate->in, START_MAX);
    buffer_init(&isolate->out, START_MAX);
    confined = isolate;
    if (frame_receive(isolate->channel, &isolate->in, CLOCK_NEVER) != FRAME_WHOLE)
        return false;
    struct wire wire = frame_content(&isolate->in);
    if (!start_read(&wire, &start)) {
        json_free(start.settings);
        isolate_die(isolate, FRAME_LAST_WORDS, "the program wharf-adapter is of another version than wharf");
    }
    isolate->settings = start.settings;
    isolate->limits = start.limits;
    isolate->out.max = start.limits.answer + SLACK;
    isolate_replace_services(&isolate->logs);
    sandbox_on_forbidden(on_forbidden);
    bool loaded = load(isolate, &start);
    if (!loaded)
        await_end(isolate);
    return loaded;
}

void isolate_free(struct isolate *isolate) {
    buffer_free(&isolate->in);
    buffer_free(&isolate->out);
    adapter_forget_kinds(&isolate->adapter);
    json_free(isolate->settings);
    for (size_t i = 0; i < CALL_PLACES; i++)
        json_free(isolate->places[i]);
    isolate_clear_logs(&isolate->logs);
}
