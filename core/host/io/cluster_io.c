// SPDX-License-Identifier: Apache-2.0
#include "core/host/io/cluster_io.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/engine/mirror/mirror.h"
#include "core/host/watchers/boundary.h"
#include "core/kube/api/events.h"

#define ANSWERED 64                 // versions remembered
#define WATCH_RETRY_NS CLOCK_SECOND // without memory

struct kind_watch {
    struct cluster_io *io;
    struct object_watch watch;
    const char *kept[2]; // fields kept of objects that are too large
    bool too_large;      // some object was
};

struct cluster_io {
    struct cluster_scope scope;
    int64_t retry_at_ns; // when to retry watches that could not be opened
    struct {
        char uid[64], version[64]; // of namespace kube-system as last read; "": not yet
    } identity;                    // of the cluster
    struct recorder *recorder;     // management only
    char *selector;                // of the kinds' watches
    bool unnamed_reported;         // see report_unnamed
    struct kind_watch **kinds;     // of the first n_kinds kinds
    size_t n_kinds;
    struct watcher_set watchers;
    struct in_flight *in_flight; // a list
    uint64_t answered[ANSWERED]; // the objects in the last answers, as hashes of their uid and version
    size_t n_answered;           // ever
};

// Where the answer to a request goes.
struct in_flight {
    struct cluster_io *io;
    struct in_flight *next;
    uint64_t command;
    bool patches;
    uint64_t object;               // hash of the namespace and name of the patched object
    struct written_object written; // of kind SIZE_MAX: none
    int64_t sent_ns;
    void (*done)(void *ctx, struct response *response); // of cluster_io_ask, else NULL
    void *ctx;
};

static void post(struct cluster_io *io, struct engine_event *event) {
    cluster_post(&io->scope, event);
}

static uint64_t version_hash(const struct object *object) {
    return text_hash(text_hash(TEXT_HASH, object_uid(object->value)), object_version(object->value));
}

static uint64_t name_hash(const char *namespace_, const char *name) {
    return text_hash(text_hash(text_hash(TEXT_HASH, namespace_), "/"), name);
}

// While a write of a workload is in flight the engine waits for the answer, which often comes just after the event.
static bool is_written(const struct cluster_io *io, const struct object *object) {
    if (io->scope.cluster != ENGINE_MANAGEMENT)
        return false;
    uint64_t hash = name_hash(object_namespace(object->value), object_name(object->value));
    for (const struct in_flight *sent = io->in_flight; sent; sent = sent->next)
        if (sent->patches && sent->object == hash)
            return true;
    return false;
}

// The watch shows every write, about as soon as the answer.
static bool is_echo(const struct cluster_io *io, const struct object *object) {
    uint64_t hash = version_hash(object);
    for (size_t i = 0; i < ANSWERED && i < io->n_answered; i++)
        if (io->answered[i] == hash)
            return true;
    return is_written(io, object);
}

// The map of namespaces leads to no namespace of the management cluster: no mirror of this host, or one of a former
// map.
static void report_unnamed(struct cluster_io *io, const struct object *object) {
    char here[NAMESPACE_SIZE];
    const char *there = object_namespace(object->value);
    if (io->unnamed_reported || !*there || boundary_here(&io->scope, there, here))
        return;
    io->unnamed_reported = true;
    AUTO_TEXT name = text_format("%s/%s", there, object_name(object->value));
    log_fields(LOG_WARN,
               "objects with this host's label are ignored: their namespaces belong to no namespace of the management "
               "cluster by namespaces.map",
               {"cluster", io->scope.name}, {"object", name ? name : there});
}

static void post_seen(struct kind_watch *w, struct object *object) {
    w->io->scope.has_objects = true;
    if (w->io->scope.namespace_map)
        report_unnamed(w->io, object);
    w->too_large |= object->too_large || object->reduced;
    bool echo = is_echo(w->io, object);
    post(w->io, &(struct engine_event){.type = EVENT_SEEN, .kind = w->watch.kind, .echo = echo, .object = object});
}

static void post_listed(const struct kind_watch *w, const char *version) {
    int64_t revision = 0;
    if (!text_to_int64(reflector_version(w->watch.reflector), &revision))
        revision = 0;
    post(w->io,
         &(struct engine_event){.type = EVENT_LISTED, .kind = w->watch.kind, .revision = revision, .version = version});
}

