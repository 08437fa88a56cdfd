// SPDX-License-Identifier: Apache-2.0
#include "core/engine/kueue/kueue.h"
#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/shard/shard.h"
#include "core/kube/object/object.h"

#include <stdio.h>

#define REPORT_QUEUED_NS (5 * CLOCK_SECOND) // Kueue admits most mirrors at once
#define EVICTED_NEW_NS (1 * CLOCK_MINUTE)   // another process reported older evictions
#define DENIED_NS (10 * CLOCK_MINUTE)       // until the retry of a denied write
#define WRITE_FIRST_NS (1 * CLOCK_SECOND)
#define WRITE_MAX_NS (1 * CLOCK_MINUTE)
#define WHY_MAX 1024

// Of the phases of a queued object; NULL: not queued.
static const char *const queued_texts[] = {[KUEUE_PENDING] = "no quota is reserved",
                                           [KUEUE_RESERVED] = "quota is reserved, admission checks are not ready",
                                           [KUEUE_INACTIVE] = "the Workload is inactive (spec.active: false)",
                                           [KUEUE_OVER] = NULL};

// "no quota is reserved: couldn't assign flavors to pod set main: ..."
static void put_why(const struct kueue_state *state, struct buffer *out) {
    buffer_text(out, queued_texts[state->phase]);
    const char *reason = state->phase == KUEUE_RESERVED || !*state->message ? state->reason : "";
    if (*state->message || *reason)
        buffer_printf(out, ": %s%s%.*s", reason, *reason && *state->message ? ": " : "", WHY_MAX, state->message);
}

// Keeps the facts of `old` about the same Workload. NULL: out of memory.
static struct kueue_status *make_status(const struct engine *engine, const struct kueue_state *state,
                                        const struct kueue_status *old) {
    AUTO_BUFFER(why, 4096);
    AUTO_BUFFER(check, 4096);
    bool queued = queued_texts[state->phase];
    struct kueue_status made = {0};
    if (old && strcmp(old->uid, state->uid) == 0)
        made = *old;
    if (queued)
        put_why(state, &why);
    if (*state->check)
        buffer_printf(&check, "%s: %.*s", state->check, WHY_MAX, state->check_message);
    made.name = state->name;
    made.uid = state->uid;
    made.version = state->version;
    made.queue = state->queue;
    made.why = why.len ? why.data : "";
    made.check = check.len ? check.data : "";
    made.phase = (uint8_t)state->phase;
    made.since_ns = state->since_ns;
    made.evicted_ns = state->evicted_ns ? state->evicted_ns : made.evicted_ns;
    made.deactivated = state->deactivated;
    made.queued_ns = queued && made.queued_ns == 0 ? engine->now.mono_ns : made.queued_ns;
    if (!queued)
        made.queued_ns = 0;
    return struct_copy_with_texts(&made, sizeof made, KUEUE_STATUS_TEXTS);
}

static void report_eviction(struct engine *engine, struct entry *entry, size_t cluster, const struct kueue_state *state,
                            const struct kueue_status *old) {
    int64_t known_ns = old ? old->evicted_ns : engine->now.wall_ns - EVICTED_NEW_NS;
    bool own = state->deactivated || entry->workload->facts.suspended;
    if (cluster == ENGINE_MANAGEMENT || own || state->evicted_ns <= known_ns || entry->workload->facts.finished)
        return;
    report_event(engine, entry, true, "EvictedInWorker", "Observe",
                 "the Kueue of cluster %s has evicted the mirror (%s): %.*s; the mirror is queued there again",
                 engine->clusters[cluster].name, state->evicted_reason, WHY_MAX, state->evicted_message);
}

static void report_admission(struct engine *engine, struct entry *entry, size_t cluster, struct kueue_status *status,
                             const struct kueue_status *old) {
    if (!old || !queued_texts[old->phase] || status->phase != KUEUE_RUNS)
        return;
    if (status->reported && cluster != ENGINE_MANAGEMENT)
        report_event(engine, entry, false, "AdmittedInWorker", "Observe", "admitted by the Kueue of cluster %s",
                     engine->clusters[cluster].name);
    status->reported = false;
}

