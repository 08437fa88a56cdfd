// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/services.h"

#include "core/base/log.h"
#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NOW_NS INT64_C(1767323045000000000) // 2026-01-02T03:04:05Z

static wharf_result plain_phase(const wharf_call *call, const wharf_value *object, wharf_phase *out);

static const wharf_kind plain = {.size = sizeof(wharf_kind), .kind = "Thing", .plural = "things", .phase = plain_phase};

static void begin(struct adapter_call *call, const wharf_kind *kind) {
    struct call_context context = {
        .kind = kind,
        .now = {.mono_ns = 1, .wall_ns = NOW_NS},
        .cluster = "w1",
        .attempt = 2,
        .version = "v1",
        .adapter = "thing",
        .object = "default/a",
    };
    adapter_call_begin(call, &context);
}

static wharf_value *parsed(struct adapter_call *call, const char *text) {
    wharf_value *value = services_table()->parse(&call->call, text, strlen(text));
    assert_non_null(value);
    return value;
}

static void assert_text(struct adapter_call *call, const wharf_value *value, const char *expected) {
    size_t len = 0;
    const char *text = services_table()->print(&call->call, value, &len);
    assert_non_null(text);
    assert_string_equal(text, expected);
    assert_int_equal(len, strlen(expected));
}

static void the_table_tells_its_size_and_version(void **state) {
    (void)state;
    const wharf_host *host = services_table();
    assert_int_equal(host->size, sizeof(wharf_host));
    assert_int_equal(host->abi_major, WHARF_ABI_MAJOR);
    assert_int_equal(host->abi_minor, WHARF_ABI_MINOR);
    assert_string_equal(host->version, WHARF_VERSION);
    assert_true(WHARF_HAS(wharf_host, host, log));
}

static void every_function_of_the_table_is_there(void **state) {
    (void)state;
    const wharf_host *host = services_table();
    void *const *words = (void *const *)host;
    for (size_t at = offsetof(wharf_host, type); at < sizeof(wharf_host); at += sizeof(void *))
        assert_non_null(words[at / sizeof(void *)]);
}

static void types_are_told_as_the_abi_numbers_them(void **state) {
    (void)state;
    static const struct {
        const char *text;
        wharf_type type;
    } cases[] = {{"null", WHARF_NULL},   {"true", WHARF_BOOL}, {"1", WHARF_NUMBER},
                 {"\"\"", WHARF_STRING}, {"[]", WHARF_ARRAY},  {"{}", WHARF_OBJECT}};
    struct adapter_call call;
    begin(&call, &plain);
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(services_table()->type(parsed(&call, cases[i].text)), cases[i].type);
    assert_int_equal(services_table()->type(NULL), WHARF_ABSENT);
    adapter_call_end(&call);
}

static void values_are_read_with_their_fallbacks(void **state) {
    (void)state;
    const wharf_host *host = services_table();
    struct adapter_call call;
    begin(&call, &plain);
    wharf_value *value = parsed(&call, "{\"s\":\"x\",\"b\":true,\"i\":9007199254740993,\"d\":1.5,\"z\":\"a\\u0000b\","
                                       "\"a/b\":{\"~\":[1,2]},\"n\":1e400}");
    assert_string_equal(host->string(host->find(value, "/s")), "x");
    assert_null(host->string(host->find(value, "/i")));
    assert_null(host->string(host->find(value, "/z")));
    assert_int_equal(host->boolean(host->find(value, "/b"), -1), 1);
    assert_int_equal(host->boolean(host->find(value, "/s"), -1), -1);
    assert_true(host->integer(host->find(value, "/i"), 0) == INT64_C(9007199254740993));
    assert_int_equal(host->integer(host->find(value, "/d"), 7), 7);
    assert_int_equal(host->integer(host->find(value, "/n"), 7), 7);
    assert_true(host->number(host->find(value, "/d"), 0) == 1.5);
    assert_true(host->number(host->find(value, "/s"), 2.5) == 2.5);
    assert_int_equal(host->integer(host->find(value, "/a~1b/~0/1"), 0), 2);
    assert_int_equal(host->count(host->find(value, "/a~1b/~0")), 2);
    assert_int_equal(host->count(host->find(value, "/s")), 0);
    assert_ptr_equal(host->find(value, ""), value);
    adapter_call_end(&call);
}

