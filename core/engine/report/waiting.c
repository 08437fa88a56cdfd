// SPDX-License-Identifier: Apache-2.0
// Rule 8. Reports a wait of more than a minute: an Event on the workload, once per reason, and a metric.
#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/dependencies/dependencies.h"
#include "core/engine/engine_internal.h"
#include "core/engine/mirror/mirror_parts.h"
#include "core/engine/placement/placing.h"
#include "core/engine/report/report.h"
#include "core/engine/shard/shard.h"

#include <stdio.h>

#define WAITING_REPORTED_NS (60 * CLOCK_SECOND)
#define UNSCHEDULABLE_NS (10 * CLOCK_SECOND)

static const struct {
    const char *name, *text;
} waitings[WAITINGS] = {
    [WAITING_NOT] = {"nothing", "nothing"},
    [WAITING_ANSWER] = {"answer", "a request is in flight"},
    [WAITING_MANAGEMENT] = {"management", "the management cluster is unreachable"},
    [WAITING_BACKOFF] = {"backoff", "a request failed; the host retries after a backoff"},
    [WAITING_STARTUP_GRACE] = {"settling", "workers are still connecting"},
    [WAITING_STOPPING] = {"stopping", "the host is stopping and places nothing new"},
    [WAITING_NO_WORKER] = {"no-worker", "no worker is eligible; wharf explain has the reason of each"},
    [WAITING_REFUSED] = {"refused", "every eligible worker has rejected the workload; the host retries with a backoff"},
    [WAITING_WORKER] = {"worker", "the worker is unreachable; the host reschedules after workerLostTimeout"},
    [WAITING_IDENTITY] =
        {"identity",
         "the host has refused or not identified yet the worker or the management cluster, and changes nothing there"},
    [WAITING_STATUS] = {"status",
                        "the management cluster does not serve the status subresource of the kind; check the CRD"},
    [WAITING_UNKNOWN_WORKER] =
        {"unknown-worker",
         "the worker is not in the configuration; add the worker, or the host reschedules after workerLostTimeout"},
    [WAITING_PREDECESSOR] =
        {"predecessor",
         "another object has the name of the mirror; the host creates the mirror once that object is gone"},
    [WAITING_EARLIER] = {"earlier-mirror", "an earlier mirror must be gone before a new one is created"},
    [WAITING_REPEATED] =
        {"repeated",
         "too many repetitions of the same change, so the host delays the change; another writer may undo the change"},
    [WAITING_FINAL_STATUS] = {"final-status", "the mirror has finished, but the host cannot write the final status"},
    [WAITING_PROOF] = {"proof", "the host cannot prove that a mirror is its own, and holds the mirror; delete it, or "
                                "name it in the annotations"},
    [WAITING_SIZE] = {"size", "the object exceeds maxObjectSize or maxObjectNodes, so the host ignores the object"},
    [WAITING_DRAIN] = {"drain",
                       "the worker is drained, but no other worker is eligible: the workload continues to run there"},
    [WAITING_NAMESPACE] = {"namespace", "the host's configuration does not permit the namespace; see namespaces"},
    [WAITING_MAX_ACTIVE] = {"room",
                            "all permitted workers have reached maxActive: the workload waits until others finish"},
    [WAITING_KEPT] = {"kept-worker",
                      "the worker is unreachable, and the host does not reschedule (onWorkerLost: wait)"},
    [WAITING_START] = {"start", "the mirror has not started yet; after pendingTimeout the host tries another worker"},
    [WAITING_GAVE_UP] = {"gave-up",
                         "no worker accepted the workload within giveUpAfter; the host tries again when annotation "
                         "wharf.dev/retry is written, or a worker joins"},
    [WAITING_QUEUED] = {"queued", "the Kueue of the worker has queued the mirror"},
    [WAITING_KUEUE] = {"kueue", "the management cluster's Kueue has queued the workload"},
    [WAITING_CHECK_REJECTED] = {"kueue-check",
                                "an admission check of the queue in the management cluster has rejected the workload"},
    [WAITING_CAPACITY] = {"capacity", "the requests of the workload fit into no worker"},
    [WAITING_UNGUARDED] =
        {"unguarded", "the worker is unreachable and no guard was seen there, so the mirror may still run; the host "
                      "reschedules once the worker is back or has left the configuration"},
    [WAITING_RESUME] = {"resume", "the mirror is still suspended, although the workload is not"},
    [WAITING_ALSO_RUN] = {"also-run",
                          "a controller in the management cluster also runs delegated workloads of the kind "
                          "(Events AlsoRunHere): stop that controller for delegated workloads, or set "
                          "hybrid: allow for the kind"},
    [WAITING_PROBATION] = {"probation",
                           "some versions of the kind's controller ignore managedBy: the first workload waits 10 s for "
                           "a sign of such a controller in the management cluster"},
    [WAITING_CHANGES] = {"status-changes", "the status changes more than once a second; the host copies the newest "
                                           "status within 30 s, the final status at once"},
    [WAITING_BYTES] = {"status-bytes", "the statuses of the worker take more space in the management cluster than "
                                       "rateLimit.statusBytes allows; the host copies the newest status later, the "
                                       "final status at once"},
    [WAITING_ADAPTER] = {"adapter", "the adapter has failed for the workload, is paused or is busy; wharf explain has "
                                    "the reason"},
    [WAITING_PROGRESS] = {"progress", "the new mirror gets the progress of the earlier attempts before it runs"},
    [WAITING_CAUSE] = {"cause",
                       "the mirror has failed, and the host reads the reasons of the pods: the workload may run "
                       "in another worker (retryElsewhere)"},
    [WAITING_DEPENDENCY] = {"dependency", "objects that the workload refers to are missing, or on their way to the "
                                          "worker; wharf explain names them"},
    [WAITING_GONE] = {"deletion", "the mirror has a deletionTimestamp but still exists; check the finalizers"},
};

