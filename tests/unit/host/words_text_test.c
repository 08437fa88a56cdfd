// SPDX-License-Identifier: Apache-2.0
// What is kept of failed containers: the choice, texts that a worker wrote, and the changes of a ConfigMap.
#include "core/host/words/words_text.h"

#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define UID "0a1b2c3d-0000-4000-8000-00000000000"

static struct words base(void) {
    return (struct words){
        .resource = "jobs.batch", .name = "a", .uid = UID "1", .origin = "o", .worker = "w1", .attempt = 1};
}

// Containers ---------------------------------------------------------------------------------------------------------

static struct pod_container failed(const char *ended, int64_t code) {
    return (struct pod_container){
        .name = "main", .terminated = true, .exit_code = code, .reason = "Error", .message = "", .ended = ended};
}

static void assert_short(struct pod *pod, const char *expected) {
    struct words words = base();
    AUTO_BUFFER(text, WORDS_SHORT);
    words_choose(&words, &(struct pods){.list = pod, .count = 1});
    assert_true(words_shorten(&words, &text));
    assert_string_equal(text.data, expected);
    words_clear(&words);
}

static void the_first_and_the_last_failed_containers_are_chosen(void **state) {
    (void)state;
    struct pod_container containers[6];
    struct pod list[7] = {{.name = NULL}};
    for (size_t i = 0; i < 6; i++) {
        static const char *const ends[] = {"2026-01-01T00:00:05Z", "2026-01-01T00:00:01Z", "2026-01-01T00:00:03Z",
                                           "2026-01-01T00:00:02Z", "2026-01-01T00:00:04Z", "2026-01-01T00:00:00Z"};
        static const char *const names[] = {"a5", "a1", "a3", "a2", "a4", "good"};
        containers[i] = failed(ends[i], i == 5 ? 0 : 3);
        list[i] = (struct pod){.name = names[i],
                               .phase = "Running",
                               .reason = "",
                               .message = "",
                               .containers = &containers[i],
                               .n_containers = 1};
    }
    struct words words = base();
    words_choose(&words, &(struct pods){.list = list, .count = 6});
    assert_int_equal(words.failed, 5);
    assert_int_equal(words.count, 3);
    assert_string_equal(words.list[0].pod, "a1");
    assert_string_equal(words.list[1].pod, "a4");
    assert_string_equal(words.list[2].pod, "a5");
    words_clear(&words);
    // A pod that failed as a whole.
    list[6] = (struct pod){.name = "gone", .phase = "Failed", .reason = "Evicted", .message = "low on memory"};
    assert_short(&list[6], "pod gone: Evicted: low on memory");
    // Its containers, which were killed with it, and one that had failed before.
    containers[0] = failed("2026-01-01T00:00:05Z", 137);
    containers[1] = failed("2026-01-01T00:00:06Z", 3);
    list[6].containers = containers;
    list[6].n_containers = 1;
    assert_short(&list[6], "pod gone, container main: Evicted, exit code 137: low on memory");
    list[6].containers = containers + 1;
    assert_short(&list[6], "pod gone, container main: Error, exit code 3");
    list[6] = (struct pod){.name = "gone",
                           .phase = "Failed",
                           .reason = "",
                           .message = "",
                           .disruption = "DeletionByTaintManager",
                           .disrupted = "the node is gone"};
    assert_short(&list[6], "pod gone: DeletionByTaintManager: the node is gone");
}

// Logs ---------------------------------------------------------------------------------------------------------------

static struct words_container log_of(const char *bytes, size_t len, size_t piece) {
    struct words_container container = {.pod = "p", .name = "main", .reason = "", .message = "", .ended = ""};
    buffer_init(&container.log, 4 * WORDS_LOG);
    for (size_t at = 0; at < len; at += piece)
        assert_true(words_log_put(&container, bytes + at, len - at < piece ? len - at : piece));
    assert_true(words_log_end(&container));
    return container;
}

