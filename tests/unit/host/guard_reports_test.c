// SPDX-License-Identifier: Apache-2.0
// Reports of guards: the host's watch on a fake transport, and the bounds of what a guard reports.
#include "core/host/lease/guard_reports.h"

#include "core/engine/fence/guard_report.h"
#include "tests/unit/host/watcher_stand.h"
#include "tests/unit/plugins/job_harness.h"

#define DISCOVERY                                                                                                      \
    "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"configmaps\",\"kind\":\"ConfigMap\",\"namespaced\":"     \
    "true,"                                                                                                            \
    "\"verbs\":[\"list\",\"watch\"]}]}"
#define ENTRY                                                                                                          \
    "{\\\"kind\\\":\\\"jobs.batch\\\",\\\"namespace\\\":\\\"n\\\",\\\"name\\\":\\\"a\\\",\\\"uid\\\":\\\"u\\\","       \
    "\\\"attempt\\\":3,\\\"resourceVersion\\\":\\\"7\\\",\\\"whole\\\":true,\\\"status\\\":{\\\"failed\\\":1}}"
#define OTHER_KIND                                                                                                     \
    "{\\\"kind\\\":\\\"crons.x\\\",\\\"name\\\":\\\"a\\\",\\\"uid\\\":\\\"u\\\",\\\"attempt\\\":3,"                    \
    "\\\"resourceVersion\\\":\\\"7\\\",\\\"status\\\":{\\\"failed\\\":1}}"
#define MAP(name, version, data)                                                                                       \
    "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name                                     \
    "\",\"namespace\":\"home\",\"uid\":\"u-" name "\",\"resourceVersion\":\"" version "\"},\"data\":{" data "}}"
#define LIST                                                                                                           \
    "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" MAP(      \
        "wharf-guard.here.w1", "4", "\"u\":\"" ENTRY "\"") "," MAP("wharf-guard.there.w1", "4",                        \
                                                                   "\"u\":\"" ENTRY "\"") "]}"
#define FIRST "/api/v1/namespaces/home/configmaps?"
#define WATCH FIRST "labelSelector=wharf.dev%2Fguard-report%3Dhere&watch"

static void take(void *ctx, struct engine_event *event) {
    struct stand *stand = ctx;
    assert_int_equal(event->type, EVENT_REPORT);
    buffer_printf(&stand->told, "%s %zu %s/%s %s %u %s %s%s;", event->report.worker, event->kind,
                  event->report.namespace_, event->report.name, event->report.uid, event->report.attempt,
                  event->report.version, event->report.status, event->report.whole ? " whole" : "");
}

static void entries_are_told_and_garbage_is_not(void **state) {
    (void)state;
    static struct kind jobs = {.plural_group = "jobs.batch"}, *kinds[] = {&jobs};
    struct stand stand;
    start(&stand, &guard_reports_watcher,
          &(struct cluster_scope){.origin = "here",
                                  .settings = {.kinds = kinds,
                                               .n_kinds = 1,
                                               .fencing = {.enabled = true, .reports = true, .reports_in = "home"}}},
          take);
    answer(&stand, "/api/v1", 200, DISCOVERY);
    const struct http_request *list = &fake_at(&stand.fake, find(&stand, FIRST))->request;
    assert_non_null(strstr(list->path, "labelSelector=wharf.dev%2Fguard-report%3Dhere"));
    answer(&stand, FIRST, 200, LIST);
    open_stream(&stand, WATCH);
    expect(&stand, "w1 0 n/a u 3 7 {\"failed\":1} whole;");
    change(&stand, WATCH,
           "{\"type\":\"MODIFIED\",\"object\":" MAP(
               "wharf-guard.here.w2", "6",
               "\"u\":\"" ENTRY "\",\"v\":\"no JSON\",\"w\":\"[]\",\"x\":\"" OTHER_KIND "\"") "}\n");
    expect(&stand, "w2 0 n/a u 3 7 {\"failed\":1} whole;");
    change(&stand, WATCH, "{\"type\":\"MODIFIED\",\"object\":" MAP("wharf-guard.here.w2", "7", "") "}\n");
    expect(&stand, "");
    end(&stand);
}