static void post_state(struct kind_watch *w, enum reflector_state state, const char *problem) {
    if (state == REFLECTOR_LOST)
        probe_disconnected(w->io->scope.probe); // the engine waits for the cluster's identity
    post(w->io, &(struct engine_event){.type = EVENT_STATE, .kind = w->watch.kind, .watch = {state, problem}});
}

// A rewind seen for one kind applies to all.
static void handle_rewind(const struct kind_watch *w, const char *problem, bool again) {
    struct cluster_io *io = w->io;
    io->n_answered = 0; // versions may come again, of other contents
    probe_disconnected(io->scope.probe);
    post(io, &(struct engine_event){.type = EVENT_RESTORED, .kind = w->watch.kind, .problem = problem});
    if (!again)
        watcher_set_notify(&io->watchers, &(struct cluster_notice){.type = NOTICE_REWOUND, .problem = problem});
    for (size_t k = 0; k < io->n_kinds && !again; k++) {
        struct object_watch *other = &io->kinds[k]->watch;
        if (other->restored)
            continue;
        other->restored = true;
        object_watch_rewind(other, problem);
    }
}

static void on_notice(void *ctx, const struct cluster_notice *notice) {
    struct kind_watch *w = ctx;
    watcher_set_notify(&w->io->watchers, notice);
    if (notice->type == NOTICE_LISTING)
        post(w->io, &(struct engine_event){.type = EVENT_LISTING, .kind = notice->kind, .version = notice->version});
    else if (notice->type == NOTICE_SEEN)
        post_seen(w, notice->object);
    else if (notice->type == NOTICE_GONE)
        post(w->io, &(struct engine_event){.type = EVENT_GONE, .kind = notice->kind, .object = notice->object});
    else if (notice->type == NOTICE_LISTED)
        post_listed(w, notice->version);
    else if (notice->type == NOTICE_STATE)
        post_state(w, notice->state, notice->problem);
    else if (notice->type == NOTICE_RESTORED)
        handle_rewind(w, notice->problem, notice->restored);
}

// A changed or older namespace kube-system, as a sentence; NULL: unchanged.
static const char *find_rewound(const struct cluster_io *io, const char *uid, const char *version) {
    if (!*io->identity.uid || *uid == '\0')
        return NULL;
    if (strncmp(io->identity.uid, uid, sizeof io->identity.uid - 1) != 0)
        return "the uid of namespace kube-system changed: this is a different cluster, or it was wiped";
    if (object_version_is_older(version, io->identity.version))
        return "namespace kube-system is older than before: the cluster was restored from a backup";
    return NULL;
}

static void on_identity(void *ctx, const char *uid, const char *version, const char *problem) {
    struct cluster_io *io = ctx;
    post(io, &(struct engine_event){.type = EVENT_IDENTITY, .identity = {uid, version, problem}});
    const char *rewound = find_rewound(io, uid, version);
    if (*uid) {
        text_copy(io->identity.version, sizeof io->identity.version, version);
        text_copy(io->identity.uid, sizeof io->identity.uid, uid);
    }
    for (size_t k = 0; rewound && k < io->n_kinds; k++)
        object_watch_rewind(&io->kinds[k]->watch, rewound);
    if (rewound)
        watcher_set_notify(&io->watchers, &(struct cluster_notice){.type = NOTICE_REWOUND, .problem = rewound});
}

static void on_contact(void *ctx, enum contact contact, bool repeated, int64_t heard_ns, const char *problem) {
    struct cluster_io *io = ctx;
    io->scope.rejected = contact == CONTACT_REJECTED;
    post(io, &(struct engine_event){.type = EVENT_CONTACT, .contact = {contact, repeated, heard_ns, problem}});
    if (contact != CONTACT_GOOD)
        return;
    for (size_t k = 0; k < io->n_kinds; k++)
        object_watch_hurry(&io->kinds[k]->watch);
    watcher_set_notify(&io->watchers, &(struct cluster_notice){.type = NOTICE_REACHED});
}

static void free_in_flight(struct in_flight *sent) {
    struct in_flight **at = &sent->io->in_flight;
    while (*at != sent)
        at = &(*at)->next;
    *at = sent->next;
    free(sent);
}

