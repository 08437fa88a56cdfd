// SPDX-License-Identifier: Apache-2.0
#include "core/host/io/cluster_io.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/engine/mirror/mirror.h"
#include "core/host/io/access.h"
#include "core/host/io/cluster_identity.h"
#include "core/host/io/link_guests.h"
#include "core/host/pods/pod_events.h"
#include "core/host/watchers/capacity_watch.h"
#include "core/host/watchers/field_check.h"
#include "core/json/pointer.h"
#include "core/kube/api/events.h"
#include "core/kube/client/client.h"
#include "core/kube/client/probe.h"
#include "core/kube/watch/reflector.h"

#include <stdlib.h>
#include <string.h>

#define ANSWERED 64                 // versions remembered
#define WATCH_RETRY_NS CLOCK_SECOND // without memory

struct watched { // one kind
    struct cluster_io *io;
    size_t kind;
    struct reflector *reflector;
    const char *kept[2]; // fields kept of objects that are too large
    int64_t next_ns;
    bool rewound;   // since the last list
    bool too_large; // some object was
    bool settled;   // it has been in another state than at the start
};

struct cluster_io {
    struct cluster_io_options options;
    int64_t watch_at_ns; // when what could not be opened is tried again
    bool has_objects;    // some object was seen
    struct probe *probe;
    struct cluster_identity identity;
    struct client *client;
    struct recorder *recorder; // management only
    struct pod_events *pods;   // worker only, or NULL
    struct kueue_workloads *queued;
    struct capacity_watch *capacity;
    struct field_check *fields;       // management only
    struct worker_namespaces *spaces; // worker only
    struct watched **watched;         // of the first n_watched kinds
    struct fencing *fencing;          // worker only, or NULL
    struct access *access;            // worker only, or NULL
    size_t n_watched;
    struct ticket *tickets;      // of unanswered commands
    uint64_t answered[ANSWERED]; // the objects in the last answers, as hashes of their uid and version
    size_t n_answered;           // ever
};

// Where the answer to a command goes.
struct ticket {
    struct cluster_io *io;
    struct ticket *next, *previous;
    uint64_t command;
    bool writes;
    uint64_t object; // hash of the namespace and name of what it writes
    struct access_subject subject;
    int64_t sent_ns;
    void (*done)(void *ctx, struct response *response); // of cluster_io_ask, else NULL
    void *ctx;
};

static void post(struct cluster_io *io, struct engine_event *event) {
    event->cluster = io->options.cluster;
    io->options.post(io->options.ctx, event);
}

static void on_listing(void *ctx, const char *version) {
    struct watched *w = ctx;
    kueue_workloads_listing(w->io->queued, w->kind);
    if (w->io->fields)
        field_check_listing(w->io->fields, w->kind, version);
    post(w->io, &(struct engine_event){.type = EVENT_LISTING, .kind = w->kind, .version = version});
}

static uint64_t version_hash(const struct object *object) {
    return text_hash(text_hash(TEXT_HASH, object_uid(object->value)), object_version(object->value));
}

static uint64_t name_hash(const char *namespace_, const char *name) {
    return text_hash(text_hash(text_hash(TEXT_HASH, namespace_), "/"), name);
}

// While a write of a workload is in flight the engine waits for the answer, which often comes just after the event.
static bool is_written(const struct cluster_io *io, const struct object *object) {
    if (io->options.cluster != ENGINE_MANAGEMENT)
        return false;
    uint64_t hash = name_hash(object_namespace(object->value), object_name(object->value));
    for (const struct ticket *ticket = io->tickets; ticket; ticket = ticket->next)
        if (ticket->writes && ticket->object == hash)
            return true;
    return false;
}

// Every write comes back through the watch, about as soon as its answer.
static bool is_echo(const struct cluster_io *io, const struct object *object) {
    uint64_t hash = version_hash(object);
    for (size_t i = 0; i < ANSWERED && i < io->n_answered; i++)
        if (io->answered[i] == hash)
            return true;
    return is_written(io, object);
}

