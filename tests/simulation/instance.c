// SPDX-License-Identifier: Apache-2.0
// The host process of a trial: the event queue, turns, dispatch and links of the shipped host, as core/host/host.c
// combines them, with the virtual clock instead of threads: a cluster_io's thread runs when it has a batch or its timer
// expires, the engine's thread when there is an event, or when a cluster_io waits for room in the queue.
#include "core/base/error.h"
#include "core/engine/engine.h"
#include "tests/simulation/account_rules.h"
#include "tests/simulation/breaks.h"
#include "tests/simulation/crew.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/fields.h"
#include "tests/simulation/guards.h"
#include "tests/simulation/intake.h"
#include "tests/simulation/leases.h"
#include "tests/simulation/members.h"
#include "tests/simulation/need_rules.h"
#include "tests/simulation/needs.h"
#include "tests/simulation/pace_rules.h"
#include "tests/simulation/places.h"
#include "tests/simulation/progress.h"
#include "tests/simulation/promise_rules.h"
#include "tests/simulation/raters.h"
#include "tests/simulation/renames.h"
#include "tests/simulation/rooms.h"
#include "tests/simulation/rules.h"
#include "tests/simulation/spaces.h"
#include "tests/simulation/status_rules.h"
#include "tests/simulation/tenants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_EVENTS 1024
#define QUEUE_BYTES ((size_t)16 << 20)
#define SHORT_QUEUE_EVENTS 3
#define LATE_NS (200 * CLOCK_MS)

struct sent {
    struct sent *next;
    struct command_batch *batch;
    int64_t at_ns; // when its thread processes it
};

struct trial *instance_enter(struct instance *host) {
    struct trial *trial = host->trial;
    trial->host = host;
    trial->members = host->members;
    trial->pace = host->pace;
    return trial;
}

struct moment instance_moment(const struct trial *trial) {
    return (struct moment){trial->now_ns - trial->host->clock_ns, trial->now_ns + trial->host->wall_ns};
}

static int64_t virtual_time(const struct trial *trial, int64_t mono_ns) {
    return mono_ns == CLOCK_NEVER ? CLOCK_NEVER : mono_ns + trial->host->clock_ns;
}

static const char *state_text(enum reflector_state state) {
    static const char *const names[] = {"starting", "connected", "lost", "absent"};
    return names[state];
}

static const char *capacity_text(enum capacity_state state) {
    static const char *const names[] = {"not looked at", "being read", "known", "stale", "unknown"};
    return names[state];
}

static void note_contact(struct trial *trial, const struct engine_event *event) {
    static const char *const names[] = {"unknown", "good", "suspect", "lost"};
    struct instance *host = trial->host;
    trial_trace(trial, "host: contact with %s is %s%s%s", world_name(trial->worlds[event->cluster]),
                names[event->contact.state], event->contact.problem ? ": " : "",
                event->contact.problem ? event->contact.problem : "");
    host->silent[event->cluster] = event->contact.state == CONTACT_LOST;
    for (size_t k = 0; k < trial->n_kinds && event->contact.state == CONTACT_LOST; k++)
        if (host->feeds[event->cluster][k].connected)
            host->feeds[event->cluster][k].lost_ns = virtual_time(trial, event->contact.heard_ns);
}

static void note_identity(struct trial *trial, const struct engine_event *event) {
    struct instance *host = trial->host;
    char *first = host->identity[event->cluster];
    if (!*first)
        text_copy(first, sizeof host->identity[0], event->identity.uid);
    else if (strcmp(first, event->identity.uid) != 0 && host->refused_ns[event->cluster] == 0)
        host->refused_ns[event->cluster] = trial->now_ns;
}

// It counts as unreachable until its list is complete (docs/lifecycle.md, When a cluster was restored or wiped).
static void note_rewound(struct trial *trial, const struct engine_event *event) {
    size_t c = event->cluster, k = event->kind;
    faults_noticed(trial, c);
    if (trial->host->feeds[c][k].connected && trial->host->feeds[c][k].listed && !trial->host->silent[c])
        trial->host->feeds[c][k].lost_ns = trial->now_ns;
    trial->host->feeds[c][k].listed = false;
}

