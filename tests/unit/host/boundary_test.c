// SPDX-License-Identifier: Apache-2.0
#include "core/host/watchers/boundary.h"

#include "core/base/memory.h"
#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const wharf_reference references[] = {
    {.name = "/spec/data/name",
     .group = "",
     .version = "v1",
     .resource = "configmaps",
     .kind = "ConfigMap",
     .namespace_ = "/spec/data/namespace"},
    {.name = "/spec/data/name", // the same place
     .group = "",
     .version = "v1",
     .resource = "secrets",
     .kind = "Secret",
     .namespace_ = "/spec/data/namespace"},
    {.name = "/spec/routes/*/to", .group = "example.com", .version = "v1", .resource = "tracks", .kind = "Track"},
    {.of = "tracks.example.com",
     .name = "/spec/next/name",
     .group = "example.com",
     .version = "v1",
     .resource = "tracks",
     .kind = "Track",
     .namespace_ = "/spec/next/*/namespace"},
    {.name = NULL},
};
static struct kind train = {
    .abi = {.group = "example.com", .kind = "Train", .plural = "trains", .references = references}};
static struct kind *kinds[] = {&train};

#define MAP "team-*={origin}-{namespace}\nlab=lab-{origin}\nprivate=\n"

static struct cluster_scope mapped(void) {
    return (struct cluster_scope){
        .cluster = 1, .origin = "west", .namespace_map = MAP, .settings = {.kinds = kinds, .n_kinds = 1}};
}

#define TRAINS                                                                                                         \
    { "example.com", "v1", "trains", false }
#define TRACKS                                                                                                         \
    { "example.com", "v1", "tracks", false }
#define JOBS                                                                                                           \
    { "batch", "v1", "jobs", false }
#define NAMESPACES                                                                                                     \
    { "", "v1", "namespaces", true }

#define RAW(path)                                                                                                      \
    { .verb = VERB_RAW_GET, .resource = {"", "", "", false}, .namespace_ = "", .name = (path) }

static const struct {
    struct request asked;
    const char *namespace_, *name, *body; // sent; body NULL: none
} requests[] = {
    {{.verb = VERB_GET, .resource = JOBS, .namespace_ = "team-a", .name = "j"}, "west-team-a", "j", NULL},
    {{.verb = VERB_GET, .resource = JOBS, .namespace_ = "other", .name = "j"}, "other", "j", NULL},
    {{.verb = VERB_CREATE,
      .resource = JOBS,
      .namespace_ = "team-a",
      .name = "j",
      .body = "{\"metadata\":{\"name\":\"j\",\"namespace\":\"team-a\"},\"spec\":{\"namespace\":\"team-a\"}}"},
     "west-team-a",
     "j",
     "{\"metadata\":{\"name\":\"j\",\"namespace\":\"west-team-a\"},\"spec\":{\"namespace\":\"team-a\"}}"},
    {{.verb = VERB_MERGE_PATCH,
      .resource = JOBS,
      .namespace_ = "lab",
      .name = "j",
      .body = "{\"metadata\":{\"labels\":{\"namespace\":\"lab\"}}}"},
     "lab-west",
     "j",
     "{\"metadata\":{\"labels\":{\"namespace\":\"lab\"}}}"},
    // DeleteOptions are not of a namespace.
    {{.verb = VERB_DELETE,
      .resource = JOBS,
      .namespace_ = "team-a",
      .name = "j",
      .body = "{\"metadata\":{\"namespace\":\"team-a\"},\"preconditions\":{\"uid\":\"u\"}}"},
     "west-team-a",
     "j",
     "{\"metadata\":{\"namespace\":\"team-a\"},\"preconditions\":{\"uid\":\"u\"}}"},
    {{.verb = VERB_CREATE,
      .resource = NAMESPACES,
      .namespace_ = "",
      .name = "team-a",
      .body = "{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"team-a\"}}"},
     "",
     "west-team-a",
     "{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"west-team-a\"}}"},
    {{.verb = VERB_GET,
      .resource = {"scheduling.k8s.io", "v1", "priorityclasses", true},
      .namespace_ = "",
      .name = "team-a"},
     "",
     "team-a",
     NULL},
    {RAW("/apis/batch/v1/namespaces/team-a/jobs/j"), "", "/apis/batch/v1/namespaces/west-team-a/jobs/j", NULL},
    {RAW("/api/v1/namespaces/team-a?x=/namespaces/team-b"), "", "/api/v1/namespaces/west-team-a?x=/namespaces/team-b",
     NULL},
    {RAW("/apis/batch/v1?x=/namespaces/team-b"), "", "/apis/batch/v1?x=/namespaces/team-b", NULL},
    {{.verb = VERB_CREATE,
      .resource = TRAINS,
      .namespace_ = "team-a",
      .name = "t",
      .body = "{\"metadata\":{\"namespace\":\"team-a\"},\"spec\":{\"data\":{\"name\":\"c\",\"namespace\":\"team-b\"},"
              "\"next\":{\"x\":{\"namespace\":\"team-b\"}}}}"},
     "west-team-a",
     "t",
     "{\"metadata\":{\"namespace\":\"west-team-a\"},\"spec\":{\"data\":{\"name\":\"c\",\"namespace\":\"west-team-"
     "b\"},"
     "\"next\":{\"x\":{\"namespace\":\"team-b\"}}}}"},
    {{.verb = VERB_MERGE_PATCH,
      .resource = TRAINS,
      .namespace_ = "team-a",
      .name = "t",
      .body = "{\"metadata\":{\"uid\":\"u\"},\"spec\":{\"data\":{\"namespace\":null}}}"},
     "west-team-a",
     "t",
     "{\"metadata\":{\"uid\":\"u\"},\"spec\":{\"data\":{\"namespace\":null}}}"},
    {{.verb = VERB_CREATE,
      .resource = TRACKS,
      .namespace_ = "team-a",
      .name = "k",
      .body = "{\"metadata\":{},\"spec\":{\"data\":{\"namespace\":\"team-b\"},\"next\":{\"x\":{\"namespace\":"
              "\"lab\"}}}}"},
     "west-team-a",
     "k",
     "{\"metadata\":{},\"spec\":{\"data\":{\"namespace\":\"team-b\"},\"next\":{\"x\":{\"namespace\":\"lab-west\"}}}"
     "}"},
};