static void malformed_pointers_find_nothing(void **state) {
    (void)state;
    static const char *const pointers[] = {"a",        "/~",      "/~3",      "a/b",    "/x/",
                                           "/list/01", "/list/-", "/list/-1", "/list/9"};
    const wharf_host *host = services_table();
    struct adapter_call call;
    begin(&call, &plain);
    wharf_value *value = parsed(&call, "{\"a\":1,\"~\":2,\"~3\":3,\"x\":1,\"list\":[1,2]}");
    for (size_t i = 0; i < COUNT(pointers); i++)
        assert_null(host->find(value, pointers[i]));
    adapter_call_end(&call);
}

static void a_condition_is_found_by_its_type(void **state) {
    (void)state;
    const wharf_host *host = services_table();
    struct adapter_call call;
    begin(&call, &plain);
    wharf_value *job = parsed(&call, "{\"status\":{\"conditions\":[7,null,{\"type\":3},{\"type\":\"Failed\"},"
                                     "{\"type\":\"Complete\",\"n\":1},{\"type\":\"Complete\",\"n\":2}]}}");
    const wharf_value *found = host->find_where(job, "/status/conditions", "type", "Complete");
    assert_int_equal(host->integer(host->find(found, "/n"), 0), 1);
    assert_null(host->find_where(job, "/status/conditions", "type", "Suspended"));
    assert_null(host->find_where(job, "/status", "type", "Complete"));
    assert_null(host->find_where(job, "/spec", "type", "Complete"));
    adapter_call_end(&call);
}

static void members_are_walked_in_order_with_their_names(void **state) {
    (void)state;
    const wharf_host *host = services_table();
    struct adapter_call call;
    begin(&call, &plain);
    wharf_value *value = parsed(&call, "{\"b\":1,\"a\":[10,20]}");
    const wharf_value *member = host->first(value);
    assert_string_equal(host->name(member), "b");
    member = host->next(member);
    assert_string_equal(host->name(member), "a");
    assert_null(host->next(member));
    const wharf_value *item = host->first(member);
    assert_null(host->name(item));
    assert_int_equal(host->integer(host->next(item), 0), 20);
    assert_null(host->first(item));
    assert_null(host->name(value));
    adapter_call_end(&call);
}

static void null_is_accepted_wherever_a_value_is_read(void **state) {
    (void)state;
    const wharf_host *host = services_table();
    struct adapter_call call;
    begin(&call, &plain);
    wharf_value *object = host->new_object(&call.call);
    assert_null(host->find(NULL, "/a"));
    assert_null(host->find(object, NULL));
    assert_null(host->find_where(NULL, "", "a", "b"));
    assert_false(host->is(NULL, "", "a"));
    assert_false(host->is(object, "", NULL));
    assert_null(host->condition(NULL, "a", "True"));
    assert_null(host->string(NULL));
    assert_int_equal(host->boolean(NULL, 3), 3);
    assert_int_equal(host->integer(NULL, 4), 4);
    assert_int_equal(host->count(NULL), 0);
    assert_null(host->first(NULL));
    assert_null(host->next(NULL));
    assert_null(host->name(NULL));
    assert_true(host->equal(NULL, NULL));
    assert_false(host->equal(NULL, object));
    assert_null(host->copy(&call.call, NULL));
    assert_null(host->print(&call.call, NULL, NULL));
    assert_null(host->edit(&call.call, NULL, "/a"));
    assert_null(host->edit(&call.call, object, "/a"));
    assert_int_equal(host->remove(&call.call, NULL, "/a"), 0);
    assert_int_equal(host->remove(&call.call, object, "/a"), 0);
    host->take(&call.call, NULL, NULL, "/a");
    host->take(&call.call, object, NULL, "/a");
    assert_false(host->parse_time(NULL, NULL));
    assert_int_equal(call.failure, WHARF_OK);
    assert_text(&call, object, "{}");
    adapter_call_end(&call);
}