// As an unreachable cluster, from then on or, if it was unreachable, since it was.
static void note_worker(struct trial *trial, const struct engine_event *event) {
    struct instance *host = trial->host;
    size_t c = event->cluster;
    bool leaves = event->worker.policy == WORKER_LEFT, joins = !leaves && !members_knows(trial, c);
    for (size_t k = 0; k < trial->n_kinds && (leaves || joins); k++) {
        bool lost = joins || !host->feeds[c][k].connected || host->silent[c]; // it was never reached meanwhile
        int64_t lost_ns = lost ? host->feeds[c][k].lost_ns : trial->now_ns;
        if (leaves && host->refused_ns[c] > 0)
            lost_ns = clock_earlier(lost_ns, host->refused_ns[c]);
        host->feeds[c][k].connected = host->feeds[c][k].listed = host->feeds[c][k].heard = false;
        host->feeds[c][k].lost_ns = lost_ns;
    }
    if (leaves) {
        promises_left(trial, c);
        host->silent[c] = false;
        host->identity[c][0] = '\0';
        host->refused_ns[c] = 0;
        pace_left(trial, c);
        rules_left(trial, c);
    }
    members_told(trial, c, event->worker.policy);
}

static void note_dependency(struct trial *trial, const struct engine_event *event) {
    static const char *const news[] = {"forgotten", "listing", "listed", "seen", "gone", "lost", "refused"};
    const struct json *seen = event->dependency.metadata ? event->dependency.metadata->value : NULL;
    const char *space = event->dependency.namespace_, *name = event->dependency.name;
    trial_trace(trial, "host: %s of %s: %s %s/%s %s%s", event->dependency.resource ? event->dependency.resource : "all",
                world_name(trial->worlds[event->cluster]), news[event->dependency.news],
                seen    ? object_namespace(seen)
                : space ? space
                        : "",
                seen   ? object_name(seen)
                : name ? name
                       : "",
                seen ? object_version(seen) : "", event->dependency.problem ? event->dependency.problem : "");
}

// Records what the engine is about to be notified of about its feeds.
static void before_event(void *ctx, const struct engine_event *event) {
    struct trial *trial = instance_enter(ctx);
    struct instance *host = trial->host;
    if (event->type == EVENT_ANSWER) {
        pace_answered(trial, event->answer.command);
        fields_answered(trial, event->answer.response->object);
        status_answered(trial, event->answer.command, event->answer.response->reason == REASON_OK);
    }
    if (event->type == EVENT_NAMESPACE || event->type == EVENT_WORKER)
        spaces_told(trial, event);
    if (event->type == EVENT_TENANT && members_knows(trial, event->cluster))
        tenants_told(trial, event);
    if (event->type == EVENT_LEASE)
        crew_told(trial, event);
    if (event->type == EVENT_ANSWER || event->type == EVENT_TIME || event->type == EVENT_LEASE ||
        event->type == EVENT_NAMESPACE || event->type == EVENT_TENANT)
        return;
    if (event->type == EVENT_WORKER)
        note_worker(trial, event);
    if (event->type == EVENT_WORKER || !members_knows(trial, event->cluster)) // the engine ignores what comes late
        return;
    const char *name = world_name(trial->worlds[event->cluster]);
    if (event->type == EVENT_CONTACT)
        note_contact(trial, event);
    if (event->type == EVENT_DEPENDENCY)
        note_dependency(trial, event);
    if (event->type == EVENT_CAPACITY)
        rooms_told(trial, event);
    if (event->type == EVENT_CAPACITY)
        trial_trace(trial, "host: what is left of %s is %s", name, capacity_text(event->capacity.state));
    if (event->type == EVENT_IDENTITY && *event->identity.uid)
        note_identity(trial, event);
    if (event->type == EVENT_IDENTITY)
        promises_identity(trial, event->cluster, event->identity.uid);
    if (event->type == EVENT_RESTORED)
        note_rewound(trial, event);
    intake_before(trial, event);
    const char *kind = trial->kinds[event->kind]->kind->abi.plural;
    if (event->type == EVENT_LISTED) {
        trial_trace(trial, "host: %s of %s listed", kind, name);
        if (event->cluster == ENGINE_MANAGEMENT && !host->feeds[ENGINE_MANAGEMENT][event->kind].listed)
            rules_management_listed(trial, event->kind);
        host->feeds[event->cluster][event->kind].listed = true;
        faults_listed(trial, event->cluster, event->kind);
    }
    if (event->type == EVENT_SEEN && event->cluster != ENGINE_MANAGEMENT) {
        rules_told(trial, event->object->value);
        if (event->kind == 0 && rules_mirror(trial, rules_text(event->object->value, "metadata", NULL, "uid")))
            status_told(trial, event->object->value);
        if (event->kind == 0 && event->cluster != ENGINE_MANAGEMENT)
            progress_told(trial, event->object->value);
    }
    if (event->type == EVENT_GONE && event->cluster != ENGINE_MANAGEMENT)
        progress_gone(trial, event->object->value);
    if (event->type != EVENT_STATE)
        return;
    bool connected = event->watch.state == REFLECTOR_CONNECTED;
    trial_trace(trial, "host: %s of %s: %s%s%s", kind, name, state_text(event->watch.state),
                event->watch.problem ? ": " : "", event->watch.problem ? event->watch.problem : "");
    if (host->feeds[event->cluster][event->kind].connected && !connected && !host->silent[event->cluster])
        host->feeds[event->cluster][event->kind].lost_ns = trial->now_ns;
    host->feeds[event->cluster][event->kind].connected = connected;
    host->feeds[event->cluster][event->kind].heard |= event->watch.state != REFLECTOR_STARTING;
}

