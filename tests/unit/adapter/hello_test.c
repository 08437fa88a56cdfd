// SPDX-License-Identifier: Apache-2.0
// Kinds on the channel: every field of the struct has a row in the table, and comes through.
#include "core/adapter/process/hello.h"
#include "core/base/text.h"
#include "tests/support/shipped.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define FRAME ((size_t)1 << 20)

static void write_hello(const struct adapter *adapter, struct buffer *out) {
    const wharf_kind **kinds = calloc(adapter->n_kinds + 1, sizeof *kinds);
    static const char *missing[] = {"one", "two", NULL};
    assert_non_null(kinds);
    for (size_t i = 0; i < adapter->n_kinds; i++)
        kinds[i] = &adapter->kinds[i]->abi;
    hello_write(out, &(struct hello){.version = "1",
                                     .missing = missing,
                                     .kinds = kinds,
                                     .module = {.abi_major = 1, .name = adapter->name, .version = adapter->version}});
    free(kinds);
}

// A kind that is written again after it was read has the same bytes.
static void kinds_of_all_adapters_come_through(void **state) {
    (void)state;
    struct shipped shipped;
    shipped_load(&shipped, false);
    assert_true(shipped.adapters->count > 5);
    for (size_t i = 0; i < shipped.adapters->count; i++) {
        const struct adapter *adapter = shipped.adapters->list[i];
        AUTO_BUFFER(frame, FRAME);
        AUTO_BUFFER(again, FRAME);
        struct hello hello;
        struct hello_memory *memory = NULL;
        write_hello(adapter, &frame);
        struct wire wire = frame_content(&frame);
        assert_true(hello_read(&wire, &hello, &memory));
        hello_write(&again, &hello);
        assert_int_equal(again.len, frame.len);
        assert_memory_equal(again.data, frame.data, frame.len);
        struct kind *kind = NULL; // and passes the checks
        assert_null(kind_check(hello.kinds[0], NULL, "wharf.dev/host", &kind));
        kind_free(kind);
        hello_memory_free(memory);
    }
    shipped_free(&shipped);
}

// Each place of the struct changes the bytes: a pointer to zeros is an empty text or list, a function, or a number.
static void every_field_of_a_kind_has_a_row(void **state) {
    (void)state;
    static const char zeros[256];
    const void *pointer = zeros;
    for (size_t at = offsetof(wharf_kind, group); at < sizeof(wharf_kind); at += sizeof pointer) {
        if (at == offsetof(wharf_kind, child_size)) // two sizes, which the host knows
            continue;
        wharf_kind kind = {WHARF_KIND_SIZES, .child_size = sizeof(wharf_child),
                           .continuity_size = sizeof(wharf_continuity)};
        AUTO_BUFFER(without, FRAME);
        AUTO_BUFFER(with, FRAME);
        hello_write_kind(&without, &kind);
        memcpy((char *)&kind + at, &pointer, sizeof pointer);
        hello_write_kind(&with, &kind);
        if (without.len == with.len && memcmp(without.data, with.data, with.len) == 0)
            fail_msg("the field at offset %zu of wharf_kind has no row", at);
    }
}

// The same in the elements of lists.
static void every_field_of_a_list_has_a_row(void **state) {
    static const struct {
        const char *name;
        size_t list, size, end;
    } lists[] = {
        {"carried", offsetof(wharf_kind, carried), sizeof(wharf_carried), offsetof(wharf_carried, pointer)},
        {"pods", offsetof(wharf_kind, pods), sizeof(wharf_pods), offsetof(wharf_pods, templates)},
        {"phases", offsetof(wharf_kind, phases), sizeof(wharf_phase_rule), offsetof(wharf_phase_rule, pointer)},
        {"gave_up_status", offsetof(wharf_kind, gave_up_status), sizeof(wharf_status_change),
         offsetof(wharf_status_change, name)},
        {"children", offsetof(wharf_kind, children), sizeof(wharf_child), offsetof(wharf_child, plural)},
        {"continuity", offsetof(wharf_kind, continuity), sizeof(wharf_continuity),
         offsetof(wharf_continuity, pointer)}};
    static const char zeros[256];
    const void *pointer = zeros, *name = "name";
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (size_t at = 0; at < lists[i].size; at += sizeof pointer) {
            char elements[512] = {0}, *list = elements;
            wharf_kind kind = {WHARF_KIND_SIZES, .child_size = sizeof(wharf_child),
                               .continuity_size = sizeof(wharf_continuity)};
            AUTO_BUFFER(without, FRAME);
            AUTO_BUFFER(with, FRAME);
            memcpy((char *)&kind + lists[i].list, &list, sizeof list);
            memcpy(elements + lists[i].end, &name, sizeof name);
            hello_write_kind(&without, &kind);
            memcpy(elements + at, &pointer, sizeof pointer);
            hello_write_kind(&with, &kind);
            if (without.len == with.len && memcmp(without.data, with.data, with.len) == 0)
                fail_msg("the field at offset %zu of %s has no row", at, lists[i].name);
        }
}

