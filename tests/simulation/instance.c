// SPDX-License-Identifier: Apache-2.0
// The host process of a trial: engine and links as core/host/host.c puts them together, with the virtual clock in the
// place of threads. Events go to the engine in the order in which they were posted, never from within one another.
#include "core/base/error.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
    struct item *next;
    struct engine_event event;
};

static struct moment moment_of(const struct trial *trial) {
    return (struct moment){trial->now_ns - trial->host.clock_ns, trial->now_ns};
}

static int64_t virtual_time(const struct trial *trial, int64_t mono_ns) {
    return mono_ns == CLOCK_NEVER ? CLOCK_NEVER : mono_ns + trial->host.clock_ns;
}

static void free_item(struct item *item) {
    engine_event_clear(&item->event);
    free(item);
}

static const char *state_text(enum reflector_state state) {
    static const char *const names[] = {"starting", "connected", "lost", "absent"};
    return names[state];
}

static void note_contact(struct trial *trial, const struct engine_event *event) {
    static const char *const names[] = {"unknown", "good", "suspect", "lost"};
    struct instance *host = &trial->host;
    trial_trace(trial, "host: contact with %s is %s%s%s", world_name(trial->worlds[event->cluster]),
                names[event->contact.state], event->contact.problem ? ": " : "",
                event->contact.problem ? event->contact.problem : "");
    host->silent[event->cluster] = event->contact.state == CONTACT_LOST;
    for (size_t k = 0; k < trial->n_kinds && event->contact.state == CONTACT_LOST; k++)
        if (host->feeds[event->cluster][k].connected)
            host->feeds[event->cluster][k].lost_ns = virtual_time(trial, event->contact.heard_ns);
}

// What the engine is about to know about its feeds.
static void note_feed(struct trial *trial, const struct engine_event *event) {
    struct instance *host = &trial->host;
    if (event->type == EVENT_ANSWER || event->type == EVENT_TIME)
        return;
    const char *name = world_name(trial->worlds[event->cluster]);
    if (event->type == EVENT_CONTACT)
        note_contact(trial, event);
    if (event->type == EVENT_REWOUND)
        faults_noticed(trial, event->cluster);
    const char *kind = trial->kinds[event->kind]->kind->abi.plural;
    if (event->type == EVENT_LISTED) {
        trial_trace(trial, "host: %s of %s listed", kind, name);
        host->feeds[event->cluster][event->kind].listed = true;
    }
    if (event->type == EVENT_SEEN && event->cluster != ENGINE_MANAGEMENT)
        rules_told(trial, event->object->value);
    if (event->type != EVENT_STATE)
        return;
    bool connected = event->watch.state == REFLECTOR_CONNECTED;
    trial_trace(trial, "host: %s of %s: %s%s%s", kind, name, state_text(event->watch.state),
                event->watch.problem ? ": " : "", event->watch.problem ? event->watch.problem : "");
    if (host->feeds[event->cluster][event->kind].connected && !connected && !host->silent[event->cluster])
        host->feeds[event->cluster][event->kind].lost_ns = trial->now_ns;
    host->feeds[event->cluster][event->kind].connected = connected;
}

static void post(void *ctx, struct engine_event *event) {
    struct trial *trial = ctx;
    struct item *item = calloc(1, sizeof *item);
    if (!item || engine_event_own(event, &item->event))
        abort();
    *trial->host.last = item;
    trial->host.last = &item->next;
}

static void must(struct error *error) {
    if (!error)
        return;
    fprintf(stderr, "simulation: %s\n", error_text(error));
    abort();
}

static void start_links(struct trial *trial, struct moment now) {
    struct instance *host = &trial->host;
    for (size_t c = 0; c < trial->plan.n_clusters; c++) {
        host->taps[c] = tap_new(trial, c);
        struct link_options options = {.cluster = c,
                                       .name = world_name(trial->worlds[c]),
                                       .transport = tap_transport(host->taps[c]),
                                       .origin = TRIAL_ORIGIN,
                                       .controller_name = TRIAL_MANAGED_BY,
                                       .instance = "sim",
                                       .kinds = trial->engine_kinds,
                                       .n_kinds = trial->n_kinds,
                                       .qps = trial->seed % 3 ? 0 : 20,
                                       .burst = 10,
                                       .watch_list = trial->seed % 2 == 0,
                                       .seed = trial->seed * 31 + host->number * 7 + c,
                                       .post = post,
                                       .ctx = trial};
        must(link_new(&options, now, &host->links[c]));
        host->dirty[c] = true;
        for (size_t k = 0; k < trial->n_kinds; k++)
            host->feeds[c][k].lost_ns = trial->now_ns;
        host->link_due_ns[c] = CLOCK_NEVER;
    }
}