static struct kueue_status **place_of(const struct engine *engine, const struct engine_event *event,
                                      struct entry **out) {
    struct entry *entry = store_get(&engine->store, event->kind, event->queued.namespace_, event->queued.name);
    *out = entry;
    if (!entry)
        return NULL;
    if (event->cluster == ENGINE_MANAGEMENT)
        return entry->workload->facts.exists && strcmp(entry->workload->uid, event->queued.uid) == 0
                   ? &entry->workload->kueue.status
                   : NULL;
    // The event comes once, so mirrors without a listed workload get the state too.
    struct mirror *m = entry_mirror(entry, event->cluster);
    return m && m->facts.present && strcmp(m->uid, event->queued.uid) == 0 ? &m->kueue_status : NULL;
}

static void set_facts(struct entry *entry, size_t cluster, const struct kueue_status *status) {
    bool queued = status && queued_texts[status->phase];
    struct mirror *m = cluster == ENGINE_MANAGEMENT ? NULL : entry_mirror(entry, cluster);
    if (m) {
        m->facts.queued = queued;
        m->facts.update_due = true;
        m->carry = CARRY_UNKNOWN;
        return;
    }
    entry->workload->facts.queued = queued;
    entry->workload->facts.check_rejected = status && *status->check;
}

static bool is_same(const struct kueue_status *a, const struct kueue_status *b) {
    return a && b && a->phase == b->phase && a->deactivated == b->deactivated && strcmp(a->uid, b->uid) == 0 &&
           strcmp(a->check, b->check) == 0;
}

static void on_event(struct engine *engine, struct engine_event *event) {
    const struct kueue_state *state = event->queued.state;
    struct entry *entry = NULL;
    struct kueue_status **place = place_of(engine, event, &entry);
    if (!place)
        return;
    struct kueue_status *old = *place, *made = state->phase == KUEUE_GONE ? NULL : make_status(engine, state, old);
    if (!made && state->phase != KUEUE_GONE)
        return; // out of memory: the old status stays
    bool known = event->cluster == ENGINE_MANAGEMENT || entry_mirror(entry, event->cluster)->facts.of_workload;
    if (made && known && entry->workload->facts.exists) {
        report_eviction(engine, entry, event->cluster, state, old);
        report_admission(engine, entry, event->cluster, made, old);
    }
    bool same = is_same(old, made);
    *place = made;
    free(old);
    if (same)
        return;
    set_facts(entry, event->cluster, made);
    queue_entry(engine, entry);
}

static void report_queued(struct engine *engine, struct entry *entry, const struct mirror *mirror) {
    struct kueue_status *status = mirror->kueue_status;
    if (status->reported || !mirror->facts.queued || entry->workload->facts.suspended ||
        queue_is_early(engine, entry, status->queued_ns + REPORT_QUEUED_NS))
        return;
    status->reported = true;
    report_event(engine, entry, false, "QueuedInWorker", "Observe", "queued by the Kueue of cluster %s in %s: %s",
                 engine->clusters[mirror->facts.cluster].name, status->queue, status->why);
}

static void report_check_rejected(struct engine *engine, struct entry *entry) {
    struct kueue_status *status = entry->workload->kueue.status;
    if (!status || !*status->check || status->reported || !entry->workload->facts.suspended)
        return;
    status->reported = true;
    report_event(engine, entry, true, "KueueCheck", "Place",
                 "never runs in queue %s: an admission check of the queue has rejected the workload: %s; a queue that "
                 "dispatches by MultiKueue rejects workloads delegated to another host",
                 status->queue, status->check);
}

// Whether spec.active has to change; *active is the new value.
static bool has_to_change(const struct entry *entry, const struct kueue_status *status, bool *active) {
    bool inactive = status->phase == KUEUE_INACTIVE;
    *active = !entry->workload->facts.suspended;
    if (status->phase == KUEUE_OVER)
        return false;
    // Does not override a later activation by another client.
    return *active ? inactive && status->deactivated : !inactive && !status->deactivated;
}

static void write_active(struct engine *engine, struct entry *entry, struct mirror *mirror, bool active) {
    struct kueue_status *status = mirror->kueue_status;
    AUTO_TEXT body = text_format("{\"metadata\":{\"uid\":\"%s\",\"annotations\":{\"" KUEUE_DEACTIVATED
                                 "\":%s}},\"spec\":{\"active\":%s}}",
                                 status->uid, active ? "null" : "\"true\"", active ? "true" : "false");
    status->busy = body && command_send(engine, entry,
                                        &(struct request_in_flight){.type = REQUEST_ACTIVE,
                                                                    .verb = VERB_MERGE_PATCH,
                                                                    .cluster = mirror->facts.cluster,
                                                                    .path = status->name,
                                                                    .version = status->version,
                                                                    .body = body,
                                                                    .body_len = strlen(body)});
    if (status->busy)
        entry->lookups++;
    else
        queue_wake(engine, entry, engine->now.mono_ns + CLOCK_SECOND);
}