static wharf_result end(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    (void)call;
    (void)object;
    (void)out;
    return WHARF_OK;
}

// Lists whose sizes WHARF_KIND_SIZES does not set.
static void newer_lists_come_through(void **state) {
    (void)state;
    static const wharf_reference references[] = {
        {.name = "/spec/a", .group = "", .version = "v1", .resource = "secrets", .kind = "Secret"}, {.name = NULL}};
    static const wharf_continuity continuity[] = {{"/status/step", "STEP"}, {.pointer = NULL}};
    static const char *const versions[] = {"v1", NULL};
    const wharf_kind given = {WHARF_KIND_SIZES, .group = "example.com",       .versions = versions,
                              .kind = "Thing",  .plural = "things",           .managed_by = "/spec/managedBy",
                              .phase = end,     WHARF_REFERENCES(references), WHARF_CONTINUITY(continuity)};
    const wharf_kind *kinds[] = {&given, NULL};
    static const char *missing[] = {NULL};
    AUTO_BUFFER(frame, FRAME);
    hello_write(&frame, &(struct hello){.version = "1",
                                        .missing = missing,
                                        .kinds = kinds,
                                        .module = {.abi_major = 1, .name = "thing", .version = "1"}});
    struct hello hello;
    struct hello_memory *memory = NULL;
    struct wire wire = frame_content(&frame);
    assert_true(hello_read(&wire, &hello, &memory));
    struct kind *kind = NULL;
    assert_null(kind_check(hello.kinds[0], NULL, "wharf.dev/host", &kind));
    assert_string_equal(kind->abi.references[0].name, "/spec/a");
    assert_string_equal(kind->abi.continuity[0].pointer, "/status/step");
    assert_string_equal(kind->abi.continuity[0].name, "STEP");
    assert_null(kind->abi.continuity[1].pointer);
    kind_free(kind);
    hello_memory_free(memory);
}

static void a_frame_that_is_cut_or_changed_is_garbage_or_harmless(void **state) {
    (void)state;
    struct shipped shipped;
    shipped_load(&shipped, false);
    AUTO_BUFFER(frame, FRAME);
    write_hello(shipped.adapters->list[0], &frame);
    struct hello hello;
    struct hello_memory *memory = NULL;
    for (size_t len = 4; len < frame.len; len++) {
        struct wire wire = wire_of(frame.data + 4, len - 4);
        assert_false(hello_read(&wire, &hello, &memory));
        assert_null(memory);
    }
    struct random random = {11};
    for (int i = 0; i < 20000; i++) {
        char *place = frame.data + 4 + random_below(&random, frame.len - 4), kept = *place;
        *place = (char)random_below(&random, 256);
        struct wire wire = frame_content(&frame);
        if (hello_read(&wire, &hello, &memory))
            hello_memory_free(memory);
        *place = kept;
    }
    shipped_free(&shipped);
}

static void settings_keep_their_lines(void **state) {
    (void)state;
    AUTO_JSON settings = NULL;
    assert_null(json_parse("{\"a\":[1,{\"b\":2}]}", 17, &settings));
    json_set_line(json_get(settings, "a"), 12);
    json_set_line(json_get(json_at(json_get(settings, "a"), 1), "b"), 14);
    AUTO_BUFFER(frame, FRAME);
    start_write(&frame, &(struct start_frame){.version = "1", .name = "x", .settings = settings, .limits = {1, 2, 3}});
    struct start_frame start;
    struct wire wire = frame_content(&frame);
    assert_true(start_read(&wire, &start));
    assert_int_equal(json_line(json_get(start.settings, "a")), 12);
    assert_int_equal(json_line(json_get(json_at(json_get(start.settings, "a"), 1), "b")), 14);
    assert_int_equal(start.limits.answer, 3);
    assert_null(start.managed_by);
    json_free(start.settings);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_of_all_adapters_come_through),
        cmocka_unit_test(every_field_of_a_kind_has_a_row),
        cmocka_unit_test(every_field_of_a_list_has_a_row),
        cmocka_unit_test(newer_lists_come_through),
        cmocka_unit_test(a_frame_that_is_cut_or_changed_is_garbage_or_harmless),
        cmocka_unit_test(settings_keep_their_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
