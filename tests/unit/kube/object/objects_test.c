// SPDX-License-Identifier: Apache-2.0
#include "core/kube/object/objects.h"

#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const struct {
    const char *path, *text;
} files[] = {
    {"b.yaml", "kind: One\n---\nkind: Two\n"},
    {"a.json", "{\"kind\": \"Three\"}"},
    {"below/c.yml", "kind: List\nitems:\n- kind: Four\n- kind: Five\n"},
    {"notes.txt", "kind: None\n"},
    {".hidden.yaml", "kind: None\n"},
    {"broken.yaml", "kind: [\n"},
};

#define N_FILES (sizeof(files) / sizeof(files[0]))

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static int make_folder(void **state) {
    char *folder = strdup("/tmp/wharf-objects-XXXXXX");
    assert_non_null(mkdtemp(folder));
    AUTO_TEXT below = text_format("%s/below", folder);
    assert_int_equal(mkdir(below, 0700), 0);
    for (size_t i = 0; i < N_FILES; i++) {
        AUTO_TEXT path = text_format("%s/%s", folder, files[i].path);
        write_text(path, files[i].text);
    }
    *state = folder;
    return 0;
}

static int remove_folder(void **state) {
    char *folder = *state;
    for (size_t i = 0; i < N_FILES; i++) {
        AUTO_TEXT path = text_format("%s/%s", folder, files[i].path);
        unlink(path);
    }
    AUTO_TEXT below = text_format("%s/below", folder);
    rmdir(below);
    rmdir(folder);
    free(folder);
    return 0;
}

static void documents_are_read_in_order_with_those_of_lists_and_folders(void **state) {
    static const struct {
        const char *kind, *source;
    } expected[] = {
        {"Three", "/a.json:1"},     {"One", "/b.yaml:1"},       {"Two", "/b.yaml:2"},
        {"Four", "/below/c.yml:1"}, {"Five", "/below/c.yml:1"},
    };
    struct documents documents = {.list = NULL};
    struct problems problems = {.count = 0};
    assert_null(documents_read(*state, &problems, &documents));
    assert_int_equal(documents.count, sizeof(expected) / sizeof(expected[0]));
    for (size_t i = 0; i < documents.count; i++) {
        AUTO_TEXT source = text_format("%s%s", (char *)*state, expected[i].source);
        assert_string_equal(documents.list[i].source, source);
        assert_string_equal(json_string(json_get(documents.list[i].value, "kind")), expected[i].kind);
    }
    assert_int_equal(problems.count, 1);
    assert_non_null(strstr(problems.list[0], "broken.yaml"));
    problems_free(&problems);
    documents_free(&documents);
}

static void a_file_may_be_given_instead_of_a_folder(void **state) {
    AUTO_TEXT path = text_format("%s/b.yaml", (char *)*state);
    struct documents documents = {.list = NULL};
    struct problems problems = {.count = 0};
    assert_null(documents_read(path, &problems, &documents));
    assert_int_equal(documents.count, 2);
    documents_free(&documents);
}

static void a_folder_that_is_not_there_is_an_error(void **state) {
    (void)state;
    struct documents documents = {.list = NULL};
    struct problems problems = {.count = 0};
    struct error *error = documents_read("/nowhere/at/all", &problems, &documents);
    assert_non_null(error);
    assert_int_equal(error->code, ERROR_NOT_FOUND);
    assert_non_null(strstr(error_text(error), "/nowhere/at/all"));
    error_free(error);
}

static void one_document_is_not_two(void **state) {
    AUTO_TEXT one = text_format("%s/a.json", (char *)*state);
    AUTO_TEXT two = text_format("%s/b.yaml", (char *)*state);
    AUTO_JSON value = NULL;
    assert_null(document_read(one, &value));
    assert_string_equal(json_string(json_get(value, "kind")), "Three");
    struct json *none = NULL;
    struct error *error = document_read(two, &none);
    assert_non_null(error);
    assert_non_null(strstr(error_text(error), "found 2 documents"));
    assert_null(none);
    error_free(error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_are_read_in_order_with_those_of_lists_and_folders),
        cmocka_unit_test(a_file_may_be_given_instead_of_a_folder),
        cmocka_unit_test(a_folder_that_is_not_there_is_an_error),
        cmocka_unit_test(one_document_is_not_two),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