// The rules see a command when the engine returns it, with the engine's knowledge of that moment.
static void after_step(void *ctx, const struct update *update, const struct turn_mark *older) {
    struct trial *trial = instance_enter(ctx);
    for (size_t i = older->commands; i < update->n_commands; i++)
        rules_command(trial, &update->commands[i]);
    pace_sent(trial, update, older->commands);
    for (size_t i = older->events; i < update->n_events; i++) {
        promises_event(trial, &update->events[i]);
        breaks_event(trial, &update->events[i]);
    }
    intake_after(trial, update, older->events);
    for (size_t i = older->log; i < update->n_log; i++) {
        trial_trace(trial, "host: %s: %s", world_name(trial->worlds[update->log[i].cluster]), update->log[i].text);
        need_rules_text(trial, update->log[i].text);
        if (update->log[i].level == LOG_ERROR) // a defect that the engine found in itself
            trial_fail(trial, "%s", update->log[i].text);
    }
}

static struct moment now_of(void *ctx) {
    return instance_moment(((const struct instance *)ctx)->trial);
}

static void take_turn(struct trial *trial) {
    struct instance *host = trial->host;
    (void)turn_run(&host->turn, event_queue_take(&host->queue, trial->now_ns));
    host->wake_ns = virtual_time(trial, host->turn.update.wake_ns);
    account_rules_turn(trial);
}

bool instance_is_awake(const struct trial *trial) {
    const struct instance *host = trial->host;
    return host->alive && trial->now_ns >= host->asleep_until_ns && trial->now_ns >= host->stopped_until_ns;
}

// As inbox_post: a cluster_io without room waits, and meanwhile the engine's thread takes turns. What it dispatches is
// only queued, so this is safe from within a cluster_io.
static void post(void *ctx, struct engine_event *event) {
    struct trial *trial = instance_enter(ctx);
    struct instance *host = trial->host;
    struct event_item *item = event_item_new(event);
    if (!item)
        abort();
    while (!event_queue_has_room(&host->queue, item) && instance_is_awake(trial))
        take_turn(trial);
    event_queue_put(&host->queue, item);
}

// As the host posts to the loop of the cluster.
static bool deliver(void *ctx, struct command_batch *batch) {
    struct trial *trial = instance_enter(ctx);
    if (!members_has_wire(trial, batch->cluster))
        return false;
    struct sent *sent = malloc(sizeof *sent), **last = &trial->host->sent[batch->cluster];
    if (!sent)
        abort();
    bool late = trial->plan.late_threads && trial_chance(trial, 30);
    *sent = (struct sent){.batch = batch, .at_ns = trial->now_ns + (late ? trial_between(trial, 0, LATE_NS) : 0)};
    for (; *last; last = &(*last)->next)
        sent->at_ns = (*last)->at_ns > sent->at_ns ? (*last)->at_ns : sent->at_ns;
    *last = sent;
    return true;
}

void instance_post(struct trial *trial, struct engine_event *event) {
    struct event_item *item = event_item_new(event);
    if (!item)
        abort();
    event_queue_put(&trial->host->queue, item);
}