// In a worker there is nothing else.
static bool is_delegated(const struct cluster_io *io, size_t k, const struct object *object) {
    const struct kind *kind = io->options.settings.kinds[k];
    return io->options.cluster != ENGINE_MANAGEMENT ||
           text_equal(json_string(pointer_find(object->value, kind->abi.managed_by)), kind->managed_by);
}

static void on_seen(void *ctx, struct object *object) {
    struct watched *w = ctx;
    w->io->has_objects = true;
    w->too_large |= object->too_large || object->reduced;
    if (w->io->pods)
        pod_events_mirror(w->io->pods, w->kind, object->value);
    if (is_delegated(w->io, w->kind, object))
        kueue_workloads_seen(w->io->queued, w->kind, object->value);
    bool echo = is_echo(w->io, object);
    post(w->io, &(struct engine_event){.type = EVENT_SEEN, .kind = w->kind, .echo = echo, .object = object});
}

static void on_gone(void *ctx, struct object *object) {
    struct watched *w = ctx;
    kueue_workloads_gone(w->io->queued, object->value);
    post(w->io, &(struct engine_event){.type = EVENT_GONE, .kind = w->kind, .object = object});
}

static void on_listed(void *ctx, const char *version) {
    struct watched *w = ctx;
    w->rewound = false;
    kueue_workloads_listed(w->io->queued, w->kind);
    int64_t revision = 0;
    if (!text_to_int64(reflector_version(w->reflector), &revision))
        revision = 0;
    post(w->io,
         &(struct engine_event){.type = EVENT_LISTED, .kind = w->kind, .revision = revision, .version = version});
}

static void on_state(void *ctx, enum reflector_state state, const char *problem) {
    struct watched *w = ctx;
    w->settled |= state != REFLECTOR_STARTING;
    if (state == REFLECTOR_LOST)
        probe_disconnected(w->io->probe); // the engine waits for the cluster's identity
    fencing_look(w->io->fencing);
    post(w->io, &(struct engine_event){.type = EVENT_STATE, .kind = w->kind, .watch = {state, problem}});
}

static void on_rewound(void *ctx, const char *problem) {
    struct watched *w = ctx;
    struct cluster_io *io = w->io;
    bool known = w->rewound;
    w->rewound = true;
    io->n_answered = 0; // versions may come again, of other contents
    probe_disconnected(io->probe);
    post(io, &(struct engine_event){.type = EVENT_REWOUND, .kind = w->kind, .problem = problem});
    // A rewind seen for one kind applies to all.
    for (size_t k = 0; k < io->n_watched && !known; k++)
        if (!io->watched[k]->rewound) {
            io->watched[k]->rewound = true;
            reflector_rewind(io->watched[k]->reflector, problem);
        }
}

static void on_identity(void *ctx, const char *uid, const char *version, const char *problem) {
    struct cluster_io *io = ctx;
    post(io, &(struct engine_event){.type = EVENT_IDENTITY, .identity = {uid, version, problem}});
    const char *rewound = cluster_identity_read(&io->identity, uid, version);
    for (size_t k = 0; rewound && k < io->n_watched; k++)
        reflector_rewind(io->watched[k]->reflector, rewound);
}

static void on_contact(void *ctx, enum contact contact, bool repeated, int64_t heard_ns, const char *problem) {
    struct cluster_io *io = ctx;
    post(io, &(struct engine_event){.type = EVENT_CONTACT, .contact = {contact, repeated, heard_ns, problem}});
    for (size_t k = 0; contact == CONTACT_GOOD && k < io->n_watched; k++)
        reflector_hurry(io->watched[k]->reflector);
    if (contact == CONTACT_GOOD)
        capacity_watch_hurry(io->capacity);
}

static struct ticket *take_ticket(struct cluster_io *io, uint64_t command, struct moment now) {
    struct ticket *ticket = malloc(sizeof *ticket);
    if (!ticket)
        return NULL;
    *ticket = (struct ticket){.io = io, .next = io->tickets, .command = command, .sent_ns = now.mono_ns};
    if (ticket->next)
        ticket->next->previous = ticket;
    io->tickets = ticket;
    return ticket;
}

