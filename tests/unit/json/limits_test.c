// SPDX-License-Identifier: Apache-2.0
// What reading a document may cost.
#include "core/base/text.h"
#include "core/json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// "[" then `part` again and again, up to `len` bytes, not closed.
static char *endless(const char *part, size_t len) {
    char *text = malloc(len);
    assert_non_null(text);
    text[0] = '[';
    for (size_t at = 1; at < len; at++)
        text[at] = part[(at - 1) % strlen(part)];
    return text;
}

static void assert_refused(const char *text, size_t len, const struct json_limits *limits, enum error_code code,
                           const char *part) {
    struct json *value = (struct json *)1;
    __attribute__((cleanup(error_cleanup))) struct error *error = json_parse_limited(text, len, limits, &value);
    assert_non_null(error);
    assert_null(value);
    assert_int_equal(error->code, code);
    if (!strstr(error->message, part))
        fail_msg("\"%s\" does not say \"%s\"", error->message, part);
}

static void values_are_counted(void **state) {
    (void)state;
    const char *text = "{\"a\":[1,{\"b\":null}],\"c\":\"d\"}"; // six
    AUTO_JSON value = NULL;
    assert_null(json_parse_limited(text, strlen(text), &(struct json_limits){.max_nodes = 6}, &value));
    assert_refused(text, strlen(text), &(struct json_limits){.max_nodes = 5}, ERROR_TOO_LARGE,
                   "line 1, column 28: more than 5 values in one document");
    assert_refused("7", 1, &(struct json_limits){.max_bytes = 8}, ERROR_TOO_LARGE, "more than 8 bytes of memory");
}

static void a_duplicate_counts(void **state) {
    (void)state;
    const char *text = "{\"a\":1,\"a\":1,\"a\":1}";
    assert_refused(text, strlen(text), &(struct json_limits){.max_nodes = 3}, ERROR_TOO_LARGE, "more than 3 values");
}

static void memory_is_counted_as_documented(void **state) {
    (void)state;
    const char *text = "[[],[],[]]";
    AUTO_JSON value = NULL;
    assert_null(json_parse_limited(text, strlen(text), &(struct json_limits){.max_bytes = (size_t)4 * 64}, &value));
    assert_refused(text, strlen(text), &(struct json_limits){.max_bytes = (size_t)4 * 64 - 1}, ERROR_TOO_LARGE,
                   "the document needs more than 255 bytes of memory");
    const char *long_one = "{\"key\":\"12345678\"}"; // 64 + 64 + 4 + 9, rounded up
    AUTO_JSON object = NULL;
    assert_null(json_parse_limited(long_one, strlen(long_one), &(struct json_limits){.max_bytes = 144}, &object));
    assert_refused(long_one, strlen(long_one), &(struct json_limits){.max_bytes = 143}, ERROR_TOO_LARGE, "143");
}

static size_t taken, most;

static void *take(size_t size) {
    size_t *memory = malloc(size + 16);
    if (!memory)
        return NULL;
    memory[0] = size;
    taken += size;
    most = taken > most ? taken : most;
    return memory + 2;
}

static void give_back(void *memory) {
    if (!memory)
        return;
    size_t *start = (size_t *)memory - 2;
    taken -= start[0];
    free(start);
}

// 70 million of these are 204 KB of gzip.
static void memory_stays_within_the_budget(void **state) {
    (void)state;
    static const char *const parts[] = {"[],", "{\"a\":{}},", "\"\",", "1,", "{\"\":[]},"};
    const struct json_limits limits = {.max_bytes = (size_t)8 << 20};
    size_t len = (size_t)4 << 20;
    json_use_memory(take, give_back);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        AUTO_TEXT text = endless(parts[i], len);
        most = taken = 0;
        assert_refused(text, len, &limits, ERROR_TOO_LARGE, "the document needs more than");
        assert_in_range(most, limits.max_bytes / 2, limits.max_bytes + ((size_t)2 << 20)); // and the last two blocks
        assert_int_equal(taken, 0);
    }
    json_use_memory(NULL, NULL);
}

static bool fits(const char *text, size_t max_bytes) {
    AUTO_JSON value = NULL;
    struct error *error =
        json_parse_limited(text, strlen(text), &(struct json_limits){.max_bytes = max_bytes + 1}, &value);
    error_free(error);
    return !error;
}

// Some dozens of trees are kept, and those of all objects that wait for the engine.
static void a_tree_takes_little_more_than_its_values(void **state) {
    (void)state;
    static const char job[] =
        "{\"apiVersion\":\"batch/"
        "v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"render\",\"namespace\":\"research\",\"uid\":"
        "\"0c3d5b1e-6a43-4f0e-9a53-0d7c1f0b6a01\",\"resourceVersion\":\"48213\",\"generation\":1,\"creationTimestamp\":"
        "\"2026-03-01T09:00:00Z\",\"labels\":{\"team\":\"research\"}},\"spec\":{\"parallelism\":2,\"completions\":3,"
        "\"backoffLimit\":6,\"template\":{\"metadata\":{\"labels\":{\"app\":\"render\"}},\"spec\":{\"containers\":[{"
        "\"name\":"
        "\"main\",\"image\":\"registry.example/batch/"
        "step:1.4\",\"args\":[\"run\"],\"resources\":{\"requests\":{\"cpu\":"
        "\"500m\",\"memory\":\"256Mi\"}},\"imagePullPolicy\":\"IfNotPresent\"}],\"restartPolicy\":\"Never\"}},"
        "\"suspend\":false},\"status\":{\"startTime\":\"2026-03-01T09:00:00Z\",\"active\":1,\"ready\":1,"
        "\"terminating\":0}}";
    size_t values = 0;
    while (!fits(job, values))
        values += 8;
    assert_in_range(values, 3 * strlen(job), 5 * strlen(job));
    struct json *value = NULL;
    json_use_memory(take, give_back);
    taken = 0;
    assert_null(json_parse(job, strlen(job), &value));
    assert_in_range(taken, values, values + values / 5);
    json_free(value);
    assert_int_equal(taken, 0);
    json_use_memory(NULL, NULL);
}

static void there_is_a_limit_when_none_is_given(void **state) {
    (void)state;
    size_t len = JSON_MAX_NODES * 3 + 16;
    AUTO_TEXT text = endless("[],", len);
    assert_refused(text, len, NULL, ERROR_TOO_LARGE, "more than 4194304 values");
}

static void a_stop_ends_reading(void **state) {
    (void)state;
    size_t len = 100000;
    AUTO_TEXT text = endless("1,", len);
    atomic_bool stop;
    atomic_init(&stop, true);
    const struct json_limits limits = {.stop = &stop};
    assert_refused(text, len, &limits, ERROR_STOPPED, "reading was stopped");
    atomic_store(&stop, false);
    assert_refused(text, len, &limits, ERROR_INVALID, "found the end of the text");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_counted),
        cmocka_unit_test(a_duplicate_counts),
        cmocka_unit_test(memory_is_counted_as_documented),
        cmocka_unit_test(memory_stays_within_the_budget),
        cmocka_unit_test(a_tree_takes_little_more_than_its_values),
        cmocka_unit_test(there_is_a_limit_when_none_is_given),
        cmocka_unit_test(a_stop_ends_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
