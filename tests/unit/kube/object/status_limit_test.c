// SPDX-License-Identifier: Apache-2.0
#include "core/kube/object/object.h"

#include "core/base/text.h"

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX BUDGET_STATUS_SIZE
#define CONDITION                                                                                                      \
    "{\"type\":\"%s\",\"status\":\"True\",\"reason\":\"R\",\"lastTransitionTime\":\"2026-01-02T03:04:05Z\","           \
    "\"message\":\"%s\"}"

static struct object *parsed(const char *status, size_t max) {
    AUTO_TEXT text = text_format(
        "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"7\"},\"spec\":{\"x\":1},\"status\":%s}",
        status);
    struct budget budget;
    budget_init(&budget, 0, 0, 0, NULL);
    budget.max_status_size = max;
    struct object *object = NULL;
    assert_non_null(text);
    assert_null(object_parse_bounded(
        text, strlen(text), &(struct object_limits){.budget = &budget, .api_version = "v1", .kind = "K"}, &object));
    assert_null(object->too_large);
    return object;
}

// A list of `count` times the item, in which every %zu is its number.
static void put_list(struct buffer *out, const char *item, size_t count) {
    buffer_char(out, '[');
    for (size_t i = 0; i < count; i++) {
        buffer_text(out, i > 0 ? "," : "");
        for (const char *at = item; *at; at++)
            if (text_has_prefix(at, "%zu")) {
                buffer_printf(out, "%zu", i);
                at += 2;
            } else {
                buffer_char(out, *at);
            }
    }
    buffer_char(out, ']');
}

static char *repeated(char c, size_t count) {
    char *text = malloc(count + 1);
    assert_non_null(text);
    memset(text, c, count);
    text[count] = '\0';
    return text;
}

static size_t values_of(const struct json *value) {
    size_t count = 1;
    for (const struct json *v = json_is(value, JSON_ARRAY) || json_is(value, JSON_OBJECT) ? json_first(value) : NULL; v;
         v = json_next(v))
        count += values_of(v);
    return count;
}

// Also that the text is the value's.
static void assert_within(const struct object *object, size_t max) {
    size_t len = 0;
    const struct json *status = json_get(object->value, "status");
    AUTO_TEXT text = json_text(status, &len);
    AUTO_TEXT whole = json_text(object->value, NULL);
    assert_true(len <= max);
    assert_true(values_of(status) <= max / STATUS_VALUE_BYTES);
    assert_string_equal(whole, object->text);
    assert_int_equal(object->len, strlen(object->text));
    assert_int_equal(json_int64(json_path(object->value, "spec", "x", NULL), 0), 1);
}

static const char *condition_message(const struct object *object, const char *type) {
    for (const struct json *c = json_first(json_path(object->value, "status", "conditions", NULL)); c; c = json_next(c))
        if (text_equal(json_string(json_get(c, "type")), type))
            return json_string_or(json_get(c, "message"), "");
    return NULL;
}

static void statuses_of_large_workloads_are_copied_whole(void **state) {
    (void)state;
    static const struct {
        const char *member, *item;
        size_t count;
    } cases[] = {
        // As recorded from the controllers, with longer names.
        {"replicatedJobsStatus",
         "{\"name\":\"workers-of-group-%zu\",\"ready\":1,\"succeeded\":0,\"failed\":0,\"active\":1,\"suspended\":0}",
         1000},
        {"childReferences",
         "{\"apiVersion\":\"tekton.dev/v1\",\"kind\":\"TaskRun\",\"name\":\"a-long-name-of-a-pipeline-run-task-%zu\","
         "\"pipelineTaskName\":\"task-%zu\",\"whenExpressions\":[{\"input\":\"a\",\"operator\":\"in\",\"values\":["
         "\"a\"]}]}",
         1000},
        {"componentStatus",
         "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"component-%zu\",\"podSets\":[{\"path\":"
         "\"template.spec.template\",\"replicas\":1}],\"conditions\":[{\"type\":\"ResourcesDeployed\",\"status\":"
         "\"True\","
         "\"reason\":\"CompletedDeployment\",\"message\":\"Component deployed successfully\",\"lastTransitionTime\":"
         "\"2026-01-02T03:04:05Z\",\"observedGeneration\":1},{\"type\":\"PodsReady\",\"status\":\"True\",\"reason\":"
         "\"SufficientPodsReady\",\"message\":\"1 pods running; 0 pods succeeded\",\"lastTransitionTime\":"
         "\"2026-01-02T03:04:05Z\"},{\"type\":\"Unhealthy\",\"status\":\"False\",\"reason\":\"FoundNoFailedPods\","
         "\"message\":"
         "\"None\",\"lastTransitionTime\":\"2026-01-02T03:04:05Z\"}]}",
         250},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_BUFFER(status, 1 << 22);
        buffer_printf(&status, "{\"conditions\":[" CONDITION "],\"restarts\":1,\"%s\":", "Ready", "ready",
                      cases[i].member);
        put_list(&status, cases[i].item, cases[i].count);
        buffer_char(&status, '}');
        struct object *object = parsed(status.data, MAX);
        assert_null(object->reduced);
        AUTO_TEXT kept = json_text(json_get(object->value, "status"), NULL);
        assert_string_equal(kept, status.data);
        object_free(object);
    }
}

