// SPDX-License-Identifier: Apache-2.0
#include "core/base/shared_text.h"

#include "core/base/buffer.h"
#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEXTS 4
#define LONGEST (1 << 16)

static void append_random(struct buffer *out, struct random *random, size_t len) {
    while (len-- > 0)
        buffer_printf(out, "%c", (char)('a' + random_below(random, 26)));
}

// `before` and `after` different characters around what all texts of the seed have in common.
static char *text_around(uint64_t seed, uint64_t own, size_t before, size_t common, size_t after) {
    struct buffer out;
    struct random different = {own}, same = {seed};
    buffer_init(&out, LONGEST);
    append_random(&out, &different, before);
    append_random(&out, &same, common);
    append_random(&out, &different, after);
    return buffer_take(&out, NULL);
}

static void set(struct shared_text *text, char *content) {
    assert_non_null(content);
    shared_text_set(text, content, strlen(content));
}

static void check(const struct shared_text *text, const char *expected) {
    AUTO_TEXT joined = NULL;
    assert_int_equal(text->len, strlen(expected));
    assert_string_equal(shared_text_read(text, &joined), expected);
}

static void a_common_run_is_stored_once(void **state) {
    (void)state;
    static const struct {
        const char *what;
        size_t before[2], common, after[2];
        bool shares;
    } cases[] = {
        {"in the middle", {300, 420}, 3000, {200, 100}, true},
        {"at the start", {0, 0}, 3000, {200, 100}, true},
        {"at the end", {300, 420}, 3000, {0, 0}, true},
        {"all but the start of one", {0, 9}, 3000, {0, 0}, true},
        {"in the first half", {10, 90}, 2000, {2000, 1900}, true},
        {"just long enough", {1400, 1024}, SHARED_TEXT_LEAST, {0, 0}, true},
        {"too short", {1400, 1025}, SHARED_TEXT_LEAST - 1, {0, 0}, false},
        {"nothing", {3000, 3000}, 0, {0, 0}, false},
        {"one of the texts is too short", {0, 100}, SHARED_TEXT_SHORTEST - 1, {0, 100}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct shared_text texts[2];
        char *wholes[2];
        for (size_t k = 0; k < 2; k++) {
            wholes[k] = text_around(i + 1, 100 + k, cases[i].before[k], cases[i].common, cases[i].after[k]);
            set(&texts[k], strdup(wholes[k]));
        }
        shared_text_share(&texts[0], &texts[1]);
        if (texts[0].block != texts[1].block || !texts[0].block == cases[i].shares)
            fail_msg("%s: it %s shared", cases[i].what, texts[0].block ? "is" : "is not");
        for (size_t k = 0; k < 2; k++) {
            check(&texts[k], wholes[k]);
            size_t own = strlen(wholes[k]) - (cases[i].shares ? cases[i].common : 0);
            assert_in_range(strlen(texts[k].own), own - (own < 8 ? own : 8), own); // neighbours may be the same too
            free(wholes[k]);
        }
        shared_text_clear(&texts[0]);
        shared_text_clear(&texts[1]);
    }
}

static void a_new_version_shares_the_block_of_the_old_one_wherever_it_is(void **state) {
    (void)state;
    struct shared_text workload, mirror, version;
    set(&workload, text_around(1, 2, 300, 3000, 10));
    set(&mirror, text_around(1, 3, 250, 3000, 10));
    shared_text_share(&mirror, &workload);
    assert_non_null(workload.block);
    static const size_t before[] = {300, 300, 290, 311, 900, 0};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        AUTO_TEXT whole = text_around(1, 4 + i, before[i], 3000, 20 * i);
        set(&version, strdup(whole));
        shared_text_share(&version, &workload);
        assert_ptr_equal(version.block, mirror.block);
        check(&version, whole);
        shared_text_clear(&workload);
        workload = version;
    }
    AUTO_TEXT other = text_around(2, 9, 300, 3000, 10);
    set(&version, strdup(other));
    shared_text_share(&version, &workload);
    assert_null(version.block);
    check(&version, other);
    shared_text_clear(&version);
    shared_text_clear(&workload);
    shared_text_clear(&mirror);
}

// As environment variables do: what is looked for is also where it does not belong.
static void repeated_parts_do_not_hide_the_longest_run(void **state) {
    (void)state;
    struct shared_text texts[2];
    for (size_t k = 0; k < 2; k++) {
        struct buffer out;
        buffer_init(&out, LONGEST);
        buffer_printf(&out, "%s", k ? "{\"labels\":{\"app\":\"train\"}," : "{");
        for (int i = 0; i < 30; i++)
            buffer_printf(
                &out, "{\"name\":\"VARIABLE_%d\",\"value\":\"a value of a usual length, as programs are told\"},", i);
        set(&texts[k], buffer_take(&out, NULL));
    }
    shared_text_share(&texts[0], &texts[1]);
    assert_non_null(texts[0].block);
    assert_in_range(strlen(texts[0].own), 0, 8);
    shared_text_clear(&texts[0]);
    shared_text_clear(&texts[1]);
}

static void texts_stay_what_they_are_in_any_order_of_changes(void **state) {
    (void)state;
    struct random random = {7};
    struct shared_text texts[TEXTS] = {0};
    char *wholes[TEXTS] = {0};
    size_t shared = 0;
    for (int step = 0; step < 3000; step++) {
        size_t i = (size_t)random_below(&random, TEXTS), other = (size_t)random_below(&random, TEXTS);
        if (random_below(&random, 2) == 0) {
            shared_text_clear(&texts[i]);
            free(wholes[i]);
            wholes[i] = text_around(random_below(&random, 2), random_next(&random), random_below(&random, 600),
                                    random_below(&random, 4000), random_below(&random, 600));
            set(&texts[i], strdup(wholes[i]));
        } else if (i != other) {
            shared_text_share(&texts[i], &texts[other]);
            shared += texts[i].block && texts[i].block == texts[other].block;
        }
        for (size_t k = 0; k < TEXTS; k++)
            if (wholes[k])
                check(&texts[k], wholes[k]);
    }
    assert_in_range(shared, 100, 3000);
    for (size_t k = 0; k < TEXTS; k++) {
        shared_text_clear(&texts[k]);
        free(wholes[k]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_common_run_is_stored_once),
        cmocka_unit_test(a_new_version_shares_the_block_of_the_old_one_wherever_it_is),
        cmocka_unit_test(repeated_parts_do_not_hide_the_longest_run),
        cmocka_unit_test(texts_stay_what_they_are_in_any_order_of_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