static void expect_log(const char *bytes, size_t len, const char *shown, bool cut) {
    for (size_t piece = 1; piece <= len; piece += 1 + piece / 2) {
        struct words_container container = log_of(bytes, len, piece);
        assert_string_equal(container.log.data ? container.log.data : "", shown);
        assert_int_equal(container.cut, cut);
        buffer_free(&container.log);
    }
}

static void what_a_container_wrote_is_safe_for_a_terminal(void **state) {
    (void)state;
    expect_log("a\nb", 3, "a\nb\n", false);
    expect_log("a\r\n\nb\tc\n", 8, "a\n\nb c\n", false);
    expect_log("\x1b[31mred\n", 9, "\\u001b[31mred\n", false);
    expect_log("\xe2\x80\xae"
               "evil\n",
               8, "\\u202eevil\n", false);
    expect_log("x\0y\xff\xc3\n", 6, "x\xef\xbf\xbdy\xef\xbf\xbd\xef\xbf\xbd\n", false);
}

static void the_end_of_a_long_log_is_kept_from_the_begin_of_a_line(void **state) {
    (void)state;
    AUTO_BUFFER(log, (size_t)1 << 20);
    for (int i = 0; i < 5000; i++)
        buffer_printf(&log, "line %d\n", i);
    for (size_t piece = 1; piece < log.len; piece *= 17) {
        struct words_container container = log_of(log.data, log.len, piece);
        assert_true(container.cut && container.log.len <= WORDS_LOG && container.log.len > WORDS_LOG - 32);
        assert_memory_equal(container.log.data, "line ", 5);
        assert_true(text_has_suffix(container.log.data, "line 4999\n"));
        buffer_free(&container.log);
    }
}

static void one_very_long_line_is_cut_between_characters_also_when_escaped(void **state) {
    (void)state;
    size_t len = 100000;
    AUTO_TEXT line = malloc(3 * len + 1);
    for (size_t i = 0; i < 3 * len; i++)
        line[i] = "\xe2\x82\xac"[i % 3];
    struct words_container container = log_of(line, 3 * len, 4096);
    assert_true(container.cut && container.log.len <= WORDS_LOG && container.log.len > WORDS_LOG - 8);
    assert_int_equal(text_utf8_valid(container.log.data, container.log.len), container.log.len);
    assert_null(strstr(container.log.data, "\xef\xbf\xbd"));
    buffer_free(&container.log);
    memset(line, 0x1b, 3 * len);
    container = log_of(line, 3 * len, 4096);
    assert_true(container.cut && container.log.len <= WORDS_LOG);
    assert_true(text_has_suffix(container.log.data, "\\u001b\n"));
    buffer_free(&container.log);
}

// Entries ------------------------------------------------------------------------------------------------------------

static void an_entry_is_written_and_shown(void **state) {
    (void)state;
    struct words words = base();
    words.count = 1;
    words.failed = 3;
    words.list[0] = log_of("one\ntwo \x1b\n\n", 11, 11);
    words.list[0].reason = "Error";
    words.list[0].exit_code = 3;
    words.list[0].ended = "2026-01-01T00:00:05Z";
    AUTO_BUFFER(key, 128);
    AUTO_BUFFER(value, WORDS_ENTRY_BYTES);
    AUTO_BUFFER(text, WORDS_SHORT);
    assert_true(words_write(&words, &key, &value) && words_shorten(&words, &text));
    assert_string_equal(key.data, UID "1.1");
    assert_string_equal(text.data, "pod p, container main: Error, exit code 3: two \\u001b; 2 more failed");
    words.list[0].message = "\x1b"
                            "first\nsecond\n";
    buffer_reset(&text);
    assert_true(words_shorten(&words, &text));
    assert_string_equal(text.data, "pod p, container main: Error, exit code 3: second; 2 more failed");
    words_clear(&words);
}