static void post_own(void *ctx, struct engine_event *event) {
    instance_post(instance_enter(ctx), event);
}

static void must(struct error *error) {
    if (!error)
        return;
    fprintf(stderr, "simulation: %s\n", error_text(error));
    abort();
}

static struct cluster_io_settings settings_of(const struct trial *trial) {
    return (struct cluster_io_settings){.kinds = trial->engine_kinds,
                                        .n_kinds = trial->host->n_configured,
                                        .fencing = {.enabled = trial->plan.guards,
                                                    .after_ns = guards_after_ns(trial),
                                                    .namespace_ = "wharf-system",
                                                    .reports = guards_report(trial),
                                                    .reports_in = "wharf-system"},
                                        .dependencies = trial->plan.needs,
                                        .tenants = trial->plan.tenants,
                                        .capacity = trial->plan.capacity};
}

void instance_open(struct trial *trial, size_t c) {
    struct instance *host = trial->host;
    promises_connected(trial, c);
    host->taps[c] = tap_new(trial, c);
    struct cluster_scope options = {.cluster = c,
                                    .name = world_name(trial->worlds[c]),
                                    .transport = tap_transport(host->taps[c]),
                                    .origin = TRIAL_ORIGIN,
                                    .namespace_map = renames_are_wanted() && c > 0 ? RENAMES_MAP : NULL,
                                    .controller_name = TRIAL_MANAGED_BY,
                                    .instance = "sim",
                                    .settings = settings_of(trial),
                                    .gates = trial->plan.elects ? &host->gates : leases_gates(trial),
                                    .watch_list = trial->seed % 2 == 0,
                                    .seed = trial->seed * 31 + host->number * 7 + c,
                                    .post = post,
                                    .ctx = host};
    must(cluster_io_new(&options, &host->links[c]));
    host->dirty[c] = true;
    host->configure_ns[c] = 0;
    host->link_due_ns[c] = CLOCK_NEVER;
}

// As thread.c: what was delivered is processed first.
void instance_close(struct trial *trial, size_t c) {
    struct instance *host = trial->host;
    for (struct sent *sent; (sent = host->sent[c]);) {
        host->sent[c] = sent->next;
        command_batch_run(sent->batch, host->links[c], instance_moment(trial));
        free(sent);
    }
    cluster_io_close(host->links[c], "closed");
    rules_restarted(trial); // requests may arrive later
    struct transport *transport = tap_transport(host->taps[c]);
    transport->ops->free(transport);
    host->links[c] = NULL;
    host->taps[c] = NULL;
    host->configure_ns[c] = 0;
    host->dirty[c] = false;
    host->link_due_ns[c] = CLOCK_NEVER;
}

static struct engine_settings engine_settings_of(const struct trial *trial) {
    return (struct engine_settings){.create_namespaces = trial->plan.create_namespaces,
                                    .mirror_finalizer = trial->plan.mirror_finalizer,
                                    .last_words = trial->plan.last_words ? LAST_WORDS_LOGS : LAST_WORDS_NONE,
                                    .worker_lost_timeout_ns = trial->plan.lost_timeout_ns,
                                    .mirror_retention_ns = trial->plan.retention_ns,
                                    .mass_deletion_max = trial->plan.mass_max,
                                    .mass_deletion_percent = 30,
                                    .orphan_grace_ns = trial->plan.orphan_grace_ns,
                                    .max_orphans = trial->seed % 7 == 0 ? 3 : 1000,
                                    .max_workloads = intake_max(trial),
                                    .qps = trial->plan.qps,
                                    .burst = 10,
                                    .placement = places_options(trial),
                                    .namespaces = spaces_rule(trial),
                                    .dependencies = needs_options(trial),
                                    .tenancy = tenants_options(trial),
                                    .fencing = {trial->plan.guards, true, guards_after_ns(trial)}};
}

static void configure(struct trial *trial) {
    struct engine_settings settings = engine_settings_of(trial);
    must(engine_configure(trial->host->turn.engine, &settings));
    trial->host->wake_ns = trial->now_ns;
}

void instance_configure(struct trial *trial) {
    struct instance *at_work = trial->host;
    for (size_t i = 0; i < trial->plan.hosts; i++)
        if (trial->hosts[i].alive)
            configure(instance_enter(&trial->hosts[i]));
    instance_enter(at_work);
}

