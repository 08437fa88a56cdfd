// SPDX-License-Identifier: Apache-2.0
// Forms other than JSON objects: Tables, Events of the core group, and objects that come as protobuf.
#include "core/base/buffer.h"
#include "tests/unit/world/helper.h"
#include "tests/world/crd.h"
#include "tests/world/protobuf.h"
#include "tests/world/view.h"

#include <stdlib.h>

#define TABLE "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
#define EVENTS "/apis/events.k8s.io/v1/namespaces/default/events"
#define CORE_EVENTS "/api/v1/namespaces/default/events"

static struct json *table(struct fixture *f, const char *path) {
    struct world_request request = {.method = "GET", .path = path, .accept = TABLE};
    struct world_response response;
    struct json *out = NULL;
    world_request(f->cluster, &request, f->now_ns, &response);
    assert_int_equal(response.status, 200);
    assert_null(json_parse(response.body, response.body_len, &out));
    world_response_clear(&response);
    assert_string_equal(text_at(out, "/kind"), "Table");
    return out;
}

static void expect_cells(const struct json *table_, const char *expected) {
    AUTO_TEXT text = json_text(pointer_find(table_, "/rows/0/cells"), NULL);
    assert_string_equal(text, expected);
}

static void test_jobs_as_a_table(void **state) {
    (void)state;
    struct fixture f;
    begin(&f, &(struct world_options){.pod_start_ns = CLOCK_SECOND});
    make_job(&f, "a", "\"parallelism\":2,\"completions\":3", "\"world.test/duration\":\"10s\"");
    run_until(&f, 5 * CLOCK_SECOND);
    AUTO_JSON running = table(&f, JOBS);
    expect_cells(running, "[\"a\",\"Running\",\"0/3\",\"5s\",\"5s\",\"main\",\"example.org/main:1\"]");
    assert_string_equal(text_at(running, "/columnDefinitions/1/name"), "Status");
    assert_int_equal(number_at(running, "/columnDefinitions/5/priority"), 1);
    assert_string_equal(text_at(running, "/rows/0/object/metadata/name"), "a");
    assert_true(*text_at(running, "/metadata/resourceVersion"));
    run_until(&f, 130 * CLOCK_SECOND);
    AUTO_JSON complete = table(&f, JOBS "/a");
    assert_string_equal(text_at(complete, "/rows/0/cells/1"), "Complete");
    assert_string_equal(text_at(complete, "/rows/0/cells/2"), "3/3");
    assert_string_equal(text_at(complete, "/rows/0/cells/4"), "2m10s");
    end(&f);
}

static size_t read_watch(struct world_watch *watch, struct json **first, int64_t now_ns) {
    AUTO_BUFFER(out, 1 << 20);
    size_t len = world_watch_read(watch, &out, 1, now_ns);
    *first = NULL;
    if (len)
        assert_null(json_parse(out.data, strcspn(out.data, "\n"), first));
    return len;
}

static void test_a_watch_of_tables(void **state) {
    (void)state;
    struct fixture f;
    struct world_response refused;
    begin(&f, &(struct world_options){.no_controllers = true});
    make_job(&f, "a", "", "");
    struct world_watch *watch = world_watch(f.cluster, JOBS "?watch=true", f.now_ns, NULL, NULL, &refused);
    AUTO_JSON event = NULL;
    world_watch_accept(watch, TABLE);
    assert_true(read_watch(watch, &event, f.now_ns) > 0);
    assert_string_equal(text_at(event, "/type"), "ADDED");
    assert_string_equal(text_at(event, "/object/kind"), "Table");
    assert_string_equal(text_at(event, "/object/rows/0/cells/0"), "a");
    world_watch_close(watch);
    end(&f);
}

static void make_event(struct fixture *f, const char *name, const char *about, const char *more) {
    AUTO_TEXT body = text_format(
        "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"%s\"},\"eventTime\":"
        "\"2026-01-01T00:00:00.500000Z\",\"type\":\"Normal\",\"reason\":\"Made\",\"action\":\"Make\",\"note\":\"it "
        "is made\",\"reportingController\":\"example.com/c\",\"reportingInstance\":\"c-1\",\"regarding\":{\"kind\":"
        "\"Job\",\"name\":\"%s\",\"namespace\":\"default\"}%s}",
        name, about, more);
    assert_int_equal(ask(f, "POST", EVENTS, body, NULL), 201);
}

