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
    struct link *link;
    size_t kind;
    struct reflector *reflector;
    const char *kept[2]; // fields kept of objects that are too large
    int64_t next_ns;
    bool rewound;   // since the last list
    bool too_large; // some object was
    bool settled;   // it has been in another state than at the start
};

struct link {
    struct link_options options;
    int64_t watch_at_ns; // when what could not be opened is tried again
    bool has_objects;    // some object was seen
    struct probe *probe;
    struct link_identity identity;
    struct client *client;
    struct recorder *recorder; // management only
    struct pod_events *pods;   // worker only, or NULL
    struct kueue_workloads *queued;
    struct capacity_watch *capacity;
    struct field_check *fields; // management only
    struct space_watch *spaces; // worker only
    struct watched **watched;   // of the first n_watched kinds
    struct fencing *fencing;    // worker only, or NULL
    struct access *access;      // worker only, or NULL
    size_t n_watched;
    struct ticket *tickets;      // of unanswered commands
    uint64_t answered[ANSWERED]; // the objects in the last answers, as hashes of their uid and version
    size_t n_answered;           // ever
};

// Where the answer to a command goes.
struct ticket {
    struct link *link;
    struct ticket *next, *previous;
    uint64_t command;
    bool writes;
    uint64_t object; // hash of the namespace and name of what it writes
    struct access_subject subject;
    int64_t sent_ns;
    void (*done)(void *ctx, struct response *response); // of link_ask, else NULL
    void *ctx;
};

static void post(struct link *link, struct engine_event *event) {
    event->cluster = link->options.cluster;
    link->options.post(link->options.ctx, event);
}

static void on_listing(void *ctx, const char *version) {
    struct watched *w = ctx;
    kueue_workloads_listing(w->link->queued, w->kind);
    if (w->link->fields)
        field_check_listing(w->link->fields, w->kind, version);
    post(w->link, &(struct engine_event){.type = EVENT_LISTING, .kind = w->kind, .version = version});
}

static uint64_t version_hash(const struct object *object) {
    return text_hash(text_hash(TEXT_HASH, object_uid(object->value)), object_version(object->value));
}

static uint64_t name_hash(const char *namespace_, const char *name) {
    return text_hash(text_hash(text_hash(TEXT_HASH, namespace_), "/"), name);
}

// While a write of a workload is in flight the engine waits for the answer, which often comes just after the event.
static bool is_written(const struct link *link, const struct object *object) {
    if (link->options.cluster != ENGINE_MANAGEMENT)
        return false;
    uint64_t hash = name_hash(object_namespace(object->value), object_name(object->value));
    for (const struct ticket *ticket = link->tickets; ticket; ticket = ticket->next)
        if (ticket->writes && ticket->object == hash)
            return true;
    return false;
}

// Every write comes back through the watch, about as soon as its answer.
static bool is_echo(const struct link *link, const struct object *object) {
    uint64_t hash = version_hash(object);
    for (size_t i = 0; i < ANSWERED && i < link->n_answered; i++)
        if (link->answered[i] == hash)
            return true;
    return is_written(link, object);
}

// In a worker there is nothing else.
static bool is_delegated(const struct link *link, size_t k, const struct object *object) {
    const struct kind *kind = link->options.settings.kinds[k];
    return link->options.cluster != ENGINE_MANAGEMENT ||
           text_equal(json_string(pointer_find(object->value, kind->abi.managed_by)), kind->managed_by);
}

static void on_seen(void *ctx, struct object *object) {
    struct watched *w = ctx;
    w->link->has_objects = true;
    w->too_large |= object->too_large || object->reduced;
    if (w->link->pods)
        pod_events_mirror(w->link->pods, w->kind, object->value);
    if (is_delegated(w->link, w->kind, object))
        kueue_workloads_seen(w->link->queued, w->kind, object->value);
    bool echo = is_echo(w->link, object);
    post(w->link, &(struct engine_event){.type = EVENT_SEEN, .kind = w->kind, .echo = echo, .object = object});
}

static void on_gone(void *ctx, struct object *object) {
    struct watched *w = ctx;
    kueue_workloads_gone(w->link->queued, object->value);
    post(w->link, &(struct engine_event){.type = EVENT_GONE, .kind = w->kind, .object = object});
}

