// SPDX-License-Identifier: Apache-2.0
// Which files a configuration is read from.
#include "tests/unit/config/config_load.h"

#include <sys/stat.h>

// Whoever can change it decides what the host runs, and as whom.
static void a_file_that_others_could_change_or_replace_is_refused(void **state) {
    (void)state;
    static const struct {
        mode_t folder, file;
        const char *problem; // NULL: it is read
    } cases[] = {{0700, 0600, NULL},
                 {0755, 0644, NULL},
                 {01777, 0644, NULL}, // as /tmp
                 {0755, 0666, "the file is writable by everyone (mode 0666), expected one that only root or uid"},
                 {0777, 0644, "the folder is writable by everyone (mode 0777)"},
                 {01777, 0666, "the file is writable by everyone"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct problems problems = {.count = 0};
        struct config *config = NULL;
        char folder[] = "/tmp/config_test.XXXXXX";
        assert_non_null(mkdtemp(folder));
        AUTO_TEXT file = text_format("%s/wharf.yaml", folder);
        FILE *out = fopen(file, "w");
        assert_non_null(out);
        fputs(GOOD, out);
        fclose(out);
        assert_int_equal(chmod(file, cases[i].file), 0);
        assert_int_equal(chmod(folder, cases[i].folder), 0);
        assert_null(config_load(file, &problems, &config));
        if (!cases[i].problem != !!config)
            fail_msg("case %zu: %s", i, config ? "it was read" : problems.list[0]);
        if (cases[i].problem && !strstr(problems.list[0], cases[i].problem))
            fail_msg("case %zu: found %s", i, problems.list[0]);
        config_free(config);
        problems_free(&problems);
        unlink(file);
        rmdir(folder);
    }
}

static void a_configuration_may_come_from_a_pipe(void **state) {
    (void)state;
    int ends[2];
    struct problems problems = {.count = 0};
    struct config *config = NULL;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], GOOD, strlen(GOOD)), strlen(GOOD));
    close(ends[1]);
    AUTO_TEXT path = text_format("/dev/fd/%d", ends[0]);
    assert_null(config_load(path, &problems, &config));
    assert_non_null(config);
    config_free(config);
    problems_free(&problems);
    close(ends[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_others_could_change_or_replace_is_refused),
        cmocka_unit_test(a_configuration_may_come_from_a_pipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