const char *waiting_name(enum waiting waiting) {
    return waitings[waiting].name;
}

bool waiting_is_for_a_worker(enum waiting waiting) {
    return waiting == WAITING_NO_WORKER || waiting == WAITING_REFUSED || waiting == WAITING_MAX_ACTIVE ||
           waiting == WAITING_CAPACITY;
}

const char *waiting_text(enum waiting waiting) {
    return waitings[waiting].text;
}

_Static_assert(WAITINGS <= 64, "struct workload_report has a bit for each");
#define BIT(waiting) (UINT64_C(1) << (waiting))

static void count(struct engine *engine, const struct workload *w, uint64_t change) {
    if (w->report.waiting_reported & BIT(w->waiting))
        engine->stats.waiting[w->waiting] += change;
}

static void end_waiting(struct engine *engine, struct workload *w) {
    count(engine, w, UINT64_MAX);
    w->waiting = WAITING_NOT;
    w->report.waiting_reported = 0;
    w->report.reported = w->report.unschedulable_reported = false;
}

// The reason of each worker, in one Event.
static void report_unschedulable(struct engine *engine, struct entry *entry) {
    struct workload *w = entry->workload;
    if (w->report.unschedulable_reported || !waiting_is_for_a_worker((enum waiting)w->waiting) ||
        queue_is_early(engine, entry, w->waiting_since_ns + UNSCHEDULABLE_NS))
        return;
    AUTO_BUFFER(text, 8192);
    worker_reasons_put(engine, entry, engine->now.mono_ns, &text);
    w->report.unschedulable_reported = true;
    report_event(engine, entry, true, "Unschedulable", "Place", "%s",
                 text.len > 0 ? text.data : "no worker accepts the workload");
}

