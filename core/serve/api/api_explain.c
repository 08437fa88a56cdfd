// SPDX-License-Identifier: Apache-2.0
// /api/v1/workloads/KIND/NAMESPACE/NAME: the place of one workload, the outcome of its attempts, the reason of the
// wait, and commands that would help. Objects that are not delegated to this host, and Events, come from the management
// cluster.
#include "core/serve/api/api_internal.h"

#include "core/adapter/phase.h"
#include "core/host/words/words_text.h"
#include "core/json/pointer.h"

#define PART_MAX ((size_t)1 << 20)
#define PATH_MAX_BYTES 4096
#define MULTIKUEUE "kueue.x-k8s.io/multikueue"
#define EVENTS_SHOWN 20

struct explain { // of one object
    const struct api_source *source;
    const struct kind *kind;
    char namespace_[254], name[254];
    bool known;                  // delegated to this host
    const struct engine *engine; // in a query of the engine
    char uid[64];
    char version[64], problem[160]; // of the kind in the management cluster, see inspect.h
    struct writer *out;             // members of the open object
    struct writer workers, help;    // items of these arrays
    const char *refusal;            // the template for objects that a cluster refuses, once told
};

// Adds a command to `help`, with the purpose behind a #. In the template: %w the worker; %n, %o, %r and %g the
// workload's namespace, name, resource and group; %N the namespace in the worker; %f and %m the field that delegates
// it, and the host's value; %d a detail. Adds nothing without a word for one of these. Contexts are assumed to have the
// names of the workers.
static void add_help(struct explain *explain, const char *template, const char *worker, const char *detail) {
    char there[NAMESPACE_SIZE];
    if (explain->engine)
        inspect_namespace(explain->engine, worker, explain->namespace_, there);
    const char *const words[128] = {['w'] = worker,
                                    ['N'] = explain->engine ? there : NULL,
                                    ['n'] = explain->namespace_,
                                    ['o'] = explain->name,
                                    ['r'] = explain->kind->plural_group,
                                    ['g'] = explain->kind->abi.group,
                                    ['f'] = explain->kind->abi.managed_by,
                                    ['m'] = explain->kind->managed_by,
                                    ['d'] = detail};
    AUTO_BUFFER(text, PATH_MAX_BYTES);
    for (const char *at = template; *at; at++) {
        const char *word = *at == '%' ? words[(unsigned char)*++at] : NULL;
        if (word)
            buffer_text(&text, word);
        else if (at > template && at[-1] == '%')
            return;
        else
            buffer_char(&text, *at);
    }
    if (!text.failed)
        writer_string(&explain->help, NULL, text.data);
}

#define JOIN "wharf join --context %w --name %w # renews the host's credentials and rights there"

static const struct {
    const char *reason, *template;
} rejections[] = {
    {"QuotaExceeded", "kubectl --context %w -n %N describe resourcequota # the quota and its use"},
    {"NamespaceNotFound", "kubectl --context %w create namespace %N # or createNamespaces: true in the configuration"},
    {"Unauthorized", JOIN},
    {"Forbidden", "wharf rbac --for worker --config FILE | kubectl --context %w apply -f - # the host's rights there"},
    {"NameConflict", "kubectl --context %w -n %N get %r %o # an object that is not the host's has the name"},
    {"KindNotFound", "kubectl --context %w get crd %r # install it there"},
};

static const char *const obstacles[] = {
    [OBSTACLE_UNREACHABLE] = "kubectl --context %w get --raw /readyz # whether %w answers",
    [OBSTACLE_KIND] = "kubectl --context %w api-resources --api-group=%g # whether %w serves the kind",
    [OBSTACLE_PAUSED] = "kubectl --context %w get %r -A -l wharf.dev/origin # delete mirrors without a workload",
    [OBSTACLE_CREDENTIALS] = JOIN,
    [OBSTACLE_REFUSED] = "wharf status workers # %w %d",
    [OBSTACLE_SUSPECT] = "wharf status workers # %w %d",
};

#define WORKERS "wharf status workers # the state of each"
#define IN_THE_WAY "kubectl --context %w -n %N get %r %o -o yaml # the object that is in the way"
#define RETRY "wharf retry %r/%o -n %n # tries again at once"

