// SPDX-License-Identifier: Apache-2.0
// Concurrent calls on several threads, each with its own values: services share nothing.
#include "core/adapter/services.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define THREADS 4
#define CALLS 500

static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *made) {
    const wharf_host *host = services_table();
    host->set(call, made, "/spec/list", host->find(workload, "/list"));
    host->set_integer(call, made, "/spec/list/*/n", call->attempt);
    host->take(call, made, workload, "/spec/list/*/name");
    host->remove(call, made, "/spec/list/0");
    host->set_condition(call, made, "Ready", "True", "Ready", host->format(call, "%u", call->attempt));
    if (call->attempt % 2)
        host->set_string(call, made, "/spec/list/0/n/below", "a number");
    return WHARF_OK;
}

static const wharf_kind kind = {.size = sizeof(wharf_kind), .kind = "Thing", .mirror = mirror};

static bool is_as_expected(uint32_t attempt, wharf_result result, const struct adapter_call *call,
                           const struct json *made) {
    char expected[300];
    snprintf(expected, sizeof expected,
             "{\"spec\":{\"list\":[{\"n\":%u}]},\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
             "\"reason\":\"Ready\",\"message\":\"%u\",\"lastTransitionTime\":\"1970-01-01T00:00:00Z\"}]}}",
             attempt, attempt);
    char *text = json_text(made, NULL);
    bool same = text && strcmp(text, expected) == 0;
    free(text);
    if (attempt % 2)
        return same && result == WHARF_REFUSED && strstr(call->answer.message, "/spec/list/0/n/below");
    return same && result == WHARF_OK;
}

static void *run(void *count) {
    static const char text[] = "{\"list\":[{\"name\":\"a\"},{\"name\":\"b\"}]}";
    size_t *good = count;
    for (uint32_t i = 0; i < CALLS; i++) {
        struct adapter_call call;
        struct json *workload = NULL, *made = json_new_object();
        if (!made || json_parse(text, sizeof text - 1, &workload))
            return NULL;
        adapter_call_begin(&call, &(struct call_context){.kind = &kind, .attempt = i});
        wharf_result result = adapter_mirror(&call, workload, made);
        *good += is_as_expected(i, result, &call, made);
        adapter_call_end(&call);
        json_free(workload);
        json_free(made);
    }
    return NULL;
}

static void calls_on_several_threads_do_not_meet(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    size_t good[THREADS] = {0};
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run, &good[i]), 0);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(good[i], CALLS);
    }
}

static void *make_object(void *unused) {
    (void)unused;
    return services_table()->new_object(NULL);
}

static void only_the_thread_that_loads_an_adapter_makes_values_without_a_call(void **state) {
    (void)state;
    pthread_t other;
    void *made = NULL;
    services_loading("thing");
    assert_int_equal(pthread_create(&other, NULL, make_object, NULL), 0);
    pthread_join(other, &made);
    assert_null(made);
    assert_non_null(services_table()->new_object(NULL));
    services_loading(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_on_several_threads_do_not_meet),
        cmocka_unit_test(only_the_thread_that_loads_an_adapter_makes_values_without_a_call)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
