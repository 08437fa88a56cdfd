// SPDX-License-Identifier: Apache-2.0
// The API's answers as JSON, from an engine between clusters in memory.
#include "core/serve/api.h"

#include "core/kube/client.h"
#include "tests/unit/engine/stage.h"

#include <string.h>

struct desk {
    struct stage stage;
    struct adapters adapters;
    struct adapter adapter;
    struct config config;
    struct api_source source;
    const char *names[STAGE_CLUSTERS];
    struct kind *kinds[1];
    const struct kind *const_kinds[1];
    enum worker_policy policy; // of w1
    bool leaving;
    const char *from, *labels;
    bool stopped, broken; // the host does not answer; the management cluster does not
    unsigned asked;
    struct buffer body;
    struct json *answer; // parsed
};

static struct error *give_snapshot(void *ctx, struct host_snapshot *out) {
    struct desk *desk = ctx;
    *out = (struct host_snapshot){.names = desk->names,
                                  .kinds = desk->const_kinds,
                                  .running = true,
                                  .in_sync = true,
                                  .been_in_sync = true,
                                  .origin = "here",
                                  .started_wall_ns = desk->stage.now.wall_ns};
    struct error *error = stats_copy(engine_stats(desk->stage.engine), &out->stats);
    if (desk->from) {
        struct stats_cluster *w1 = &out->stats.clusters[1];
        w1->policy = desk->policy;
        w1->leaving = desk->leaving;
        w1->source = "Secret";
        w1->from = strdup(desk->from);
        w1->labels = strdup(desk->labels);
    }
    out->readings = calloc(STAGE_CLUSTERS, sizeof *out->readings);
    for (size_t c = 0; c < STAGE_CLUSTERS; c++)
        out->readings[c].silence_ns = CLOCK_SECOND / 2;
    for (size_t p = 0; p < STATS_PHASES; p++)
        out->workloads += out->stats.kinds[0].phases[p];
    return error;
}

static void take_snapshot(struct host_snapshot *snapshot) {
    stats_free(&snapshot->stats);
    free(snapshot->readings);
}

static struct error *ask(void *ctx, query_run run, void *arg) {
    struct desk *desk = ctx;
    if (desk->stopped)
        return error_new(ERROR_STOPPED, "the host is stopping");
    desk->asked++;
    run(arg, desk->stage.engine, desk->stage.now);
    return NULL;
}

static struct error *read_management(void *ctx, const char *path, struct response *answer) {
    struct desk *desk = ctx;
    struct world_request request = {.method = "GET", .path = path};
    struct world_response got = {0};
    if (desk->broken)
        return error_new(ERROR_LIMIT, "the API server has not answered for 10 s");
    world_request(desk->stage.clusters[0], &request, desk->stage.now.wall_ns, &got);
    struct http_result result = {.outcome = HTTP_ANSWERED,
                                 .status = got.status,
                                 .body = got.body ? got.body : "",
                                 .body_len = got.body_len,
                                 .content_type = "application/json",
                                 .retry_after_ns = -1};
    response_read(answer, &result, VERB_RAW_GET);
    world_response_clear(&got);
    return NULL;
}

static void begin(struct desk *desk) {
    static char controller[] = "wharf.dev/host", path[] = "/etc/wharf.yaml", name[] = "job", file[] = "/x/job.so",
                version[] = "0.1.0";
    *desk = (struct desk){.names = {"management", "w1", "w2"}};
    stage_init(&desk->stage);
    desk->kinds[0] = desk->stage.kind;
    desk->const_kinds[0] = desk->stage.kind;
    desk->adapter = (struct adapter){
        .name = name, .file = file, .version = version, .sha256 = "ab", .kinds = desk->const_kinds, .n_kinds = 1};
    static struct adapter *list[1];
    list[0] = &desk->adapter;
    desk->adapters = (struct adapters){.list = list, .count = 1, .kinds = desk->kinds, .n_kinds = 1};
    desk->config = (struct config){.controller_name = controller, .path = path};
    desk->source = (struct api_source){.snapshot = give_snapshot,
                                       .free_snapshot = take_snapshot,
                                       .query = ask,
                                       .read = read_management,
                                       .ctx = desk,
                                       .config = &desk->config,
                                       .adapters = &desk->adapters};
    buffer_init(&desk->body, (size_t)16 << 20);
    stage_start(&desk->stage);
}

static void end(struct desk *desk) {
    json_free(desk->answer);
    buffer_free(&desk->body);
    stage_end(&desk->stage);
}

