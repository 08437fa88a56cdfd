// SPDX-License-Identifier: Apache-2.0
// Scores without memory: the right ones, or none.
#include "core/adapter/scores.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "tests/unit/fault/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static wharf_result rate(const wharf_call *call, const wharf_value *workload, const wharf_value *pod_sets,
                         const wharf_value *workers, wharf_value *scores) {
    const wharf_host *host = services_table();
    (void)workload;
    (void)pod_sets;
    for (const wharf_value *worker = host->first(workers); worker; worker = host->next(worker))
        host->set_integer(call, scores, host->format(call, "/%s", host->string(host->find(worker, "/name"))),
                          host->is(worker, "/labels/gpu", "h100") ? 100 : 7);
    return WHARF_OK;
}

static struct error *run(void **out) {
    static const struct scorer scorer = {rate, "gpus", NULL, true};
    static char text[64];
    AUTO_BUFFER(told, sizeof text);
    AUTO_JSON workers = json_new_array();
    AUTO_JSON workload = json_new_object();
    if (!workers || !workload || !json_append(workers, scores_worker("w1", NULL)) ||
        !json_append(workers, scores_worker("w2", "zone=a,gpu=h100")))
        return error_no_memory();
    AUTO_CALL call;
    adapter_call_begin(&call, &(struct call_context){.version = "v1"});
    AUTO_JSON scores = scores_ask(&call, &scorer, workload, NULL, workers, &told);
    if (!scores || told.failed)
        return error_no_memory();
    text_copy(text, sizeof text, told.data);
    *out = text;
    return NULL;
}

static bool is_right(const void *out) {
    return strcmp(out, "gpus: w2 100, w1 7") == 0;
}

static void scores_are_right_or_there_are_none(void **state) {
    (void)state;
    static const struct fault_case rating = {"scores", run, is_right, NULL};
    fault_try(&rating);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(scores_are_right_or_there_are_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