static void requests_get_the_workers_names(void **state) {
    (void)state;
    const struct cluster_scope scope = mapped();
    for (size_t i = 0; i < COUNT(requests); i++) {
        struct request asked = requests[i].asked;
        struct boundary_request sent;
        asked.body_len = asked.body ? strlen(asked.body) : 0;
        struct error *error = boundary_request(&scope, &asked, &sent);
        if (error)
            fail_msg("case %zu: %s", i, error_text(error));
        assert_string_equal(sent.request.namespace_, requests[i].namespace_);
        assert_string_equal(sent.request.name, requests[i].name);
        if (requests[i].body) {
            assert_int_equal(sent.request.body_len, strlen(requests[i].body));
            assert_memory_equal(sent.request.body, requests[i].body, sent.request.body_len);
        } else {
            assert_null(sent.request.body);
        }
        boundary_request_clear(&sent);
    }
}

static void a_request_into_a_namespace_without_a_name_is_refused(void **state) {
    (void)state;
    static const struct request cases[] = {
        {.verb = VERB_GET, .resource = JOBS, .namespace_ = "private", .name = "j"},
        {.verb = VERB_GET, .resource = JOBS, .namespace_ = "west-team-a", .name = "j"},
        {.verb = VERB_CREATE, .resource = NAMESPACES, .namespace_ = "", .name = "private", .body = "{}", .body_len = 2},
        RAW("/api/v1/namespaces/private/pods"),
        {.verb = VERB_CREATE,
         .resource = TRAINS,
         .namespace_ = "team-a",
         .name = "t",
         .body = "{\"spec\":{\"data\":{\"namespace\":\"private\"}}}",
         .body_len = 41},
    };
    const struct cluster_scope scope = mapped();
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct boundary_request sent;
        struct error *error = boundary_request(&scope, &cases[i], &sent);
        if (!error)
            fail_msg("case %zu is sent to %s/%s", i, sent.request.namespace_, sent.request.name);
        assert_int_equal(error->code, ERROR_INVALID);
        assert_non_null(strstr(error->message, "namespaces.map"));
        error_free(error);
        boundary_request_clear(&sent);
    }
}

static struct object *object_from(const char *text) {
    struct object *object = NULL;
    assert_null(object_parse(text, strlen(text), NULL, NULL, &object));
    return object;
}

// The value and the text say the same.
static void expect_object(const struct object *object, const char *text) {
    size_t len = 0;
    AUTO_TEXT printed = json_text(object->value, &len);
    assert_string_equal(object->text, text);
    assert_string_equal(printed, text);
    assert_int_equal(object->len, strlen(text));
}

#define OBJECT(kind, namespace, rest)                                                                                  \
    "{\"apiVersion\":\"example.com/v1\",\"kind\":\"" kind                                                              \
    "\",\"metadata\":{\"name\":\"t\",\"namespace\":\"" namespace "\",\"uid\":\"u\",\"resourceVersion\":\"1\","         \
                                                                 "\"labels\":{\"namespace\":\"west-team-a\"}}" rest    \
                                                                 "}"