static void complete(struct in_flight *sent, struct response *response) {
    struct cluster_io *io = sent->io;
    if (sent->done)
        sent->done(sent->ctx, response);
    else
        post(io, &(struct engine_event){.type = EVENT_ANSWER, .answer = {sent->command, response, sent->sent_ns}});
}

static void on_answer(void *ctx, struct response *response) {
    struct in_flight *sent = ctx;
    struct cluster_io *io = sent->io;
    if (response->reason == REASON_FORBIDDEN && sent->written.kind < io->n_kinds)
        watcher_set_notify(&io->watchers,
                           &(struct cluster_notice){.type = NOTICE_FORBIDDEN, .written = &sent->written});
    if (response->object && !sent->done)
        io->answered[io->n_answered++ % ANSWERED] = version_hash(response->object);
    complete(sent, response);
    free_in_flight(sent);
}

// Completes a request that could not be sent, or whose response can no longer arrive.
static void complete_locally(struct in_flight *sent, enum reason reason, const char *message) {
    struct response response = {.reason = reason, .message = strdup(message), .retry_after_ns = -1};
    complete(sent, &response);
    response_clear(&response);
}

// The next one.
static struct error *watch_kind(struct cluster_io *io) {
    const struct cluster_scope *scope = &io->scope;
    size_t kind = io->n_kinds;
    const wharf_kind *abi = &scope->settings.kinds[kind]->abi;
    struct kind_watch **place = array_next(&io->kinds, kind, sizeof(struct kind_watch *));
    struct kind_watch *w = place ? calloc(1, sizeof *w) : NULL;
    if (!w)
        return error_no_memory();
    w->io = io;
    w->kept[0] = abi->managed_by; // to check the delegation
    struct reflector_options options = cluster_watch_options(scope, abi->plural);
    options.group = abi->group;
    options.versions = abi->versions;
    options.label_selector = io->selector;
    options.kept = w->kept;
    options.probe = scope->probe;
    object_watch_init(&w->watch, &options, scope->transport, on_notice, w);
    w->watch.kind = kind;
    w->watch.persistent = w->watch.gives = true;
    *place = w;
    io->n_kinds++;
    return NULL;
}

// Opens the watches that the settings ask for and that are missing.
static struct error *open_watches(struct cluster_io *io) {
    struct error *error = watcher_set_update(&io->watchers, &io->scope);
    while (!error && io->n_kinds < io->scope.settings.n_kinds)
        error = watch_kind(io);
    return error;
}

static struct error *fill_io(struct cluster_io *io) {
    struct cluster_scope *scope = &io->scope;
    struct probe_handler handler = {on_identity, on_contact, io};
    TRY(probe_new(scope->name, scope->transport, &handler, &scope->probe));
    probe_measure(scope->probe, scope->meter);
    struct client_options client = {.cluster = scope->name,
                                    .transport = scope->transport,
                                    .budget = scope->budget,
                                    .probe = scope->probe,
                                    .meter = scope->meter};
    TRY(client_new(&client, &scope->client));
    if (scope->cluster == ENGINE_MANAGEMENT) {
        TRY(recorder_new(scope->client, scope->controller_name, scope->instance, scope->seed, &io->recorder));
        recorder_gate(io->recorder, gates_any(scope->gates));
    } else if (!(io->selector = text_format("%s=%s", MARK_ORIGIN, scope->origin))) {
        return error_no_memory();
    }
    return open_watches(io);
}

struct error *cluster_io_new(const struct cluster_scope *scope, struct cluster_io **out) {
    struct cluster_io *io = *out = calloc(1, sizeof *io);
    if (!io)
        return error_no_memory();
    io->scope = *scope;
    struct error *error = fill_io(io);
    if (error)
        cluster_io_free(TAKE(*out));
    return error;
}

void cluster_io_free(struct cluster_io *io) {
    if (!io)
        return;
    for (size_t k = 0; k < io->n_kinds; k++) {
        object_watch_clear(&io->kinds[k]->watch);
        free(io->kinds[k]);
    }
    watcher_set_stop(&io->watchers);
    recorder_free(io->recorder);
    client_free(io->scope.client);
    probe_free(io->scope.probe);
    free(io->selector);
    while (io->in_flight) {
        if (io->in_flight->done)
            complete_locally(io->in_flight, REASON_NOT_SENT, "the connection to the cluster was closed");
        free_in_flight(io->in_flight);
    }
    free(io->kinds);
    free(io);
}

