// SPDX-License-Identifier: Apache-2.0
// Events about the pods of mirrors in one worker, posted to the engine: the watch reads new Events and keeps none, the
// owner chain leads from a pod to its mirror (owner.h), and pod_groups.h aggregates and limits reports. The watch
// begins with the first mirror, to send no request to a cluster that is refused. More failed pods of a mirror make the
// watcher read these pods. With a client and a request budget of its own, the watcher delays nothing else.
#include "core/adapter/phase.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/host/pods/owner.h"
#include "core/host/watchers/watcher.h"
#include "core/kube/client/client.h"

#define WAITING_MAX 256                // notes without a known mirror
#define NAME_BYTES ((size_t)253)       // of a pod's name or uid, or a reason; the API server permits no longer ones
#define NAMESPACES_MAX 64              // namespaces with failed pods to read
#define LIST_PODS 100                  // at most at a time
#define LIST_NS (10 * CLOCK_SECOND)    // between two
#define REFUSED_NS (10 * CLOCK_MINUTE) // delay after a refused read
#define SEEN_MAX 512                   // reported OOM kills
#define FAILURES_MAX 1024              // mirrors whose number of failures is remembered

struct pod_search {        // a note whose mirror is searched
    struct owner_ref from; // where the search begins; first member, see struct_copy_with_texts
    const char *pod, *pod_uid, *reason, *text;
    bool warning, fresh;
    uint64_t hash; // of pod, reason and text
};

struct failures { // of a mirror, by the hash of its uid
    uint64_t mirror;
    int64_t count;
};

struct pod_events {
    struct watcher_base base;
    struct meter *meter;
    bool normal; // Events of type Normal too

    struct client *client;
    struct owner_chain chain;
    struct pod_groups groups;
    int64_t now_ns;
    bool begun;            // a mirror was seen: the watch may open
    int64_t since_wall_ns; // another process reported earlier kills

    struct pod_search *waiting[WAITING_MAX + 1]; // the first one is searched while the chain is busy
    size_t n_waiting;
    int64_t reads_at_ns; // no reads before: the worker refuses reads
    bool refusal_logged;

    char namespaces[NAMESPACES_MAX][64]; // with failed pods to list
    size_t n_namespaces;
    int64_t list_at_ns;
    uint64_t list; // the request in flight, 0: none
    uint64_t seen[SEEN_MAX];
    size_t n_seen; // ever
    struct failures failures[FAILURES_MAX];
};

static void add_note(struct pod_events *events, const struct pod_note *note) {
    if (!pod_groups_add(&events->groups, events->now_ns, note))
        meter_pods(events->meter, METER_PODS_LIMITED, 1);
}

static bool is_name(const char *text) {
    return text_is_within(text, NAME_BYTES);
}

static bool is_waiting(const struct pod_events *events, uint64_t hash) {
    size_t i = 0;
    while (i < events->n_waiting && events->waiting[i]->hash != hash)
        i++;
    return i < events->n_waiting;
}

// Adds a note about a pod whose mirror is found from `from` on; `fresh`: even if the mirror is known. Equal notes wait
// only once.
static void place_note(struct pod_events *events, const struct owner_ref *from, const struct pod_note *whole,
                       bool fresh) {
    char text[2 * POD_GROUPS_TEXT_MAX];
    struct pod_note note = *whole;
    bool named = is_name(note.pod) && is_name(note.pod_uid) && is_name(note.reason), found = false;
    text_copy(text, sizeof text, whole->text);
    note.text = text;
    if (named && !fresh && owner_chain_knows(&events->chain, from->uid, &found, &note.mirror)) {
        named = false;
        if (found)
            add_note(events, &note);
    }
    if (!named && !found)
        meter_pods(events->meter, METER_PODS_OTHER, 1);
    uint64_t hash = text_hash(text_hash(text_hash(TEXT_HASH, note.pod_uid), note.reason), note.text);
    if (!named || is_waiting(events, hash))
        return;
    size_t searched = owner_chain_is_busy(&events->chain);
    bool fits = events->n_waiting < WAITING_MAX + searched && is_name(from->api_version) && is_name(from->kind) &&
                is_name(from->namespace_) && is_name(from->name) && is_name(from->uid);
    struct pod_search wanted = {*from, note.pod, note.pod_uid, note.reason, note.text, note.warning, fresh, hash};
    struct pod_search *w = fits ? struct_copy_with_texts(&wanted, sizeof wanted, 9) : NULL;
    if (w)
        events->waiting[events->n_waiting++] = w;
    else
        meter_pods(events->meter, METER_PODS_CROWDED, 1);
}

