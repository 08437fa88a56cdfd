// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/engine/stage.h"

#include "core/base/buffer.h"
#include "core/kube/client/client.h"

#include <stdio.h>

#define ORIGIN "here"
#define LABEL "/metadata/labels/wharf.dev~1origin"
#define STEP_NS (1 * CLOCK_MS)
#define TIMEOUT_NS (30 * CLOCK_SECOND)

struct stage_news {
    struct stage_news *next;
    int64_t at_ns;
    enum event_type type;
    size_t cluster;
    uint64_t command;
    int64_t sent_ns;
    struct json *value;
    struct response response;
    enum reflector_state state;
    char resource[64], space[64], name[64]; // DEPENDENCY
};

static struct stage_news *news(struct stage *stage, enum event_type type, size_t cluster, int64_t at_ns) {
    struct stage_news *n = calloc(1, sizeof *n);
    assert_non_null(n);
    *n = (struct stage_news){.type = type, .cluster = cluster, .at_ns = at_ns};
    // In order of time, and of what came first.
    struct stage_news **at = &stage->first;
    while (*at && (*at)->at_ns <= at_ns)
        at = &(*at)->next;
    n->next = *at;
    *at = n;
    return n;
}

static const char *group_of(const struct stage *stage) {
    return stage->served ? stage->served->group : "batch";
}

static const char *plural_of(const struct stage *stage) {
    return stage->served ? stage->served->plural : "jobs";
}

static const char *version_of(const struct stage *stage) {
    return stage->served ? stage->served->versions[0] : "v1";
}

static bool is_listed_label(const struct json *object) {
    return text_equal(json_string(pointer_find(object, LABEL)), ORIGIN);
}

static void hook(void *ctx, const struct world_write *write) {
    struct stage_watch *watch = ctx;
    struct stage *stage = watch->stage;
    if (write->status < 300 && stage->other && strcmp(write->plural, plural_of(stage)) != 0)
        stage->other(stage, watch->cluster, write);
    if (write->status >= 300 || strcmp(write->plural, plural_of(stage)) != 0)
        return;
    stage->noops += write->noop && !stage->user && !write->internal;
    if (write->noop)
        return;
    bool was = write->old && (watch->cluster == ENGINE_MANAGEMENT || is_listed_label(write->old));
    bool is = write->now && (watch->cluster == ENGINE_MANAGEMENT || is_listed_label(write->now));
    if (stage->connected[watch->cluster] && (was || is)) {
        struct stage_news *n = news(stage, is ? EVENT_SEEN : EVENT_GONE, watch->cluster, stage->now.mono_ns + STEP_NS);
        n->value = json_copy(write->now ? write->now : write->old);
    }
    if (stage->wrote && !stage->user)
        stage->wrote(stage, watch->cluster, write);
}

static void init(struct stage *stage, struct kind *kind, const struct world_kind *served) {
    static const char *const names[] = {"management", "w1", "w2"};
    static const char *const workers[] = {"w1", "w2"};
    *stage = (struct stage){.now = {.mono_ns = CLOCK_SECOND}, .latency_ns = STEP_NS, .kind = kind, .served = served};
    stage->last = &stage->first;
    assert_true(clock_parse_rfc3339(HARNESS_NOW, &stage->now.wall_ns));
    for (size_t c = 0; c < STAGE_CLUSTERS; c++) {
        struct world_options options = {
            .name = names[c], .seed = c + 1, .no_controllers = true, .managed_fields = true};
        stage->clusters[c] = world_new(&options, stage->now.wall_ns);
        assert_true(!served || world_register(stage->clusters[c], served));
        stage->watches[c] = (struct stage_watch){stage, c};
        world_set_hook(stage->clusters[c], hook, &stage->watches[c]);
    }
    stage->options = (struct engine_options){.origin = ORIGIN,
                                             .worker_names = workers,
                                             .n_workers = STAGE_CLUSTERS - 1,
                                             .n_kinds = 1,
                                             .settings.worker_lost_timeout_ns = 5 * CLOCK_MINUTE,
                                             .settings.mirror_retention_ns = 10 * CLOCK_SECOND,
                                             .seed = 1};
}

