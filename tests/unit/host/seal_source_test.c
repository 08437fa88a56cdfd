// SPDX-License-Identifier: Apache-2.0
#include "core/host/startup/seal_source.h"

#include "core/base/text.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define A "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=" // 32 bytes
#define B "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="

static char folder[] = "/tmp/seal_source_test.XXXXXX";
static char file[PATH_MAX];
static const struct seal_subject subject = {"here", "jobs.batch", "default", "a", "u-1", "w1", 1};

static void write_file(const char *text, mode_t mode) {
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(chmod(file, mode), 0);
}

static int remove_file(void **state) {
    (void)state;
    unlink(file);
    return 0;
}

static struct seal_keys *load(void) {
    struct sealing found;
    struct error *error = seal_file_load(file, true, &found);
    if (error)
        fail_msg("%s", error_text(error));
    return found.keys;
}

static void assert_refused(const char *says) {
    struct sealing found;
    struct error *error = seal_file_load(file, true, &found);
    assert_non_null(error);
    assert_null(found.keys);
    if (!strstr(error_text(error), says) || !strstr(error_text(error), file))
        fail_msg("\"%s\" does not say \"%s\" and the file", error_text(error), says);
    error_free(error);
}

static void the_first_key_of_a_file_signs_and_all_of_them_verify(void **state) {
    (void)state;
    char seal[SEAL_TEXT_MAX];
    write_file("# the old one\n" A "\n", 0600);
    struct seal_keys *old = load();
    assert_true(seal_make(old, &subject, seal));
    write_file(B "\n\n# the old one\n" A "\n", 0640);
    struct seal_keys *both = load();
    assert_int_equal(seal_check(both, &subject, seal), SEAL_OLD_KEY);
    assert_true(seal_make(both, &subject, seal));
    assert_int_equal(seal_check(old, &subject, seal), SEAL_INVALID);
    seal_keys_free(old);
    seal_keys_free(both);
}

static void a_file_that_is_not_there_is_made_for_its_owner_alone(void **state) {
    (void)state;
    char first[SEAL_TEXT_MAX], second[SEAL_TEXT_MAX];
    struct sealing found;
    struct error *error = seal_file_load(file, false, &found);
    assert_non_null(error);
    assert_int_equal(error->code, ERROR_NOT_FOUND);
    error_free(error);
    struct seal_keys *made = load(), *again = load();
    assert_true(seal_make(made, &subject, first) && seal_make(again, &subject, second));
    assert_string_equal(first, second);
    struct stat st;
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    unlink(file);
    struct seal_keys *other = load();
    assert_true(seal_make(other, &subject, second));
    assert_string_not_equal(first, second);
    seal_keys_free(made);
    seal_keys_free(again);
    seal_keys_free(other);
}

static void a_file_that_others_may_read_or_write_is_rejected(void **state) {
    (void)state;
    static const mode_t modes[] = {0644, 0604, 0602, 0660, 0610};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        write_file(A "\n", modes[i]);
        assert_refused("chmod 600");
    }
}

static void what_is_no_key_is_told_with_its_line(void **state) {
    (void)state;
    write_file("", 0600);
    assert_refused("found no key");
    write_file(A "\nMDEy\n", 0600);
    assert_refused(":2: found a key of 3 bytes, expected 32 to 256");
    write_file("# one\n\n!" A "\n", 0600);
    assert_refused(":3: not base64");
    AUTO_BUFFER(many, 1 << 20);
    for (int i = 0; i < SEAL_KEYS_MAX + 1; i++)
        buffer_text(&many, A "\n");
    write_file(many.data, 0600);
    assert_refused(":17: found more than 16 keys");
    for (int i = 0; i < 1000; i++)
        buffer_text(&many, "# " A "\n");
    write_file(many.data, 0600);
    assert_refused("found more than 16384 bytes");
}

static void a_file_that_cannot_be_made_is_told(void **state) {
    (void)state;
    struct sealing found;
    struct error *error = seal_file_load("/proc/none/seal.key", true, &found);
    assert_non_null(error);
    assert_non_null(strstr(error_text(error), "/proc/none/seal.key"));
    error_free(error);
    error = seal_file_load(folder, true, &found);
    assert_non_null(error);
    assert_non_null(strstr(error_text(error), "no regular file"));
    error_free(error);
}

static struct json *parsed(const char *text) {
    struct json *value = NULL;
    assert_null(json_parse(text, strlen(text), &value));
    return value;
}

static void the_named_entry_of_a_secret_signs_and_all_of_them_verify(void **state) {
    (void)state;
    char seal[SEAL_TEXT_MAX];
    AUTO_JSON secret = parsed("{\"data\":{\"2025\":\"" B "\",\"key\":\"" A "\"}}");
    struct sealing now, then;
    assert_null(seal_secret_load(secret, "key", &now));
    assert_null(seal_secret_load(secret, "2025", &then));
    assert_true(seal_make(then.keys, &subject, seal));
    assert_int_equal(seal_check(now.keys, &subject, seal), SEAL_OLD_KEY);
    assert_int_equal(seal_check(then.keys, &subject, seal), SEAL_VALID);
    seal_keys_free(now.keys);
    seal_keys_free(then.keys);
}

