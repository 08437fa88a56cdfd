// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/config/config_load.h"

#include <limits.h>

// A line like "  qps: 500" or "log:", but not prose.
static bool is_key(const char *line) {
    const char *word = line + strspn(line, " ");
    const char *end = word + strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (end == word || end[0] != ':')
        return false;
    return end[1] == '\n' || (end[1] == ' ' && strcspn(end + 2, " ") > strcspn(end + 2, "\n"));
}

// The example that is installed, also with every line that is commented out only to show a default.
static void the_example_is_a_good_file(void **state) {
    (void)state;
    char example[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", example, sizeof(example) - 1);
    assert_true(len > 0);
    example[len] = '\0'; // <root>/<build>/unit/config/config_example_test
    for (int i = 0; i < 4; i++)
        *strrchr(example, '/') = '\0';
    AUTO_TEXT path = text_format("%s/etc/wharf.yaml", example);
    AUTO_BUFFER(text, 1 << 20);
    struct error *error = text_read_file(path, text.max, &text);
    if (error) { // built elsewhere
        error_free(error);
        skip();
    }
    struct config *config = load_good(text.data);
    assert_int_equal(config->n_workers, 2);
    config_free(config);
    for (char *hash = strstr(text.data, "\n# "); hash; hash = strstr(hash + 1, "\n# "))
        if (is_key(hash + 3))
            memmove(hash + 1, hash + 3, strlen(hash + 3) + 1);
    config = load_good(text.data);
    assert_string_equal(config->origin, "eu-mgmt");
    assert_true(config->engine.qps == 500 && config->engine.burst == 1000);
    config_free(config);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_example_is_a_good_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
