// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/process/call.h"

#include "core/base/memory.h"

enum document { DOCUMENT_NONE, DOCUMENT_PLACED, DOCUMENT_NEW, DOCUMENT_PASSING };

#define NO_BASE 255
#define STATUS_ONLY 16 // added to the number of the base: both are /status, and `changed` has nothing else

// -- places --

static size_t find_place(const struct places *places, uint64_t serial) {
    size_t i = 0;
    while (i < CALL_PLACES && places->list[i].serial != serial)
        i++;
    return i;
}

// The one used longest ago; an empty one first, unless `full`.
static size_t oldest_place(const struct places *places, bool full) {
    size_t oldest = CALL_PLACES;
    for (size_t i = 0; i < CALL_PLACES; i++)
        if ((!full || places->list[i].serial) &&
            (oldest == CALL_PLACES || places->list[i].used < places->list[oldest].used))
            oldest = i;
    return oldest;
}

static void empty_place(struct places *places, size_t index) {
    places->bytes -= places->list[index].bytes;
    places->list[index] = (struct place){.serial = 0};
}

// Those used longest ago go until the rest fits. Before a call, so that none of its own documents goes.
static void write_dropped(struct buffer *out, struct places *places) {
    size_t at = wire_put_later(out), count = 0;
    while (places && places->bytes > CALL_PLACES_BYTES) {
        size_t oldest = oldest_place(places, true);
        wire_put_u32(out, oldest);
        empty_place(places, oldest);
        count++;
    }
    wire_put_at(out, at, count);
}

static void write_packed(struct buffer *out, const struct json *value, size_t *len) {
    size_t at = wire_put_later(out), begin = out->len;
    out->failed |= !json_pack(value, out);
    *len = out->failed ? 0 : out->len - begin;
    wire_put_at(out, at, *len);
}

static void write_document(struct buffer *out, const struct json *value, struct places *places) {
    uint64_t serial = places ? json_serial(value) : 0;
    size_t len = 0, index = serial ? find_place(places, serial) : CALL_PLACES;
    if (!value) {
        wire_put_u8(out, DOCUMENT_NONE);
    } else if (!serial) {
        wire_put_u8(out, DOCUMENT_PASSING);
        write_packed(out, value, &len);
    } else if (index < CALL_PLACES) {
        places->list[index].used = ++places->clock;
        wire_put_u8(out, DOCUMENT_PLACED);
        wire_put_u8(out, (unsigned)index);
    } else {
        index = oldest_place(places, false);
        empty_place(places, index);
        wire_put_u8(out, DOCUMENT_NEW);
        wire_put_u8(out, (unsigned)index);
        write_packed(out, value, &len);
        places->list[index] = (struct place){.serial = serial, .used = ++places->clock, .bytes = len};
        places->bytes += len;
    }
}

_Static_assert(CALL_PLACES <= 256, "the number of a place is one byte");

void call_write(struct buffer *out, const struct call_question *question, struct places *places) {
    const wharf_call *call = question->call;
    unsigned base = NO_BASE;
    frame_begin(out, FRAME_CALL);
    wire_put_u32(out, question->kind);
    wire_put_u32(out, question->function);
    wire_put_i64(out, places ? call->now_ns : 0);
    wire_put_text(out, call->cluster);
    wire_put_u32(out, call->attempt);
    wire_put_text(out, call->version);
    wire_put_u32(out, call->mirror_state);
    write_dropped(out, places);
    for (unsigned i = 0; i < CALL_DOCUMENTS; i++) {
        write_document(out, question->documents[i], places);
        if (question->base && question->base == question->documents[i])
            base = i;
    }
    wire_put_u8(out, question->changed ? 1 : 0);
    if (!question->changed)
        return;
    const struct json *from = base == NO_BASE ? NULL : question->base, *to = question->changed;
    bool status_only = json_get(from, "status") && json_size(to) == 1 && json_get(to, "status");
    wire_put_u8(out, status_only ? base + STATUS_ONLY : base);
    delta_write(out, status_only ? json_get(from, "status") : from, status_only ? json_get(to, "status") : to);
}

// -- in the process --

static struct json *read_packed(struct wire *wire) {
    size_t len = 0;
    const char *bytes = wire_bytes(wire, &len);
    struct json *value = bytes ? json_unpack(bytes, len) : NULL;
    if (!value)
        wire_fail(wire);
    return value;
}

static void read_document(struct wire *wire, struct json *places[CALL_PLACES], struct call_received *out, size_t i) {
    unsigned how = wire_u8(wire);
    unsigned place = how == DOCUMENT_PLACED || how == DOCUMENT_NEW ? wire_u8(wire) : 0;
    if (how == DOCUMENT_PASSING) {
        out->documents[i] = out->own[i] = read_packed(wire);
    } else if (how == DOCUMENT_NEW) {
        json_free(places[place]);
        out->documents[i] = places[place] = read_packed(wire);
    } else if (how == DOCUMENT_PLACED) {
        out->documents[i] = places[place];
        if (!places[place])
            wire_fail(wire);
    } else if (how != DOCUMENT_NONE) {
        wire_fail(wire);
    }
}

static void read_dropped(struct wire *wire, struct json *places[CALL_PLACES]) {
    for (uint32_t count = wire_u32(wire); count > 0 && !wire->failed; count--) {
        uint32_t place = wire_u32(wire);
        if (place >= CALL_PLACES) {
            wire_fail(wire);
            return;
        }
        json_free(TAKE(places[place]));
    }
}