static void on_listed(void *ctx, const char *version) {
    struct watched *w = ctx;
    w->rewound = false;
    kueue_workloads_listed(w->link->queued, w->kind);
    int64_t revision = 0;
    if (!text_to_int64(reflector_version(w->reflector), &revision))
        revision = 0;
    post(w->link,
         &(struct engine_event){.type = EVENT_LISTED, .kind = w->kind, .revision = revision, .version = version});
}

static void on_state(void *ctx, enum reflector_state state, const char *problem) {
    struct watched *w = ctx;
    w->settled |= state != REFLECTOR_STARTING;
    if (state == REFLECTOR_LOST)
        probe_disconnected(w->link->probe); // the engine waits for the cluster's identity
    fencing_look(w->link->fencing);
    post(w->link, &(struct engine_event){.type = EVENT_STATE, .kind = w->kind, .watch = {state, problem}});
}

static void on_rewound(void *ctx, const char *problem) {
    struct watched *w = ctx;
    struct link *link = w->link;
    bool known = w->rewound;
    w->rewound = true;
    link->n_answered = 0; // versions may come again, of other contents
    probe_disconnected(link->probe);
    post(link, &(struct engine_event){.type = EVENT_REWOUND, .kind = w->kind, .problem = problem});
    // A rewind seen for one kind applies to all.
    for (size_t k = 0; k < link->n_watched && !known; k++)
        if (!link->watched[k]->rewound) {
            link->watched[k]->rewound = true;
            reflector_rewind(link->watched[k]->reflector, problem);
        }
}

static void on_identity(void *ctx, const char *uid, const char *version, const char *problem) {
    struct link *link = ctx;
    post(link, &(struct engine_event){.type = EVENT_IDENTITY, .identity = {uid, version, problem}});
    const char *rewound = link_identity_read(&link->identity, uid, version);
    for (size_t k = 0; rewound && k < link->n_watched; k++)
        reflector_rewind(link->watched[k]->reflector, rewound);
}

static void on_contact(void *ctx, enum contact contact, bool repeated, int64_t heard_ns, const char *problem) {
    struct link *link = ctx;
    post(link, &(struct engine_event){.type = EVENT_CONTACT, .contact = {contact, repeated, heard_ns, problem}});
    for (size_t k = 0; contact == CONTACT_GOOD && k < link->n_watched; k++)
        reflector_hurry(link->watched[k]->reflector);
    if (contact == CONTACT_GOOD)
        capacity_watch_hurry(link->capacity);
}

static struct ticket *take_ticket(struct link *link, uint64_t command, struct moment now) {
    struct ticket *ticket = malloc(sizeof *ticket);
    if (!ticket)
        return NULL;
    *ticket = (struct ticket){.link = link, .next = link->tickets, .command = command, .sent_ns = now.mono_ns};
    if (ticket->next)
        ticket->next->previous = ticket;
    link->tickets = ticket;
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
        ticket->link->tickets = ticket->next;
    free(ticket);
}

static void on_answer(void *ctx, struct response *response) {
    struct ticket *ticket = ctx;
    struct link *link = ticket->link;
    if (ticket->done) {
        ticket->done(ticket->ctx, response);
        free_ticket(ticket);
        return;
    }
    access_answered(link->access, &ticket->subject, link->options.settings.kinds, response);
    if (response->object)
        link->answered[link->n_answered++ % ANSWERED] = version_hash(response->object);
    post(link, &(struct engine_event){.type = EVENT_ANSWER, .answer = {ticket->command, response, ticket->sent_ns}});
    free_ticket(ticket);
}

static void free_watched(struct watched *w) {
    if (w)
        reflector_free(w->reflector);
    free(w);
}

// The next one.
static struct error *watch_kind(struct link *link) {
    const struct link_options *options = &link->options;
    size_t kind = link->n_watched;
    const wharf_kind *abi = &options->settings.kinds[kind]->abi;
    bool worker = options->cluster != ENGINE_MANAGEMENT;
    AUTO_TEXT selector = worker ? text_format("%s=%s", MARK_ORIGIN, options->origin) : NULL;
    struct watched **place = array_next(&link->watched, kind, sizeof(struct watched *));
    struct watched *w = place ? calloc(1, sizeof *w) : NULL;
    if (!w || (worker && !selector)) {
        free(w);
        return error_no_memory();
    }
    w->link = link;
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
                                                                    .probe = link->probe,
                                                                    .meter = link->options.meter,
                                                                    .seed = options->seed + kind + 1},
                                        options->transport, &handler, &w->reflector);
    if (error) {
        free_watched(w);
        return error;
    }
    *place = w;
    link->n_watched++;
    return NULL;
}

