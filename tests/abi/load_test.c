// SPDX-License-Identifier: Apache-2.0
// Adapters built by C++ compilers, given as arguments, in the host's loader.
#include "core/adapter/adapters.h"
#include "core/adapter/services.h"
#include "core/base/text.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOW_NS INT64_C(1767323045000000000)

static char **files;
static size_t n_files;

static struct adapters *load(const char *file) {
    struct json *settings = json_new_object();
    char *path = realpath(file, NULL);
    struct adapter_wanted wanted = {.name = "widget", .file = path, .file_given = true, .settings = settings};
    struct adapters_options options = {
        .controller_name = "wharf.dev/host", .directory = "/", .wanted = &wanted, .n_wanted = 1};
    assert_non_null(path);
    struct problems problems = {.list = NULL};
    struct adapters *adapters = NULL;
    assert_null(adapters_load(&options, &problems, &adapters));
    if (problems.count)
        fail_msg("%s", problems.list[0]);
    problems_free(&problems);
    free(path);
    json_free(settings);
    return adapters;
}

static struct json *parsed(const char *text) {
    struct json *value = NULL;
    assert_null(json_parse(text, strlen(text), &value));
    return value;
}

static void begin(struct adapter_call *call, const struct kind *kind) {
    struct call_context context = {.kind = &kind->abi,
                                   .given = kind->given,
                                   .adapter = "widget",
                                   .now = {.mono_ns = 1, .wall_ns = NOW_NS},
                                   .cluster = "w1",
                                   .attempt = 1,
                                   .version = "v1",
                                   .object = "default/a"};
    adapter_call_begin(call, &context);
}

static void it_is_loaded_with_its_kind(void **state) {
    (void)state;
    for (size_t i = 0; i < n_files; i++) {
        struct adapters *adapters = load(files[i]);
        assert_int_equal(adapters->n_kinds, 1);
        assert_string_equal(adapters->list[0]->name, "widget");
        assert_int_equal(adapters->list[0]->abi_major, WHARF_ABI_MAJOR);
        assert_string_equal(adapters->kinds[0]->plural_group, "widgets.example.com");
        assert_string_equal(adapters->kinds[0]->managed_by, "wharf.dev/host");
        adapters_free(adapters);
    }
}

static void its_functions_are_called_with_the_hosts_services(void **state) {
    (void)state;
    for (size_t i = 0; i < n_files; i++) {
        struct adapters *adapters = load(files[i]);
        const struct kind *kind = adapters->kinds[0];
        struct json *workload = parsed("{\"metadata\":{\"name\":\"a\"},\"spec\":{\"replicas\":9007199254740993},"
                                       "\"status\":{\"state\":\"done\"}}");
        struct json *mirror = parsed("{\"metadata\":{\"name\":\"a\"}}");
        struct adapter_call call;
        begin(&call, kind);
        wharf_phase phase;
        assert_int_equal(adapter_phase(&call, workload, &phase), WHARF_OK);
        assert_int_equal(phase.phase, WHARF_SUCCEEDED);
        assert_string_equal(phase.reason, "Told");
        assert_int_equal(adapter_mirror(&call, workload, mirror), WHARF_OK);
        assert_string_equal(json_string(json_path(mirror, "metadata", "annotations", "example.com/note", NULL)),
                            "9007199254740993 of v1");
        adapter_call_end(&call);
        json_free(workload);
        json_free(mirror);
        adapters_free(adapters);
    }
}

int main(int count, char **arguments) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_loaded_with_its_kind),
        cmocka_unit_test(its_functions_are_called_with_the_hosts_services),
    };
    files = arguments + 1;
    n_files = (size_t)count - 1;
    return n_files ? cmocka_run_group_tests(tests, NULL, NULL) : EXIT_FAILURE;
}