static void see_event(struct pod_events *events, const struct json *event) {
    const struct json *about = json_get(event, "involvedObject");
    const char *reason = json_string_or(json_get(event, "reason"), "");
    const char *name = json_string_or(json_get(about, "name"), ""), *uid = json_string_or(json_get(about, "uid"), "");
    bool warning = text_equal(json_string(json_get(event, "type")), "Warning");
    if (text_equal(json_string(json_get(about, "kind")), "Pod") && *name && (warning || events->normal)) {
        meter_pods(events->meter, METER_PODS_RECEIVED, 1);
        struct owner_ref from = {"v1", "Pod", json_string_or(json_get(about, "namespace"), ""), name, uid};
        struct pod_note note = {.pod = name,
                                .pod_uid = uid,
                                .reason = reason,
                                .warning = warning,
                                .text = json_string_or(json_get(event, "message"), "")};
        // The kubelet may have killed a container that restarts.
        place_note(events, &from, &note, strcmp(reason, "BackOff") == 0);
    }
}

static void report_refusal(struct pod_events *events, const char *text, const char *problem) {
    if (!events->refusal_logged)
        log_fields(LOG_WARN, text, {"cluster", events->base.scope->name}, {"error", problem});
    events->refusal_logged = true;
}

static void handle_event(struct pod_events *events, const struct cluster_notice *notice) {
    if (notice->type == NOTICE_SEEN)
        see_event(events, notice->object->value);
    else if (notice->type == NOTICE_STATE)
        meter_pods_watched(events->meter, notice->state == REFLECTOR_CONNECTED);
    else if (notice->type == NOTICE_REFUSED)
        report_refusal(events,
                       "the worker does not let the host watch Events: pods' Events there are not reported; grant list "
                       "and watch of events, or set podEvents: none",
                       notice->problem);
}

static const char *fields_of(bool normal) {
    return normal ? "involvedObject.kind=Pod" : "involvedObject.kind=Pod,type=Warning";
}

static void stop(void *state) {
    struct pod_events *events = state;
    owner_chain_clear(&events->chain);
    client_free(events->client);
    pod_groups_clear(&events->groups);
    while (events->n_waiting > 0)
        free(events->waiting[--events->n_waiting]);
    meter_pods_watched(events->meter, false);
}

static struct error *start(const struct cluster_scope *scope, void *state) {
    struct pod_events *events = state;
    events->meter = scope->meter;
    events->normal = scope->settings.pod_events == POD_EVENTS_ALL;
    events->base.watches[0].options.field_selector = fields_of(events->normal);
    events->begun = scope->has_objects;
    struct client_options client = {.cluster = scope->name,
                                    .transport = scope->transport,
                                    .max_in_flight = 1,
                                    .budget = scope->budget,
                                    .meter = scope->meter};
    TRY(client_new(&client, &events->client));
    owner_chain_init(&events->chain, scope, events->client);
    events->groups.seed = scope->seed;
    return NULL;
}

static bool is_new_kill(struct pod_events *events, uint64_t id) {
    for (size_t i = 0; i < SEEN_MAX && i < events->n_seen; i++)
        if (events->seen[i] == id)
            return false;
    events->seen[events->n_seen++ % SEEN_MAX] = id;
    return true;
}

// Reports a container that was killed because it exceeded its memory limit: no Event does.
static void report_kill(struct pod_events *events, const struct json *pod, const char *text, uint64_t id) {
    const struct json *owner = object_controller(pod);
    if (!owner || !is_new_kill(events, id))
        return;
    struct owner_ref from = owner_ref_read(owner, object_namespace(pod));
    struct pod_note note = {
        .pod = object_name(pod), .pod_uid = object_uid(pod), .reason = "OOMKilled", .warning = true, .text = text};
    place_note(events, &from, &note, false);
}

static const char *memory_limit(const struct json *pod, const char *container) {
    static const char *const lists[] = {"containers", "initContainers"};
    for (size_t i = 0; i < 2; i++)
        for (const struct json *c = json_first(json_path(pod, "spec", lists[i], NULL)); c; c = json_next(c))
            if (text_equal(json_string(json_get(c, "name")), container))
                return json_string(json_path(c, "resources", "limits", "memory", NULL));
    return NULL;
}

