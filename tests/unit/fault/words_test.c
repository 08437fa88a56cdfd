// SPDX-License-Identifier: Apache-2.0
// Last words without memory: an error, or all of them.
#include "core/base/text.h"
#include "core/host/words/words_text.h"
#include "tests/unit/fault/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define UID "0a1b2c3d-0000-4000-8000-000000000001"
#define MAP "{\"metadata\":{\"uid\":\"m\",\"resourceVersion\":\"7\"},\"data\":{\"" UID ".1\":\"{\\\"attempt\\\":1}\"}}"

static struct json *map_of(void) {
    struct json *map = NULL;
    fault_pause();
    assert_null(json_parse(MAP, strlen(MAP), &map));
    fault_resume();
    return map;
}

static struct error *write_entry(struct buffer *key, struct buffer *value) {
    static struct pod_container container = {
        .name = "main", .terminated = true, .exit_code = 3, .reason = "Error", .message = "\x1b", .ended = ""};
    static struct pod pod = {
        .name = "p", .phase = "Failed", .reason = "", .message = "", .containers = &container, .n_containers = 1};
    __attribute__((cleanup(words_clear))) struct words words = {
        .resource = "jobs.batch", .name = "a", .uid = UID, .origin = "o", .worker = "w1", .attempt = 2};
    AUTO_BUFFER(text, WORDS_SHORT);
    words_choose(&words, &(struct pods){.list = &pod, .count = 1});
    bool read = words_log_put(&words.list[0], "one\ntwo\n", 8) && words_log_end(&words.list[0]);
    return read && words_write(&words, key, value) && words_shorten(&words, &text) ? NULL : error_no_memory();
}

static struct error *keep(void **out) {
    AUTO_BUFFER(key, 128);
    AUTO_BUFFER(value, WORDS_ENTRY_BYTES);
    AUTO_BUFFER(body, WORDS_MAP_BYTES);
    AUTO_JSON map = map_of();
    AUTO_JSON found = NULL;
    enum words_write write;
    *out = NULL;
    TRY(write_entry(&key, &value));
    TRY(words_merge(map, &(struct words_change){key.data, value.data}, 1, true, &body, &write));
    assert_int_equal(write, WORDS_PATCH);
    assert_non_null(strstr(body.data, "\"" UID ".2\":\"{"));
    TRY(words_find(map, UID, &found));
    return NULL;
}

static void what_cannot_be_kept_is_an_error(void **state) {
    (void)state;
    fault_try(&(struct fault_case){.name = "words", .run = keep});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_cannot_be_kept_is_an_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