static void free_ticket(struct ticket *ticket) {
    if (!ticket)
        return;
    if (ticket->next)
        ticket->next->previous = ticket->previous;
    if (ticket->previous)
        ticket->previous->next = ticket->next;
    else
        ticket->io->tickets = ticket->next;
    free(ticket);
}

static void on_answer(void *ctx, struct response *response) {
    struct ticket *ticket = ctx;
    struct cluster_io *io = ticket->io;
    if (ticket->done) {
        ticket->done(ticket->ctx, response);
        free_ticket(ticket);
        return;
    }
    access_answered(io->access, &ticket->subject, io->options.settings.kinds, response);
    if (response->object)
        io->answered[io->n_answered++ % ANSWERED] = version_hash(response->object);
    post(io, &(struct engine_event){.type = EVENT_ANSWER, .answer = {ticket->command, response, ticket->sent_ns}});
    free_ticket(ticket);
}

static void free_watched(struct watched *w) {
    if (w)
        reflector_free(w->reflector);
    free(w);
}

// The next one.
static struct error *watch_kind(struct cluster_io *io) {
    const struct cluster_io_options *options = &io->options;
    size_t kind = io->n_watched;
    const wharf_kind *abi = &options->settings.kinds[kind]->abi;
    bool worker = options->cluster != ENGINE_MANAGEMENT;
    AUTO_TEXT selector = worker ? text_format("%s=%s", MARK_ORIGIN, options->origin) : NULL;
    struct watched **place = array_next(&io->watched, kind, sizeof(struct watched *));
    struct watched *w = place ? calloc(1, sizeof *w) : NULL;
    if (!w || (worker && !selector)) {
        free(w);
        return error_no_memory();
    }
    w->io = io;
    w->kind = kind;
    w->kept[0] = abi->managed_by; // to see whether the object is delegated
    struct reflector_handler handler = {on_listing, on_seen, on_gone, on_listed, on_state, on_rewound, w};
    struct error *error = reflector_new(&(struct reflector_options){.cluster = options->name,
                                                                    .group = abi->group,
                                                                    .plural = abi->plural,
                                                                    .versions = abi->versions,
                                                                    .label_selector = selector,
                                                                    .watch_list = options->watch_list,
                                                                    .budget = options->budget,
                                                                    .kept = w->kept,
                                                                    .probe = io->probe,
                                                                    .meter = io->options.meter,
                                                                    .seed = options->seed + kind + 1},
                                        options->transport, &handler, &w->reflector);
    if (error) {
        free_watched(w);
        return error;
    }
    *place = w;
    io->n_watched++;
    return NULL;
}

static void post_guest(void *ctx, struct engine_event *event) {
    post(ctx, event);
}

static struct error *watch_pods(struct cluster_io *io) {
    const struct cluster_io_options *options = &io->options;
    return pod_events_new(&(struct pod_events_options){.cluster = options->name,
                                                       .transport = options->transport,
                                                       .budget = options->budget,
                                                       .meter = io->options.meter,
                                                       .origin = options->origin,
                                                       .kinds = options->settings.kinds,
                                                       .n_kinds = options->settings.n_kinds,
                                                       .normal = options->settings.pod_events == POD_EVENTS_ALL,
                                                       .seed = options->seed,
                                                       .post = post_guest,
                                                       .ctx = io},
                          &io->pods);
}

static bool wants_capacity(const struct cluster_io *io) {
    return io->options.cluster != ENGINE_MANAGEMENT && io->options.settings.capacity;
}

static struct error *watch_capacity(struct cluster_io *io) {
    const struct cluster_io_options *options = &io->options;
    return capacity_watch_new(&(struct capacity_watch_options){.cluster = options->name,
                                                               .transport = options->transport,
                                                               .budget = options->budget,
                                                               .meter = options->meter,
                                                               .probe = io->probe,
                                                               .watch_list = options->watch_list,
                                                               .seed = options->seed * 3 + 1,
                                                               .post = post_guest,
                                                               .ctx = io},
                              &io->capacity);
}