static void a_secret_that_has_no_good_key_is_told(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{}", "found no entry \"key\""},
        {"{\"data\":{}}", "found no entry \"key\""},
        {"{\"data\":{\"key\":5}}", "entry \"key\": found no text"},
        {"{\"data\":{\"key\":\"MDEy\"}}", "entry \"key\": found a key of 3 bytes"},
        {"{\"data\":{\"key\":\"" A "\",\"other\":\"?\"}}", "entry \"other\": not base64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_JSON secret = parsed(cases[i].text);
        struct sealing found;
        struct error *error = seal_secret_load(secret, "key", &found);
        assert_non_null(error);
        assert_null(found.keys);
        if (!strstr(error_text(error), cases[i].says))
            fail_msg("\"%s\" does not say \"%s\"", error_text(error), cases[i].says);
        error_free(error);
    }
}

static void a_secret_that_is_made_has_a_key_of_its_own(void **state) {
    (void)state;
    char first[SEAL_TEXT_MAX], second[SEAL_TEXT_MAX];
    for (int i = 0; i < 2; i++) {
        AUTO_TEXT text = seal_secret_make("ns", "name", "key");
        AUTO_JSON secret = parsed(text);
        struct sealing found;
        assert_string_equal(json_string(json_path(secret, "metadata", "namespace", NULL)), "ns");
        assert_null(seal_secret_load(secret, "key", &found));
        assert_true(seal_make(found.keys, &subject, i ? second : first));
        seal_keys_free(found.keys);
    }
    assert_string_not_equal(first, second);
}

// It was made because there was none: there may be mirrors without a seal.
static void what_is_made_says_until_when_mirrors_without_a_seal_are_adopted(void **state) {
    (void)state;
    int64_t before_ns = clock_now().wall_ns, least_ns = before_ns + SEAL_ADOPT_NS - CLOCK_SECOND;
    struct sealing found;
    AUTO_TEXT text = seal_secret_make("ns", "name", "key");
    AUTO_JSON secret = parsed(text);
    assert_null(seal_secret_load(secret, "key", &found));
    assert_in_range(found.adopt_until_wall_ns, least_ns, clock_now().wall_ns + SEAL_ADOPT_NS);
    seal_keys_free(found.keys);
    for (int i = 0; i < 2; i++) { // made, and read again
        assert_null(seal_file_load(file, true, &found));
        assert_in_range(found.adopt_until_wall_ns, least_ns, clock_now().wall_ns + SEAL_ADOPT_NS);
        seal_keys_free(found.keys);
    }
    write_file(A "\n", 0600); // somebody else's
    assert_null(seal_file_load(file, true, &found));
    assert_int_equal(found.adopt_until_wall_ns, 0);
    seal_keys_free(found.keys);
    write_file("# " SEAL_ADOPT_UNTIL ": soon\n" A "\n", 0600);
    assert_null(seal_file_load(file, true, &found));
    assert_int_equal(found.adopt_until_wall_ns, 0);
    seal_keys_free(found.keys);
}

static void the_source_follows_from_the_configuration(void **state) {
    (void)state;
    struct config config = {.management = {.source = SOURCE_CONFIG}};
    assert_int_equal(seal_source_of(&config), SEAL_FROM_DEFAULT_SECRET);
    config.management.kubeconfig_path = file;
    assert_int_equal(seal_source_of(&config), SEAL_FROM_NOTHING);
    config.seal.from_secret = true;
    assert_int_equal(seal_source_of(&config), SEAL_FROM_SECRET);
    config.seal.file = file;
    assert_int_equal(seal_source_of(&config), SEAL_FROM_FILE);
}

static int setup(void **state) {
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/seal.keys", folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    return rmdir(folder);
}

#define TEST(name) cmocka_unit_test_teardown(name, remove_file)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_first_key_of_a_file_signs_and_all_of_them_verify),
        TEST(a_file_that_is_not_there_is_made_for_its_owner_alone),
        TEST(a_file_that_others_may_read_or_write_is_rejected),
        TEST(what_is_no_key_is_told_with_its_line),
        TEST(a_file_that_cannot_be_made_is_told),
        TEST(the_named_entry_of_a_secret_signs_and_all_of_them_verify),
        TEST(a_secret_that_has_no_good_key_is_told),
        TEST(a_secret_that_is_made_has_a_key_of_its_own),
        TEST(what_is_made_says_until_when_mirrors_without_a_seal_are_adopted),
        TEST(the_source_follows_from_the_configuration),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