static const char *const waitings[WAITINGS] = {
    [WAITING_NO_WORKER] = WORKERS,
    [WAITING_CAPACITY] = WORKERS,
    [WAITING_IDENTITY] = WORKERS,
    [WAITING_WORKER] = WORKERS,
    [WAITING_UNGUARDED] = WORKERS,
    [WAITING_UNKNOWN_WORKER] = "wharf join --context %w --name %w # its worker is not configured",
    [WAITING_GONE] = "kubectl --context %w -n %N get %r %o -o jsonpath='{.metadata.finalizers}'",
    [WAITING_PROOF] = IN_THE_WAY,
    [WAITING_PREDECESSOR] = IN_THE_WAY,
    [WAITING_EARLIER] = IN_THE_WAY,
    [WAITING_STATUS] = "kubectl get crd %r -o jsonpath='{.spec.versions[*].subresources}'",
    [WAITING_REFUSED] = RETRY,
    [WAITING_BACKOFF] = RETRY,
    [WAITING_REPEATED] = RETRY,
    [WAITING_RESUME] = RETRY,
};

static void help_with_worker(struct explain *explain, const char *worker, const struct worker_reason *reason) {
    size_t obstacle = (size_t)reason->obstacle;
    const char *template = obstacle < sizeof obstacles / sizeof obstacles[0] ? obstacles[obstacle] : NULL;
    for (size_t i = 0; reason->obstacle == OBSTACLE_REJECTED && i < sizeof rejections / sizeof rejections[0]; i++)
        if (text_equal(reason->reason, rejections[i].reason))
            template = rejections[i].template;
    if (template)
        add_help(explain, template, worker, reason->brief);
}

// {"spec":{"suspend":false}} for /spec/suspend. A field with other values than true and false is removed.
static void put_resume(const wharf_kind *kind, struct buffer *out) {
    AUTO_JSON patch = json_new_object();
    bool boolean = !kind->suspend_value && !phase_suspends_by_mark(kind);
    if (patch && pointer_set(patch, kind->suspend, boolean ? json_new_bool(false) : json_new_null()))
        json_print(patch, out);
}

static void help_to_resume(struct explain *explain, bool queued_by_kueue) {
    const wharf_kind *kind = &explain->kind->abi;
    AUTO_BUFFER(patch, PATH_MAX_BYTES);
    if (queued_by_kueue)
        add_help(explain, "kubectl -n %n get workloads.kueue.x-k8s.io # Kueue resumes it when it is admitted", NULL,
                 NULL);
    else if (kind->suspend) {
        put_resume(kind, &patch);
        add_help(explain, "kubectl -n %n patch %r %o --type=merge -p '%d' # resumes it", NULL, patch.data);
    }
}

static void help_with_workload(struct explain *explain, const struct explain_view *view) {
    const struct workload_view *workload = &view->workload;
    const char *worker = workload->waits_for;
    if (workload->suspended)
        help_to_resume(explain, view->queued_by_kueue);
    if (workload->waiting == WAITING_UNKNOWN_WORKER)
        worker = workload->cluster ? workload->cluster : "NAME";
    if (waitings[workload->waiting])
        add_help(explain, waitings[workload->waiting], worker, NULL);
    if (workload->phase == WHARF_FAILED && view->has_mirror)
        add_help(explain, "wharf logs %r/%o -n %n # the output of its pods", NULL, NULL);
}

static void put_attempts(const struct attempt *newest, struct writer *out) {
    const struct attempt *list[ATTEMPTS_MAX];
    size_t count = 0;
    for (const struct attempt *a = newest; a && count < ATTEMPTS_MAX; a = a->older)
        list[count++] = a;
    writer_array(out, "attempts");
    while (count > 0) {
        const struct attempt *a = list[--count];
        api_put_object(out, NULL,
                       "attempt=%u cluster=%s placedAt=%jd createdAt=%jd startedAt=%jd endedAt=%jd outcome=%s "
                       "reason=%s message=%s scores=%s",
                       a->number, a->cluster, a->placed_ns, a->created_ns, a->started_ns, a->ended_ns,
                       outcome_name((enum outcome)a->outcome), a->reason, a->message, a->scores);
    }
    writer_end(out, ']');
}

