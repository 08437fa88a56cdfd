// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/process/hello.h"

#include "core/adapter/process/hello_kind.h"
#include "core/base/memory.h"

#define KINDS_MAX 4096
#define TEXT_MAX ((size_t)16 << 20)

// The lines of a document's values, in the order of the text.
static void write_lines(struct buffer *out, const struct json *value) {
    wire_put_u32(out, json_line(value));
    if (json_is_container(value))
        for (const struct json *child = json_first(value); child; child = json_next(child))
            write_lines(out, child);
}

static void read_lines(struct wire *wire, struct json *value) {
    json_set_line(value, wire_u32(wire));
    if (json_is_container(value))
        for (struct json *child = json_first(value); child && !wire->failed; child = json_next(child))
            read_lines(wire, child);
}

void start_write(struct buffer *out, const struct start_frame *start) {
    AUTO_BUFFER(text, TEXT_MAX);
    frame_begin(out, FRAME_START);
    wire_put_u32(out, HELLO_VERSION);
    wire_put_text(out, start->version);
    wire_put_text(out, start->name);
    wire_put_text(out, start->managed_by);
    wire_put_text(out, start->controller_name);
    wire_put_i64(out, start->limits.cpu_ns);
    wire_put_i64(out, (int64_t)start->limits.memory);
    wire_put_i64(out, (int64_t)start->limits.answer);
    out->failed |= !json_print(start->settings, &text);
    wire_put_bytes(out, text.data, text.len);
    write_lines(out, start->settings);
}

bool start_read(struct wire *wire, struct start_frame *out) {
    size_t len = 0;
    *out = (struct start_frame){.settings = NULL};
    if (wire_u8(wire) != FRAME_START || wire_u32(wire) != HELLO_VERSION)
        return wire_fail(wire);
    out->version = wire_text(wire);
    out->name = wire_text(wire);
    out->managed_by = wire_text(wire);
    out->controller_name = wire_text(wire);
    out->limits.cpu_ns = wire_i64(wire);
    out->limits.memory = (size_t)wire_i64(wire);
    out->limits.answer = (size_t)wire_i64(wire);
    const char *text = wire_bytes(wire, &len);
    struct error *error = text ? json_parse(text, len, &out->settings) : NULL;
    error_free(error);
    if (out->settings)
        read_lines(wire, out->settings);
    return (out->settings && out->version && out->name && wire_is_done(wire)) || wire_fail(wire);
}

static void write_module(struct buffer *out, const struct hello *hello) {
    const wharf_module *module = &hello->module;
    size_t count = 0;
    wire_put_u32(out, module->abi_major);
    wire_put_u32(out, module->abi_minor);
    wire_put_text(out, module->name);
    wire_put_text(out, module->version);
    wire_put_u8(out, module->score ? 1 : 0);
    wire_put_u8(out, hello->of_settings ? 1 : 0);
    while (hello->kinds[count])
        count++;
    wire_put_u32(out, count);
    for (size_t i = 0; i < count; i++)
        hello_write_kind(out, hello->kinds[i]);
}

void hello_write(struct buffer *out, const struct hello *hello) {
    frame_begin(out, FRAME_HELLO);
    wire_put_u32(out, HELLO_VERSION);
    call_write_logs(out, hello->logs, hello->n_logs, hello->lost_logs);
    wire_put_text(out, hello->version);
    hello_write_texts(out, hello->missing);
    wire_put_u8(out, hello->refused ? 1 : 0);
    if (!hello->refused) {
        write_module(out, hello);
        return;
    }
    wire_put_u32(out, hello->code);
    wire_put_text(out, hello->message);
    wire_put_u32(out, hello->line);
    wire_put_u8(out, hello->settings ? 1 : 0);
}

struct wire hello_constant(const struct buffer *frame) {
    struct call_log logs[CALL_LOGS];
    size_t count = 0, lost = 0;
    struct wire wire = frame_content(frame);
    (void)wire_u8(&wire);
    (void)wire_u32(&wire);
    (void)call_read_logs(&wire, logs, &count, &lost);
    return wire;
}

static void read_module(struct wire *wire, struct hello *out, struct hello_memory *memory) {
    out->module = (wharf_module){.size = sizeof(wharf_module)};
    out->module.abi_major = wire_u32(wire);
    out->module.abi_minor = wire_u32(wire);
    out->module.name = wire_text(wire);
    out->module.version = wire_text(wire);
    out->scores = wire_u8(wire);
    out->of_settings = wire_u8(wire);
    size_t count = wire_u32(wire);
    if ((count == 0 && !out->scores) || count > KINDS_MAX)
        wire_fail(wire);
    if (wire->failed)
        return;
    out->kinds = hello_memory_take(memory, wire, count + 1, sizeof *out->kinds);
    for (size_t i = 0; out->kinds && i < count && !wire->failed; i++) {
        wharf_kind *kind = hello_memory_take(memory, wire, 1, sizeof *kind);
        if (kind)
            hello_read_kind(wire, memory, kind);
        out->kinds[i] = kind;
    }
    out->module.kinds = (const wharf_kind *const *)out->kinds;
}

static bool read_hello(struct wire *wire, struct hello *out, struct hello_memory *memory) {
    *out = (struct hello){.version = NULL};
    if (wire_u8(wire) != FRAME_HELLO || wire_u32(wire) != HELLO_VERSION)
        return wire_fail(wire);
    if (!call_read_logs(wire, out->logs, &out->n_logs, &out->lost_logs))
        return false;
    out->version = wire_text(wire);
    out->missing = hello_read_texts(wire, memory);
    out->refused = wire_u8(wire);
    if (out->refused) {
        out->code = wire_u32(wire);
        out->message = wire_text(wire);
        out->line = wire_u32(wire);
        out->settings = wire_u8(wire);
    } else {
        read_module(wire, out, memory);
    }
    return wire_is_done(wire) && out->version && (!out->refused || out->message);
}

bool hello_read(struct wire *wire, struct hello *out, struct hello_memory **memory) {
    *memory = hello_memory_new();
    if (*memory && read_hello(wire, out, *memory))
        return true;
    hello_memory_free(*memory);
    *memory = NULL;
    return wire_fail(wire);
}