static void test_events_of_the_core_group(void **state) {
    (void)state;
    struct fixture f;
    struct world_response refused;
    begin(&f, &(struct world_options){0});
    make_event(&f, "e1", "a", "");
    make_event(&f, "e2", "b", ",\"series\":{\"count\":7,\"lastObservedTime\":\"2026-01-01T00:01:00.000000Z\"}");
    AUTO_JSON list = NULL;
    AUTO_JSON one = NULL;
    AUTO_JSON event = NULL;
    assert_int_equal(ask(&f, "GET", CORE_EVENTS "?fieldSelector=involvedObject.name%3Db,reason%3DMade", NULL, &list),
                     200);
    assert_string_equal(text_at(list, "/apiVersion"), "v1");
    assert_int_equal(json_size(json_get(list, "items")), 1);
    assert_string_equal(text_at(list, "/items/0/involvedObject/name"), "b");
    assert_string_equal(text_at(list, "/items/0/message"), "it is made");
    assert_string_equal(text_at(list, "/items/0/lastTimestamp"), "2026-01-01T00:01:00Z");
    assert_int_equal(number_at(list, "/items/0/count"), 7);
    assert_int_equal(ask(&f, "GET", CORE_EVENTS "/e1", NULL, &one), 200);
    assert_string_equal(text_at(one, "/source/component"), "example.com/c");
    assert_string_equal(text_at(one, "/firstTimestamp"), "2026-01-01T00:00:00Z");
    assert_null(json_get(one, "note"));
    AUTO_JSON rows = table(&f, CORE_EVENTS);
    expect_cells(rows, "[\"0s\",\"Normal\",\"Made\",\"job/a\",\"it is made\",\"e1\"]");
    struct world_watch *watch = world_watch(f.cluster, CORE_EVENTS "?watch=1", f.now_ns, NULL, NULL, &refused);
    assert_true(read_watch(watch, &event, f.now_ns) > 0);
    assert_string_equal(text_at(event, "/object/apiVersion"), "v1");
    assert_string_equal(text_at(event, "/object/involvedObject/name"), "a");
    world_watch_close(watch);
    assert_int_equal(ask(&f, "DELETE", CORE_EVENTS "/e1", NULL, NULL), 405);
    assert_int_equal(ask(&f, "GET", JOBS "?fieldSelector=involvedObject.name%3Db", NULL, NULL), 400);
    assert_int_equal(ask(&f, "GET", CORE_EVENTS "?fieldSelector=involvedObject.colour%3Db", NULL, NULL), 400);
    end(&f);
}

static void test_paths_of_columns(void **state) {
    (void)state;
    static const char text[] =
        "{\"a\":{\"b.c\":1,\"d\":[{\"type\":\"X\",\"s\":\"no\"},{\"type\":\"Y\",\"s\":\"yes\"}]},"
        "\"e\":[5,6]}";
    static const struct {
        const char *path, *expected;
    } cases[] = {{".a.d[1].s", "\"yes\""},
                 {".a.d[?(@.type==\"Y\")].s", "\"yes\""},
                 {".a.d[?(@.type=='Y')].s", "\"yes\""},
                 {".a.d[?(@.type == \"X\")].s", "\"no\""},
                 {".a.d[?(@.type==\"Z\")].s", NULL},
                 {".a['b.c']", "1"},
                 {".a.b\\.c", "1"},
                 {".e[*]", "5"},
                 {".e[7]", NULL},
                 {".e[", NULL},
                 {"a", NULL},
                 {".a.d[?(@.type]", NULL},
                 {".nothing.at.all", NULL}};
    AUTO_JSON root = NULL;
    assert_null(json_parse(text, strlen(text), &root));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct json *found = jsonpath_find(root, cases[i].path);
        AUTO_TEXT shown = found ? json_text(found, NULL) : NULL;
        if (!text_equal(shown, cases[i].expected))
            fail_msg("%s: %s", cases[i].path, shown ? shown : "nothing");
    }
}