// "path?a=b&c=d"; returns the code.
static unsigned get(struct desk *desk, const char *url) {
    char text[512];
    struct api_parameter parameters[8];
    struct api_request request = {.path = text, .parameters = parameters};
    text_copy(text, sizeof text, url);
    char *at = strchr(text, '?');
    while (at) {
        *at++ = '\0';
        char *value = strchr(at, '='), *next = strchr(at, '&');
        assert_non_null(value);
        *value = '\0';
        parameters[request.n_parameters++] = (struct api_parameter){at, value + 1};
        at = next;
    }
    unsigned code = 0;
    buffer_reset(&desk->body);
    assert_true(api_get(&desk->source, &request, &desk->body, &code));
    json_free(desk->answer);
    desk->answer = NULL;
    struct error *error = json_parse(desk->body.data, desk->body.len, &desk->answer);
    if (error)
        fail_msg("%s: %s: %s", url, error_text(error), desk->body.data);
    return code;
}

static void assert_at(struct desk *desk, const char *pointer, const char *expected) {
    const struct json *value = pointer_find(desk->answer, pointer);
    AUTO_TEXT text = value ? json_text(value, NULL) : NULL;
    if (!text_equal(text, expected))
        fail_msg("%s: found %s, expected %s in %s", pointer, text ? text : "nothing", expected ? expected : "nothing",
                 desk->body.data);
}

static size_t size_at(struct desk *desk, const char *pointer) {
    return json_size(pointer_find(desk->answer, pointer));
}

static void submit(struct desk *desk, const char *name) {
    stage_submit(&desk->stage, name, "");
    stage_run(&desk->stage, 200 * CLOCK_MS);
}

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
        {"/api/v1/status", "/requests/failed", "0"},
        {"/api/v1/status", "/config/path", "\"/etc/wharf.yaml\""},
        {"/api/v1/status", "/adapters", "1"},
        {"/api/v1/adapters", "/items/0/name", "\"job\""},
        {"/api/v1/adapters", "/items/0/sha256", "\"ab\""},
        {"/api/v1/adapters", "/items/0/kinds/0/kind", "\"Job\""},
        {"/api/v1/adapters", "/items/0/kinds/0/managedBy", "\"wharf.dev/host\""},
        {"/api/v1/adapters", "/items/0/kinds/0/versions", "[\"v1\"]"},
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

