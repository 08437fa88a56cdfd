// SPDX-License-Identifier: Apache-2.0
// What a guard reports of a mirror, and what the host reads of it.
#include "core/engine/fence/guard_report.h"

#include "core/engine/mirror/mirror.h"
#include "tests/unit/plugins/job_harness.h"

#define FENCED ",'wharf.dev/fenced':'2026-03-01T12:03:00Z'"
#define FINAL(type) "'conditions':[{'type':'" type "','status':'True'}]"

static const struct moment now = {.mono_ns = CLOCK_SECOND, .wall_ns = INT64_C(1767225600) * CLOCK_SECOND};

static struct json *mirror_of(const char *annotations, const char *metadata, const char *spec, const char *status) {
    AUTO_TEXT text =
        text_format("{'apiVersion':'batch/"
                    "v1','kind':'Job','metadata':{'name':'a','namespace':'there','uid':'u-1','resourceVersion':"
                    "'17'%s,'annotations':{'wharf.dev/attempt':'2'%s}},'spec':{%s},'status':{%s}}",
                    metadata, annotations, spec, status);
    return harness_json(text);
}

// With ' for ".
static void expect(const char *annotations, const char *metadata, const char *spec, const char *status,
                   const char *printed) {
    struct kind *kind = NULL;
    assert_null(kind_check(job_kind, NULL, "wharf.dev/host", &kind));
    AUTO_JSON mirror = mirror_of(annotations, metadata, spec, status);
    AUTO_BUFFER(out, 4096);
    bool made = guard_report_print(kind, mirror, now, &out);
    kind_free(kind);
    assert_int_equal(made, !!printed);
    if (!printed)
        return;
    AUTO_TEXT wanted = text_format("{'kind':'jobs.batch','namespace':'%s','name':'a','uid':'u-1','attempt':2,"
                                   "'resourceVersion':'17',%s}",
                                   strstr(annotations, MARK_NAMESPACE) ? "here" : "there", printed);
    AUTO_JSON expected = harness_json(wanted);
    AUTO_JSON found = harness_json(out.data);
    assert_true(json_equal(expected, found));
}

#define INDEXED "'completionMode':'Indexed','completions':6"

static void of_an_unfinished_mirror_the_counts_are_reported(void **state) {
    (void)state;
    expect("", "", INDEXED, "'active':2,'ready':1,'succeeded':2,'completedIndexes':'0,3'",
           "'whole':false,'status':{'active':2,'ready':1,'succeeded':2,'completedIndexes':'0,3'}");
    expect(FENCED, "", INDEXED ",'suspend':true",
           "'succeeded':2,'completedIndexes':'0,3','conditions':[{'type':'Suspended','status':'True'}]",
           "'whole':false,'status':{'succeeded':2,'completedIndexes':'0,3'}");
    expect(",'wharf.dev/namespace':'here'", "", "'completions':3", "'succeeded':1",
           "'whole':false,'status':{'succeeded':1}");
    expect("", "", INDEXED, "", NULL);
    expect("", "", INDEXED, "'conditions':[{'type':'Suspended','status':'True'}]", NULL);
}

static void of_a_finished_mirror_the_whole_status_is_reported(void **state) {
    (void)state;
    expect("", "", INDEXED, "'succeeded':6," FINAL("Complete"),
           "'whole':true,'status':{'succeeded':6," FINAL("Complete") "}");
    expect(FENCED, "", INDEXED, "'succeeded':6," FINAL("Complete"),
           "'whole':true,'status':{'succeeded':6," FINAL("Complete") "}");
    expect("", "", INDEXED, "'failed':1," FINAL("Failed"), "'whole':true,'status':{'failed':1," FINAL("Failed") "}");
}

static void what_the_stop_itself_may_have_done_is_not_reported(void **state) {
    (void)state;
    expect(FENCED, "", INDEXED, "'failed':1," FINAL("Failed"), NULL);
    expect("", ",'deletionTimestamp':'2026-01-01T00:00:00Z'", INDEXED, "'failed':1," FINAL("Failed"), NULL);
    expect("", ",'deletionTimestamp':'2026-01-01T00:00:00Z'", INDEXED,
           "'failed':1,'succeeded':1,'completedIndexes':'0'", NULL);
}

static bool reads(const char *text) {
    AUTO_JSON value = harness_json(text);
    struct guard_report report;
    return guard_report_read(value, &report);
}

static void garbage_is_no_report(void **state) {
    (void)state;
    assert_true(reads(
        "{'kind':'jobs.batch','namespace':'n','name':'a','uid':'u','attempt':1,'resourceVersion':'7','status':{}}"));
    assert_false(reads(
        "{'kind':'jobs.batch','namespace':'n','name':'a','uid':'u','attempt':0,'resourceVersion':'7','status':{}}"));
    assert_false(
        reads("{'kind':'jobs.batch','namespace':'n','name':'a','uid':'u','attempt':4294967297,'resourceVersion':'7',"
              "'status':{}}"));
    assert_false(reads(
        "{'kind':'jobs.batch','namespace':'n','name':'a','uid':7,'attempt':1,'resourceVersion':'7','status':{}}"));
    assert_false(reads(
        "{'kind':'jobs.batch','namespace':'n','name':'a','uid':'u','attempt':1,'resourceVersion':'7','status':[]}"));
    assert_false(reads("{'kind':'jobs.batch','namespace':'n','name':'a','uid':'u','attempt':1,'status':{}}"));
    assert_false(reads("[]"));
}

static void a_configmap_names_its_host_and_worker(void **state) {
    (void)state;
    char name[GUARD_REPORT_NAME_MAX];
    guard_report_name("one", "w-1", name);
    assert_string_equal(name, "wharf-guard.one.w-1");
    assert_string_equal(guard_report_worker(name, "one"), "w-1");
    assert_null(guard_report_worker(name, "on"));
    assert_null(guard_report_worker(name, "one.w-1"));
    assert_null(guard_report_worker("wharf-guard.one.", "one"));
    assert_null(guard_report_worker("wharf-guard-one", "one"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_an_unfinished_mirror_the_counts_are_reported),
        cmocka_unit_test(of_a_finished_mirror_the_whole_status_is_reported),
        cmocka_unit_test(what_the_stop_itself_may_have_done_is_not_reported),
        cmocka_unit_test(garbage_is_no_report),
        cmocka_unit_test(a_configmap_names_its_host_and_worker),
    };
    return cmocka_run_group_tests(tests, harness_load, NULL);
}