// Protobuf by hand: tag, length, bytes.
static void put(struct buffer *out, unsigned field, const char *data, size_t len) {
    assert_true(len < 128);
    buffer_char(out, (char)(field << 3 | 2));
    buffer_char(out, (char)len);
    buffer_append(out, data, len);
}

static void put_text(struct buffer *out, unsigned field, const char *text) {
    put(out, field, text, strlen(text));
}

static void wrap(struct buffer *out, const char *version, const char *kind, const struct buffer *raw) {
    AUTO_BUFFER(type, 256);
    put_text(&type, 1, version);
    put_text(&type, 2, kind);
    buffer_append(out, "k8s", 4);
    put(out, 1, type.data, type.len);
    put(out, 2, raw->data, raw->len);
    put_text(out, 3, "");
}

// A Namespace as `kubectl create namespace film` sends it, with a label.
static void make_namespace(struct buffer *out, bool odd) {
    AUTO_BUFFER(entry, 256);
    AUTO_BUFFER(metadata, 256);
    AUTO_BUFFER(raw, 256);
    put_text(&entry, 1, "team");
    put_text(&entry, 2, "tides");
    put_text(&metadata, 1, "film");
    put_text(&metadata, 2, "");
    put(&metadata, 8, "", 0);
    put(&metadata, 11, entry.data, entry.len);
    if (odd)
        put_text(&metadata, 77, "x");
    put(&raw, 1, metadata.data, metadata.len);
    put(&raw, 2, "", 0);
    wrap(out, "v1", "Namespace", &raw);
}

static int post(struct fixture *f, const struct buffer *body) {
    struct world_request request = {.method = "POST",
                                    .path = "/api/v1/namespaces",
                                    .content_type = "application/vnd.kubernetes.protobuf",
                                    .body = body->data,
                                    .body_len = body->len};
    struct world_response response;
    world_request(f->cluster, &request, f->now_ns, &response);
    int status = response.status;
    world_response_clear(&response);
    return status;
}

static void test_protobuf(void **state) {
    (void)state;
    struct fixture f;
    AUTO_BUFFER(body, 512);
    AUTO_BUFFER(odd, 512);
    begin(&f, &(struct world_options){0});
    make_namespace(&body, false);
    make_namespace(&odd, true);
    assert_int_equal(post(&f, &odd), 415);
    assert_int_equal(post(&f, &body), 201);
    const struct json *made = world_object(f.cluster, "", "namespaces", "", "film");
    assert_string_equal(text_at(made, "/metadata/labels/team"), "tides");
    end(&f);
}

// What ends anywhere, or has any byte changed, is read as something or refused: never beyond its end.
static void test_broken_protobuf(void **state) {
    (void)state;
    AUTO_BUFFER(body, 512);
    char message[256];
    make_namespace(&body, false);
    size_t refused = 0;
    for (size_t len = 0; len < body.len; len++) {
        char *part = malloc(len + 1); // so that a sanitizer sees the end
        assert_non_null(part);
        memcpy(part, body.data, len);
        char *exact = realloc(part, len ? len : 1);
        struct json *value = protobuf_read(exact, len, message);
        refused += !value;
        assert_true(value || *message);
        json_free(value);
        free(exact);
    }
    assert_true(refused > 4);
    for (size_t i = 4; i < body.len; i++)
        for (int byte = 0; byte < 256; byte += 3) {
            char was = body.data[i];
            body.data[i] = (char)byte;
            struct json *value = protobuf_read(body.data, body.len, message);
            assert_true(value || *message);
            json_free(value);
            body.data[i] = was;
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_jobs_as_a_table),
                                       cmocka_unit_test(test_a_watch_of_tables),
                                       cmocka_unit_test(test_events_of_the_core_group),
                                       cmocka_unit_test(test_paths_of_columns),
                                       cmocka_unit_test(test_protobuf),
                                       cmocka_unit_test(test_broken_protobuf)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
