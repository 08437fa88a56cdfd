// SPDX-License-Identifier: Apache-2.0
// The channel to the process of an adapter, from both sides: what the host reads (HELLO, answers) and what the process
// reads (START, calls). The input: a byte for the frame, one for the number of changes, three for each (a place and a
// byte), one for a kind, then up to three documents. The frame is made of the documents, and its bytes are changed. A
// frame without changes comes through; any other is refused or harmless. With the sign bit of the first byte, the rest
// is the frame itself.
#include "tests/fuzz/fuzz.h"

#include "core/adapter/process/call.h"
#include "core/adapter/process/hello.h"
#include "core/base/text.h"
#include "tests/simulation/kinds.h"

#include <string.h>

#define FRAME_BYTES ((size_t)8 << 20)
#define CHANGES_MAX 8
#define HEAD 4 // the length of a frame

enum side { SIDE_HELLO, SIDE_ANSWER, SIDE_START, SIDE_CALL, SIDES };

struct input {
    enum side side;
    const uint8_t *changes;
    size_t n_changes;
    unsigned kind;
    struct json *documents[CALL_DOCUMENTS];
};

static void change(const struct input *input, struct buffer *frame) {
    for (size_t i = 0; i < input->n_changes; i++) {
        const uint8_t *at = input->changes + 3 * i;
        size_t place = HEAD + ((size_t)at[0] << 8 | at[1]) % (frame->len - HEAD);
        frame->data[place] = (char)at[2];
    }
}

static void assert_same(const struct json *a, const struct json *b, const char *what) {
    AUTO_TEXT one = a ? json_text(a, NULL) : strdup("");
    AUTO_TEXT other = b ? json_text(b, NULL) : strdup("");
    if (one && other && strcmp(one, other) != 0)
        fuzz_fail("%s: %s became %s", what, one, other);
}

// -- what the host reads --

static void read_hello(const struct buffer *frame, bool whole) {
    struct hello hello;
    struct hello_memory *memory = NULL;
    struct wire wire = frame_content(frame);
    if (!hello_read(&wire, &hello, &memory)) {
        if (whole)
            fuzz_fail("a HELLO does not come through");
        return;
    }
    AUTO_BUFFER(again, FRAME_BYTES);
    hello_write(&again, &hello);
    if (whole && (again.len != frame->len || memcmp(again.data + HEAD, frame->data + HEAD, again.len - HEAD) != 0))
        fuzz_fail("a HELLO changes on its way");
    for (size_t i = 0; !hello.refused && hello.kinds[i]; i++) { // the host checks each
        struct kind *kind = NULL;
        error_free(kind_check(hello.kinds[i], NULL, "wharf.dev/host", &kind));
        kind_free(kind);
    }
    hello_memory_free(memory);
}

static void try_hello(const struct input *input, struct buffer *frame) {
    size_t count = 0;
    const struct sim_kind *kinds = sim_kinds(&count);
    const wharf_kind *list[] = {&kinds[input->kind % count].kind->abi, NULL};
    const char *missing[] = {"no sandbox", NULL};
    hello_write(frame, &(struct hello){.version = "1",
                                       .missing = missing,
                                       .kinds = list,
                                       .refused = input->kind > 250,
                                       .message = "no",
                                       .module = {.abi_major = 1, .name = "x", .version = "2"}});
}

static void read_answer(const struct input *input, const struct buffer *frame, bool whole) {
    struct call_answer answer;
    struct wire wire = frame_content(frame);
    if (!call_read_answer(&wire, &answer) || !input->documents[0])
        return;
    AUTO_JSON changed = json_copy(input->documents[0]);
    bool applied = delta_apply(&answer.delta, &changed, true, NULL) && wire_is_done(&answer.delta);
    if (applied && whole)
        assert_same(changed, input->documents[1], "an answer");
    AUTO_TEXT text = changed ? json_text(changed, NULL) : NULL;
    struct json *parsed = NULL; // whatever it is, it is a document
    struct error *error = text ? json_parse(text, strlen(text), &parsed) : NULL;
    if (error && error->code == ERROR_INVALID)
        fuzz_fail("an answer makes no document: %s", error_text(error));
    error_free(error);
    json_free(parsed);
}

static void try_answer(const struct input *input, struct buffer *frame) {
    call_write_answer(frame, &(struct call_answer){.result = WHARF_OK,
                                                   .reason = "Reason",
                                                   .logs = {{WHARF_LOG_INFO, "line"}},
                                                   .n_logs = 1,
                                                   .reads = {{.count = 1, .pointers = {"/spec/x"}}}});
    if (input->documents[0] && input->documents[1])
        (void)delta_write(frame, input->documents[0], input->documents[1]);
}