static void post_guest(void *ctx, struct engine_event *event) {
    post(ctx, event);
}

static struct error *watch_pods(struct link *link) {
    const struct link_options *options = &link->options;
    return pod_events_new(&(struct pod_events_options){.cluster = options->name,
                                                       .transport = options->transport,
                                                       .budget = options->budget,
                                                       .meter = link->options.meter,
                                                       .origin = options->origin,
                                                       .kinds = options->settings.kinds,
                                                       .n_kinds = options->settings.n_kinds,
                                                       .normal = options->settings.pod_events == POD_EVENTS_ALL,
                                                       .seed = options->seed,
                                                       .post = post_guest,
                                                       .ctx = link},
                          &link->pods);
}

static bool wants_capacity(const struct link *link) {
    return link->options.cluster != ENGINE_MANAGEMENT && link->options.settings.capacity;
}

static struct error *watch_capacity(struct link *link) {
    const struct link_options *options = &link->options;
    return capacity_watch_new(&(struct capacity_watch_options){.cluster = options->name,
                                                               .transport = options->transport,
                                                               .budget = options->budget,
                                                               .meter = options->meter,
                                                               .probe = link->probe,
                                                               .watch_list = options->watch_list,
                                                               .seed = options->seed * 3 + 1,
                                                               .post = post_guest,
                                                               .ctx = link},
                              &link->capacity);
}

static void on_field(void *ctx, size_t kind, bool lacks) {
    post(ctx, &(struct engine_event){.type = EVENT_FIELD, .kind = kind, .lacks = lacks});
}

static struct error *check_fields(struct link *link) {
    const struct link_options *options = &link->options;
    return field_check_new(&(struct field_check_options){.transport = options->transport,
                                                         .kinds = options->settings.kinds,
                                                         .n_kinds = options->settings.n_kinds,
                                                         .found = on_field,
                                                         .ctx = link},
                           &link->fields);
}

static bool wants_pods(const struct link *link) {
    return link->options.cluster != ENGINE_MANAGEMENT && link->options.settings.pod_events != POD_EVENTS_NONE;
}

static struct error *keep_leases(struct link *link) {
    const struct link_options *o = &link->options;
    struct fencing_options options = {link->client,        o->name,    o->origin, o->instance, o->gates,
                                      o->settings.fencing, post_guest, link};
    return fencing_new(&options, &link->fencing);
}

static struct error *fill_link(struct link *link) {
    const struct link_options *options = &link->options;
    struct probe_handler handler = {on_identity, on_contact, link};
    struct error *error = probe_new(options->name, options->transport, &handler, &link->probe);
    if (!error)
        probe_measure(link->probe, link->options.meter);
    struct client_options client = {.cluster = options->name,
                                    .transport = options->transport,
                                    .budget = options->budget,
                                    .probe = link->probe,
                                    .meter = link->options.meter};
    if (!error)
        error = client_new(&client, &link->client);
    if (!error && options->cluster == ENGINE_MANAGEMENT)
        error = recorder_new(link->client, options->controller_name, options->instance, options->seed, &link->recorder);
    if (link->recorder)
        recorder_gate(link->recorder, gates_any(options->gates));
    if (!error && wants_capacity(link)) // told before any watch is connected
        error = watch_capacity(link);
    if (!error && wants_pods(link))
        error = watch_pods(link);
    if (!error && options->cluster == ENGINE_MANAGEMENT)
        error = check_fields(link);
    if (!error)
        error = link_watch_queued(options, post_guest, link, &link->queued);
    if (!error && options->cluster != ENGINE_MANAGEMENT)
        error = link_watch_spaces(options, post_guest, link, &link->spaces);
    if (!error && options->cluster != ENGINE_MANAGEMENT)
        error = keep_leases(link);
    if (!error && options->cluster != ENGINE_MANAGEMENT)
        error = access_new(link->client, link->probe, post_guest, link, &link->access);
    while (!error && link->n_watched < options->settings.n_kinds)
        error = watch_kind(link);
    return error;
}

struct error *link_new(const struct link_options *options, struct link **out) {
    *out = NULL;
    struct link *link = calloc(1, sizeof *link);
    if (!link)
        return error_no_memory();
    *link = (struct link){.options = *options};
    struct error *error = fill_link(link);
    if (error) {
        link_free(link);
        return error;
    }
    *out = link;
    return NULL;
}