bool instance_start(struct trial *trial) {
    struct instance *host = trial->host;
    *host = (struct instance){.trial = trial,
                              .index = host->index,
                              .number = ++trial->processes,
                              .alive = true,
                              .n_configured = trial->n_configured,
                              .members = host->members,
                              .pace = host->pace};
    host->clock_ns = trial->now_ns - trial_between(trial, 0, CLOCK_MINUTE * 1000);
    crew_started(trial);
    struct moment now = instance_moment(trial);
    for (size_t c = 0; c < trial->plan.n_clusters; c++)
        trial->names[c] = world_name(trial->worlds[c]);
    size_t n_scorers = 0;
    const struct scorer *const *scorers = raters_list(trial, &n_scorers);
    struct engine_options options = {.origin = TRIAL_ORIGIN,
                                     .kinds = trial->engine_kinds,
                                     .n_kinds = trial->n_configured,
                                     .scorers = scorers,
                                     .n_scorers = n_scorers,
                                     .ticks = raters_ticks,
                                     .settings = engine_settings_of(trial),
                                     .seals = trial->plan.upgrade && host->number == 1 ? NULL : trial->seals,
                                     .adopt_until_ns = trial->plan.upgrade ? CLOCK_NEVER : 0,
                                     .window_max = trial->plan.window_max,
                                     .shards = trial->plan.elects ? (uint32_t)host->gates.count : trial->plan.shards,
                                     .seed = trial->seed + host->number};
    host->turn = (struct turn){.now = now_of, .before = before_event, .after = after_step, .ctx = host};
    host->turn.dispatch = (struct dispatch){
        .names = trial->names, .kinds = trial->engine_kinds, .deliver = deliver, .post = post_own, .ctx = host};
    must(engine_new(&options, now, &host->turn.engine));
    host->queue = (struct event_queue){.max_events = trial->plan.short_queue ? SHORT_QUEUE_EVENTS : QUEUE_EVENTS,
                                       .max_bytes = QUEUE_BYTES};
    must(event_queue_grow(&host->queue, trial->plan.n_clusters));
    host->wake_ns = trial->now_ns;
    pace_restarted(trial);
    status_restarted(trial);
    leases_started(trial);
    spaces_started(trial);
    tenants_started(trial);
    promises_restarted(trial);
    breaks_started(trial);
    need_rules_restarted(trial);
    for (size_t c = 0; c < trial->plan.n_clusters; c++) {
        host->link_due_ns[c] = CLOCK_NEVER;
        for (size_t k = 0; k < trial->n_kinds; k++)
            host->feeds[c][k].lost_ns = trial->now_ns;
    }
    instance_open(trial, ENGINE_MANAGEMENT);
    members_started(trial);
    trial_trace(trial, "host: process %u starts", host->number);
    return true;
}

void instance_stop(struct trial *trial) {
    struct instance *host = trial->host;
    if (!host->alive)
        return;
    host->alive = false;
    crew_stopped(trial);
    for (size_t c = 0; c < trial->plan.n_clusters; c++) {
        cluster_io_free(host->links[c]);
        if (host->taps[c]) {
            struct transport *transport = tap_transport(host->taps[c]);
            transport->ops->free(transport);
        }
        host->links[c] = NULL;
        host->taps[c] = NULL;
    }
    for (size_t c = 0; c < trial->plan.n_clusters; c++)
        for (struct sent *sent; (sent = host->sent[c]);) {
            host->sent[c] = sent->next;
            command_batch_free(sent->batch);
            free(sent);
        }
    event_queue_clear(&host->queue);
    engine_free(host->turn.engine);
    update_free(&host->turn.update);
    host->queue = (struct event_queue){0};
    host->turn = (struct turn){0};
}

// As host.c: the engine first, then each connection, on its thread.
void instance_add_kind(struct trial *trial) {
    struct instance *host = trial->host;
    if (trial->plan.kind_added_ns > trial->now_ns || host->n_configured == trial->n_kinds || !instance_is_awake(trial))
        return;
    host->n_configured = trial->n_configured = trial->n_kinds;
    trial_trace(trial, "operator: adds %s", trial->kinds[trial->n_kinds - 1]->kind->abi.plural);
    must(engine_add_kinds(host->turn.engine, trial->engine_kinds, trial->n_kinds, instance_moment(trial)));
    host->turn.dispatch.kinds = trial->engine_kinds;
    host->wake_ns = trial->now_ns;
    for (size_t c = 0; c < trial->plan.n_clusters; c++) {
        bool late = trial->plan.late_threads && trial_chance(trial, 30);
        host->feeds[c][trial->n_kinds - 1].lost_ns = trial->now_ns;
        host->configure_ns[c] = trial->now_ns + (late ? trial_between(trial, 0, LATE_NS) : 0);
    }
}