static void without_the_setting_it_does_not_run(void **state) {
    (void)state;
    struct cluster_io_settings settings = {.fencing = {.enabled = true}};
    assert_false(guard_reports_watcher.wanted(&settings));
    settings.fencing.reports = true;
    assert_true(guard_reports_watcher.wanted(&settings));
    settings.fencing.enabled = false;
    assert_false(guard_reports_watcher.wanted(&settings));
}

// A guard's entries ---------------------------------------------------------------------------------------------------

static struct moment at = {.mono_ns = CLOCK_SECOND, .wall_ns = INT64_C(1767225600) * CLOCK_SECOND};

// A mirror with a status of about `size` bytes.
static void note(struct guard_reports *reports, const struct kind *kind, unsigned number, size_t size) {
    AUTO_BUFFER(long_text, 1 << 20);
    for (size_t i = 0; i < size; i++)
        buffer_char(&long_text, 'x');
    AUTO_TEXT text = text_format(
        "{'apiVersion':'batch/"
        "v1','kind':'Job','metadata':{'name':'a-%u','namespace':'n','uid':'u-%u','resourceVersion':'7',"
        "'annotations':{'wharf.dev/attempt':'1'}},'spec':{},'status':{'succeeded':1,'conditions':[{'type':'Complete',"
        "'status':'True','message':'%s'}]}}",
        number, number, size > 0 ? long_text.data : "");
    AUTO_JSON mirror = harness_json(text);
    guard_reports_note(reports, kind, mirror, at);
}

static struct json *body_of(struct guard_reports *reports) {
    AUTO_BUFFER(out, (size_t)4 << 20);
    int64_t at_ns = 0;
    at.mono_ns += 2 * CLOCK_SECOND;
    if (!guard_reports_take(reports, at, &out, &at_ns))
        return NULL;
    struct json *body = NULL;
    assert_null(json_parse(out.data, out.len, &body));
    return body;
}

static void a_report_is_bounded_and_changes_are_gathered(void **state) {
    (void)state;
    struct kind *kind = NULL;
    struct guard_reports reports;
    assert_null(kind_check(job_kind, NULL, "wharf.dev/host", &kind));
    guard_reports_init(&reports, 1);
    assert_null(body_of(&reports));
    for (unsigned i = 0; i < 10; i++)
        note(&reports, kind, i, i == 3 ? 200000 : 50000);
    AUTO_JSON first = body_of(&reports);
    const struct json *data = json_get(first, "data");
    assert_int_equal(json_size(data), 9);
    assert_null(json_get(data, "u-3"));
    assert_true(reports.bytes <= GUARD_REPORT_MAX);
    assert_int_equal(reports.left_out, 1);
    note(&reports, kind, 5, 50000); // as it was
    assert_null(body_of(&reports));
    note(&reports, kind, 5, 10);
    note(&reports, kind, 6, 10);
    AUTO_JSON second = body_of(&reports);
    assert_int_equal(json_size(json_get(second, "data")), 9);
    note(&reports, kind, 6, 20);
    AUTO_BUFFER(early, (size_t)4 << 20);
    int64_t due_ns = 0;
    assert_false(guard_reports_take(&reports, at, &early, &due_ns));
    assert_int_equal(due_ns, at.mono_ns + CLOCK_SECOND);
    guard_reports_end(&reports);
    AUTO_JSON last = body_of(&reports);
    assert_true(json_is(json_get(last, "data"), JSON_NULL) && json_size(last) == 1);
    assert_null(body_of(&reports));
    guard_reports_end(&reports); // nothing was reported since
    assert_null(body_of(&reports));
    guard_reports_free(&reports);
    kind_free(kind);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_told_and_garbage_is_not),
        cmocka_unit_test(without_the_setting_it_does_not_run),
        cmocka_unit_test(a_report_is_bounded_and_changes_are_gathered),
    };
    return cmocka_run_group_tests(tests, harness_load, NULL);
}