// Whether another Event has reported the cause of the wait.
static bool has_own_event(const struct workload *w) {
    static const uint64_t failures =
        BIT(WAITING_BACKOFF) | BIT(WAITING_REPEATED) | BIT(WAITING_ADAPTER) | BIT(WAITING_DEPENDENCY);
    static const uint64_t losses = BIT(WAITING_WORKER) | BIT(WAITING_KEPT) | BIT(WAITING_UNGUARDED);
    static const uint64_t others = BIT(WAITING_BYTES) | BIT(WAITING_QUEUED) | BIT(WAITING_KUEUE) |
                                   BIT(WAITING_CHECK_REJECTED) | BIT(WAITING_START) | BIT(WAITING_GAVE_UP);
    uint64_t always = others | (w->report.reported ? failures : 0) | (w->loss_reported_ns ? losses : 0);
    return BIT(w->waiting) & always || waiting_is_for_a_worker((enum waiting)w->waiting);
}

static void report_waiting(struct engine *engine, struct entry *entry, const struct action *action) {
    struct workload *w = entry->workload;
    w->report.waiting_reported |= BIT(w->waiting);
    count(engine, w, 1);
    if (has_own_event(w))
        return;
    if (w->waiting == WAITING_NAMESPACE) {
        char namespace_[254];
        entry_namespace(entry, namespace_);
        report_event(engine, entry, true, "NamespaceDenied", "Place",
                     "not placed: the host's configuration does not permit namespace %s (namespaces)", namespace_);
        return;
    }
    AUTO_BUFFER(text, 8192);
    if (w->waiting == WAITING_RESUME)
        unresumed_put(engine, entry, &text);
    else if (w->waiting == WAITING_ADAPTER)
        aside_put(engine, entry, &text);
    else if (w->waiting == WAITING_DEPENDENCY)
        dependencies_put(engine, entry, &text);
    if (text.len == 0)
        buffer_text(&text, waiting_text(action->waiting));
    if (action->cluster != 0 && action->cluster < engine->n_clusters) {
        const char *refused = engine->stats.clusters[action->cluster].refused;
        buffer_printf(&text, " (cluster %s)", engine->clusters[action->cluster].name);
        if (w->waiting == WAITING_IDENTITY && *refused)
            buffer_printf(&text, ": %s", refused);
    }
    report_event(engine, entry, true, "Waiting", "Wait", "waiting for more than a minute: %s",
                 text.len > 0 ? text.data : waiting_text(action->waiting));
}

static void count_unplaced(struct engine *engine, struct workload *workload, enum waiting waiting) {
    const struct workload_facts *w = &workload->facts;
    struct workload_report *report = &workload->report;
    bool unplaced = w->exists && w->attempt == 0 && !w->finished && !w->suspended && !w->being_deleted;
    if (report->counted_unplaced)
        engine->stats.unplaced[report->unplaced]--;
    if (unplaced)
        engine->stats.unplaced[waiting]++;
    report->counted_unplaced = unplaced;
    report->unplaced = (uint8_t)waiting;
}

static void forget(struct engine *engine, struct entry *entry) {
    struct workload *w = entry->workload;
    if (!w->facts.exists)
        return;
    end_waiting(engine, w);
    if (w->report.counted_unplaced)
        engine->stats.unplaced[w->report.unplaced]--;
    w->report.counted_unplaced = false;
}

static void after(struct engine *engine, struct entry *entry, const struct action *action) {
    struct workload *w = entry->workload;
    enum waiting waiting = action->waiting;
    count_unplaced(engine, w, waiting);
    if (waiting == WAITING_ANSWER)
        return;
    if (waiting == WAITING_NOT || waiting == WAITING_STOPPING || !w->facts.exists ||
        (w->facts.finished && waiting != WAITING_ADAPTER)) {
        end_waiting(engine, w);
        return;
    }
    if (w->waiting == WAITING_NOT)
        w->waiting_since_ns = engine->now.mono_ns;
    if (w->waiting != waiting) {
        count(engine, w, UINT64_MAX);
        w->waiting = (uint8_t)waiting;
        count(engine, w, 1);
    }
    report_unschedulable(engine, entry);
    if (w->report.waiting_reported & BIT(w->waiting))
        return;
    if (waiting == WAITING_NAMESPACE || !queue_is_early(engine, entry, w->waiting_since_ns + WAITING_REPORTED_NS))
        report_waiting(engine, entry, action);
}