static void scalars_are_compared_by_their_text(void **state) {
    (void)state;
    static const struct {
        const char *value, *text;
        int is;
    } cases[] = {{"\"True\"", "True", 1}, {"\"true\"", "true", 1}, {"true", "true", 1}, {"true", "false", 0},
                 {"false", "false", 1},   {"true", "True", 0},     {"3", "3", 1},       {"3.0", "3", 1},
                 {"3", "4", 0},           {"3", "3x", 0},          {"3", "", 0},        {"\"\"", "", 1},
                 {"null", "null", 0},     {"[]", "[]", 0},         {"{}", "{}", 0}};
    const wharf_host *host = services_table();
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct adapter_call call;
        begin(&call, &plain);
        if (host->is(parsed(&call, cases[i].value), "", cases[i].text) != cases[i].is)
            fail_msg("%s is %s: expected %d", cases[i].value, cases[i].text, cases[i].is);
        adapter_call_end(&call);
    }
}

static void memory_is_zeroed_and_of_the_call(void **state) {
    (void)state;
    const wharf_host *host = services_table();
    struct adapter_call call;
    begin(&call, &plain);
    const unsigned char *bytes = host->memory(&call.call, 300);
    assert_non_null(bytes);
    for (size_t i = 0; i < 300; i++)
        assert_int_equal(bytes[i], 0);
    assert_non_null(host->memory(&call.call, 0));
    assert_null(host->memory(&call.call, SIZE_MAX / 2));
    assert_int_equal(call.failure, WHARF_RETRY);
    adapter_call_end(&call);
}

static void times_are_read_and_written(void **state) {
    (void)state;
    const wharf_host *host = services_table();
    struct adapter_call call;
    begin(&call, &plain);
    int64_t ns = 0;
    assert_true(host->parse_time("2026-01-02T04:04:05.5+01:00", &ns));
    assert_true(ns == NOW_NS + 500 * CLOCK_MS);
    assert_false(host->parse_time("yesterday", &ns));
    assert_string_equal(host->format_time(&call.call, NOW_NS), "2026-01-02T03:04:05Z");
    assert_string_equal(host->format(&call.call, "%d of %s", 3, "4"), "3 of 4");
    adapter_call_end(&call);
}

static void a_call_tells_what_it_is_about(void **state) {
    (void)state;
    static const wharf_kind given = {.kind = "Thing"};
    struct adapter_call call;
    adapter_call_begin(&call, &(struct call_context){.kind = &plain, .given = &given, .now = {.wall_ns = NOW_NS}});
    assert_ptr_equal(call.call.kind, &given);
    adapter_call_end(&call);
    begin(&call, &plain);
    assert_ptr_equal(call.call.kind, &plain);
    assert_int_equal(call.call.size, sizeof(wharf_call));
    assert_string_equal(call.call.now, "2026-01-02T03:04:05Z");
    assert_true(call.call.now_ns == NOW_NS);
    assert_string_equal(call.call.cluster, "w1");
    assert_int_equal(call.call.attempt, 2);
    assert_string_equal(call.call.version, "v1");
    assert_int_equal(call.call.answer->size, sizeof(wharf_answer));
    adapter_call_end(&call);
}

// An adapter whose behaviour each test sets.
static struct {
    wharf_result result;
    wharf_phase phase;
    const char *replace_by; // JSON that the given object becomes
    wharf_answer answer;
    wharf_answer seen; // as it was when the function was entered
} script;

static wharf_result play(const wharf_call *call, wharf_value *value) {
    script.seen = *call->answer;
    call->answer->reason = script.answer.reason;
    call->answer->message = script.answer.message;
    call->answer->retry_after_ms = script.answer.retry_after_ms;
    if (script.replace_by) {
        const wharf_host *host = services_table();
        host->set(call, value, "", host->parse(call, script.replace_by, strlen(script.replace_by)));
    }
    return script.result;
}