static void read_failed(void (*done)(void *ctx, struct response *response), void *ctx, const char *why) {
    struct response response = {.reason = REASON_NOT_SENT, .message = strdup(why), .retry_after_ns = -1};
    done(ctx, &response);
    response_clear(&response);
}

void link_free(struct link *link) {
    if (!link)
        return;
    for (size_t k = 0; k < link->n_watched; k++)
        free_watched(link->watched[k]);
    capacity_watch_free(link->capacity);
    pod_events_free(link->pods);
    field_check_free(link->fields);
    kueue_workloads_free(link->queued);
    space_watch_free(link->spaces);
    fencing_free(link->fencing);
    recorder_free(link->recorder);
    client_free(link->client);
    access_free(link->access);
    probe_free(link->probe);
    link_identity_clear(&link->identity);
    while (link->tickets) {
        if (link->tickets->done)
            read_failed(link->tickets->done, link->tickets->ctx, "the connection to the cluster was closed");
        free_ticket(link->tickets);
    }
    free(link->watched);
    free(link);
}

// The answer to a command that could not be sent, or whose answer is not waited for.
static void answer_locally(struct link *link, uint64_t command, int64_t sent_ns, enum reason reason,
                           const char *message) {
    struct response response = {.reason = reason, .message = strdup(message), .retry_after_ns = -1};
    post(link, &(struct engine_event){.type = EVENT_ANSWER, .answer = {command, &response, sent_ns}});
    response_clear(&response);
}

void link_close(struct link *link, const char *message) {
    if (!link)
        return;
    client_free(link->client); // cancels the requests
    link->client = NULL;
    while (link->tickets) {
        if (link->tickets->done)
            read_failed(link->tickets->done, link->tickets->ctx, message);
        else
            answer_locally(link, link->tickets->command, link->tickets->sent_ns, REASON_UNKNOWN_OUTCOME, message);
        free_ticket(link->tickets);
    }
    access_end(link->access);
    for (size_t k = 0; k < link->n_watched; k++)
        post(link, &(struct engine_event){.type = EVENT_STATE, .kind = k, .watch = {REFLECTOR_LOST, message}});
    link_free(link);
}

static bool writes(const struct request *request) {
    return (request->verb == VERB_MERGE_PATCH || request->verb == VERB_STATUS_PATCH) && request->dry_run == DRY_RUN_NO;
}

void link_command(struct link *link, struct moment now, struct command *command) {
    struct ticket *ticket = take_ticket(link, command->id, now);
    if (ticket && writes(&command->request)) {
        ticket->writes = true;
        ticket->object = name_hash(command->request.namespace_, command->request.name);
    }
    if (ticket && link->access)
        access_subject(link->options.settings.kinds, link->options.settings.n_kinds, &command->request,
                       &ticket->subject);
    if (command->request.verb != VERB_GET && command->request.verb != VERB_RAW_GET)
        command->request.gate = gates_at(link->options.gates, command->shard);
    struct error *error =
        ticket ? client_submit(link->client, &command->request, on_answer, ticket, NULL) : error_no_memory();
    if (error) {
        bool memory = error->code == ERROR_NO_MEMORY;
        answer_locally(link, command->id, 0, memory ? REASON_NOT_SENT : REASON_BAD_REQUEST, error_text(error));
        error_free(error);
        free_ticket(ticket);
    }
    command_free(command);
}

void link_ask(struct link *link, const struct request *request, void (*done)(void *ctx, struct response *response),
              void *ctx) {
    struct ticket *ticket = take_ticket(link, 0, (struct moment){0});
    if (ticket) {
        ticket->done = done;
        ticket->ctx = ctx;
    }
    struct error *error = ticket ? client_submit(link->client, request, on_answer, ticket, NULL) : error_no_memory();
    if (!error)
        return;
    read_failed(done, ctx, error_text(error));
    error_free(error);
    free_ticket(ticket);
}

void link_relist(struct link *link, size_t kind) {
    if (kind == RELIST_SPACES && link->spaces)
        space_watch_want(link->spaces);
    if (kind < link->n_watched)
        reflector_relist(link->watched[kind]->reflector);
}