static void a_worker_says_why_it_is_not_ready(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    stage_disconnect(&desk.stage, 1);
    stage_contact(&desk.stage, 2, CONTACT_SUSPECT);
    stage_run(&desk.stage, CLOCK_SECOND);
    assert_int_equal(get(&desk, "/api/v1/workers"), 200);
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

static int reject(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->request.verb == VERB_CREATE && command->cluster > 0 ? 403 : STAGE_PASS;
}

static void an_explanation_says_where_why_and_what_would_help(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    desk.stage.meddle = reject;
    submit(&desk, "a");
    stage_run(&desk.stage, CLOCK_SECOND);
    assert_int_equal(get(&desk, "/api/v1/workloads/job/default/a"), 200);
    assert_at(&desk, "/ours", "true");
    assert_at(&desk, "/why", "\"/spec/managedBy is wharf.dev/host, which this host answers to\"");
    assert_at(&desk, "/waiting/reason", "\"refused\"");
    assert_at(&desk, "/waitingFor", "\"0/2 workers accept it: w1 forbidden; w2 forbidden\"");
    assert_true(size_at(&desk, "/attempts") >= 2);
    assert_at(&desk, "/attempts/0/outcome", "\"Rejected\"");
    assert_at(&desk, "/attempts/0/message", "\"meddled\"");
    assert_at(&desk, "/workers/0/fit", "false");
    assert_at(&desk, "/workers/0/reason", "\"rejected the mirror: meddled\"");
    assert_at(&desk, "/mirror", "null");
    assert_at(&desk, "/help/0",
              "\"wharf rbac --for worker | kubectl --context w1 apply -f - # what the host may do there\"");
    assert_at(&desk, "/help/2", "\"wharf retry jobs.batch/a -n default # tries again at once\"");
    desk.stage.meddle = NULL;
    stage_run(&desk.stage, 20 * CLOCK_MINUTE);
    assert_int_equal(get(&desk, "/api/v1/workloads/Job.batch/default/a"), 200);
    assert_at(&desk, "/waiting", "null");
    assert_at(&desk, "/waitingFor", "null");
    assert_at(&desk, "/help", "[]");
    assert_at(&desk, "/mirror/phase", "\"Pending\"");
    struct api_mirror mirror;
    assert_null(api_find_mirror(&desk.source, desk.stage.kind, "default", "a", &mirror));
    assert_int_equal(mirror.number, stage_where(&desk.stage, "a"));
    assert_string_equal(mirror.version, "v1");
    assert_int_equal(mirror.attempt, stage_attempt(&desk.stage, "a"));
    struct error *error = api_find_mirror(&desk.source, desk.stage.kind, "default", "b", &mirror);
    assert_int_equal(error->code, ERROR_NOT_FOUND);
    error_free(error);
    end(&desk);
}

static void a_suspended_one_is_told_how_it_is_resumed(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    submit(&desk, "a");
    assert_int_equal(stage_patch(&desk.stage, 0, "a", NULL, "{'spec':{'suspend':true}}"), 200);
    stage_run(&desk.stage, CLOCK_SECOND);
    assert_int_equal(get(&desk, "/api/v1/workloads/jobs/default/a"), 200);
    assert_at(&desk, "/suspended", "true");
    assert_at(
        &desk, "/help/0",
        "\"kubectl -n default patch jobs.batch a --type=merge -p '{\\\"spec\\\":{\\\"suspend\\\":false}}' # resumes "
        "it\"");
    assert_int_equal(
        stage_patch(&desk.stage, 0, "a", NULL, "{'metadata':{'labels':{'kueue.x-k8s.io/queue-name':'q'}}}"), 200);
    stage_run(&desk.stage, CLOCK_SECOND);
    assert_int_equal(get(&desk, "/api/v1/workloads/jobs/default/a"), 200);
    assert_at(&desk, "/help/0",
              "\"kubectl -n default get workloads.kueue.x-k8s.io # Kueue resumes it when it is admitted\"");
    end(&desk);
}

static void create_as(struct desk *desk, const char *name, const char *managed_by) {
    AUTO_TEXT text = text_format("{'metadata':{'name':'%s','namespace':'default'},'spec':{%s'template':{'spec':{"
                                 "'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}}}}",
                                 name, managed_by);
    AUTO_JSON job = harness_json(text);
    assert_int_equal(world_apply(desk->stage.clusters[0], "batch", "jobs", job, desk->stage.now.wall_ns), 201);
}

static void an_object_of_somebody_else_says_whose_it_is(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    static const struct {
        const char *name, *managed_by, *why;
    } cases[] = {
        {"plain", "", "\"/spec/managedBy is not set: the management cluster's own controller runs it\""},
        {"builtin", "'managedBy':'kubernetes.io/job-controller',",
         "\"/spec/managedBy is kubernetes.io/job-controller, which names the kind's own controller\""},
        {"queued", "'managedBy':'kueue.x-k8s.io/multikueue',",
         "\"/spec/managedBy is kueue.x-k8s.io/multikueue: MultiKueue owns it\""},
        {"other", "'managedBy':'example.com/x',",
         "\"/spec/managedBy is example.com/x; this host answers to wharf.dev/host\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        create_as(&desk, cases[i].name, cases[i].managed_by);
        stage_run(&desk.stage, CLOCK_SECOND);
        char url[128];
        snprintf(url, sizeof url, "/api/v1/workloads/job/default/%s", cases[i].name);
        assert_int_equal(get(&desk, url), 200);
        assert_at(&desk, "/ours", "false");
        assert_at(&desk, "/why", cases[i].why);
        assert_at(&desk, "/mirror", "null");
        assert_int_equal(size_at(&desk, "/help"), 1);
    }
    // Delegated, but the watch is down.
    stage_disconnect(&desk.stage, 0);
    create_as(&desk, "unseen", "'managedBy':'wharf.dev/host',");
    stage_run(&desk.stage, CLOCK_SECOND);
    assert_int_equal(get(&desk, "/api/v1/workloads/job/default/unseen"), 200);
    const char *why = json_string(json_get(desk.answer, "why"));
    assert_non_null(strstr(why, "but this host does not know it yet"));
    assert_int_equal(size_at(&desk, "/help"), 0);
    end(&desk);
}

static void events_are_read_where_that_is_allowed(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    submit(&desk, "a");
    assert_int_equal(get(&desk, "/api/v1/workloads/job/default/a"), 200);
    assert_non_null(json_get(desk.answer, "events"));
    desk.broken = true;
    assert_int_equal(get(&desk, "/api/v1/workloads/job/default/a"), 200);
    assert_at(&desk, "/events", "null");
    assert_at(&desk, "/ours", "true");
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
        cmocka_unit_test(a_worker_says_why_it_is_not_ready),
        cmocka_unit_test(a_worker_says_what_it_is_used_for),
        cmocka_unit_test(workloads_are_filtered_and_paged),
        cmocka_unit_test(what_changed_since_is_told_or_the_reader_begins_anew),
        cmocka_unit_test(an_explanation_says_where_why_and_what_would_help),
        cmocka_unit_test(a_suspended_one_is_told_how_it_is_resumed),
        cmocka_unit_test(an_object_of_somebody_else_says_whose_it_is),
        cmocka_unit_test(events_are_read_where_that_is_allowed),
        cmocka_unit_test(failures_are_a_status_with_a_sentence),
        cmocka_unit_test(a_stream_begins_with_all_and_goes_on_with_changes),
        cmocka_unit_test(many_workloads_are_collected_in_slices),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