static void put_worker(void *ctx, const char *name, const struct worker_reason *reason, int64_t until_wall_ns,
                       int64_t since_wall_ns) {
    struct explain *explain = ctx;
    api_put_object(&explain->workers, NULL, "name=%s fit=%d brief=%s reason=%s since=%jd until=%jd", name,
                   reason->obstacle == OBSTACLE_NONE, reason->brief, reason->text, since_wall_ns, until_wall_ns);
    help_with_worker(explain, name, reason);
}

// For an object that the cluster refuses: by the reason before the colon.
static const char *refusal_of(const struct dependency_view *view) {
    if (!view->cluster)
        return "wharf rbac --for management --config FILE | kubectl apply -f - # the host's rights";
    size_t len = view->problem ? strcspn(view->problem, ":") : 0;
    for (size_t i = 0; i < sizeof rejections / sizeof rejections[0]; i++)
        if (len > 0 && strlen(rejections[i].reason) == len && memcmp(rejections[i].reason, view->problem, len) == 0)
            return rejections[i].template;
    return NULL;
}

// "-n team-a get configmaps settings", in the worker's names.
static void help_with_dependency(struct explain *explain, const struct dependency_view *view) {
    static const char *const templates[DEPENDENCY_STATES] = {
        [DEPENDENCY_MISSING] = "kubectl%d # does not exist",
        [DEPENDENCY_CONFLICT] = "kubectl%d -o yaml # an object of another writer, with other content",
    };
    char space[NAMESPACE_SIZE] = "";
    if (*view->namespace_)
        inspect_namespace(explain->engine, view->cluster, view->namespace_, space);
    AUTO_TEXT detail =
        text_format("%s%s%s%s get %s %s", view->cluster ? " --context " : "", view->cluster ? view->cluster : "",
                    *space ? " -n " : "", space, view->resource, view->name);
    const char *template = view->state == DEPENDENCY_REFUSED ? refusal_of(view) : templates[view->state];
    if (template && template != explain->refusal && !view->optional && detail)
        add_help(explain, template, view->cluster, detail);
    if (view->state == DEPENDENCY_REFUSED)
        explain->refusal = template;
}

static void put_dependency(void *ctx, const struct dependency_view *view) {
    struct explain *explain = ctx;
    help_with_dependency(explain, view);
    api_put_object(explain->out, NULL,
                   "resource=%s namespace=%s name=%s where=%s cluster=%s state=%s optional=%d problem=%s",
                   view->resource, *view->namespace_ ? view->namespace_ : NULL, view->name, view->where, view->cluster,
                   dependency_state_name(view->state), view->optional, view->problem);
}

// On the engine's thread.
static void write_explanation(void *arg, struct engine *engine, struct moment now) {
    struct explain *explain = arg;
    const struct kind *kind = explain->kind;
    struct explain_view view;
    struct writer *out = explain->out;
    explain->engine = engine;
    explain->known = inspect_explain(engine, now, kind, explain->namespace_, explain->name, &view, put_worker, explain);
    if (!explain->known)
        return;
    const struct mirror_view *mirror = &view.mirror;
    text_copy(explain->uid, sizeof explain->uid, view.workload.uid);
    api_put_workload(explain->source, &view.workload, out);
    AUTO_TEXT why = text_format("%s is %s, which this host answers to", kind->abi.managed_by, kind->managed_by);
    api_put(out, "ours=%d why=%s managedBy=%s", true, why, kind->managed_by);
    put_attempts(view.attempts, out);
    writer_array(out, "dependencies");
    inspect_dependencies(engine, kind, explain->namespace_, explain->name, put_dependency, explain);
    writer_end(out, ']');
    api_put(out, "waitingFor=%s alsoRunHere=%s progressOff=%s until=%jd", *view.waiting_text ? view.waiting_text : NULL,
            *view.also_run ? view.also_run : NULL, view.progress_off, view.workload.waiting_until_ns);
    if (view.has_mirror)
        api_put_object(out, "mirror",
                       "cluster=%s namespace=%s uid=%s version=%s attempt=%u phase=%s statusReduced=%s progress=%s",
                       mirror->cluster_name, mirror->namespace_, mirror->uid, mirror->version, mirror->attempt,
                       api_phase_name(mirror->phase), mirror->reduced, mirror->progress);
    else
        writer_null(out, "mirror");
    if (view.has_mirror && view.workload.waiting == WAITING_NOT) { // no other worker is needed
        buffer_reset(explain->help.out);
        explain->help.comma = false;
    }
    help_with_workload(explain, &view);
    explain->engine = NULL;
}

