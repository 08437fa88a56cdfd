// SPDX-License-Identifier: Apache-2.0
// References without memory: all of them, or a repetition later.
#include "core/adapter/references.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "tests/unit/fault/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char object[] =
    "{\"metadata\":{\"namespace\":\"team\"},\"imagePullSecrets\":[{\"name\":\"a\"}],\"spec\":{\"plans\":[{\"name\":"
    "\"p\","
    "\"in\":\"shared\",\"maybe\":true}],\"template\":{\"spec\":{\"serviceAccountName\":\"s\"}}}}";

static const wharf_reference rows[] = {{.name = "/spec/plans/*/name",
                                        .group = "example.com",
                                        .version = "v1",
                                        .resource = "plans",
                                        .kind = "Plan",
                                        .namespace_ = "/spec/plans/*/in",
                                        .optional = "/spec/plans/*/maybe"},
                                       {.of = "serviceaccounts",
                                        .name = "/spec/plans/*/name",
                                        .group = "example.com",
                                        .version = "v1",
                                        .resource = "plans",
                                        .kind = "Plan"},
                                       {.name = NULL}};
static const wharf_pods pods[] = {{.templates = "/spec/*", .fallback = "/spec/template"}, {.templates = NULL}};

static wharf_result add_secret(const wharf_call *call, const wharf_value *workload, wharf_value *list) {
    const wharf_host *host = services_table();
    (void)workload;
    wharf_value *item = host->new_object(call);
    host->set_string(call, item, "/resource", "secrets");
    host->set_string(call, item, "/name", "key");
    host->set(call, list, "/-", item);
    return WHARF_OK;
}

static struct kind kind = {.abi = {.pods = pods, .references = rows, .dependencies = add_secret}};

static struct error *show(const struct references *found, void **out) {
    static char text[256];
    text[0] = '\0';
    for (size_t i = 0; i < found->count; i++) {
        size_t len = strlen(text);
        snprintf(text + len, sizeof text - len, "%s/%s ", found->list[i]->resource, found->list[i]->name);
    }
    *out = text;
    return NULL;
}

static struct error *of_workload(void **out) {
    __attribute__((cleanup(references_clear))) struct references found = {.list = NULL};
    AUTO_JSON workload = NULL;
    TRY(json_parse(object, sizeof object - 1, &workload));
    AUTO_CALL call;
    adapter_call_begin(&call, &(struct call_context){.kind = &kind.abi, .version = "v1"});
    wharf_result result = references_of(&call, workload, &found);
    return result == WHARF_OK      ? show(&found, out)
           : result == WHARF_RETRY ? error_no_memory()
                                   : error_new(ERROR_INVALID, "refused");
}

static struct error *of_object(void **out) {
    __attribute__((cleanup(references_clear))) struct references found = {.list = NULL};
    struct kind none = {.plural_group = NULL};
    struct kind *const kinds[] = {&kind, &none};
    AUTO_JSON account = NULL;
    TRY(json_parse(object, sizeof object - 1, &account));
    return references_of_object(kinds, 2, "serviceaccounts", account, &found) ? show(&found, out) : error_no_memory();
}

static bool is_of_workload(const void *out) {
    return strcmp(out, "plans.example.com/p secrets/key serviceaccounts/s ") == 0;
}

static bool is_of_object(const void *out) {
    return strcmp(out, "plans.example.com/p secrets/a ") == 0;
}

static void references_are_complete_or_there_are_none(void **state) {
    (void)state;
    static const struct fault_case cases[] = {{"workload", of_workload, is_of_workload, NULL},
                                              {"object", of_object, is_of_object, NULL}};
    for (size_t i = 0; i < 2; i++)
        fault_try(&cases[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(references_are_complete_or_there_are_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