// In a new term: another host may have written the workload last.
static void read_first(struct engine *engine, struct entry *entry) {
    if (entry->busy)
        return;
    bool ready = cluster_is_connected(engine, ENGINE_MANAGEMENT, entry->kind) &&
                 pacing_has_spare(engine, ENGINE_MANAGEMENT) &&
                 entry->workload->facts.not_before_ns <= engine->now.mono_ns;
    if (ready)
        confirm_read(engine, entry);
    else
        queue_wake(engine, entry, engine->now.mono_ns + CLOCK_SECOND);
}

static void check_active(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    struct kueue_status *status = mirror->kueue_status;
    const struct worker_facts *worker = &engine->workers[entry->kind][mirror->facts.cluster];
    bool active = true;
    if (status->busy || mirror->facts.being_deleted || !worker->connected || worker->frozen ||
        !has_to_change(entry, status, &active))
        return;
    int64_t at_ns =
        pacing_has_spare(engine, mirror->facts.cluster) ? status->not_before_ns : engine->now.mono_ns + CLOCK_SECOND;
    if (queue_is_early(engine, entry, at_ns))
        return;
    if (shard_is_fresh(engine, entry))
        write_active(engine, entry, mirror, active);
    else
        read_first(engine, entry);
}

static void check(struct engine *engine, struct entry *entry, const struct action *action) {
    (void)action;
    if (!entry->workload->facts.exists || entry->workload->facts.finished || entry->workload->facts.being_deleted)
        return;
    report_check_rejected(engine, entry);
    struct mirror *mirror = facts_placed_mirror(entry);
    if (!mirror || !mirror->kueue_status || mirror->facts.finished)
        return;
    report_queued(engine, entry, mirror);
    check_active(engine, entry, mirror);
}

bool kueue_status_resumes(const struct mirror *mirror) {
    return mirror->kueue_status && mirror->kueue_status->phase != KUEUE_OVER;
}

bool kueue_status_governs(const struct entry *entry, const struct mirror *mirror) {
    const struct kueue_status *status = mirror->kueue_status;
    bool active = true;
    if (!status || status->denied || status->phase == KUEUE_OVER)
        return false;
    return status->busy || status->phase == KUEUE_INACTIVE || (has_to_change(entry, status, &active) && !active);
}

static void answered(struct engine *engine, struct entry *entry, struct request_in_flight *request,
                     struct response *response) {
    entry->lookups--;
    struct mirror *mirror = entry_mirror(entry, request->cluster);
    struct kueue_status *status = mirror ? mirror->kueue_status : NULL;
    if (!status)
        return;
    status->busy = false;
    mirror->facts.update_due = true;
    if (response->reason == REASON_OK) { // the watch shows the change
        status->failures = 0;
        status->denied = false;
        status->not_before_ns = engine->now.mono_ns + WRITE_FIRST_NS;
        return;
    }
    bool denied = reason_is_refusal(response->reason);
    int64_t delay_ns = denied ? DENIED_NS : backoff_ns(engine, ++status->failures, WRITE_FIRST_NS, WRITE_MAX_NS);
    status->not_before_ns = engine->now.mono_ns + delay_ns;
    if (denied && !status->denied)
        report_event(engine, entry, true, reason_text(response->reason), "CarryChange",
                     "cannot set spec.active of Kueue's Workload %s in cluster %s, so the host suspends the mirror "
                     "itself, which "
                     "Kueue undoes for an admitted mirror; allow the host to patch workloads.kueue.x-k8s.io: %s",
                     status->name, engine->clusters[request->cluster].name, response->message);
    status->denied = denied;
}

const struct kueue_status *kueue_status_of(const struct entry *entry) {
    const struct mirror *mirror = facts_placed_mirror(entry);
    bool in_worker = mirror && mirror->kueue_status && mirror->facts.queued && !entry->workload->facts.suspended;
    return in_worker ? mirror->kueue_status : entry->workload->kueue.status;
}