// -- what the process reads --

static void read_start(const struct input *input, const struct buffer *frame, bool whole) {
    struct start_frame start;
    struct wire wire = frame_content(frame);
    bool fine = start_read(&wire, &start);
    if (whole && input->documents[0])
        assert_same(start.settings, input->documents[0], "the settings");
    if (whole && !fine && input->documents[0])
        fuzz_fail("a START does not come through");
    json_free(start.settings);
}

static void try_start(const struct input *input, struct buffer *frame) {
    AUTO_JSON none = json_new_object();
    start_write(frame, &(struct start_frame){
                           .version = "1", .name = "x", .settings = input->documents[0] ? input->documents[0] : none});
}

static void read_call(const struct input *input, const struct buffer *frame, bool whole) {
    struct json *places[CALL_PLACES] = {NULL};
    struct call_received received;
    struct wire wire = frame_content(frame);
    bool fine = call_read(&wire, places, &received);
    if (whole && !fine)
        fuzz_fail("a call does not come through");
    for (size_t i = 0; fine && whole && i < 2; i++)
        assert_same(received.documents[i], input->documents[i], "an argument");
    if (fine && whole)
        assert_same(received.changed, input->documents[2], "the value to change");
    call_received_free(&received);
    for (size_t i = 0; i < CALL_PLACES; i++)
        json_free(places[i]);
}

static void try_call(const struct input *input, struct buffer *frame) {
    static struct places places;
    const wharf_call call = {.size = sizeof call, .now_ns = 1, .cluster = "w1", .attempt = 1, .version = "v1"};
    places = (struct places){.clock = 0};
    const struct call_question question = {.kind = input->kind,
                                           .function = FUNCTION_UPDATE,
                                           .call = &call,
                                           .documents = {input->documents[0], input->documents[1]},
                                           .changed = input->documents[2],
                                           .base = input->documents[input->kind % 2]};
    call_write(frame, &question, &places);
}

static void run(const struct input *input, struct buffer *frame, bool whole) {
    switch (input->side) {
    case SIDE_HELLO:
        read_hello(frame, whole);
        break;
    case SIDE_ANSWER:
        read_answer(input, frame,
                    whole && json_is_container(input->documents[0]) && input->documents[1] &&
                        json_type(input->documents[0]) == json_type(input->documents[1]));
        break;
    case SIDE_START:
        read_start(input, frame, whole);
        break;
    case SIDE_CALL:
    case SIDES:
        read_call(input, frame, whole);
        break;
    }
}

static void make(const struct input *input, struct buffer *frame) {
    static void (*const makers[SIDES])(const struct input *input, struct buffer *frame) = {try_hello, try_answer,
                                                                                           try_start, try_call};
    makers[input->side](input, frame);
}

static void run_raw(struct input *input, const uint8_t *data, size_t size) {
    AUTO_BUFFER(frame, FRAME_BYTES);
    AUTO_JSON document = NULL;
    static const char text[] = "{\"metadata\":{\"name\":\"a\"},\"status\":{\"n\":[1,2,{\"x\":null}]}}";
    error_free(json_parse(text, sizeof text - 1, &document));
    input->documents[0] = document;
    frame_begin(&frame, (enum frame_type)(1 + input->side));
    buffer_append(&frame, data, size);
    run(input, &frame, false);
}

void fuzz_one(const uint8_t *data, size_t size) {
    if (size < 3)
        return;
    struct input input = {.side = (enum side)((data[0] & 0x7f) % SIDES), .n_changes = data[1] % CHANGES_MAX};
    if ((data[0] & 0x80) != 0) {
        run_raw(&input, data + 1, size - 1);
        return;
    }
    input.changes = data + 2;
    size_t used = 2 + 3 * input.n_changes;
    if (size < used + 1)
        return;
    input.kind = data[used];
    data += used + 1;
    size -= used + 1;
    for (size_t i = 0; i < CALL_DOCUMENTS && size > 0; i++) {
        struct fuzz_part part = fuzz_next_part(&data, &size);
        error_free(json_parse(part.text, part.len, &input.documents[i]));
    }
    AUTO_BUFFER(frame, FRAME_BYTES);
    make(&input, &frame);
    if (!frame.failed) {
        change(&input, &frame);
        run(&input, &frame, input.n_changes == 0);
    }
    for (size_t i = 0; i < CALL_DOCUMENTS; i++)
        json_free(input.documents[i]);
}