// Texts of the greatest length, each character of which needs an escape.
static void the_largest_entry_fits(void **state) {
    (void)state;
    AUTO_TEXT long_text = malloc(WORDS_LOG + 1);
    memset(long_text, '"', WORDS_LOG);
    long_text[WORDS_LOG] = '\0';
    struct words words = base();
    words.count = words.failed = WORDS_CONTAINERS;
    for (size_t i = 0; i < WORDS_CONTAINERS; i++) {
        words.list[i] = log_of(long_text, WORDS_LOG, WORDS_LOG);
        words.list[i].pod = words.list[i].name = words.list[i].reason = words.list[i].message = words.list[i].ended =
            long_text;
    }
    AUTO_BUFFER(key, 128);
    AUTO_BUFFER(value, WORDS_ENTRY_BYTES);
    AUTO_BUFFER(text, WORDS_SHORT * 8);
    assert_true(words_write(&words, &key, &value) && words_shorten(&words, &text));
    assert_true(value.len < WORDS_ENTRY_BYTES);
    words_clear(&words);
}

// Changes ------------------------------------------------------------------------------------------------------------

static char *entry(int minute, size_t size) {
    AUTO_BUFFER(value, WORDS_MAP_BYTES * 2);
    buffer_printf(&value, "{\"at\":\"2026-01-01T00:%02d:00Z\",\"x\":\"", minute);
    for (size_t i = value.len; i + 2 < size; i++)
        buffer_char(&value, 'x');
    buffer_text(&value, "\"}");
    return buffer_take(&value, NULL);
}

static struct json *map_of(void) {
    struct json *map = NULL;
    static const char text[] = "{\"metadata\":{\"uid\":\"m\",\"resourceVersion\":\"7\"},\"data\":{}}";
    assert_null(json_parse(text, strlen(text), &map));
    return map;
}

static void put(struct json *map, const char *key, char *value) {
    assert_true(json_set(json_get(map, "data"), key, json_new_string(value)));
    free(value);
}

// The patch; NULL: none.
static struct json *merge(const struct json *map, const struct words_change *changes, size_t count,
                          enum words_write wanted) {
    AUTO_BUFFER(body, 2 * WORDS_MAP_BYTES);
    enum words_write write;
    struct json *patch = NULL;
    assert_null(words_merge(map, changes, count, true, &body, &write));
    assert_int_equal(write, wanted);
    if (write != WORDS_NOTHING)
        assert_null(json_parse(body.data, body.len, &patch));
    return patch;
}

static bool removes(const struct json *patch, const char *key) {
    return json_is(json_path(patch, "data", key, NULL), JSON_NULL);
}

static void entries_are_added_and_forgotten_with_preconditions(void **state) {
    (void)state;
    AUTO_JSON map = map_of();
    put(map, UID "1.1", entry(1, 100));
    put(map, UID "1.2", entry(2, 100));
    put(map, UID "2.1", entry(3, 100));
    AUTO_TEXT new_entry = entry(4, 100);
    AUTO_TEXT same = entry(3, 100);
    AUTO_JSON none = merge(map, &(struct words_change){UID "2.1", same}, 1, WORDS_NOTHING);
    assert_null(none);
    AUTO_JSON patch =
        merge(map, (const struct words_change[]){{UID "3.1", new_entry}, {UID "1", NULL}}, 2, WORDS_PATCH);
    assert_string_equal(json_string_or(json_path(patch, "metadata", "resourceVersion", NULL), ""), "7");
    assert_string_equal(json_string_or(json_path(patch, "metadata", "uid", NULL), ""), "m");
    assert_string_equal(json_string_or(json_path(patch, "data", UID "3.1", NULL), ""), new_entry);
    assert_true(removes(patch, UID "1.1") && removes(patch, UID "1.2"));
    assert_int_equal(json_size(json_get(patch, "data")), 3);
    AUTO_JSON rest = merge(map, (const struct words_change[]){{UID "1", NULL}, {UID "2", NULL}}, 2, WORDS_DELETE);
    assert_string_equal(json_string_or(json_path(rest, "preconditions", "resourceVersion", NULL), ""), "7");
    assert_null(json_get(rest, "data"));
    // Without the resourceVersion, other writers cannot make it fail.
    AUTO_BUFFER(body, WORDS_MAP_BYTES);
    enum words_write write;
    assert_null(words_merge(map, &(struct words_change){UID "3.1", new_entry}, 1, false, &body, &write));
    assert_int_equal(write, WORDS_PATCH);
    assert_null(strstr(body.data, "resourceVersion"));
    // A uid that begins with another one, and nothing to forget.
    AUTO_JSON nothing = merge(map, &(struct words_change){"0a1b2c3d", NULL}, 1, WORDS_NOTHING);
    assert_null(nothing);
}