static wharf_result plain_phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    (void)object;
    assert_int_equal(out->size, sizeof(wharf_phase));
    assert_int_equal(out->phase, WHARF_PENDING);
    *out = script.phase;
    return play(call, NULL);
}

static wharf_result script_mirror(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    (void)workload;
    return play(call, mirror);
}

static wharf_result script_update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                                  wharf_value *desired) {
    (void)workload;
    (void)mirror;
    return play(call, desired);
}

static const wharf_kind scripted = {.size = sizeof(wharf_kind),
                                    .kind = "Thing",
                                    .phase = plain_phase,
                                    .mirror = script_mirror,
                                    .update = script_update,
                                    .status = script_update};

static const wharf_kind endless = {
    .size = sizeof(wharf_kind), .kind = "Service", .phase = plain_phase, .flags = WHARF_KIND_NEVER_FINISHES};

static void phases_come_out_by_the_rules(void **state) {
    (void)state;
    const struct {
        const wharf_kind *kind;
        wharf_result result, expected_result;
        int phase, expected_phase;
        int64_t since_ns, expected_since_ns;
    } cases[] = {
        {&scripted, WHARF_OK, WHARF_OK, WHARF_SUCCEEDED, WHARF_SUCCEEDED, 5, 5},
        {&scripted, WHARF_OK, WHARF_OK, WHARF_FAILED, WHARF_FAILED, 5, 5},
        {&scripted, WHARF_OK, WHARF_OK, WHARF_SUSPENDED, WHARF_SUSPENDED, 5, 0},
        {&scripted, WHARF_OK, WHARF_OK, 99, WHARF_ACTIVE, 5, 0},
        {&scripted, WHARF_REFUSED, WHARF_REFUSED, WHARF_SUCCEEDED, WHARF_ACTIVE, 5, 0},
        {&scripted, (wharf_result)77, WHARF_RETRY, WHARF_SUCCEEDED, WHARF_ACTIVE, 5, 0},
        {&endless, WHARF_OK, WHARF_OK, WHARF_SUCCEEDED, WHARF_ACTIVE, 5, 0},
        {&endless, WHARF_OK, WHARF_OK, WHARF_FAILED, WHARF_ACTIVE, 5, 0},
        {&endless, WHARF_OK, WHARF_OK, WHARF_PENDING, WHARF_PENDING, 0, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        memset(&script, 0, sizeof(script));
        script.result = cases[i].result;
        script.phase.phase = (wharf_phase_kind)cases[i].phase;
        script.phase.since_ns = cases[i].since_ns;
        struct adapter_call call;
        begin(&call, cases[i].kind);
        wharf_phase out;
        memset(&out, 0x55, sizeof(out));
        assert_int_equal(adapter_phase(&call, NULL, &out), cases[i].expected_result);
        assert_int_equal(out.phase, cases[i].expected_phase);
        assert_true(out.since_ns == cases[i].expected_since_ns);
        assert_int_equal(out.size, sizeof(out));
        adapter_call_end(&call);
    }
}

static void functions_that_are_not_there_add_nothing(void **state) {
    (void)state;
    struct adapter_call call;
    begin(&call, &plain);
    wharf_value *value = parsed(&call, "{\"a\":1}");
    struct json *json = (struct json *)value;
    assert_int_equal(adapter_mirror(&call, json, json), WHARF_OK);
    assert_int_equal(adapter_update(&call, json, json, json), WHARF_OK);
    assert_int_equal(adapter_status(&call, json, NULL, json), WHARF_OK);
    assert_text(&call, value, "{\"a\":1}");
    adapter_call_end(&call);
}

static wharf_result call_one(struct adapter_call *call, int which, struct json *value) {
    if (which == 0)
        return adapter_mirror(call, value, value);
    return which == 1 ? adapter_update(call, value, value, value) : adapter_status(call, value, NULL, value);
}

static void results_of_no_known_number_mean_try_again(void **state) {
    (void)state;
    static const struct {
        int result;
        wharf_result expected;
    } cases[] = {{WHARF_OK, WHARF_OK}, {WHARF_RETRY, WHARF_RETRY}, {WHARF_REFUSED, WHARF_REFUSED}, {9, WHARF_RETRY}};
    for (size_t i = 0; i < COUNT(cases) * 3; i++) {
        memset(&script, 0, sizeof(script));
        script.result = (wharf_result)cases[i / 3].result;
        script.replace_by = "{\"b\":1}";
        struct adapter_call call;
        begin(&call, &scripted);
        wharf_value *value = parsed(&call, "{\"a\":1}");
        assert_int_equal(call_one(&call, (int)(i % 3), (struct json *)value), cases[i / 3].expected);
        assert_text(&call, value, "{\"b\":1}");
        adapter_call_end(&call);
    }
}

static void the_answer_is_zeroed_before_each_function(void **state) {
    (void)state;
    memset(&script, 0, sizeof(script));
    script.result = WHARF_RETRY;
    script.answer = (wharf_answer){.reason = "Why", .message = "because", .retry_after_ms = 7};
    struct adapter_call call;
    begin(&call, &scripted);
    struct json *value = (struct json *)parsed(&call, "{}");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(adapter_mirror(&call, value, value), WHARF_RETRY);
        assert_null(script.seen.reason);
        assert_null(script.seen.message);
        assert_int_equal(script.seen.retry_after_ms, 0);
        assert_int_equal(script.seen.size, sizeof(wharf_answer));
        assert_int_equal(call.answer.retry_after_ms, 7);
    }
    adapter_call_end(&call);
}