void stage_init(struct stage *stage) {
    struct kind *kind = NULL;
    struct error *error = kind_check(job_kind, NULL, "wharf.dev/host", &kind);
    if (error)
        fail_msg("%s", error_text(error));
    init(stage, kind, NULL);
}

void stage_init_kind(struct stage *stage, struct kind *kind, const struct world_kind *served) {
    init(stage, kind, served);
}

static void answered(struct stage *stage, const struct command *command, int status, const char *body, size_t len) {
    bool lost = status == STAGE_LOST || status == STAGE_UNHEARD;
    struct stage_news *n =
        news(stage, EVENT_ANSWER, command->cluster, stage->now.mono_ns + (lost ? TIMEOUT_NS : stage->latency_ns));
    struct http_result result = {.outcome = lost ? HTTP_BROKEN : HTTP_ANSWERED,
                                 .status = lost ? 0 : status,
                                 .body = body ? body : "",
                                 .body_len = len,
                                 .content_type = "application/json",
                                 .retry_after_ns = stage->retry_after_ns && status >= 400 ? stage->retry_after_ns : -1,
                                 .problem = lost ? "no answer" : NULL};
    n->command = command->id;
    n->sent_ns = stage->now.mono_ns;
    bool document = command->request.dry_run && status >= 200 && status < 300;
    response_read(&n->response, &result, document ? VERB_RAW_GET : command->request.verb);
}

static const char *const queries[] = {
    [DRY_RUN_NO] = "", [DRY_RUN] = "&dryRun=All", [DRY_RUN_STRICT] = "&dryRun=All&fieldValidation=Strict"};

static void serve(struct stage *stage, const struct command *command) {
    const struct request *request = &command->request;
    stage->sent[command->cluster][request->verb]++;
    int meddled = stage->meddle ? stage->meddle(stage, command) : STAGE_PASS;
    if (meddled > 0) {
        AUTO_TEXT body = text_format("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":%d,"
                                     "\"message\":\"meddled\",\"reason\":\"%s\",\"details\":{\"name\":\"a\"}}",
                                     meddled,
                                     meddled == 500   ? "InternalError"
                                     : meddled == 409 ? request->verb == VERB_CREATE ? "AlreadyExists" : "Conflict"
                                     : meddled == 404 ? "NotFound"
                                                      : "");
        answered(stage, command, meddled, body, strlen(body));
        return;
    }
    if (meddled == STAGE_LOST) {
        answered(stage, command, STAGE_LOST, NULL, 0);
        return;
    }
    AUTO_BUFFER(path, 4096);
    bool create = request->verb == VERB_CREATE, status = request->verb == VERB_STATUS_PATCH;
    if (request->verb == VERB_RAW_GET)
        assert_true(buffer_append(&path, request->name, strlen(request->name)));
    else
        assert_null(resource_path(&request->resource, request->namespace_, create ? NULL : request->name,
                                  status ? "status" : NULL, &path));
    static const char *const methods[] = {"GET", "POST", "PATCH", "PATCH", "DELETE", "GET"};
    bool patch = status || request->verb == VERB_MERGE_PATCH;
    if (request->verb != VERB_RAW_GET)
        buffer_printf(&path, "?fieldManager=wharf%s", queries[request->dry_run]);
    AUTO_TEXT user = request->tenant ? text_format(TENANT_USER_PREFIX "%s", request->tenant) : NULL;
    struct world_request sent = {.method = methods[request->verb],
                                 .path = path.data,
                                 .content_type = patch ? "application/merge-patch+json" : "application/json",
                                 .user = user,
                                 .body = request->body,
                                 .body_len = request->body_len};
    struct world_response response = {0};
    world_request(stage->clusters[command->cluster], &sent, stage->now.wall_ns, &response);
    answered(stage, command, meddled == STAGE_UNHEARD ? STAGE_UNHEARD : response.status, response.body,
             response.body_len);
    world_response_clear(&response);
}