void kueue_status_put(const struct engine *engine, const struct entry *entry, struct buffer *out, int64_t *since_ns) {
    const struct workload *w = entry->workload;
    const struct mirror *mirror = facts_placed_mirror(entry);
    const struct kueue_status *status = kueue_status_of(entry);
    bool in_worker = status && status != w->kueue.status;
    if (!status || (!in_worker && !w->facts.queued && !w->facts.check_rejected))
        return;
    char since[CLOCK_RFC3339_MAX] = "";
    *since_ns = status->since_ns;
    if (status->since_ns)
        clock_rfc3339(status->since_ns, since);
    if (!in_worker && *status->check) {
        buffer_printf(out, "never runs in queue %s: an admission check of the queue has rejected the workload: %s",
                      status->queue, status->check);
        return;
    }
    buffer_printf(out, "suspended by Kueue in %s%s%s, queue %s: %s",
                  in_worker ? engine->clusters[mirror->facts.cluster].name : "the management cluster",
                  *since ? " since " : "", since, status->queue, status->why);
}

static void seen(struct engine *engine, struct entry *entry, const struct json *object, bool had) {
    (void)engine;
    (void)had;
    if (entry->workload->generation != object_generation(object))
        entry->workload->kueue.state = KUEUE_UNKNOWN;
    entry->workload->kueue.names_queue = object_label(object, KUEUE_QUEUE_NAME);
}

static void forget(struct engine *engine, struct entry *entry) {
    (void)engine;
    free(TAKE(entry->workload->kueue.status));
}

const struct part part_kueue = {.name = "Kueue",
                                .events = PART_EVENT(EVENT_QUEUED),
                                .event = on_event,
                                .after = check,
                                .requests = PART_REQUEST(REQUEST_ACTIVE),
                                .answered = answered,
                                .seen = seen,
                                .workload_ends = forget};

#define MULTIKUEUE "kueue.x-k8s.io/multikueue"
#define CHECK_AGAIN_NS (60 * CLOCK_SECOND) // until the next check of MultiKueue's ownership
#define ABSENT_NS (10 * CLOCK_SECOND)      // until the next check of Kueue's absence

// Versions of kueue.x-k8s.io, newest first; a server without these has no Kueue.
static const char *const versions[] = {"v1beta2", "v1beta1"};
#define VERSIONS (sizeof versions / sizeof versions[0])

bool kueue_shares(const char *managed_by) {
    return text_equal(managed_by, MULTIKUEUE);
}

bool kueue_may_own(const char *managed_by, const struct json *object) {
    return kueue_shares(managed_by) && object_label(object, KUEUE_QUEUE_NAME);
}

static bool request_owner(struct engine *engine, struct entry *entry, const char *path, char **checks) {
    struct request_in_flight request = {.type = REQUEST_OWNER, .path = path, .offered = checks};
    return command_send_about(engine, entry, NULL, &request);
}

bool kueue_is_admitted(const struct entry *entry) {
    return entry->workload->kueue.state == KUEUE_ADMITTED;
}

void kueue_ask_again(struct entry *entry) {
    if (!kueue_is_admitted(entry))
        entry->workload->kueue.state = KUEUE_UNKNOWN;
}

bool kueue_permits(struct engine *engine, struct entry *entry) {
    struct workload *w = entry->workload;
    bool shared = kueue_shares(engine->kinds[entry->kind]->managed_by);
    if (w->kueue.state != KUEUE_UNKNOWN || (!shared && engine->settings.kueue_carried) || !w->kueue.names_queue)
        return true;
    if (w->kueue.status && !shared) { // the watch has shown the Workload
        w->kueue.state = KUEUE_ADMITTED;
        return true;
    }
    if (engine->kueue.absent_until_ns > engine->now.mono_ns)
        return true;
    if (w->facts.not_before_ns > engine->now.mono_ns || entry->busy)
        return false;
    char namespace_[254], path[512];
    entry_namespace(entry, namespace_);
    // Kueue labels a Workload with the uid of the job (constants.JobUIDLabel).
    snprintf(path, sizeof path,
             "/apis/kueue.x-k8s.io/%s/namespaces/%s/workloads?labelSelector=kueue.x-k8s.io%%2Fjob-uid%%3D%s",
             versions[w->kueue.asked % VERSIONS], namespace_, w->uid);
    request_owner(engine, entry, path, NULL);
    return false;
}

static const struct json *find_owner(const struct json *list, const char *uid) {
    for (const struct json *w = json_first(json_get(list, "items")); w; w = json_next(w))
        if (text_equal(json_string(json_get(object_controller(w), "uid")), uid))
            return w;
    return NULL;
}