static void find_version(void *arg, struct engine *engine, struct moment now) {
    (void)now;
    struct explain *explain = arg;
    const char *version = inspect_version(engine, explain->kind);
    text_copy(explain->version, sizeof explain->version, version ? version : explain->kind->abi.versions[0]);
    text_copy(explain->problem, sizeof explain->problem, inspect_problem(engine, explain->kind));
}

// Why an object with this value is not ours, as a sentence; NULL when out of memory.
static char *why_not(const struct kind *kind, const char *value, const char *problem) {
    const char *field = kind->abi.managed_by;
    if (!value)
        return text_format("%s is not set: the management cluster's own controller runs it", field);
    if (strcmp(value, kind->managed_by) == 0)
        return text_format("%s is %s, but this host does not know it yet: %s", field, value,
                           *problem ? problem : "it may have been created just now");
    if (text_equal(value, kind->abi.managed_by_builtin))
        return text_format("%s is %s, which names the kind's own controller", field, value);
    if (strcmp(value, MULTIKUEUE) == 0)
        return text_format("%s is %s: MultiKueue owns it", field, value);
    return text_format("%s is %s; this host answers to %s", field, value, kind->managed_by);
}

static void put_foreign(struct explain *explain, const struct json *object) {
    static const char *const absent[] = {"waitingFor", "alsoRunHere", "progressOff", "until", "mirror"};
    struct writer *out = explain->out;
    const struct kind *kind = explain->kind;
    const char *value = json_string(pointer_find(object, kind->abi.managed_by));
    AUTO_TEXT why = why_not(kind, value, explain->problem);
    text_copy(explain->uid, sizeof explain->uid, object_uid(object));
    api_put_kind(&kind->abi, out);
    api_put(out, "namespace=%s name=%s uid=%s ours=%d why=%s managedBy=%s", explain->namespace_, explain->name,
            explain->uid, false, why, value);
    put_attempts(NULL, out);
    writer_array(out, "dependencies");
    writer_end(out, ']');
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        writer_null(out, absent[i]);
    if (!text_equal(value, kind->managed_by))
        add_help(explain,
                 "kubectl -n %n get %r %o -o yaml # create it again with %f: %m; for most kinds the field cannot be "
                 "changed later",
                 NULL, NULL);
}

// Reads an object that the engine does not track, and explains why. ERROR_NOT_FOUND: there is no such object.
static struct error *explain_foreign(struct explain *explain) {
    const struct api_source *source = explain->source;
    const struct kind *kind = explain->kind;
    __attribute__((cleanup(response_clear))) struct response answer = {.message = NULL};
    AUTO_BUFFER(path, PATH_MAX_BYTES);
    TRY(source->query(source->ctx, find_version, explain));
    struct resource resource = {.group = kind->abi.group, .version = explain->version, .plural = kind->abi.plural};
    TRY(resource_path(&resource, explain->namespace_, explain->name, NULL, &path));
    TRY(source->read(source->ctx, path.data, &answer));
    if (answer.code == 404)
        return error_new(ERROR_NOT_FOUND, "%s %s/%s does not exist in the management cluster", kind->abi.kind,
                         explain->namespace_, explain->name);
    if (answer.reason != REASON_OK || !answer.value)
        return error_new(ERROR_STOPPED, "%s %s/%s cannot be read from the management cluster: %s", kind->abi.kind,
                         explain->namespace_, explain->name,
                         answer.message ? answer.message : reason_text(answer.reason));
    put_foreign(explain, answer.value);
    return NULL;
}

struct timed_event {
    const struct json *event;
    int64_t at_ns;
};