static void read_container(struct pod_events *events, const struct json *pod, const struct json *status,
                           const char *state) {
    const struct json *ended = json_path(status, state, "terminated", NULL);
    const char *name = json_string_or(json_get(status, "name"), "");
    int64_t at_ns = 0;
    if (!text_equal(json_string(json_get(ended, "reason")), "OOMKilled") ||
        !clock_parse_rfc3339(json_string_or(json_get(ended, "finishedAt"), ""), &at_ns) ||
        at_ns < events->since_wall_ns)
        return;
    const char *limit = memory_limit(pod, name);
    AUTO_TEXT text = text_format("container %s was killed because it exceeded its memory limit%s%s%s", name,
                                 limit ? " (" : "", limit ? limit : "", limit ? ")" : "");
    uint64_t id = text_hash(text_hash(TEXT_HASH, object_uid(pod)), name);
    id = text_hash(id, json_string_or(json_get(ended, "containerID"), ""));
    id = text_hash(id, json_string_or(json_get(ended, "finishedAt"), ""));
    if (text)
        report_kill(events, pod, text, id);
}

static void read_pod(void *ctx, const struct json *pod) {
    static const char *const lists[] = {"containerStatuses", "initContainerStatuses"};
    for (size_t i = 0; i < 2; i++)
        for (const struct json *s = json_first(json_path(pod, "status", lists[i], NULL)); s; s = json_next(s)) {
            read_container(ctx, pod, s, "state");
            read_container(ctx, pod, s, "lastState");
        }
}

static void handle_refusal(struct pod_events *events, const char *problem) {
    events->reads_at_ns = events->now_ns + REFUSED_NS;
    report_refusal(events,
                   "the worker does not let the host read pods or their owners: pods' Events there are not reported; "
                   "grant get and list of pods, or set podEvents: none",
                   problem);
}

static void on_owner(void *ctx, enum owner_outcome outcome, const struct pod_mirror *mirror, const char *problem) {
    struct pod_events *events = ctx;
    struct pod_search *w = events->waiting[0];
    if (outcome == OWNER_FOUND) {
        struct pod_note note = {*mirror, w->pod, w->pod_uid, w->reason, w->warning, w->text};
        add_note(events, &note);
    } else {
        meter_pods(events->meter, outcome == OWNER_NONE ? METER_PODS_OTHER : METER_PODS_UNREAD, 1);
    }
    if (outcome == OWNER_REFUSED)
        handle_refusal(events, problem ? problem : "refused");
    memmove(events->waiting, events->waiting + 1, --events->n_waiting * sizeof *events->waiting);
    free(w);
}

static int64_t search_mirrors(struct pod_events *events, struct moment now) {
    for (;;) {
        int64_t next_ns = owner_chain_tick(&events->chain, now);
        if (owner_chain_is_busy(&events->chain) || events->n_waiting == 0)
            return next_ns;
        if (now.mono_ns < events->reads_at_ns) { // the worker refuses reads
            meter_pods(events->meter, METER_PODS_UNREAD, events->n_waiting);
            while (events->n_waiting > 0)
                free(events->waiting[--events->n_waiting]);
            return CLOCK_NEVER;
        }
        const struct pod_search *w = events->waiting[0];
        struct owner_search wanted = {.from = &w->from,
                                      .fresh = w->fresh,
                                      .read = strcmp(w->from.kind, "Pod") == 0 ? read_pod : NULL,
                                      .done = on_owner,
                                      .ctx = events};
        owner_chain_find(&events->chain, &wanted);
    }
}

static void on_pods(void *ctx, struct response *response) {
    struct pod_events *events = ctx;
    events->list = 0;
    if (reason_is_refusal(response->reason))
        handle_refusal(events, response->message);
    for (const struct json *pod = json_first(json_get(response->value, "items")); pod; pod = json_next(pod))
        read_pod(events, pod);
}