static void objects_get_the_workloads_names(void **state) {
    (void)state;
    static const struct {
        const char *there, *here; // NULL: dropped
    } cases[] = {
        {OBJECT("Train", "west-team-a", ""), OBJECT("Train", "team-a", "")},
        {OBJECT("Train", "other", ""), OBJECT("Train", "other", "")},
        {OBJECT("Train", "team-a", ""), NULL}, // of the worker's own
        {OBJECT("Train", "private", ""), NULL},
        {OBJECT("Train", "lab", ""), NULL},
        {OBJECT("Train", "west-team-a", ",\"spec\":{\"data\":{\"namespace\":\"lab-west\"}}"),
         OBJECT("Train", "team-a", ",\"spec\":{\"data\":{\"namespace\":\"lab\"}}")},
        {OBJECT("Train", "west-team-a", ",\"spec\":{\"data\":{\"namespace\":\"lab\"}}"), // without a name here
         OBJECT("Train", "team-a", ",\"spec\":{\"data\":{\"namespace\":\"lab\"}}")},
        {OBJECT("Other", "west-team-a", ",\"spec\":{\"data\":{\"namespace\":\"lab-west\"}}"),
         OBJECT("Other", "team-a", ",\"spec\":{\"data\":{\"namespace\":\"lab-west\"}}")},
        {OBJECT("Track", "west-team-a", ",\"spec\":{\"next\":{\"x\":{\"namespace\":\"lab-west\"}}}"),
         OBJECT("Track", "team-a", ",\"spec\":{\"next\":{\"x\":{\"namespace\":\"lab\"}}}")},
    };
    const struct cluster_scope scope = mapped();
    static const enum event_type types[] = {EVENT_SEEN, EVENT_GONE, EVENT_DEPENDENCY, EVENT_ANSWER};
    for (size_t i = 0; i < COUNT(cases); i++)
        for (size_t t = 0; t < COUNT(types); t++) {
            struct engine_event event = {.type = types[t], .cluster = 1};
            struct response response = {.object = object_from(cases[i].there)};
            char name[NAMESPACE_SIZE];
            size_t len = 0;
            response.value = json_copy(response.object->value); // of a dry run
            if (types[t] == EVENT_ANSWER)
                event.answer.response = &response;
            else if (types[t] == EVENT_DEPENDENCY)
                event.dependency.namespace_ = object_namespace((event.dependency.metadata = response.object)->value);
            else
                event.object = response.object;
            bool passed = boundary_event(&scope, &event, name);
            if (passed != (cases[i].here || types[t] == EVENT_ANSWER))
                fail_msg("case %zu, event %d: passed %d", i, (int)types[t], passed);
            if (cases[i].here)
                expect_object(response.object, cases[i].here);
            if (cases[i].here && types[t] == EVENT_DEPENDENCY)
                assert_string_equal(event.dependency.namespace_, object_namespace(response.object->value));
            AUTO_TEXT value = json_text(response.value, &len);
            if (cases[i].here && types[t] == EVENT_ANSWER)
                assert_string_equal(value, cases[i].here);
            json_free(response.value);
            object_free(response.object);
        }
}

static void texts_of_events_get_the_workloads_names(void **state) {
    (void)state;
    static const struct {
        const char *there, *here; // NULL: dropped
    } cases[] = {{"west-team-a", "team-a"}, {"lab-west", "lab"}, {"x", "x"}, {"team-a", NULL}, {"lab", NULL}};
    const struct cluster_scope scope = mapped();
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct engine_event events[] = {{.type = EVENT_POD_REPORT, .pod_report.namespace_ = cases[i].there},
                                        {.type = EVENT_NAMESPACE, .namespace_.name = cases[i].there},
                                        {.type = EVENT_QUEUED, .queued.namespace_ = cases[i].there},
                                        {.type = EVENT_DEPENDENCY, .dependency.namespace_ = cases[i].there},
                                        {.type = EVENT_TENANT, .tenant.name = cases[i].there}};
        const char **texts[] = {&events[0].pod_report.namespace_, &events[1].namespace_.name,
                                &events[2].queued.namespace_, &events[3].dependency.namespace_, &events[4].tenant.name};
        for (size_t e = 0; e < COUNT(events); e++) {
            char name[NAMESPACE_SIZE];
            assert_int_equal(!boundary_event(&scope, &events[e], name), !cases[i].here);
            if (cases[i].here)
                assert_string_equal(*texts[e], cases[i].here);
        }
    }
    char name[NAMESPACE_SIZE];
    struct engine_event any = {.type = EVENT_NAMESPACE}, state_event = {.type = EVENT_STATE};
    assert_true(boundary_event(&scope, &any, name) && boundary_event(&scope, &state_event, name));
}

static void without_a_map_nothing_is_copied(void **state) {
    (void)state;
    struct cluster_scope scope = mapped();
    scope.namespace_map = NULL;
    const struct request asked = {
        .verb = VERB_CREATE, .resource = TRAINS, .namespace_ = "a", .name = "t", .body = "{}", .body_len = 2};
    struct boundary_request sent;
    assert_null(boundary_request(&scope, &asked, &sent));
    assert_memory_equal(&sent.request, &asked, sizeof asked);
    boundary_request_clear(&sent);
    struct engine_event event = {.type = EVENT_NAMESPACE, .namespace_.name = asked.namespace_};
    char name[NAMESPACE_SIZE];
    assert_true(boundary_event(&scope, &event, name));
    assert_ptr_equal(event.namespace_.name, asked.namespace_);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_get_the_workers_names),
        cmocka_unit_test(a_request_into_a_namespace_without_a_name_is_refused),
        cmocka_unit_test(objects_get_the_workloads_names),
        cmocka_unit_test(texts_of_events_get_the_workloads_names),
        cmocka_unit_test(without_a_map_nothing_is_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