static void take_update(struct stage *stage) {
    for (size_t i = 0; i < stage->update.n_commands; i++)
        serve(stage, &stage->update.commands[i]);
    for (size_t i = 0; i < stage->update.n_events; i++) {
        AUTO_TEXT before = stage->notes;
        stage->event_warnings += stage->update.events[i].warning;
        stage->notes = text_format("%s%s: %s\n", before ? before : "", stage->update.events[i].reason,
                                   stage->update.events[i].text);
    }
    for (size_t i = 0; i < stage->update.n_wishes && stage->wished; i++)
        stage->wished(stage, stage->update.wishes[i]);
    for (size_t i = 0; i < stage->update.n_questions && stage->asked; i++)
        stage->asked(stage, stage->update.questions[i]);
    for (size_t i = 0; i < stage->update.n_words && stage->worded; i++)
        stage->worded(stage, stage->update.words[i]);
    for (size_t i = 0; i < stage->update.n_log; i++) {
        stage->warnings += stage->update.log[i].level == LOG_WARN;
        if (stage->update.log[i].level == LOG_ERROR) // a defect that the engine found in itself
            fail_msg("%s", stage->update.log[i].text);
    }
    update_clear(&stage->update);
}

void stage_step(struct stage *stage, struct engine_event *event) {
    event->now = stage->now;
    engine_step(stage->engine, event, &stage->update);
    take_update(stage);
}

static struct object *object_of(const struct stage *stage, const struct json *value) {
    struct object *object = NULL;
    AUTO_TEXT api_version = text_format("%s/%s", group_of(stage), version_of(stage));
    const char *name = stage->served ? stage->served->kind : "Job";
    struct error *error = object_new(json_copy(value), api_version, name, &object);
    if (error)
        fail_msg("%s", error_text(error));
    return object;
}

void stage_tell(struct stage *stage, size_t cluster, const struct dependency_wish *of, const struct json *value) {
    struct stage_news *n = news(stage, EVENT_DEPENDENCY, cluster, stage->now.mono_ns + STEP_NS);
    n->value = value ? json_copy(value) : NULL;
    text_copy(n->resource, sizeof n->resource, of->resource);
    text_copy(n->space, sizeof n->space, of->namespace_);
    text_copy(n->name, sizeof n->name, of->name);
}

// The metadata alone, as a watch of it sends them.
static void tell_dependency(struct stage *stage, struct stage_news *n) {
    struct engine_event event = {
        .type = EVENT_DEPENDENCY,
        .cluster = n->cluster,
        .dependency = {.news = DEPENDENCY_GONE, .resource = n->resource, .namespace_ = n->space, .name = n->name}};
    if (n->value) {
        AUTO_JSON whole = TAKE(n->value);
        struct json *metadata = json_new_object();
        assert_true(json_set(metadata, "metadata", json_copy(json_get(whole, "metadata"))));
        assert_null(object_new(metadata, "meta.k8s.io/v1", "PartialObjectMetadata", &event.dependency.metadata));
        event.dependency.news = DEPENDENCY_SEEN;
        event.dependency.namespace_ = event.dependency.name = NULL;
    }
    stage_step(stage, &event);
    object_free(event.dependency.metadata);
}