static int64_t list_failed(struct pod_events *events, struct moment now) {
    if (events->n_namespaces == 0 || events->list)
        return CLOCK_NEVER;
    int64_t at_ns = clock_later(events->list_at_ns, events->reads_at_ns);
    if (now.mono_ns < at_ns || !owner_chain_take_request(&events->chain, now, &at_ns))
        return at_ns;
    AUTO_TEXT path = text_format("/api/v1/namespaces/%s/pods?fieldSelector=status.phase%%3DFailed&limit=%d",
                                 events->namespaces[0], LIST_PODS);
    memmove(events->namespaces, events->namespaces + 1, --events->n_namespaces * sizeof *events->namespaces);
    events->list_at_ns = now.mono_ns + LIST_NS;
    struct request request = {.verb = VERB_RAW_GET, .name = path};
    struct error *error = path ? client_submit(events->client, &request, on_pods, events, &events->list) : NULL;
    error_free(error);
    return events->n_namespaces > 0 ? events->list_at_ns : CLOCK_NEVER;
}

static void add_namespace(struct pod_events *events, const char *namespace_) {
    for (size_t i = 0; i < events->n_namespaces; i++)
        if (strcmp(events->namespaces[i], namespace_) == 0)
            return;
    if (events->n_namespaces < NAMESPACES_MAX)
        text_copy(events->namespaces[events->n_namespaces++], sizeof *events->namespaces, namespace_);
    else
        meter_pods(events->meter, METER_PODS_CROWDED, 1);
}

static void see_mirror(struct pod_events *events, size_t kind, const struct json *mirror) {
    events->begun = true;
    int64_t failed = json_int64(json_path(mirror, "status", "failed", NULL), 0);
    wharf_phase phase = {.size = sizeof phase};
    phase_by_rules(&events->base.scope->settings.kinds[kind]->abi, mirror, &phase);
    failed += failed == 0 && phase.phase == WHARF_FAILED; // a kind that does not count failures
    const char *namespace_ = object_namespace(mirror);
    if (failed <= 0 || !text_is_dns_label(namespace_))
        return;
    uint64_t hash = text_hash(TEXT_HASH, object_uid(mirror));
    struct failures *known = &events->failures[hash % FAILURES_MAX];
    bool more = known->mirror != hash || failed > known->count;
    *known = (struct failures){hash, failed};
    if (more)
        add_namespace(events, namespace_);
}

static void configure(struct pod_events *events) {
    bool normal = events->base.scope->settings.pod_events == POD_EVENTS_ALL;
    owner_chain_forget_none(&events->chain);
    if (events->normal == normal)
        return;
    events->normal = normal;
    object_watch_select(&events->base.watches[0], fields_of(normal));
}

static void handle(void *state, const struct cluster_notice *notice) {
    if (notice->own)
        handle_event(state, notice);
    else if (notice->type == NOTICE_SEEN)
        see_mirror(state, notice->kind, notice->object->value);
    else if (notice->type == NOTICE_CONFIGURED)
        configure(state);
}

static void on_report(void *ctx, const struct pod_note *report) {
    struct pod_events *events = ctx;
    meter_pods(events->meter, METER_PODS_REPORTED, 1);
    cluster_post(events->base.scope, &(struct engine_event){.type = EVENT_POD_REPORT,
                                                            .kind = report->mirror.kind,
                                                            .pod_report = {.namespace_ = report->mirror.namespace_,
                                                                           .name = report->mirror.name,
                                                                           .uid = report->mirror.uid,
                                                                           .reason = report->reason,
                                                                           .text = report->text,
                                                                           .warning = report->warning}});
}

static int64_t step(void *state, struct moment now) {
    struct pod_events *events = state;
    events->now_ns = now.mono_ns;
    if (events->since_wall_ns == 0)
        events->since_wall_ns = now.wall_ns - CLOCK_MINUTE;
    int64_t next_ns = watcher_tick_watches(&events->base, events->begun, now);
    next_ns = clock_earlier(next_ns, search_mirrors(events, now));
    next_ns = clock_earlier(next_ns, list_failed(events, now));
    uint64_t limited = 0;
    next_ns = clock_earlier(next_ns, pod_groups_tick(&events->groups, now.mono_ns, on_report, events, &limited));
    if (limited > 0)
        meter_pods(events->meter, METER_PODS_LIMITED, limited);
    return clock_earlier(next_ns, client_tick(events->client, now));
}

static bool is_wanted(const struct cluster_io_settings *settings) {
    return settings->pod_events != POD_EVENTS_NONE;
}

const struct watcher pod_events_watcher = {.of_workers = true,
                                           .wanted = is_wanted,
                                           .size = sizeof(struct pod_events),
                                           .watches = {{.plural = "events", .from_now = true}},
                                           .of_kinds = true,
                                           .handle = handle,
                                           .start = start,
                                           .step = step,
                                           .stop = stop};
