// SPDX-License-Identifier: Apache-2.0
// The rights on objects that workloads refer to, and copies of the lists, with each allocation failing.
#include "core/base/text.h"
#include "core/config/dependencies.h"
#include "core/host/check/rights.h"
#include "tests/unit/fault/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct dependency_options options = {
    .copy = "configmaps,secrets,serviceaccounts", .check = "priorityclasses.scheduling.k8s.io", .by_name = true};

static struct error *make_rights(void **out) {
    const struct rights_wanted wanted = {.objects = "secrets/a,secrets/b,configmaps/c",
                                         .account = RIGHTS_ACCOUNT,
                                         .features = {.dependencies = options}};
    struct rights *rights = calloc(1, sizeof *rights);
    if (!rights)
        return error_no_memory();
    struct error *error = rights_make(RIGHTS_OF_WORKER, &wanted, rights);
    if (error)
        free(rights);
    else
        *out = rights;
    return error;
}

static bool has(const struct rights *rights, const char *resources, const char *verbs, const char *names) {
    for (size_t i = 0; i < rights->count; i++)
        if (strcmp(rights->list[i].resources, resources) == 0 && strcmp(rights->list[i].verbs, verbs) == 0 &&
            text_equal(rights->list[i].names, names))
            return true;
    return false;
}

static bool are_complete(const void *given) {
    return has(given, "secrets", "get, list, watch", "a, b") && has(given, "secrets", "patch, delete", "a, b") &&
           has(given, "secrets", "create", NULL) && has(given, "configmaps", "patch, delete", "c") &&
           has(given, "serviceaccounts", "create, patch, delete", NULL) &&
           has(given, "priorityclasses", "get, list, watch", NULL);
}

static void drop_rights(void *given) {
    rights_free(given);
    free(given);
}

static struct error *copy_options(void **out) {
    struct dependency_options *copy = calloc(1, sizeof *copy);
    if (!copy)
        return error_no_memory();
    if (dependency_options_set(copy, &options)) {
        *out = copy;
        return NULL;
    }
    bool unchanged = !copy->copy && !copy->check;
    free(copy);
    return unchanged ? error_no_memory() : error_new(ERROR_INTERNAL, "a part of the copy stays");
}

static bool are_equal(const void *given) {
    const struct dependency_options *copy = given;
    return text_equal(copy->copy, options.copy) && text_equal(copy->check, options.check) && copy->by_name;
}

static void drop_options(void *given) {
    dependency_options_clear(given);
    free(given);
}

static void rights_are_complete_or_there_is_no_memory(void **state) {
    (void)state;
    fault_try(&(struct fault_case){"rights", make_rights, are_complete, drop_rights});
    fault_try(&(struct fault_case){"options", copy_options, are_equal, drop_options});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rights_are_complete_or_there_is_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