// The value that the function may change.
static struct json *read_changed(struct wire *wire, const struct call_received *received) {
    unsigned base = wire_u8(wire);
    bool status_only = base >= STATUS_ONLY && base < STATUS_ONLY + CALL_DOCUMENTS;
    base -= status_only ? STATUS_ONLY : 0;
    const struct json *from = base < CALL_DOCUMENTS ? received->documents[base] : NULL;
    from = status_only ? json_get(from, "status") : from;
    AUTO_JSON value = from ? json_copy(from) : NULL;
    AUTO_JSON object = status_only ? json_new_object() : NULL;
    if ((!from && base != NO_BASE) || (from && !value) || !delta_apply(wire, &value, false, NULL))
        return NULL;
    if (!status_only)
        return TAKE(value);
    return json_set(object, "status", TAKE(value)) ? TAKE(object) : NULL;
}

bool call_read(struct wire *wire, struct json *places[CALL_PLACES], struct call_received *out) {
    *out = (struct call_received){.kind = 0};
    if (wire_u8(wire) != FRAME_CALL)
        return wire_fail(wire);
    out->kind = wire_u32(wire);
    out->function = wire_u32(wire);
    out->context.now.wall_ns = wire_i64(wire);
    out->context.cluster = wire_text(wire);
    out->context.attempt = wire_u32(wire);
    out->context.version = wire_text(wire);
    out->context.mirror_state = wire_u32(wire);
    read_dropped(wire, places);
    for (size_t i = 0; i < CALL_DOCUMENTS && !wire->failed; i++)
        read_document(wire, places, out, i);
    bool changes = wire_u8(wire) && !wire->failed;
    out->changed = changes ? read_changed(wire, out) : NULL;
    return wire_is_done(wire) && (out->changed || !changes);
}

void call_received_free(struct call_received *received) {
    for (size_t i = 0; i < CALL_DOCUMENTS; i++)
        json_free(received->own[i]);
    json_free(received->changed);
}

// -- the answer --

void call_write_logs(struct buffer *out, const struct call_log *logs, size_t count, size_t lost) {
    wire_put_u32(out, count);
    for (size_t i = 0; i < count; i++) {
        wire_put_u32(out, logs[i].level);
        wire_put_text(out, logs[i].message);
    }
    wire_put_u32(out, lost);
}

bool call_read_logs(struct wire *wire, struct call_log logs[CALL_LOGS], size_t *count, size_t *lost) {
    *count = wire_u32(wire);
    if (*count > CALL_LOGS) {
        *count = 0;
        return wire_fail(wire);
    }
    for (size_t i = 0; i < *count; i++) {
        logs[i].level = wire_u32(wire);
        logs[i].message = wire_text(wire);
        if (!logs[i].message)
            return wire_fail(wire);
    }
    *lost = wire_u32(wire);
    return !wire->failed;
}

static void write_reads(struct buffer *out, const struct call_reads *reads) {
    wire_put_u8(out, reads->all ? 1 : 0);
    wire_put_u32(out, reads->count);
    for (size_t i = 0; i < reads->count; i++)
        wire_put_text(out, reads->pointers[i]);
}

static void read_reads(struct wire *wire, struct call_reads *out) {
    out->all = wire_u8(wire);
    out->count = wire_u32(wire);
    if (out->count > CALL_POINTERS)
        wire_fail(wire);
    out->count = wire->failed ? 0 : out->count;
    for (size_t i = 0; i < out->count; i++) {
        out->pointers[i] = wire_text(wire);
        if (!out->pointers[i] || strlen(out->pointers[i]) >= CALL_POINTER_MAX)
            wire_fail(wire);
    }
}

void call_write_answer(struct buffer *out, const struct call_answer *answer) {
    frame_begin(out, FRAME_ANSWER);
    wire_put_u32(out, answer->result);
    wire_put_text(out, answer->reason);
    wire_put_text(out, answer->message);
    wire_put_u32(out, answer->retry_after_ms);
    wire_put_u32(out, answer->phase.phase);
    wire_put_text(out, answer->phase.reason);
    wire_put_text(out, answer->phase.message);
    wire_put_i64(out, answer->phase.since_ns);
    wire_put_u32(out, answer->phase.not_started);
    wire_put_u32(out, answer->kind);
    wire_put_u32(out, answer->function);
    for (size_t i = 0; i < CALL_WATCHED; i++)
        write_reads(out, &answer->reads[i]);
    call_write_logs(out, answer->logs, answer->n_logs, answer->lost_logs);
}

bool call_read_answer(struct wire *wire, struct call_answer *out) {
    *out = (struct call_answer){.phase.size = sizeof(wharf_phase)};
    if (wire_u8(wire) != FRAME_ANSWER)
        return wire_fail(wire);
    out->result = wire_u32(wire);
    out->reason = wire_text(wire);
    out->message = wire_text(wire);
    out->retry_after_ms = wire_u32(wire);
    out->phase.phase = wire_u32(wire);
    out->phase.reason = wire_text(wire);
    out->phase.message = wire_text(wire);
    out->phase.since_ns = wire_i64(wire);
    out->phase.not_started = wire_u32(wire);
    out->kind = wire_u32(wire);
    out->function = wire_u32(wire);
    for (size_t i = 0; i < CALL_WATCHED; i++)
        read_reads(wire, &out->reads[i]);
    bool logs = call_read_logs(wire, out->logs, &out->n_logs, &out->lost_logs);
    out->delta = *wire;
    return logs && !wire->failed;
}