void cluster_io_close(struct cluster_io *io, const char *message) {
    if (!io)
        return;
    client_free(TAKE(io->scope.client)); // cancels the requests
    while (io->in_flight) {
        complete_locally(io->in_flight, io->in_flight->done ? REASON_NOT_SENT : REASON_UNKNOWN_OUTCOME, message);
        free_in_flight(io->in_flight);
    }
    watcher_set_notify(&io->watchers, &(struct cluster_notice){.type = NOTICE_CLOSING, .problem = message});
    for (size_t k = 0; k < io->n_kinds; k++)
        post(io, &(struct engine_event){.type = EVENT_STATE, .kind = k, .watch = {REFLECTOR_LOST, message}});
    cluster_io_free(io);
}

static size_t kind_of(const struct cluster_io *io, const struct resource *resource) {
    for (size_t k = 0; k < io->scope.settings.n_kinds; k++) {
        const wharf_kind *abi = &io->scope.settings.kinds[k]->abi;
        if (strcmp(abi->plural, resource->plural) == 0 && strcmp(abi->group, resource->group) == 0)
            return k;
    }
    return SIZE_MAX;
}

static void note_write(struct in_flight *sent, const struct request *request) {
    bool patches = request->verb == VERB_MERGE_PATCH || request->verb == VERB_STATUS_PATCH;
    sent->patches = patches && request->dry_run == DRY_RUN_NO;
    if (sent->patches)
        sent->object = name_hash(request->namespace_, request->name);
    if (!patches && request->verb != VERB_CREATE && request->verb != VERB_DELETE)
        return;
    sent->written.kind = kind_of(sent->io, &request->resource);
    sent->written.verb = request->verb;
    text_copy(sent->written.namespace_, sizeof sent->written.namespace_, request->namespace_);
    text_copy(sent->written.tenant, sizeof sent->written.tenant, request->tenant ? request->tenant : "");
}

// Sends the request, with a copy of `wanted`.
static void send_request(struct cluster_io *io, const struct request *request, const struct in_flight *wanted) {
    struct in_flight *sent = malloc(sizeof *sent), lost = *wanted;
    struct error *error = sent ? NULL : error_no_memory();
    if (sent) {
        *sent = *wanted;
        sent->next = io->in_flight;
        io->in_flight = sent;
        error = client_submit(io->scope.client, request, on_answer, sent, NULL);
    }
    if (!error)
        return;
    bool not_sent = wanted->done || error->code == ERROR_NO_MEMORY;
    lost.sent_ns = 0;
    complete_locally(&lost, not_sent ? REASON_NOT_SENT : REASON_BAD_REQUEST, error_text(error));
    error_free(error);
    if (sent)
        free_in_flight(sent);
}

// A namespace without a name in the worker counts as rejected by the worker. Takes the error.
static void refuse_request(struct in_flight *wanted, struct error *error) {
    bool no_memory = error->code == ERROR_NO_MEMORY;
    wanted->sent_ns = 0;
    complete_locally(wanted, no_memory ? REASON_NOT_SENT : REASON_INVALID, error_text(error));
    error_free(error);
}

void cluster_io_command(struct cluster_io *io, struct moment now, struct command *command) {
    struct boundary_request there;
    struct in_flight wanted = {.io = io, .command = command->id, .written.kind = SIZE_MAX, .sent_ns = now.mono_ns};
    struct error *error = boundary_request(&io->scope, &command->request, &there);
    struct request *request = &there.request;
    note_write(&wanted, request);
    if (request->verb != VERB_GET && request->verb != VERB_RAW_GET)
        request->gate = gates_at(io->scope.gates, command->shard);
    if (error)
        refuse_request(&wanted, error);
    else
        send_request(io, request, &wanted);
    boundary_request_clear(&there);
    command_free(command);
}

void cluster_io_ask(struct cluster_io *io, const struct request *request,
                    void (*done)(void *ctx, struct response *response), void *ctx) {
    send_request(io, request, &(struct in_flight){.io = io, .written.kind = SIZE_MAX, .done = done, .ctx = ctx});
}