bool instance_start(struct trial *trial) {
    struct instance *host = &trial->host;
    *host = (struct instance){.number = host->number + 1};
    host->last = &host->first;
    host->clock_ns = trial->now_ns - trial_between(trial, 0, CLOCK_MINUTE * 1000);
    struct moment now = moment_of(trial);
    const char *names[TRIAL_WORKERS];
    for (size_t c = 1; c < trial->plan.n_clusters; c++)
        names[c - 1] = world_name(trial->worlds[c]);
    struct engine_options options = {.origin = TRIAL_ORIGIN,
                                     .worker_names = names,
                                     .n_workers = trial->plan.n_clusters - 1,
                                     .kinds = trial->engine_kinds,
                                     .n_kinds = trial->n_kinds,
                                     .create_namespaces = trial->plan.create_namespaces,
                                     .mirror_finalizer = trial->plan.mirror_finalizer,
                                     .worker_lost_timeout_ns = trial->plan.lost_timeout_ns,
                                     .mirror_retention_ns = trial->plan.retention_ns,
                                     .max_orphans = trial->seed % 7 == 0 ? 3 : 1000,
                                     .mass_deletion_max = trial->plan.mass_max,
                                     .mass_deletion_percent = 30,
                                     .orphan_grace_ns = trial->plan.orphan_grace_ns,
                                     .seals = trial->plan.upgrade && host->number == 1 ? NULL : trial->seals,
                                     .adopt_unsealed = trial->plan.upgrade,
                                     .seed = trial->seed + host->number};
    must(engine_new(&options, now, &host->engine));
    host->wake_ns = trial->now_ns;
    start_links(trial, now);
    trial_trace(trial, "host: process %u starts", host->number);
    return true;
}

void instance_stop(struct trial *trial) {
    struct instance *host = &trial->host;
    for (size_t c = 0; c < trial->plan.n_clusters; c++) {
        link_free(host->links[c]);
        if (host->taps[c]) {
            struct transport *transport = tap_transport(host->taps[c]);
            transport->ops->free(transport);
        }
        host->links[c] = NULL;
        host->taps[c] = NULL;
    }
    while (host->first) {
        struct item *item = host->first;
        host->first = item->next;
        free_item(item);
    }
    host->last = &host->first;
    engine_free(host->engine);
    host->engine = NULL;
    update_free(&host->update);
}

static void dispatch(struct trial *trial) {
    struct instance *host = &trial->host;
    struct moment now = moment_of(trial);
    for (size_t i = 0; i < host->update.n_commands; i++) {
        size_t cluster = host->update.commands[i].cluster;
        rules_command(trial, &host->update.commands[i]);
        link_command(host->links[cluster], &host->update.commands[i]);
        host->dirty[cluster] = true;
    }
    for (size_t i = 0; i < host->update.n_notes; i++) {
        struct note *note = &host->update.notes[i];
        trial_trace(trial, "host: Event %s on %s: %s", note->reason, note->name, note->text);
        link_note(host->links[ENGINE_MANAGEMENT], now, note);
        host->dirty[ENGINE_MANAGEMENT] = true;
    }
    for (size_t i = 0; i < host->update.n_remarks; i++) {
        trial_trace(trial, "host: %s: %s", world_name(trial->worlds[host->update.remarks[i].cluster]),
                    host->update.remarks[i].text);
        remark_free(&host->update.remarks[i]);
    }
    for (size_t i = 0; i < host->update.n_relists; i++) {
        const struct relist *relist = &host->update.relists[i];
        link_relist(host->links[relist->cluster], relist->kind);
        host->dirty[relist->cluster] = true;
    }
    host->update.n_commands = host->update.n_notes = host->update.n_remarks = host->update.n_relists = 0;
}

static void step(struct trial *trial, struct engine_event *event) {
    struct instance *host = &trial->host;
    event->now = moment_of(trial);
    engine_step(host->engine, event, &host->update);
    host->wake_ns = virtual_time(trial, host->update.wake_ns);
    dispatch(trial);
}

static bool run_engine(struct trial *trial) {
    struct instance *host = &trial->host;
    if (trial->now_ns < host->asleep_until_ns)
        return false;
    bool any = false;
    for (struct item *item; (item = host->first); any = true) {
        host->first = item->next;
        if (!host->first)
            host->last = &host->first;
        note_feed(trial, &item->event);
        step(trial, &item->event);
        free_item(item);
    }
    if (host->wake_ns > trial->now_ns)
        return any;
    step(trial, &(struct engine_event){.type = EVENT_TIME});
    return true;
}

static bool run_links(struct trial *trial) {
    struct instance *host = &trial->host;
    bool any = false;
    for (size_t c = 0; c < trial->plan.n_clusters; c++) {
        if (!host->dirty[c] && host->link_due_ns[c] > trial->now_ns)
            continue;
        host->dirty[c] = false;
        host->link_due_ns[c] = virtual_time(trial, link_tick(host->links[c], moment_of(trial)));
        any = true;
    }
    return any;
}

void instance_run(struct trial *trial) {
    unsigned rounds = 0;
    bool more = true;
    while (more && !trial->failure) {
        more = run_engine(trial);
        more = run_links(trial) || more;
        if (++rounds > 1000)
            trial_fail(trial, "rule 8: the host is busy for ever at one moment");
    }
}

int64_t instance_due(const struct trial *trial) {
    const struct instance *host = &trial->host;
    int64_t due = host->first ? trial->now_ns : host->wake_ns;
    if (due < host->asleep_until_ns)
        due = host->asleep_until_ns;
    for (size_t c = 0; c < trial->plan.n_clusters; c++) {
        int64_t at = host->dirty[c] ? trial->now_ns : host->link_due_ns[c];
        due = at < due ? at : due;
    }
    return due;
}