static void on_field(void *ctx, size_t kind, bool lacks) {
    post(ctx, &(struct engine_event){.type = EVENT_FIELD, .kind = kind, .lacks = lacks});
}

static struct error *check_fields(struct cluster_io *io) {
    const struct cluster_io_options *options = &io->options;
    return field_check_new(&(struct field_check_options){.transport = options->transport,
                                                         .kinds = options->settings.kinds,
                                                         .n_kinds = options->settings.n_kinds,
                                                         .found = on_field,
                                                         .ctx = io},
                           &io->fields);
}

static bool wants_pods(const struct cluster_io *io) {
    return io->options.cluster != ENGINE_MANAGEMENT && io->options.settings.pod_events != POD_EVENTS_NONE;
}

static struct error *keep_leases(struct cluster_io *io) {
    const struct cluster_io_options *o = &io->options;
    struct fencing_options options = {io->client,          o->name,    o->origin, o->instance, o->gates,
                                      o->settings.fencing, post_guest, io};
    return fencing_new(&options, &io->fencing);
}

static struct error *fill_io(struct cluster_io *io) {
    const struct cluster_io_options *options = &io->options;
    struct probe_handler handler = {on_identity, on_contact, io};
    struct error *error = probe_new(options->name, options->transport, &handler, &io->probe);
    if (!error)
        probe_measure(io->probe, io->options.meter);
    struct client_options client = {.cluster = options->name,
                                    .transport = options->transport,
                                    .budget = options->budget,
                                    .probe = io->probe,
                                    .meter = io->options.meter};
    if (!error)
        error = client_new(&client, &io->client);
    if (!error && options->cluster == ENGINE_MANAGEMENT)
        error = recorder_new(io->client, options->controller_name, options->instance, options->seed, &io->recorder);
    if (io->recorder)
        recorder_gate(io->recorder, gates_any(options->gates));
    if (!error && wants_capacity(io)) // told before any watch is connected
        error = watch_capacity(io);
    if (!error && wants_pods(io))
        error = watch_pods(io);
    if (!error && options->cluster == ENGINE_MANAGEMENT)
        error = check_fields(io);
    if (!error)
        error = link_watch_queued(options, post_guest, io, &io->queued);
    if (!error && options->cluster != ENGINE_MANAGEMENT)
        error = link_watch_spaces(options, post_guest, io, &io->spaces);
    if (!error && options->cluster != ENGINE_MANAGEMENT)
        error = keep_leases(io);
    if (!error && options->cluster != ENGINE_MANAGEMENT)
        error = access_new(io->client, io->probe, post_guest, io, &io->access);
    while (!error && io->n_watched < options->settings.n_kinds)
        error = watch_kind(io);
    return error;
}

struct error *cluster_io_new(const struct cluster_io_options *options, struct cluster_io **out) {
    *out = NULL;
    struct cluster_io *io = calloc(1, sizeof *io);
    if (!io)
        return error_no_memory();
    *io = (struct cluster_io){.options = *options};
    struct error *error = fill_io(io);
    if (error) {
        cluster_io_free(io);
        return error;
    }
    *out = io;
    return NULL;
}

static void read_failed(void (*done)(void *ctx, struct response *response), void *ctx, const char *why) {
    struct response response = {.reason = REASON_NOT_SENT, .message = strdup(why), .retry_after_ns = -1};
    done(ctx, &response);
    response_clear(&response);
}