static void tell(struct stage *stage, struct stage_news *n) {
    if (n->type == EVENT_DEPENDENCY) {
        if (stage->connected[n->cluster])
            tell_dependency(stage, n);
        json_free(n->value);
        free(n);
        return;
    }
    struct engine_event event = {.type = n->type, .cluster = n->cluster};
    if (n->type == EVENT_ANSWER) {
        event.answer.command = n->command;
        event.answer.response = &n->response;
        event.answer.sent_ns = n->sent_ns;
    } else if (n->value)
        event.object = object_of(stage, n->value);
    if (n->type == EVENT_ANSWER || stage->connected[n->cluster])
        stage_step(stage, &event);
    else
        object_free(event.object);
    response_clear(&n->response);
    json_free(n->value);
    free(n);
}

void stage_identity(struct stage *stage, size_t cluster) {
    const struct json *namespace_ = world_object(stage->clusters[cluster], "", "namespaces", "", "kube-system");
    stage_step(stage, &(struct engine_event){.type = EVENT_IDENTITY,
                                             .cluster = cluster,
                                             .identity = {.uid = object_uid(namespace_), .version = "1"}});
}

static int64_t revision_of(struct stage *stage, size_t cluster) {
    AUTO_TEXT path = text_format("/apis/%s/%s/%s?limit=1", group_of(stage), version_of(stage), plural_of(stage));
    struct world_request list = {.method = "GET", .path = path};
    struct world_response response = {0};
    world_request(stage->clusters[cluster], &list, stage->now.wall_ns, &response);
    AUTO_JSON answer = NULL;
    assert_null(json_parse(response.body, response.body_len, &answer));
    int64_t revision = 0;
    assert_true(text_to_int64(json_string(json_path(answer, "metadata", "resourceVersion", NULL)), &revision));
    world_response_clear(&response);
    return revision;
}

void stage_connect(struct stage *stage, size_t cluster) {
    stage->connected[cluster] = true;
    stage_identity(stage, cluster);
    stage_step(stage, &(struct engine_event){.type = EVENT_LISTING, .cluster = cluster, .version = version_of(stage)});
    const void *cursor = NULL;
    for (const struct json *object;
         (object = world_next(stage->clusters[cluster], group_of(stage), plural_of(stage), &cursor));)
        if (cluster == ENGINE_MANAGEMENT || is_listed_label(object))
            stage_step(stage, &(struct engine_event){
                                  .type = EVENT_SEEN, .cluster = cluster, .object = object_of(stage, object)});
    int64_t revision = revision_of(stage, cluster);
    stage_step(stage,
               &(struct engine_event){
                   .type = EVENT_LISTED, .cluster = cluster, .revision = revision, .version = version_of(stage)});
    stage_step(stage, &(struct engine_event){
                          .type = EVENT_STATE, .cluster = cluster, .watch = {.state = REFLECTOR_CONNECTED}});
    if (stage->linked)
        stage->linked(stage, cluster);
}

void stage_contact_since(struct stage *stage, size_t cluster, enum contact contact, int64_t heard_ns) {
    stage_step(stage, &(struct engine_event){.type = EVENT_CONTACT,
                                             .cluster = cluster,
                                             .contact = {.state = contact, .heard_ns = heard_ns}});
}

void stage_contact(struct stage *stage, size_t cluster, enum contact contact) {
    stage_contact_since(stage, cluster, contact, stage->now.mono_ns);
}

void stage_refused(struct stage *stage, size_t cluster) {
    int64_t now_ns = stage->now.mono_ns;
    stage_step(stage, &(struct engine_event){.type = EVENT_CONTACT,
                                             .cluster = cluster,
                                             .contact = {CONTACT_SUSPECT, .repeated = true, .heard_ns = now_ns}});
}

void stage_fence(struct stage *stage, size_t cluster, const struct fence_news *fence) {
    stage_step(stage, &(struct engine_event){.type = EVENT_FENCE, .cluster = cluster, .fence = *fence});
}

void stage_disconnect(struct stage *stage, size_t cluster) {
    stage->connected[cluster] = false;
    stage_step(stage,
               &(struct engine_event){.type = EVENT_STATE, .cluster = cluster, .watch = {.state = REFLECTOR_LOST}});
}