static int64_t time_of(const struct json *event) {
    const struct json *times[] = {json_path(event, "series", "lastObservedTime", NULL),
                                  json_get(event, "lastTimestamp"), json_get(event, "eventTime"),
                                  json_path(event, "metadata", "creationTimestamp", NULL)};
    int64_t at_ns = 0;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        if (json_string(times[i]) && clock_parse_rfc3339(json_string(times[i]), &at_ns))
            return at_ns;
    return 0;
}

static int by_time(const void *a, const void *b) {
    const struct timed_event *x = a, *y = b;
    return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static void put_event(const struct timed_event *timed, struct writer *out) {
    const struct json *event = timed->event;
    int64_t count = json_int64(json_path(event, "series", "count", NULL), 0);
    writer_object(out, NULL);
    api_put(out, "type=%s reason=%s message=%s", json_string(json_get(event, "type")),
            json_string(json_get(event, "reason")), json_string(json_get(event, "message")));
    writer_int(out, "count", count > 0 ? count : json_int64(json_get(event, "count"), 1));
    writer_time(out, "lastAt", timed->at_ns);
    writer_end(out, '}');
}

// The newest ones, in the order of time.
static void put_events(const struct json *list, struct writer *out) {
    const struct json *items = json_get(list, "items");
    size_t count = 0, size = json_size(items);
    struct timed_event *events = calloc(size + 1, sizeof *events);
    for (const struct json *e = json_first(items); events && e && count < size; e = json_next(e))
        events[count++] = (struct timed_event){e, time_of(e)};
    if (events)
        qsort(events, count, sizeof *events, by_time);
    writer_array(out, "events");
    for (size_t i = count > EVENTS_SHOWN ? count - EVENTS_SHOWN : 0; i < count; i++)
        put_event(&events[i], out);
    writer_end(out, ']');
    free(events);
}

// The member `events`; null where the Events cannot be read.
static void explain_events(const struct explain *explain) {
    const struct api_source *source = explain->source;
    __attribute__((cleanup(response_clear))) struct response answer = {.message = NULL};
    AUTO_BUFFER(path, PATH_MAX_BYTES);
    buffer_text(&path, "/api/v1/namespaces/");
    text_percent_encode(&path, explain->namespace_);
    buffer_text(&path, "/events?limit=500&fieldSelector=involvedObject.uid%3D");
    text_percent_encode(&path, explain->uid);
    AUTO_ERROR error = path.failed ? error_no_memory() : source->read(source->ctx, path.data, &answer);
    if (!error && answer.reason == REASON_OK && answer.value)
        put_events(answer.value, explain->out);
    else
        writer_null(explain->out, "events");
}

// What is kept of failed attempts, in short; null where it cannot be read.
static void explain_words(const struct explain *explain) {
    AUTO_JSON items = NULL;
    AUTO_ERROR error =
        api_last_words(explain->source, explain->kind, explain->namespace_, explain->name, explain->uid, &items);
    if (error) {
        writer_null(explain->out, "lastWords");
        return;
    }
    writer_array(explain->out, "lastWords");
    for (const struct json *item = json_first(items); item; item = json_next(item)) {
        AUTO_BUFFER(text, PATH_MAX_BYTES);
        words_show(item, &text);
        writer_object(explain->out, NULL);
        writer_int(explain->out, "attempt", json_int64(json_get(item, "attempt"), 0));
        api_put(explain->out, "cluster=%s at=%s text=%s", json_string(json_get(item, "cluster")),
                json_string(json_get(item, "at")), text.data ? text.data : "");
        writer_end(explain->out, '}');
    }
    writer_end(explain->out, ']');
}

struct error *api_explain(struct api_call *call) {
    AUTO_BUFFER(workers, PART_MAX);
    AUTO_BUFFER(help, PART_MAX);
    struct explain explain = {
        .source = call->source, .out = &call->out, .workers = {.out = &workers}, .help = {.out = &help}};
    TRY(api_split(call, "workloads", &explain.kind, explain.namespace_, explain.name));
    TRY(call->source->query(call->source->ctx, write_explanation, &explain));
    if (!explain.known)
        TRY(explain_foreign(&explain));
    if (workers.failed || help.failed)
        return error_no_memory();
    api_put_items(&call->out, "workers", &workers);
    api_put_items(&call->out, "help", &help);
    explain_words(&explain);
    explain_events(&explain);
    return NULL;
}