void cluster_io_free(struct cluster_io *io) {
    if (!io)
        return;
    for (size_t k = 0; k < io->n_watched; k++)
        free_watched(io->watched[k]);
    capacity_watch_free(io->capacity);
    pod_events_free(io->pods);
    field_check_free(io->fields);
    kueue_workloads_free(io->queued);
    worker_namespaces_free(io->spaces);
    fencing_free(io->fencing);
    recorder_free(io->recorder);
    client_free(io->client);
    access_free(io->access);
    probe_free(io->probe);
    cluster_identity_clear(&io->identity);
    while (io->tickets) {
        if (io->tickets->done)
            read_failed(io->tickets->done, io->tickets->ctx, "the connection to the cluster was closed");
        free_ticket(io->tickets);
    }
    free(io->watched);
    free(io);
}

// The answer to a command that could not be sent, or whose answer is not waited for.
static void answer_locally(struct cluster_io *io, uint64_t command, int64_t sent_ns, enum reason reason,
                           const char *message) {
    struct response response = {.reason = reason, .message = strdup(message), .retry_after_ns = -1};
    post(io, &(struct engine_event){.type = EVENT_ANSWER, .answer = {command, &response, sent_ns}});
    response_clear(&response);
}

void cluster_io_close(struct cluster_io *io, const char *message) {
    if (!io)
        return;
    client_free(io->client); // cancels the requests
    io->client = NULL;
    while (io->tickets) {
        if (io->tickets->done)
            read_failed(io->tickets->done, io->tickets->ctx, message);
        else
            answer_locally(io, io->tickets->command, io->tickets->sent_ns, REASON_UNKNOWN_OUTCOME, message);
        free_ticket(io->tickets);
    }
    access_end(io->access);
    for (size_t k = 0; k < io->n_watched; k++)
        post(io, &(struct engine_event){.type = EVENT_STATE, .kind = k, .watch = {REFLECTOR_LOST, message}});
    cluster_io_free(io);
}

static bool writes(const struct request *request) {
    return (request->verb == VERB_MERGE_PATCH || request->verb == VERB_STATUS_PATCH) && request->dry_run == DRY_RUN_NO;
}

void cluster_io_command(struct cluster_io *io, struct moment now, struct command *command) {
    struct ticket *ticket = take_ticket(io, command->id, now);
    if (ticket && writes(&command->request)) {
        ticket->writes = true;
        ticket->object = name_hash(command->request.namespace_, command->request.name);
    }
    if (ticket && io->access)
        access_subject(io->options.settings.kinds, io->options.settings.n_kinds, &command->request, &ticket->subject);
    if (command->request.verb != VERB_GET && command->request.verb != VERB_RAW_GET)
        command->request.gate = gates_at(io->options.gates, command->shard);
    struct error *error =
        ticket ? client_submit(io->client, &command->request, on_answer, ticket, NULL) : error_no_memory();
    if (error) {
        bool memory = error->code == ERROR_NO_MEMORY;
        answer_locally(io, command->id, 0, memory ? REASON_NOT_SENT : REASON_BAD_REQUEST, error_text(error));
        error_free(error);
        free_ticket(ticket);
    }
    command_free(command);
}

void cluster_io_ask(struct cluster_io *io, const struct request *request,
                    void (*done)(void *ctx, struct response *response), void *ctx) {
    struct ticket *ticket = take_ticket(io, 0, (struct moment){0});
    if (ticket) {
        ticket->done = done;
        ticket->ctx = ctx;
    }
    struct error *error = ticket ? client_submit(io->client, request, on_answer, ticket, NULL) : error_no_memory();
    if (!error)
        return;
    read_failed(done, ctx, error_text(error));
    error_free(error);
    free_ticket(ticket);
}

void cluster_io_relist(struct cluster_io *io, size_t kind) {
    if (kind == RELIST_SPACES && io->spaces)
        worker_namespaces_want(io->spaces);
    if (kind < io->n_watched)
        reflector_relist(io->watched[kind]->reflector);
}