static wharf_result careless(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    (void)workload;
    services_table()->set_string(call, mirror, "/metadata/labels/app", "x");
    call->answer->reason = "Other";
    call->answer->message = "another sentence";
    return WHARF_OK;
}

static void a_service_that_failed_decides_the_result(void **state) {
    (void)state;
    static const wharf_kind kind = {.size = sizeof(wharf_kind), .kind = "Thing", .mirror = careless};
    struct adapter_call call;
    begin(&call, &kind);
    struct json *value = (struct json *)parsed(&call, "{\"metadata\":{\"labels\":\"oops\"}}");
    assert_int_equal(adapter_mirror(&call, value, value), WHARF_REFUSED);
    assert_string_equal(adapter_answer_reason(&call, "Refused"), "Refused");
    assert_string_equal(adapter_answer_message(&call, "none"), "/metadata/labels/app: cannot be set below a string");
    struct json *good = (struct json *)parsed(&call, "{}");
    assert_int_equal(adapter_mirror(&call, good, good), WHARF_OK);
    assert_string_equal(adapter_answer_message(&call, "none"), "another sentence");
    adapter_call_end(&call);
}

static void answers_are_made_fit_for_an_event(void **state) {
    (void)state;
    static const struct {
        const char *reason, *expected;
    } reasons[] = {{"ClusterSelector", "ClusterSelector"},
                   {"K8s", "K8s"},
                   {NULL, "Refused"},
                   {"", "Refused"},
                   {"lower", "Refused"},
                   {"Two words", "Refused"}};
    struct adapter_call call;
    begin(&call, &plain);
    for (size_t i = 0; i < COUNT(reasons); i++) {
        call.answer.reason = reasons[i].reason;
        assert_string_equal(adapter_answer_reason(&call, "Refused"), reasons[i].expected);
    }
    assert_string_equal(adapter_answer_message(&call, "none"), "none");
    call.answer.message = "bad \xc3";
    assert_string_equal(adapter_answer_message(&call, "none"), "none");
    call.answer.message = "good";
    assert_string_equal(adapter_answer_message(&call, "none"), "good");
    char longer[2000];
    memset(longer, 'x', sizeof(longer));
    memcpy(longer + 1023, "\xc3\xa4", 2);
    longer[sizeof(longer) - 1] = '\0';
    call.answer.message = longer;
    assert_int_equal(strlen(adapter_answer_message(&call, "none")), 1023);
    adapter_call_end(&call);
}