static void the_largest_lists_are_left_out_until_the_rest_fits(void **state) {
    (void)state;
    AUTO_BUFFER(status, 1 << 22);
    AUTO_TEXT indexes = repeated('1', 200000);
    buffer_printf(&status, "{\"succeeded\":3,\"small\":{\"a\":[1,2]},\"middle\":");
    put_list(&status, "\"middle-%zu\"", 2000);
    buffer_text(&status, ",\"large\":");
    put_list(&status, "{\"large\":%zu}", 9000);
    buffer_printf(&status, ",\"conditions\":[" CONDITION "],\"completedIndexes\":\"%s\",\"larger\":", "Complete",
                  "done", indexes);
    put_list(&status, "{\"larger\":\"%zu\"}", 20000);
    buffer_char(&status, '}');
    struct object *object = parsed(status.data, MAX);
    const struct json *kept = json_get(object->value, "status");
    assert_within(object, MAX);
    assert_null(json_get(kept, "larger"));
    assert_null(json_get(kept, "large"));
    assert_int_equal(json_size(json_get(kept, "middle")), 2000);
    assert_non_null(json_get(kept, "small"));
    assert_string_equal(json_string(json_get(kept, "completedIndexes")), indexes);
    assert_int_equal(json_int64(json_get(kept, "succeeded"), 0), 3);
    assert_string_equal(condition_message(object, "Complete"), "done");
    assert_non_null(strstr(object->reduced, "and maxStatusSize is 262144; left out: larger, large"));
    assert_null(strstr(object->reduced, "middle"));
    object_free(object);
    object = parsed(status.data, 0);
    assert_null(object->reduced);
    object_free(object);
}

static void long_texts_go_before_conditions_and_messages_are_cut_first(void **state) {
    (void)state;
    AUTO_TEXT message = repeated('m', 300000);
    AUTO_TEXT cut = text_format("{\"ready\":1,\"list\":[1],\"conditions\":[" CONDITION "," CONDITION "]}", "Failed",
                                message, "Other", "short");
    struct object *object = parsed(cut, MAX);
    assert_within(object, MAX);
    assert_int_equal(strlen(condition_message(object, "Failed")), 1024 + 3);
    assert_string_equal(condition_message(object, "Failed") + 1022, "mm...");
    assert_string_equal(condition_message(object, "Other"), "short");
    assert_non_null(json_path(object->value, "status", "list", NULL));
    assert_true(text_has_suffix(object->reduced, "left out: the ends of long messages"));
    object_free(object);
    AUTO_TEXT umlauts = repeated('m', 300001); // 0xC3 0xBC, from an odd offset
    for (size_t i = 1; i < 300001; i++)
        umlauts[i] = (char)(i % 2 ? 0xC3 : 0xBC);
    AUTO_TEXT texts =
        text_format("{\"ready\":1,\"failedIndexes\":\"%s\",\"message\":\"%s\",\"conditions\":[" CONDITION "]}", message,
                    umlauts, "Failed", "short");
    object = parsed(texts, MAX);
    assert_within(object, MAX);
    assert_null(json_path(object->value, "status", "failedIndexes", NULL));
    assert_int_equal(strlen(json_string(json_path(object->value, "status", "message", NULL))), 1023 + 3);
    assert_string_equal(condition_message(object, "Failed"), "short");
    object_free(object);
}

static void short_values_count_too(void **state) {
    (void)state;
    AUTO_BUFFER(keys, 1 << 22);
    buffer_printf(&keys, "{\"conditions\":[" CONDITION "]", "Complete", "done");
    for (size_t i = 0; i < 50000; i++)
        buffer_printf(&keys, ",\"%zu\":%zu", i, i);
    buffer_text(&keys, ",\"list\":");
    put_list(&keys, "0", 40000);
    buffer_char(&keys, '}');
    struct object *object = parsed(keys.data, MAX);
    assert_within(object, MAX);
    assert_true(values_of(json_get(object->value, "status")) > MAX / STATUS_VALUE_BYTES - 10);
    assert_string_equal(condition_message(object, "Complete"), "done");
    assert_non_null(strstr(object->reduced, "left out: list, "));
    assert_non_null(strstr(object->reduced, " more"));
    assert_true(strlen(object->reduced) < 400);
    object_free(object);
}

static void the_largest_of_too_many_conditions_are_left_out(void **state) {
    (void)state;
    AUTO_TEXT message = repeated('m', 900);
    AUTO_BUFFER(status, 1 << 22);
    buffer_text(&status, "{\"succeeded\":1,\"conditions\":[");
    for (size_t i = 0; i < 2000; i++)
        buffer_printf(&status, CONDITION ",", "Fake", message);
    buffer_printf(&status, CONDITION "]}", "Complete", "done");
    struct object *object = parsed(status.data, MAX);
    assert_within(object, MAX);
    assert_string_equal(condition_message(object, "Complete"), "done");
    assert_int_equal(json_int64(json_path(object->value, "status", "succeeded", NULL), 0), 1);
    object_free(object);
}

static void what_is_no_mapping_stays(void **state) {
    (void)state;
    AUTO_TEXT text = repeated('x', 300000);
    AUTO_TEXT quoted = text_format("\"%s\"", text);
    AUTO_TEXT odd = text_format("{\"conditions\":{\"a\":\"%s\"},\"message\":7}", text);
    struct object *object = parsed(quoted, MAX);
    assert_null(object->reduced);
    object_free(object);
    object = parsed(odd, MAX);
    assert_within(object, MAX);
    assert_int_equal(json_size(json_get(object->value, "status")), 1);
    object_free(object);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses_of_large_workloads_are_copied_whole),
        cmocka_unit_test(the_largest_lists_are_left_out_until_the_rest_fits),
        cmocka_unit_test(long_texts_go_before_conditions_and_messages_are_cut_first),
        cmocka_unit_test(short_values_count_too),
        cmocka_unit_test(the_largest_of_too_many_conditions_are_left_out),
        cmocka_unit_test(what_is_no_mapping_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