void cluster_io_event(struct cluster_io *io, struct moment now, struct workload_event *event) {
    if (event->kind >= io->options.settings.n_kinds) { // added, and the settings were lost for lack of memory
        workload_event_free(event);
        return;
    }
    struct event record = {.api_version = event->api_version,
                           .kind = io->options.settings.kinds[event->kind]->abi.kind,
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
    io->options.settings = *settings;
    io->watch_at_ns = 0;
    if (io->capacity && !wants_capacity(io)) {
        capacity_watch_free(TAKE(io->capacity));
        post(io, &(struct engine_event){.type = EVENT_CAPACITY, .capacity = {.state = CAPACITY_OFF}});
    }
    if (io->fields)
        field_check_set_kinds(io->fields, settings->kinds, settings->n_kinds);
    fencing_configure(io->fencing, &settings->fencing);
    if (!io->pods)
        return;
    pod_events_set_kinds(io->pods, settings->kinds, settings->n_kinds);
    pod_events_set_normal(io->pods, settings->pod_events == POD_EVENTS_ALL);
    if (!wants_pods(io))
        pod_events_free(TAKE(io->pods));
}

void cluster_io_accept_larger(struct cluster_io *io) {
    for (size_t k = 0; k < io->n_watched; k++)
        if (io->watched[k]->too_large) {
            io->watched[k]->too_large = false;
            reflector_relist(io->watched[k]->reflector);
        }
}

void cluster_io_fence(struct cluster_io *io, uint64_t shards) {
    fencing_renew(io->fencing, shards);
}

// Opens what the settings ask for and is not there.
static int64_t open_missing(struct cluster_io *io, struct moment now) {
    struct error *error = NULL;
    bool pods = wants_pods(io) && !io->pods, capacity = wants_capacity(io) && !io->capacity;
    if (!pods && !capacity && io->n_watched == io->options.settings.n_kinds)
        return CLOCK_NEVER;
    if (now.mono_ns < io->watch_at_ns)
        return io->watch_at_ns;
    while (!error && io->n_watched < io->options.settings.n_kinds)
        error = watch_kind(io);
    if (!error && pods)
        error = watch_pods(io);
    if (!error && capacity)
        error = watch_capacity(io);
    if (io->pods && pods && io->has_objects)
        pod_events_begin(io->pods);
    if (!error)
        return CLOCK_NEVER;
    log_fields(LOG_ERROR, "a kind, or Events, cannot be watched yet", {"cluster", io->options.name},
               {"error", error_text(error)});
    error_free(error);
    io->watch_at_ns = now.mono_ns + WATCH_RETRY_NS;
    return io->watch_at_ns;
}

int64_t cluster_io_tick(struct cluster_io *io, struct moment now) {
    int64_t next_ns = clock_earlier(open_missing(io, now), probe_tick(io->probe, now)); // which may cause relists
    for (size_t k = 0; k < io->n_watched; k++)
        next_ns = clock_earlier(next_ns, reflector_tick(io->watched[k]->reflector, now));
    if (io->capacity)
        next_ns = clock_earlier(next_ns, capacity_watch_tick(io->capacity, now));
    if (io->pods)
        next_ns = clock_earlier(next_ns, pod_events_tick(io->pods, now));
    if (io->fields)
        next_ns = clock_earlier(next_ns, field_check_tick(io->fields, now));
    next_ns = clock_earlier(next_ns, kueue_workloads_tick(io->queued, now));
    if (io->spaces)
        next_ns = clock_earlier(next_ns, worker_namespaces_tick(io->spaces, now));
    next_ns = clock_earlier(next_ns, fencing_tick(io->fencing, now));
    if (io->recorder)
        next_ns = clock_earlier(next_ns, recorder_tick(io->recorder, now));
    next_ns = clock_earlier(next_ns, access_tick(io->access, now));
    int64_t at_ns = client_tick(io->client, now);
    meter_publish(io->options.meter, io->recorder ? recorder_dropped(io->recorder) : 0, probe_heard_ns(io->probe));
    return at_ns < next_ns ? at_ns : next_ns;
}

bool cluster_io_is_settled(const struct cluster_io *io) {
    for (size_t k = 0; k < io->n_watched; k++)
        if (!io->watched[k]->settled)
            return false;
    return true;
}

size_t cluster_io_pending(const struct cluster_io *io) {
    return client_pending(io->client);
}