static void many_values_are_freed_at_the_end(void **state) {
    (void)state;
    const wharf_host *host = services_table();
    struct adapter_call call;
    begin(&call, &plain);
    for (int i = 0; i < 1000; i++) {
        assert_non_null(host->new_integer(&call.call, i));
        assert_non_null(host->format(&call.call, "%d", i));
    }
    assert_int_equal(call.n_values, 1000);
    assert_int_equal(call.n_texts, 1000);
    adapter_call_end(&call);
    assert_int_equal(call.n_values, 0);
}

static void without_a_call_values_are_made_only_while_loading(void **state) {
    (void)state;
    const wharf_host *host = services_table();
    services_loading("thing");
    wharf_value *kept = host->new_object(NULL);
    assert_non_null(kept);
    host->set_string(NULL, kept, "/a", "b");
    const char *text = host->format(NULL, "%s", "a problem");
    services_loading(NULL);
    assert_null(host->new_object(NULL));
    assert_null(host->format(NULL, "%s", "x"));
    assert_null(host->print(NULL, kept, NULL));
    assert_string_equal(host->string(host->find(kept, "/a")), "b");
    assert_string_equal(text, "a problem");
}

static void log_lines_name_the_adapter_and_the_object(void **state) {
    (void)state;
    const wharf_host *host = services_table();
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    log_setup(LOG_TEXT, LOG_INFO);
    log_to(ends[1]);
    struct adapter_call call;
    begin(&call, &plain);
    host->log(&call.call, WHARF_LOG_DEBUG, "too fine");
    host->log(&call.call, (wharf_log_level)55, "hello there");
    host->log(&call.call, WHARF_LOG_ERROR, NULL);
    adapter_call_end(&call);
    services_loading("loader");
    host->log(NULL, WHARF_LOG_WARN, "at load");
    services_loading(NULL);
    log_to(2);
    close(ends[1]);
    char text[2000];
    ssize_t len = read(ends[0], text, sizeof(text) - 1);
    close(ends[0]);
    assert_true(len > 0);
    text[len] = '\0';
    static const char *const wanted[] = {"hello there", "thing", "default/a", "w1", "at load", "loader"};
    for (size_t i = 0; i < COUNT(wanted); i++)
        assert_non_null(strstr(text, wanted[i]));
    assert_null(strstr(text, "too fine"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_tells_its_size_and_version),
        cmocka_unit_test(every_function_of_the_table_is_there),
        cmocka_unit_test(types_are_told_as_the_abi_numbers_them),
        cmocka_unit_test(values_are_read_with_their_fallbacks),
        cmocka_unit_test(malformed_pointers_find_nothing),
        cmocka_unit_test(a_condition_is_found_by_its_type),
        cmocka_unit_test(members_are_walked_in_order_with_their_names),
        cmocka_unit_test(null_is_accepted_wherever_a_value_is_read),
        cmocka_unit_test(scalars_are_compared_by_their_text),
        cmocka_unit_test(memory_is_zeroed_and_of_the_call),
        cmocka_unit_test(times_are_read_and_written),
        cmocka_unit_test(a_call_tells_what_it_is_about),
        cmocka_unit_test(phases_come_out_by_the_rules),
        cmocka_unit_test(functions_that_are_not_there_add_nothing),
        cmocka_unit_test(results_of_no_known_number_mean_try_again),
        cmocka_unit_test(the_answer_is_zeroed_before_each_function),
        cmocka_unit_test(a_service_that_failed_decides_the_result),
        cmocka_unit_test(answers_are_made_fit_for_an_event),
        cmocka_unit_test(many_values_are_freed_at_the_end),
        cmocka_unit_test(without_a_call_values_are_made_only_while_loading),
        cmocka_unit_test(log_lines_name_the_adapter_and_the_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