static void configure_link(struct trial *trial, size_t cluster) {
    struct cluster_io_settings settings = settings_of(trial);
    trial->host->configure_ns[cluster] = 0;
    cluster_io_configure(trial->host->links[cluster], &settings);
}

static bool run_engine(struct trial *trial) {
    struct instance *host = trial->host;
    if (!instance_is_awake(trial) || (host->queue.events == 0 && host->wake_ns > trial->now_ns))
        return false;
    while (host->queue.events > 0 || host->wake_ns <= trial->now_ns)
        take_turn(trial);
    return true;
}

// As a turn of core/kube/transport/loop.c: what was posted, then a tick.
static bool run_link(struct trial *trial, size_t cluster) {
    struct instance *host = trial->host;
    struct cluster_io *io = host->links[cluster];
    if (!io)
        return false;
    struct moment now = instance_moment(trial);
    bool due = host->dirty[cluster] || host->link_due_ns[cluster] <= trial->now_ns;
    for (struct sent *sent; (sent = host->sent[cluster]) && sent->at_ns <= trial->now_ns; due = true) {
        host->sent[cluster] = sent->next;
        command_batch_run(sent->batch, io, now);
        free(sent);
    }
    if (host->configure_ns[cluster] && host->configure_ns[cluster] <= trial->now_ns) {
        configure_link(trial, cluster);
        due = true;
    }
    if (!due)
        return false;
    host->dirty[cluster] = false;
    host->link_due_ns[cluster] = virtual_time(trial, cluster_io_tick(io, now));
    return true;
}

static bool run_links(struct trial *trial) {
    bool any = false;
    for (size_t c = 0; c < trial->plan.n_clusters; c++)
        any = run_link(trial, c) || any;
    return any;
}

void instance_run(struct trial *trial) {
    struct instance *host = trial->host;
    unsigned rounds = 0;
    bool more = host->alive;
    for (size_t c = 0; c < trial->plan.n_clusters && more && trial->plan.elects; c++)
        if (host->taps[c])
            tap_run(host->taps[c]);
    crew_deliver(trial);
    more = more && trial->now_ns >= host->stopped_until_ns;
    while (more && !trial->failure) {
        more = run_engine(trial);
        guards_tell_links(trial);
        more = run_links(trial) || more;
        more = crew_run(trial) || more;
        if (++rounds > 1000)
            trial_fail(trial, "rule 8: the host is busy without time passing");
    }
}

// Whatever they have received arrives, also at a process that is stopped.
static int64_t with_taps(const struct trial *trial, int64_t due) {
    const struct instance *host = trial->host;
    for (size_t c = 0; c < trial->plan.n_clusters && trial->plan.elects; c++)
        if (host->taps[c])
            due = clock_earlier(due, tap_due(host->taps[c]));
    return clock_earlier(due, crew_tap_due(trial));
}

int64_t instance_due(const struct trial *trial) {
    const struct instance *host = trial->host;
    if (!host->alive)
        return CLOCK_NEVER;
    int64_t due = host->queue.events > 0 ? trial->now_ns : host->wake_ns;
    if (host->n_configured < trial->n_kinds)
        due = clock_earlier(due, trial->plan.kind_added_ns);
    if (due < host->asleep_until_ns)
        due = host->asleep_until_ns;
    for (size_t c = 0; c < trial->plan.n_clusters; c++) {
        int64_t at = host->dirty[c] ? trial->now_ns : host->link_due_ns[c];
        if (host->sent[c] && host->sent[c]->at_ns < at)
            at = host->sent[c]->at_ns;
        if (host->configure_ns[c] && host->links[c])
            at = clock_earlier(at, host->configure_ns[c]);
        due = at < due ? at : due;
    }
    return with_taps(trial, clock_later(clock_earlier(due, crew_host_due(trial)), host->stopped_until_ns));
}
