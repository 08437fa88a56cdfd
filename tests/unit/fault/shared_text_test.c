// SPDX-License-Identifier: Apache-2.0
// Sharing without memory: the texts stay what they are.
#include "core/base/shared_text.h"
#include "tests/unit/fault/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LEN (4 * SHARED_TEXT_LEAST)

static char *content(char first) {
    fault_pause();
    char *text = malloc(LEN + 1);
    assert_non_null(text);
    for (size_t i = 0; i < LEN; i++)
        text[i] = (char)('a' + i * i / 97 % 26);
    memset(text, first, 100);
    text[LEN] = '\0';
    fault_resume();
    return text;
}

static bool holds(const struct shared_text *text, char first, bool *read) {
    char *joined = NULL, *expected = content(first);
    const char *whole = shared_text_read(text, &joined);
    *read = *read && whole;
    bool same = !whole || strcmp(whole, expected) == 0;
    free(joined);
    free(expected);
    return same;
}

static struct error *share(void **out) {
    struct shared_text texts[3];
    bool read = true;
    for (size_t i = 0; i < 3; i++)
        shared_text_set(&texts[i], content((char)('0' + i)), LEN);
    shared_text_share(&texts[0], &texts[1]);
    shared_text_share(&texts[2], &texts[1]);
    for (size_t i = 0; i < 3; i++)
        assert_true(holds(&texts[i], (char)('0' + i), &read));
    for (size_t i = 0; i < 3; i++)
        shared_text_clear(&texts[i]);
    *out = NULL;
    return read ? NULL : error_no_memory();
}

static void texts_that_cannot_be_shared_stay_whole(void **state) {
    (void)state;
    fault_try(&(struct fault_case){.name = "share", .run = share});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts_that_cannot_be_shared_stay_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