void stage_back(struct stage *stage, size_t cluster, const struct world_copy *copy) {
    stage_disconnect(stage, cluster);
    stage->user = true;
    if (copy)
        world_restore(stage->clusters[cluster], copy, stage->now.wall_ns);
    else
        world_wipe(stage->clusters[cluster], stage->now.wall_ns);
    stage->user = false;
    stage_step(stage,
               &(struct engine_event){.type = EVENT_RESTORED, .cluster = cluster, .problem = "its versions went back"});
    stage_connect(stage, cluster);
}

void stage_start(struct stage *stage) {
    stage->options.kinds = &stage->kind;
    assert_null(engine_new(&stage->options, stage->now, &stage->engine));
    if (stage->made)
        stage->made(stage);
    for (size_t c = 0; c < STAGE_CLUSTERS; c++)
        stage_connect(stage, c);
}

static void forget_news(struct stage *stage) {
    while (stage->first) {
        struct stage_news *n = stage->first;
        stage->first = n->next;
        response_clear(&n->response);
        json_free(n->value);
        free(n);
    }
}

void stage_restart(struct stage *stage) {
    forget_news(stage);
    engine_free(stage->engine);
    update_free(&stage->update);
    stage_start(stage);
}

void stage_end(struct stage *stage) {
    forget_news(stage);
    update_free(&stage->update);
    engine_free(stage->engine);
    for (size_t c = 0; c < STAGE_CLUSTERS; c++)
        world_free(stage->clusters[c]);
    if (!stage->served)
        kind_free(stage->kind);
    free(stage->notes);
}

static void go_to(struct stage *stage, int64_t at_ns) {
    if (at_ns <= stage->now.mono_ns)
        return;
    stage->now.wall_ns += at_ns - stage->now.mono_ns;
    stage->now.mono_ns = at_ns;
}

// The next event, by `end_ns`; false: none.
static bool next(struct stage *stage, int64_t end_ns) {
    int64_t at_ns = stage->update.wake_ns;
    if (stage->first && stage->first->at_ns < at_ns)
        at_ns = stage->first->at_ns;
    for (size_t c = 0; c < STAGE_CLUSTERS; c++) {
        int64_t due = world_due(stage->clusters[c]);
        if (due != WORLD_NEVER && due - stage->now.wall_ns + stage->now.mono_ns < at_ns)
            at_ns = due - stage->now.wall_ns + stage->now.mono_ns;
    }
    if (at_ns > end_ns)
        return false;
    go_to(stage, at_ns);
    for (size_t c = 0; c < STAGE_CLUSTERS; c++)
        world_step(stage->clusters[c], stage->now.wall_ns);
    if (stage->first && stage->first->at_ns <= stage->now.mono_ns) {
        struct stage_news *n = stage->first;
        stage->first = n->next;
        tell(stage, n);
    } else {
        stage_step(stage, &(struct engine_event){.type = EVENT_TIME});
    }
    return true;
}

void stage_run(struct stage *stage, int64_t ns) {
    int64_t end_ns = stage->now.mono_ns + ns;
    unsigned steps = 0;
    while (next(stage, end_ns))
        if (++steps > 2000000)
            fail_msg("time does not go on");
    go_to(stage, end_ns);
}

void stage_until(struct stage *stage, bool (*done)(struct stage *stage)) {
    int64_t end_ns = stage->now.mono_ns + 24 * 60 * CLOCK_MINUTE;
    while (!done(stage))
        if (!next(stage, end_ns))
            fail_msg("nothing is pending; Events:\n%s", stage->notes ? stage->notes : "");
}

int stage_load(void **state) {
    return harness_load(state);
}

const char *stage_space(const struct stage *stage) {
    return stage->space ? stage->space : "default";
}