void link_event(struct link *link, struct moment now, struct workload_event *event) {
    if (event->kind >= link->options.settings.n_kinds) { // added, and the settings were lost for lack of memory
        workload_event_free(event);
        return;
    }
    struct event record = {.api_version = event->api_version,
                           .kind = link->options.settings.kinds[event->kind]->abi.kind,
                           .namespace_ = event->namespace_,
                           .name = event->name,
                           .uid = event->uid,
                           .warning = event->warning,
                           .reason = event->reason,
                           .action = event->action,
                           .note = event->text};
    if (link->recorder)
        recorder_event(link->recorder, now, &record);
    workload_event_free(event);
}

void link_configure(struct link *link, const struct link_settings *settings) {
    link->options.settings = *settings;
    link->watch_at_ns = 0;
    if (link->capacity && !wants_capacity(link)) {
        capacity_watch_free(TAKE(link->capacity));
        post(link, &(struct engine_event){.type = EVENT_CAPACITY, .capacity = {.state = CAPACITY_OFF}});
    }
    if (link->fields)
        field_check_set_kinds(link->fields, settings->kinds, settings->n_kinds);
    fencing_configure(link->fencing, &settings->fencing);
    if (!link->pods)
        return;
    pod_events_set_kinds(link->pods, settings->kinds, settings->n_kinds);
    pod_events_set_normal(link->pods, settings->pod_events == POD_EVENTS_ALL);
    if (!wants_pods(link))
        pod_events_free(TAKE(link->pods));
}

void link_accept_larger(struct link *link) {
    for (size_t k = 0; k < link->n_watched; k++)
        if (link->watched[k]->too_large) {
            link->watched[k]->too_large = false;
            reflector_relist(link->watched[k]->reflector);
        }
}

void link_fence(struct link *link, uint64_t shards) {
    fencing_renew(link->fencing, shards);
}

// Opens what the settings ask for and is not there.
static int64_t open_missing(struct link *link, struct moment now) {
    struct error *error = NULL;
    bool pods = wants_pods(link) && !link->pods, capacity = wants_capacity(link) && !link->capacity;
    if (!pods && !capacity && link->n_watched == link->options.settings.n_kinds)
        return CLOCK_NEVER;
    if (now.mono_ns < link->watch_at_ns)
        return link->watch_at_ns;
    while (!error && link->n_watched < link->options.settings.n_kinds)
        error = watch_kind(link);
    if (!error && pods)
        error = watch_pods(link);
    if (!error && capacity)
        error = watch_capacity(link);
    if (link->pods && pods && link->has_objects)
        pod_events_begin(link->pods);
    if (!error)
        return CLOCK_NEVER;
    log_fields(LOG_ERROR, "a kind, or Events, cannot be watched yet", {"cluster", link->options.name},
               {"error", error_text(error)});
    error_free(error);
    link->watch_at_ns = now.mono_ns + WATCH_RETRY_NS;
    return link->watch_at_ns;
}

int64_t link_tick(struct link *link, struct moment now) {
    int64_t next_ns = clock_earlier(open_missing(link, now), probe_tick(link->probe, now)); // which may cause relists
    for (size_t k = 0; k < link->n_watched; k++)
        next_ns = clock_earlier(next_ns, reflector_tick(link->watched[k]->reflector, now));
    if (link->capacity)
        next_ns = clock_earlier(next_ns, capacity_watch_tick(link->capacity, now));
    if (link->pods)
        next_ns = clock_earlier(next_ns, pod_events_tick(link->pods, now));
    if (link->fields)
        next_ns = clock_earlier(next_ns, field_check_tick(link->fields, now));
    next_ns = clock_earlier(next_ns, kueue_workloads_tick(link->queued, now));
    if (link->spaces)
        next_ns = clock_earlier(next_ns, space_watch_tick(link->spaces, now));
    next_ns = clock_earlier(next_ns, fencing_tick(link->fencing, now));
    if (link->recorder)
        next_ns = clock_earlier(next_ns, recorder_tick(link->recorder, now));
    next_ns = clock_earlier(next_ns, access_tick(link->access, now));
    int64_t at_ns = client_tick(link->client, now);
    meter_publish(link->options.meter, link->recorder ? recorder_dropped(link->recorder) : 0,
                  probe_heard_ns(link->probe));
    return at_ns < next_ns ? at_ns : next_ns;
}

bool link_is_settled(const struct link *link) {
    for (size_t k = 0; k < link->n_watched; k++)
        if (!link->watched[k]->settled)
            return false;
    return true;
}

size_t link_pending(const struct link *link) {
    return client_pending(link->client);
}
