// SPDX-License-Identifier: Apache-2.0
// The API's answers as JSON: overviews, workloads, changes, the stream.
#include "core/engine/aside/aside.h"
#include "core/serve/api/api_internal.h"
#include "tests/unit/serve/desk.h"

static void the_overviews_say_what_runs(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    submit(&desk, "a");
    stage_runs(&desk.stage, stage_where(&desk.stage, "a"), "a");
    stage_run(&desk.stage, CLOCK_SECOND);
    static const struct {
        const char *url, *pointer, *expected;
    } cases[] = {
        {"/api/v1/status", "/ready", "true"},
        {"/api/v1/status", "/reasons", "[]"},
        {"/api/v1/status", "/origin", "\"here\""},
        {"/api/v1/status", "/controllerName", "\"wharf.dev/host\""},
        {"/api/v1/status", "/workers/total", "2"},
        {"/api/v1/status", "/workers/ready", "2"},
        {"/api/v1/status", "/workloads/total", "1"},
        {"/api/v1/status", "/workloads/byPhase", "{\"Running\":1}"},
        {"/api/v1/status", "/dependencies", "{\"management\":{},\"workers\":{}}"},
        {"/api/v1/status", "/requests/failed", "0"},
        {"/api/v1/status", "/config/path", "\"/etc/wharf.yaml\""},
        {"/api/v1/status", "/adapters", "1"},
        {"/api/v1/adapters", "/items/0/name", "\"job\""},
        {"/api/v1/adapters", "/items/0/sha256", "\"ab\""},
        {"/api/v1/adapters", "/items/0/kinds/0/kind", "\"Job\""},
        {"/api/v1/adapters", "/items/0/kinds/0/managedBy", "\"wharf.dev/host\""},
        {"/api/v1/adapters", "/items/0/kinds/0/versions", "[\"v1\"]"},
        {"/api/v1/adapters", "/items/0/state", "\"active\""},
        {"/api/v1/adapters", "/items/0/setAside", "0"},
        {"/api/v1/adapters", "/items/0/problem", "null"},
        {"/api/v1/adapters", "/items/0/process", "null"},
        {"/api/v1/workers", "/items/0/name", "\"w1\""},
        {"/api/v1/workers", "/items/0/state", "\"Ready\""},
        {"/api/v1/workers", "/items/0/reason", "null"},
        {"/api/v1/workers", "/items/1/name", "\"w2\""},
        {"/api/v1/workers", "/items/1/lastContactSeconds", "0.5"},
        {"/api/v1/workers", "/items/0/kinds/0/eligible", "true"},
        {"/api/v1/workers", "/items/2", NULL},
        {"/api/v1/workloads", "/items/0/phase", "\"Running\""},
        {"/api/v1/workloads", "/items/0/kind", "\"Job\""},
        {"/api/v1/workloads", "/items/0/resource", "\"jobs\""},
        {"/api/v1/workloads", "/items/0/namespace", "\"default\""},
        {"/api/v1/workloads", "/items/0/attempt", "1"},
        {"/api/v1/workloads", "/items/0/waiting", "null"},
        {"/api/v1/workloads", "/gone", "[]"},
        {"/api/v1/workloads", "/continue", "\"\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(get(&desk, cases[i].url), 200);
        assert_at(&desk, cases[i].pointer, cases[i].expected);
    }
    end(&desk);
}

static void accounts_have_an_item_for_each_namespace_kind_and_worker(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    submit(&desk, "a");
    size_t worker = stage_where(&desk.stage, "a");
    assert_int_equal(get(&desk, "/api/v1/accounts"), 200);
    assert_at(&desk, "/items", "[]"); // nothing has run
    stage_patch(&desk.stage, worker, "a", "status", "{'status':{'active':1,'ready':1}}");
    stage_run(&desk.stage, 90 * CLOCK_SECOND);
    static const struct {
        const char *url, *pointer, *expected;
    } cases[] = {
        {"/api/v1/accounts", "/items/0/namespace", "\"default\""},
        {"/api/v1/accounts", "/items/0/kind", "\"Job\""},
        {"/api/v1/accounts", "/items/0/group", "\"batch\""},
        {"/api/v1/accounts", "/items/0/resource", "\"jobs\""},
        {"/api/v1/accounts", "/items/0/workloads", "1"},
        {"/api/v1/accounts", "/items/0/running", "1"},
        {"/api/v1/accounts", "/items/1", NULL},
        {"/api/v1/accounts?namespace=default&kind=job", "/items/0/workloads", "1"},
        {"/api/v1/accounts?namespace=other", "/items", "[]"},
        {"/api/v1/accounts?cluster=w9", "/items", "[]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(get(&desk, cases[i].url), 200);
        assert_at(&desk, cases[i].pointer, cases[i].expected);
    }
    assert_int_equal(get(&desk, "/api/v1/accounts"), 200);
    double seconds = json_double(pointer_find(desk.answer, "/items/0/seconds"), 0);
    assert_true(seconds > 89 && seconds < 91);
    assert_true(json_double(pointer_find(desk.answer, "/items/0/resources/pods"), 0) == seconds);
    assert_int_equal(get(&desk, "/api/v1/accounts?kind=nothing"), 404);
    end(&desk);
}

// Sources, and what is in all workers together; states without an object are left out.
static void what_workloads_refer_to_is_counted_by_state(void **state) {
    (void)state;
    struct desk desk;
    struct host_snapshot snapshot;
    begin(&desk);
    assert_null(give_snapshot(&desk, &snapshot));
    snapshot.stats.clusters[0].dependencies[DEPENDENCY_MISSING] = 2;
    snapshot.stats.clusters[1].dependencies[DEPENDENCY_CURRENT] = 3;
    snapshot.stats.clusters[2].dependencies[DEPENDENCY_CURRENT] = 4;
    snapshot.stats.clusters[2].dependencies[DEPENDENCY_CONFLICT] = 1;
    AUTO_BUFFER(text, 1 << 20);
    struct writer out = {.out = &text};
    writer_object(&out, NULL);
    api_show_status(&desk.source, &snapshot, &out);
    writer_end(&out, '}');
    AUTO_JSON shown = NULL;
    assert_null(json_parse(text.data, text.len, &shown));
    AUTO_TEXT found = json_text(json_get(shown, "dependencies"), NULL);
    assert_string_equal(found, "{\"management\":{\"missing\":2},\"workers\":{\"copied\":7,\"conflict\":1}}");
    take_snapshot(&snapshot);
    end(&desk);
}

static void an_adapter_says_why_its_kinds_are_paused(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    aside_adapter_failed_to_load(desk.stage.engine, desk.stage.kind->adapter, "signal 6 (Aborted)");
    stage_step(&desk.stage, &(struct engine_event){.type = EVENT_TIME});
    assert_int_equal(get(&desk, "/api/v1/adapters"), 200);
    assert_at(&desk, "/items/0/state", "\"paused\"");
    assert_at(&desk, "/items/0/problem", "\"signal 6 (Aborted)\"");
    assert_int_equal(get(&desk, "/api/v1/status"), 200);
    assert_at(&desk, "/ready", "true");
    end(&desk);
}

static void a_worker_says_why_it_is_not_ready(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    stage_disconnect(&desk.stage, 1);
    stage_contact(&desk.stage, 2, CONTACT_SUSPECT);
    stage_run(&desk.stage, CLOCK_SECOND);
    desk.unheard = true;
    assert_int_equal(get(&desk, "/api/v1/workers"), 200);
    assert_at(&desk, "/items/0/lastContactSeconds", "null");
    assert_at(&desk, "/items/0/state", "\"Unreachable\"");
    assert_at(&desk, "/items/1/state", "\"Suspect\"");
    assert_at(&desk, "/items/1/contact", "\"suspect\"");
    stage_contact(&desk.stage, 2, CONTACT_LOST);
    stage_run(&desk.stage, CLOCK_SECOND);
    assert_int_equal(get(&desk, "/api/v1/workers"), 200);
    assert_at(&desk, "/items/1/state", "\"Unreachable\"");
    assert_at(&desk, "/items/1/reason", "\"its API server does not answer\"");
    end(&desk);
}

static void a_worker_that_rejects_the_host_says_so(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    stage_contact(&desk.stage, 1, CONTACT_REJECTED);
    stage_contact(&desk.stage, 2, CONTACT_GOOD);
    stage_step(&desk.stage,
               &(struct engine_event){.type = EVENT_DENIED, .cluster = 2, .problem = "the host may not x"});
    stage_run(&desk.stage, CLOCK_SECOND);
    assert_int_equal(get(&desk, "/api/v1/workers"), 200);
    assert_at(&desk, "/items/0/state", "\"Rejected\"");
    assert_at(&desk, "/items/0/contact", "\"rejected\"");
    assert_non_null(strstr(desk.body.data, "run \\\"wharf join\\\" for the worker again"));
    assert_at(&desk, "/items/0/kinds/0/eligible", "false");
    assert_at(&desk, "/items/1/state", "\"Ready\""); // it is used for what it permits
    assert_at(&desk, "/items/1/contact", "\"rejected\"");
    assert_non_null(strstr(desk.body.data, "\"the host may not x (403); "));
    stage_contact(&desk.stage, 1, CONTACT_GOOD);
    stage_step(&desk.stage, &(struct engine_event){.type = EVENT_DENIED, .cluster = 2});
    stage_run(&desk.stage, CLOCK_SECOND);
    assert_int_equal(get(&desk, "/api/v1/workers"), 200);
    for (int i = 0; i < 2; i++) {
        assert_at(&desk, i ? "/items/1/state" : "/items/0/state", "\"Ready\"");
        assert_at(&desk, i ? "/items/1/contact" : "/items/0/contact", "\"good\"");
        assert_at(&desk, i ? "/items/1/reason" : "/items/0/reason", "null");
    }
    end(&desk);
}

static void a_worker_shows_its_guard_its_credentials_and_what_is_free(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    stage_run(&desk.stage, CLOCK_SECOND);
    assert_int_equal(get(&desk, "/api/v1/workers"), 200);
    assert_at(&desk, "/items/0/credentials", "{\"kind\":\"token\",\"expiresAt\":\"2026-01-02T03:04:05Z\"}");
    assert_at(&desk, "/items/1/credentials", "{\"kind\":\"certificate\",\"expiresAt\":null}");
    assert_at(&desk, "/items/0/guard", "null");
    assert_at(&desk, "/items/0/capacity", "null");
    struct nodes *nodes = nodes_new(1, (const char *const[]){"nvidia.com/gpu"}, 1, 0);
    nodes->left[0] = 3;
    nodes->allocatable[0] = 8;
    stage_step(&desk.stage,
               &(struct engine_event){.type = EVENT_CAPACITY, .cluster = 1, .capacity = {CAPACITY_KNOWN, NULL, nodes}});
    stage_step(&desk.stage, &(struct engine_event){.type = EVENT_CAPACITY,
                                                   .cluster = 2,
                                                   .capacity = {CAPACITY_UNKNOWN, "nodes: forbidden", NULL}});
    desk.features.fencing = true;
    assert_int_equal(get(&desk, "/api/v1/workers"), 200);
    assert_at(&desk, "/items/0/guard/state", "\"unknown\"");
    assert_at(&desk, "/items/0/capacity",
              "{\"state\":\"known\",\"problem\":null,\"nodes\":1,\"resources\":[{\"name\":\"nvidia.com/gpu\","
              "\"allocatable\":\"8\",\"free\":\"3\"}]}");
    assert_at(&desk, "/items/1/capacity",
              "{\"state\":\"unknown\",\"problem\":\"nodes: forbidden\",\"nodes\":0,\"resources\":[]}");
    end(&desk);
}

static void the_rights_that_the_host_needs_follow_its_settings(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    assert_int_equal(get(&desk, "/api/v1/rights?account=other&logs=false"), 200);
    assert_at(&desk, "/kinds", "[{\"group\":\"batch\",\"resource\":\"jobs\",\"versions\":[\"v1\"]}]");
    assert_at(&desk, "/items/1",
              "{\"scope\":\"work\",\"group\":\"batch\",\"resources\":[\"jobs\"],"
              "\"verbs\":[\"create\",\"patch\",\"delete\"],\"name\":null}");
    assert_non_null(strstr(desk.body.data, "\"name\":\"other\""));
    assert_null(strstr(desk.body.data, "nodes"));
    assert_null(strstr(desk.body.data, "pods"));
    desk.features.capacity = true;
    assert_int_equal(get(&desk, "/api/v1/rights"), 200);
    assert_non_null(strstr(desk.body.data, "[\"nodes\",\"pods\"]"));
    assert_non_null(strstr(desk.body.data, "pods/log"));
    assert_null(strstr(desk.body.data, "pods/exec"));
    assert_int_equal(get(&desk, "/api/v1/rights?exec=true"), 200);
    assert_non_null(strstr(desk.body.data, "pods/exec"));
    end(&desk);
}

static void a_worker_says_how_long_recent_requests_took(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    desk.recent = (struct histogram){.buckets = {[2] = 80, [5] = 20}}; // up to 2 and 16 ms
    assert_int_equal(get(&desk, "/api/v1/workers"), 200);
    assert_at(&desk, "/items/0/latencySeconds/p50", "0.001625");
    assert_at(&desk, "/items/0/latencySeconds/p99", "0.0156");
    assert_at(&desk, "/items/1/latencySeconds", "{}"); // there was none
    end(&desk);
}

static void a_worker_says_what_it_is_used_for(void **state) {
    (void)state;
    static const struct {
        enum worker_policy policy;
        bool leaving;
        const char *state, *cordoned, *drain;
    } cases[] = {
        {WORKER_ACTIVE, false, "\"Ready\"", "false", "null"},
        {WORKER_CORDONED, false, "\"Cordoned\"", "true", "null"},
        {WORKER_DRAIN_FINISH, false, "\"Draining\"", "true", "\"finish\""},
        {WORKER_DRAIN_MOVE, false, "\"Draining\"", "true", "\"move\""},
        {WORKER_DRAIN_FINISH, true, "\"Leaving\"", "true", "\"finish\""},
    };
    struct desk desk;
    begin(&desk);
    stage_run(&desk.stage, CLOCK_SECOND);
    desk.from = "Secret wharf-system/w1";
    desk.labels = "region=eu,example.com/gpu=,zone=a";
    desk.max_active = 7;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        desk.policy = cases[i].policy;
        desk.leaving = cases[i].leaving;
        assert_int_equal(get(&desk, "/api/v1/workers"), 200);
        assert_at(&desk, "/items/0/state", cases[i].state);
        assert_at(&desk, "/items/0/cordoned", cases[i].cordoned);
        assert_at(&desk, "/items/0/drain", cases[i].drain);
        assert_at(&desk, "/items/0/leaving", cases[i].leaving ? "true" : "false");
        assert_at(&desk, "/items/0/from", "\"Secret wharf-system/w1\"");
        assert_at(&desk, "/items/0/source", "\"Secret\"");
        assert_at(&desk, "/items/0/maxActive", "7");
        assert_at(&desk, "/items/0/labels", "{\"region\":\"eu\",\"example.com/gpu\":\"\",\"zone\":\"a\"}");
    }
    end(&desk);
}

static void workloads_are_filtered_and_paged(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    char name[16];
    for (int i = 0; i < 7; i++) {
        snprintf(name, sizeof name, "j%d", i);
        submit(&desk, name);
    }
    stage_runs(&desk.stage, stage_where(&desk.stage, "j3"), "j3");
    stage_run(&desk.stage, CLOCK_SECOND);
    bool in_w1 = stage_where(&desk.stage, "j3") == 1;
    static const struct {
        const char *parameters;
        size_t count;
    } cases[] = {
        {"", 7},
        {"?namespace=default", 7},
        {"?namespace=other", 0},
        {"?name=j3", 1},
        {"?kind=job", 7},
        {"?kind=jobs.batch", 7},
        {"?kind=Job&name=j1&namespace=default", 1},
        {"?phase=Running", 1},
        {"?phase=running", 1},
        {"?phase=Succeeded", 0},
        {"?cluster=w9", 0},
        {"?limit=3", 3},
        {"?limit=0", 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char url[128];
        snprintf(url, sizeof url, "/api/v1/workloads%s", cases[i].parameters);
        assert_int_equal(get(&desk, url), 200);
        if (size_at(&desk, "/items") != cases[i].count)
            fail_msg("%s: %s", url, desk.body.data);
    }
    assert_int_equal(
        get(&desk, in_w1 ? "/api/v1/workloads?cluster=w1&name=j3" : "/api/v1/workloads?cluster=w2&name=j3"), 200);
    assert_int_equal(size_at(&desk, "/items"), 1);
    // Pages.
    char seen[128] = "", url[128] = "/api/v1/workloads?limit=2";
    for (int page = 0; page < 5; page++) {
        assert_int_equal(get(&desk, url), 200);
        for (const struct json *i = json_first(json_get(desk.answer, "items")); i; i = json_next(i)) {
            assert_null(strstr(seen, json_string(json_get(i, "name"))));
            snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s,", json_string(json_get(i, "name")));
        }
        const char *more = json_string(json_get(desk.answer, "continue"));
        if (!*more)
            break;
        snprintf(url, sizeof url, "/api/v1/workloads?limit=2&continue=%s", more);
    }
    assert_int_equal(strlen(seen), 7 * strlen("j0,"));
    end(&desk);
}

static void what_changed_since_is_told_or_the_reader_begins_anew(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    submit(&desk, "a");
    submit(&desk, "b");
    assert_int_equal(get(&desk, "/api/v1/workloads"), 200);
    char url[128];
    int64_t sequence = json_int64(json_get(desk.answer, "sequence"), 0);
    snprintf(url, sizeof url, "/api/v1/workloads?since=%lld", (long long)sequence);
    assert_int_equal(get(&desk, url), 200);
    assert_int_equal(size_at(&desk, "/items"), 0);
    stage_runs(&desk.stage, stage_where(&desk.stage, "b"), "b");
    assert_int_equal(stage_delete(&desk.stage, 0, "a"), 200);
    stage_run(&desk.stage, 5 * CLOCK_SECOND);
    assert_int_equal(get(&desk, url), 200);
    assert_int_equal(size_at(&desk, "/items"), 1);
    assert_at(&desk, "/items/0/name", "\"b\"");
    assert_at(&desk, "/gone", "[{\"kind\":\"Job\",\"group\":\"batch\",\"namespace\":\"default\",\"name\":\"a\"}]");
    assert_true(json_int64(json_get(desk.answer, "sequence"), 0) > sequence);
    assert_int_equal(get(&desk, "/api/v1/workloads?since=5"), 410);
    assert_at(&desk, "/reason", "\"Expired\"");
    end(&desk);
}

static void failures_are_a_status_with_a_sentence(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    submit(&desk, "a");
    static const struct {
        const char *url;
        unsigned code;
        const char *reason, *part;
        bool stopped, broken;
    } cases[] = {
        {"/api/v1/workloads?limit=x", 400, "\"BadRequest\"", "expected a number", false, false},
        {"/api/v1/workloads?limit=-1", 400, "\"BadRequest\"", "expected a number", false, false},
        {"/api/v1/workloads?since=1&continue=2.3", 400, "\"BadRequest\"", "together", false, false},
        {"/api/v1/workloads?continue=xyz", 400, "\"BadRequest\"", "the answer before", false, false},
        {"/api/v1/workloads?kind=pod", 404, "\"NotFound\"", "this host has jobs.batch", false, false},
        {"/api/v1/workloads/job/default/none", 404, "\"NotFound\"", "does not exist in the management", false, false},
        {"/api/v1/workloads/pods/default/a", 404, "\"NotFound\"", "no enabled adapter", false, false},
        {"/api/v1/workloads/job/a", 400, "\"BadRequest\"", "expected /api/v1/workloads/KIND/NAMESPACE/NAME", false,
         false},
        {"/api/v1/workloads/job/default/a/b", 400, "\"BadRequest\"", "expected", false, false},
        {"/api/v1/workloads", 503, "\"ServiceUnavailable\"", "stopping", true, false},
        {"/api/v1/workloads/job/default/none", 504, "\"Timeout\"", "has not answered", false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        desk.stopped = cases[i].stopped;
        desk.broken = cases[i].broken;
        assert_int_equal(get(&desk, cases[i].url), cases[i].code);
        assert_at(&desk, "/kind", "\"Status\"");
        assert_at(&desk, "/status", "\"Failure\"");
        assert_at(&desk, "/reason", cases[i].reason);
        const char *message = json_string(json_get(desk.answer, "message"));
        if (!strstr(message, cases[i].part))
            fail_msg("%s: %s", cases[i].url, message);
    }
    struct api_request request = {.path = "/api/v1/nothing"};
    unsigned code = 0;
    assert_false(api_get(&desk.source, &request, &desk.body, &code));
    request.path = "/apis";
    assert_false(api_get(&desk.source, &request, &desk.body, &code));
    end(&desk);
}

// The data of the only event of this name; NULL: there is none.
static struct json *event_data(const struct buffer *stream, const char *name) {
    AUTO_TEXT head = text_format("event: %s\ndata: ", name);
    const char *at = stream->data ? strstr(stream->data, head) : NULL;
    if (!at)
        return NULL;
    at += strlen(head);
    assert_null(strstr(at, head));
    struct json *value = NULL;
    assert_null(json_parse(at, (size_t)(strchr(at, '\n') - at), &value));
    return value;
}

static void a_stream_begins_with_all_and_goes_on_with_changes(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    submit(&desk, "a");
    submit(&desk, "b");
    struct api_watch watch = {0}, other = {0};
    assert_null(api_watch_batch(&desk.source, &watch, &desk.body));
    AUTO_JSON all = event_data(&desk.body, "workloads");
    assert_true(json_bool(json_get(all, "full"), false));
    assert_int_equal(json_size(json_get(all, "items")), 2);
    AUTO_JSON workers = event_data(&desk.body, "workers");
    AUTO_JSON status = event_data(&desk.body, "status");
    assert_int_equal(json_size(json_get(workers, "items")), 2);
    assert_true(json_bool(json_get(status, "ready"), false));
    char id[64];
    snprintf(id, sizeof id, "id: %lld\n", (long long)watch.sequence);
    assert_non_null(strstr(desk.body.data, id));
    // Nothing has changed.
    buffer_reset(&desk.body);
    assert_null(api_watch_batch(&desk.source, &watch, &desk.body));
    assert_int_equal(desk.body.len, 0);
    // A change, for this reader and for one that resumes.
    other.sequence = watch.sequence;
    stage_runs(&desk.stage, stage_where(&desk.stage, "b"), "b");
    assert_int_equal(stage_delete(&desk.stage, 0, "a"), 200);
    stage_run(&desk.stage, 5 * CLOCK_SECOND);
    struct api_watch *readers[] = {&watch, &other};
    for (size_t i = 0; i < 2; i++) {
        buffer_reset(&desk.body);
        assert_null(api_watch_batch(&desk.source, readers[i], &desk.body));
        AUTO_JSON some = event_data(&desk.body, "workloads");
        assert_false(json_bool(json_get(some, "full"), true));
        assert_int_equal(json_size(json_get(some, "items")), 1);
        assert_int_equal(json_size(json_get(some, "gone")), 1);
    }
    // One that was away for too long.
    struct api_watch late = {.sequence = 17};
    buffer_reset(&desk.body);
    assert_null(api_watch_batch(&desk.source, &late, &desk.body));
    AUTO_JSON again = event_data(&desk.body, "workloads");
    assert_true(json_bool(json_get(again, "full"), false));
    end(&desk);
}

// A stream of a table that does not fit one batch: each batch says from where on a reader resumes.
static void a_large_table_comes_in_several_batches(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    char name[16];
    for (int i = 0; i < 5200; i++) {
        snprintf(name, sizeof name, "j%d", i);
        stage_submit(&desk.stage, name, "");
    }
    stage_run(&desk.stage, 20 * CLOCK_SECOND);
    size_t seen = 0;
    uint64_t sequence = 0;
    for (int batch = 0; batch < 2; batch++) {
        struct api_watch watch = {.sequence = sequence}; // another connection each time
        buffer_reset(&desk.body);
        assert_null(api_watch_batch(&desk.source, &watch, &desk.body));
        AUTO_JSON data = event_data(&desk.body, "workloads");
        assert_int_equal(json_bool(json_get(data, "full"), false), batch == 0);
        seen += json_size(json_get(data, "items"));
        sequence = (uint64_t)json_int64(json_get(data, "sequence"), 0);
        assert_int_equal(sequence, watch.sequence);
    }
    assert_int_equal(seen, 5200);
    end(&desk);
}

static void many_workloads_are_collected_in_slices(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    char name[16];
    for (int i = 0; i < 1200; i++) {
        snprintf(name, sizeof name, "j%d", i);
        stage_submit(&desk.stage, name, "");
    }
    stage_run(&desk.stage, 10 * CLOCK_SECOND);
    desk.asked = 0;
    assert_int_equal(get(&desk, "/api/v1/workloads"), 200);
    assert_int_equal(size_at(&desk, "/items"), 1200);
    assert_true(desk.asked >= 3);
    end(&desk);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_overviews_say_what_runs),
        cmocka_unit_test(accounts_have_an_item_for_each_namespace_kind_and_worker),
        cmocka_unit_test(what_workloads_refer_to_is_counted_by_state),
        cmocka_unit_test(an_adapter_says_why_its_kinds_are_paused),
        cmocka_unit_test(a_worker_says_why_it_is_not_ready),
        cmocka_unit_test(a_worker_says_how_long_recent_requests_took),
        cmocka_unit_test(a_worker_says_what_it_is_used_for),
        cmocka_unit_test(a_worker_that_rejects_the_host_says_so),
        cmocka_unit_test(a_worker_shows_its_guard_its_credentials_and_what_is_free),
        cmocka_unit_test(the_rights_that_the_host_needs_follow_its_settings),
        cmocka_unit_test(workloads_are_filtered_and_paged),
        cmocka_unit_test(what_changed_since_is_told_or_the_reader_begins_anew),
        cmocka_unit_test(failures_are_a_status_with_a_sentence),
        cmocka_unit_test(a_stream_begins_with_all_and_goes_on_with_changes),
        cmocka_unit_test(many_workloads_are_collected_in_slices),
        cmocka_unit_test(a_large_table_comes_in_several_batches),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