static void the_oldest_entries_go_when_there_is_no_room(void **state) {
    (void)state;
    AUTO_JSON map = map_of();
    for (int i = 0; i < 8; i++) {
        AUTO_TEXT key = text_format("0a1b2c3d-0000-4000-8000-0000000000%02d.1", i);
        put(map, key, entry((i + 3) % 8, WORDS_MAP_BYTES / 8 - 64)); // number 5 is the oldest
    }
    AUTO_TEXT new_entry = entry(30, WORDS_MAP_BYTES / 8);
    AUTO_JSON patch = merge(map, &(struct words_change){UID "9.1", new_entry}, 1, WORDS_PATCH);
    assert_true(removes(patch, "0a1b2c3d-0000-4000-8000-000000000005.1"));
    assert_int_equal(json_size(json_get(patch, "data")), 2);
    // What another writer left goes first.
    put(map, "theirs", strdup("x"));
    AUTO_TEXT smaller = entry(30, 448);
    AUTO_JSON other = merge(map, &(struct words_change){UID "9.1", smaller}, 1, WORDS_PATCH);
    assert_true(removes(other, "theirs"));
}

static void a_workload_has_its_last_attempts_only(void **state) {
    (void)state;
    AUTO_JSON map = map_of();
    put(map, UID "1.9", entry(9, 100));
    put(map, UID "1.10", entry(9, 100));
    put(map, UID "1.8", entry(9, 100));
    put(map, UID "2.1", entry(1, 100));
    AUTO_TEXT new_entry = entry(9, 100);
    AUTO_JSON patch = merge(map, &(struct words_change){UID "1.11", new_entry}, 1, WORDS_PATCH);
    assert_true(removes(patch, UID "1.8"));
    assert_int_equal(json_size(json_get(patch, "data")), 2);
}

static void the_entries_of_a_workload_are_found_the_newest_first(void **state) {
    (void)state;
    AUTO_JSON map = map_of();
    put(map, UID "1.9", strdup("{\"attempt\":9}"));
    put(map, UID "1.10", strdup("{\"attempt\":10}"));
    put(map, UID "1.8", strdup("no JSON"));
    put(map, UID "2.7", strdup("{\"attempt\":7}"));
    AUTO_JSON found = NULL;
    AUTO_JSON none = NULL;
    assert_null(words_find(map, UID "1", &found));
    assert_int_equal(json_size(found), 2);
    assert_int_equal(json_int64(json_get(json_at(found, 0), "attempt"), 0), 10);
    assert_int_equal(json_int64(json_get(json_at(found, 1), "attempt"), 0), 9);
    assert_null(words_find(NULL, UID "1", &none));
    assert_int_equal(json_size(none), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_and_the_last_failed_containers_are_chosen),
        cmocka_unit_test(what_a_container_wrote_is_safe_for_a_terminal),
        cmocka_unit_test(the_end_of_a_long_log_is_kept_from_the_begin_of_a_line),
        cmocka_unit_test(one_very_long_line_is_cut_between_characters_also_when_escaped),
        cmocka_unit_test(an_entry_is_written_and_shown),
        cmocka_unit_test(the_largest_entry_fits),
        cmocka_unit_test(entries_are_added_and_forgotten_with_preconditions),
        cmocka_unit_test(the_oldest_entries_go_when_there_is_no_room),
        cmocka_unit_test(a_workload_has_its_last_attempts_only),
        cmocka_unit_test(the_entries_of_a_workload_are_found_the_newest_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