// The name of the Workload and the names of the admission checks, each check between two spaces.
static char *checks_of(const struct json *workload) {
    AUTO_BUFFER(names, (size_t)64 << 10);
    buffer_printf(&names, "%s ", object_name(workload));
    const struct json *checks = json_path(workload, "status", "admissionChecks", NULL);
    for (const struct json *c = json_is(checks, JSON_ARRAY) ? json_first(checks) : NULL; c; c = json_next(c))
        buffer_printf(&names, "%s ", json_string_or(json_get(c, "name"), ""));
    return buffer_take(&names, NULL);
}

static void set_state(struct entry *entry, enum kueue kueue) {
    entry->workload->kueue.state = (uint8_t)kueue;
    entry->workload->failures = 0;
    entry->workload->facts.not_before_ns = 0;
}

// A Workload exists. If MultiKueue shares the managedBy value, the admission checks show whether MultiKueue handles
// the object.
static bool handle_owner(struct engine *engine, struct entry *entry, const struct json *workload) {
    const struct json *checks = json_path(workload, "status", "admissionChecks", NULL);
    if (!kueue_shares(engine->kinds[entry->kind]->managed_by) || !json_is(checks, JSON_ARRAY) || !json_first(checks)) {
        set_state(entry, KUEUE_ADMITTED);
        return true;
    }
    AUTO_TEXT names = checks_of(workload);
    char path[128];
    snprintf(path, sizeof path, "/apis/kueue.x-k8s.io/%s/admissionchecks",
             versions[entry->workload->kueue.asked % VERSIONS]);
    if (!names || !request_owner(engine, entry, path, &names))
        entry->workload->facts.not_before_ns = engine->now.mono_ns + CLOCK_SECOND;
    return true;
}

static bool is_of_multikueue(const struct json *check, const char *names) {
    AUTO_TEXT name = text_format(" %s ", object_name(check));
    return name && text_equal(json_string(json_path(check, "spec", "controllerName", NULL)), MULTIKUEUE) &&
           strstr(names, name);
}

static bool handle_checks(struct engine *engine, struct entry *entry, const struct json *list, const char *names) {
    const struct json *check = json_first(json_get(list, "items"));
    while (check && !is_of_multikueue(check, names))
        check = json_next(check);
    set_state(entry, check ? KUEUE_UNKNOWN : KUEUE_ADMITTED);
    if (!check)
        return true;
    report_event(engine, entry, false, "OwnedByKueue", "Place",
                 "left to MultiKueue: Kueue's Workload %.*s has MultiKueue's admission check %s",
                 (int)strcspn(names, " "), names, object_name(check));
    entry->workload->facts.not_before_ns = engine->now.mono_ns + CHECK_AGAIN_NS;
    return true;
}

// No Kueue, or no answer. An object that MultiKueue may handle waits; others keep their labels.
static bool handle_failure(struct engine *engine, struct entry *entry, const struct response *response, bool absent) {
    if (absent && ++entry->workload->kueue.asked < VERSIONS)
        return true; // the next version
    if (absent) {
        entry->workload->kueue.asked = 0;
        engine->kueue.absent_until_ns = engine->now.mono_ns + ABSENT_NS;
        set_state(entry, KUEUE_NONE);
        return true;
    }
    bool refused = reason_is_refusal(response->reason);
    if (!refused || kueue_shares(engine->kinds[entry->kind]->managed_by))
        return false;
    report_event(
        engine, entry, true, reason_text(response->reason), "Place",
        "cannot read whether Kueue admitted the workload, so the host carries the queue name to the mirror; allow "
        "the host to list workloads.kueue.x-k8s.io: %s",
        response->message);
    set_state(entry, KUEUE_NONE);
    return true;
}

bool kueue_answered(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                    const struct response *response) {
    bool absent = response->reason == REASON_NOT_FOUND || response->reason == REASON_KIND_NOT_FOUND;
    bool list = response->reason == REASON_OK && json_is(json_get(response->value, "items"), JSON_ARRAY);
    if (request->record && (list || absent))
        return handle_checks(engine, entry, list ? response->value : NULL, request->record);
    if (!list)
        return handle_failure(engine, entry, response, absent);
    const struct json *workload = find_owner(response->value, entry->workload->uid);
    if (workload)
        return handle_owner(engine, entry, workload);
    set_state(entry, KUEUE_NONE);
    return true;
}