void cluster_io_relist(struct cluster_io *io, size_t kind) {
    if (kind == RELIST_NAMESPACES)
        watcher_set_notify(&io->watchers, &(struct cluster_notice){.type = NOTICE_WANT_NAMESPACES});
    if (kind < io->n_kinds)
        object_watch_relist(&io->kinds[kind]->watch);
}

void cluster_io_wish(struct cluster_io *io, const struct dependency_wish *wish) {
    struct dependency_wish there = *wish;
    char name[NAMESPACE_SIZE];
    bool is_named = !*wish->namespace_ || boundary_there(&io->scope, wish->namespace_, name);
    if (*wish->namespace_ && is_named)
        there.namespace_ = name;
    if (is_named)
        watcher_set_notify(&io->watchers, &(struct cluster_notice){.type = NOTICE_WISH, .wish = &there});
}

void cluster_io_question(struct cluster_io *io, const struct pod_question *question) {
    struct pod_question there = *question;
    char name[NAMESPACE_SIZE];
    if (!boundary_there(&io->scope, question->namespace_, name))
        return;
    there.namespace_ = name;
    watcher_set_notify(&io->watchers, &(struct cluster_notice){.type = NOTICE_ASK, .question = &there});
}

void cluster_io_event(struct cluster_io *io, struct moment now, struct workload_event *event) {
    if (event->kind >= io->scope.settings.n_kinds) { // added, and the settings were lost for lack of memory
        workload_event_free(event);
        return;
    }
    struct event record = {.api_version = event->api_version,
                           .kind = io->scope.settings.kinds[event->kind]->abi.kind,
                           .namespace_ = event->namespace_,
                           .name = event->name,
                           .uid = event->uid,
                           .warning = event->warning,
                           .reason = event->reason,
                           .action = event->action,
                           .note = event->text};
    if (io->recorder)
        recorder_event(io->recorder, now, &record);
    workload_event_free(event);
}

void cluster_io_configure(struct cluster_io *io, const struct cluster_io_settings *settings) {
    io->scope.settings = *settings;
    io->retry_at_ns = 0;
    watcher_set_notify(&io->watchers, &(struct cluster_notice){.type = NOTICE_CONFIGURED});
}

void cluster_io_accept_larger(struct cluster_io *io) {
    for (size_t k = 0; k < io->n_kinds; k++)
        if (io->kinds[k]->too_large) {
            io->kinds[k]->too_large = false;
            object_watch_relist(&io->kinds[k]->watch);
        }
}

void cluster_io_fence(struct cluster_io *io, uint64_t shards) {
    io->scope.guard_shards = shards;
}

// Returns when to retry watches that cannot be opened now.
static int64_t update_watches(struct cluster_io *io, struct moment now) {
    if (now.mono_ns < io->retry_at_ns)
        return io->retry_at_ns;
    struct error *error = open_watches(io);
    if (!error)
        return CLOCK_NEVER;
    log_fields(LOG_ERROR, "a kind, or Events, cannot be watched yet", {"cluster", io->scope.name},
               {"error", error_text(error)});
    error_free(error);
    io->retry_at_ns = now.mono_ns + WATCH_RETRY_NS;
    return io->retry_at_ns;
}

int64_t cluster_io_tick(struct cluster_io *io, struct moment now) {
    int64_t next_ns = clock_earlier(update_watches(io, now), probe_tick(io->scope.probe, now)); // which may relist
    for (size_t k = 0; k < io->n_kinds; k++)
        next_ns = clock_earlier(next_ns, object_watch_tick(&io->kinds[k]->watch, true, now));
    next_ns = clock_earlier(next_ns, watcher_set_step(&io->watchers, now));
    if (io->recorder)
        next_ns = clock_earlier(next_ns, recorder_tick(io->recorder, now));
    next_ns = clock_earlier(next_ns, client_tick(io->scope.client, now));
    meter_publish(io->scope.meter, io->recorder ? recorder_dropped(io->recorder) : 0, probe_heard_ns(io->scope.probe));
    return next_ns;
}

bool cluster_io_is_settled(const struct cluster_io *io) {
    for (size_t k = 0; k < io->n_kinds; k++)
        if (io->kinds[k]->watch.state == REFLECTOR_STARTING)
            return false;
    return true;
}

size_t cluster_io_pending(const struct cluster_io *io) {
    return client_pending(io->scope.client);
}