const struct part part_report = {.name = "waiting", .stand_by = forget, .after = after, .workload_ends = forget};

static const char *const action_names[] = {
    [ACTION_NONE] = "none",     [ACTION_WAIT] = "wait",     [ACTION_PLACE] = "place",   [ACTION_CREATE] = "create",
    [ACTION_UPDATE] = "update", [ACTION_STATUS] = "status", [ACTION_DELETE] = "delete", [ACTION_RELEASE] = "release",
    [ACTION_VERIFY] = "verify", [ACTION_FORGET] = "forget", [ACTION_READ] = "read",     [ACTION_GIVE_UP] = "give-up",
};

// Takes the message; drops the message when out of memory.
static void add_message(struct engine *engine, struct log_message message) {
    struct update *update = engine->update;
    if (message.text && array_reserve(&update->log, &update->cap_log, update->n_log + 1, sizeof *update->log))
        update->log[update->n_log++] = message;
    else
        log_message_free(&message);
}

void report_log(struct engine *engine, enum log_level level, size_t cluster, size_t kind, const char *format, ...) {
    struct log_message message = {.level = level, .cluster = cluster, .kind = kind};
    va_list args;
    va_start(args, format);
    message.text = text_vformat(format, args);
    va_end(args);
    add_message(engine, message);
}

void report_mirror(struct engine *engine, enum log_level level, const struct entry *entry, const struct mirror *mirror,
                   const char *format, ...) {
    struct log_message message = {.level = level, .cluster = mirror->facts.cluster, .kind = entry->kind};
    va_list args;
    va_start(args, format);
    message.text = text_vformat(format, args);
    va_end(args);
    message.object = strdup(entry->key);
    add_message(engine, message);
}

void report_decision(struct engine *engine, const struct entry *entry, const struct action *action) {
    if (!engine->settings.log_decisions || action->type == ACTION_NONE || action->type == ACTION_WAIT)
        return;
    add_message(engine, (struct log_message){.level = LOG_DEBUG,
                                             .cluster = action->cluster,
                                             .kind = entry->kind,
                                             .object = strdup(entry->key),
                                             .action = action_names[action->type],
                                             .reason = action->why,
                                             .text = strdup("decided")});
}

void report_event(struct engine *engine, struct entry *entry, bool warning, const char *reason, const char *action,
                  const char *format, ...) {
    struct update *update = engine->update;
    struct workload *w = entry->workload;
    if (!*w->uid || !shard_is_held(engine, entry)) // the holder of the shard reports
        return;
    va_list args;
    va_start(args, format);
    AUTO_TEXT text = text_vformat(format, args);
    va_end(args);
    if (!text)
        return;
    w->report.reported = true;
    uint32_t hash = decide_name_hash(text);
    if (hash == w->report.last_note) // a repeat
        return;
    const struct kind *kind = engine->kinds[entry->kind];
    const char *version = cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->version;
    char namespace_[254], api_version[320];
    entry_namespace(entry, namespace_);
    snprintf(api_version, sizeof api_version, "%s%s%s", kind->abi.group, *kind->abi.group ? "/" : "",
             version ? version : "v1");
    struct workload_event event = {.reason = reason,
                                   .text = text,
                                   .api_version = api_version,
                                   .namespace_ = namespace_,
                                   .name = entry_name(entry),
                                   .uid = w->uid,
                                   .action = action,
                                   .kind = entry->kind,
                                   .warning = warning};
    if (!array_reserve(&update->events, &update->cap_events, update->n_events + 1, sizeof *update->events))
        return;
    struct workload_event *copy = struct_copy_with_texts(&event, sizeof event, WORKLOAD_EVENT_TEXTS);
    if (!copy)
        return;
    copy->memory = copy;
    update->events[update->n_events++] = *copy;
    w->report.last_note = hash;
    engine->stats.events++;
}