int stage_apply(struct stage *stage, size_t cluster, const char *group, const char *plural, const char *object) {
    AUTO_JSON value = harness_json(object);
    bool was = stage->user;
    stage->user = true;
    int status = world_apply(stage->clusters[cluster], group, plural, value, stage->now.wall_ns);
    stage->user = was;
    return status;
}

void stage_submit(struct stage *stage, const char *name, const char *annotations) {
    AUTO_TEXT text = text_format(
        "{'metadata':{'name':'%s','namespace':'%s','annotations':{%s}},'spec':{'managedBy':'wharf.dev/host',"
        "'parallelism':1,'completions':1,'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c',"
        "'image':'i'}]}}}}",
        name, stage_space(stage), annotations);
    assert_int_equal(stage_apply(stage, 0, "batch", "jobs", text), 201);
}

int stage_patch(struct stage *stage, size_t cluster, const char *name, const char *subresource, const char *patch) {
    AUTO_JSON value = harness_json(patch);
    AUTO_TEXT text = json_text(value, NULL);
    stage->user = true;
    int status = world_patch(stage->clusters[cluster], group_of(stage), plural_of(stage), stage_space(stage), name,
                             subresource, text, stage->now.wall_ns);
    stage->user = false;
    return status;
}

int stage_delete(struct stage *stage, size_t cluster, const char *name) {
    stage->user = true;
    int status = world_delete(stage->clusters[cluster], group_of(stage), plural_of(stage), stage_space(stage), name,
                              "Background", stage->now.wall_ns);
    stage->user = false;
    return status;
}

void stage_runs(struct stage *stage, size_t cluster, const char *name) {
    assert_int_equal(stage_patch(stage, cluster, name, "status",
                                 "{'status':{'active':1,'ready':1,'startTime':'2026-03-01T12:00:01Z'}}"),
                     200);
}

void stage_completes(struct stage *stage, size_t cluster, const char *name) {
    assert_int_equal(
        stage_patch(stage, cluster, name, "status",
                    "{'status':{'active':0,'ready':0,'succeeded':1,'completionTime':'2026-03-01T12:00:02Z',"
                    "'conditions':[{'type':'SuccessCriteriaMet','status':'True','lastTransitionTime':"
                    "'2026-03-01T12:00:02Z'},{'type':'Complete','status':'True','lastTransitionTime':"
                    "'2026-03-01T12:00:02Z'}]}}"),
        200);
}

const struct json *stage_job(struct stage *stage, size_t cluster, const char *name) {
    return world_object(stage->clusters[cluster], group_of(stage), plural_of(stage), stage_space(stage), name);
}

bool stage_finished(struct stage *stage, const char *name) {
    const struct json *job = stage_job(stage, 0, name);
    for (const struct json *c = json_first(pointer_find(job, "/status/conditions")); c; c = json_next(c))
        if (text_equal(json_string(json_get(c, "type")), "Complete"))
            return true;
    return false;
}

size_t stage_told(const struct stage *stage, const char *text) {
    size_t count = 0;
    for (const char *at = stage->notes; at && (at = strstr(at, text)); at += strlen(text))
        count++;
    return count;
}

unsigned stage_attempt(struct stage *stage, const char *name) {
    return mirror_attempt(stage_job(stage, 0, name));
}

size_t stage_where(struct stage *stage, const char *name) {
    const char *cluster =
        json_string(pointer_find(stage_job(stage, 0, name), "/metadata/annotations/wharf.dev~1cluster"));
    return !cluster ? 0 : text_equal(cluster, "w1") ? 1 : text_equal(cluster, "w2") ? 2 : 0;
}

static void pass_over(void *ctx, const char *name, const struct worker_reason *reason, int64_t until_ns,
                      int64_t since_ns) {
    (void)ctx, (void)name, (void)reason, (void)until_ns, (void)since_ns;
}

void stage_explain(struct stage *stage, const char *name, struct explain_view *out) {
    assert_true(inspect_explain(stage->engine, stage->now, stage->kind, "default", name, out, pass_over, NULL));
}
