// SPDX-License-Identifier: Apache-2.0
// Deletes a mirror, takes off its finalizer, and reads it.
#include "core/engine/act.h"

#include "core/engine/facts.h"
#include "core/engine/mirror/finalizer.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/queue.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/unstarted/unstarted.h"

#include <stdio.h>
#include <string.h>

// It runs, and is deleted only to be placed elsewhere.
static bool is_drained(const struct entry *entry, const struct mirror *mirror) {
    return entry->workload->facts.exists && !entry->workload->facts.finished && !entry->workload->facts.being_deleted &&
           mirror == facts_placed_mirror(entry);
}

// Why a mirror is deleted; NULL: its workload has finished.
static const char *stale_because(const struct entry *entry, const struct mirror *mirror) {
    if (!entry->workload->facts.exists)
        return "its workload is gone";
    if (entry->workload->facts.being_deleted)
        return "its workload is being deleted";
    if (!mirror->facts.of_workload)
        return "it belongs to an earlier workload of this name";
    if (is_drained(entry, mirror))
        return "the worker is drained";
    return mirror == facts_placed_mirror(entry) ? NULL : "it does not belong to the current attempt";
}

static void report_deletion(struct engine *engine, struct entry *entry, const struct mirror *mirror) {
    const char *stale = stale_because(entry, mirror);
    if (!mirror->was_of_workload)
        report_log(engine, LOG_WARN, mirror->facts.cluster, entry->kind,
                   "orphan %s (uid %s) is deleted: its workload %s does not exist", entry->key, mirror->uid,
                   mirror->workload_uid);
    else if (mirror->facts.of_workload && mirror->facts.attempt > entry->workload->facts.attempt &&
             entry->workload->facts.cluster != DECIDE_UNKNOWN_CLUSTER)
        report_event(
            engine, entry, true, "SecondMirror", "DeleteMirror",
            "two mirrors exist: that of attempt %u in cluster %s is deleted, that of attempt %u in cluster %s stays",
            mirror->facts.attempt, engine->clusters[mirror->facts.cluster].name, entry->workload->facts.attempt,
            engine->clusters[entry->workload->facts.cluster].name);
    else if (is_drained(entry, mirror))
        report_event(engine, entry, false, "Drained", "DeleteMirror",
                     "cluster %s is drained: the mirror of attempt %u is deleted there, and %s",
                     engine->clusters[mirror->facts.cluster].name, entry->workload->facts.attempt,
                     entry->workload->facts.suspended ? "none is created before it is resumed"
                                                      : "another one is created in another cluster once it is gone");
    else if (stale)
        report_mirror(engine, LOG_INFO, entry, mirror, "the mirror of attempt %u (uid %s) is deleted: %s",
                      mirror->facts.attempt, mirror->uid, stale);
}

// Rules 3 and 4: the uid is a precondition; of one that is deleted because it runs, also what was seen of it: it may
// have finished since, and would run again.
bool act_delete(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    char body[320], version[64] = "";
    const char *seen = doc_version(&engine->store, &mirror->doc);
    if (is_drained(entry, mirror) && strcmp(seen, STORE_VERSION_NONE) != 0)
        snprintf(version, sizeof version, ",\"resourceVersion\":\"%.40s\"", seen);
    int len = snprintf(body, sizeof body,
                       "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":\"Background\","
                       "\"preconditions\":{\"uid\":\"%s\"%s}}",
                       mirror->uid, version);
    mirror->facts.busy = command_send(engine, entry,
                                      &(struct command_spec){.type = REQUEST_DELETE,
                                                             .verb = VERB_DELETE,
                                                             .cluster = mirror->facts.cluster,
                                                             .body = body,
                                                             .body_len = (size_t)len});
    if (!mirror->facts.busy)
        queue_retry_soon(engine, &mirror->facts.not_before_ns);
    else if (!entry->workload->facts.exists && mirror->failures == 0)
        engine->stats.orphans++;
    if (mirror->facts.busy && is_drained(entry, mirror))
        entry->workload->facts.drained_attempt = entry->workload->facts.attempt;
    if (mirror->facts.busy && mirror->failures == 0)
        report_deletion(engine, entry, mirror);
    return true;
}

// Rule 2: only in the state that was seen, in which it had not started.
bool act_withdraw(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    AUTO_BUFFER(body, 512);
    if (!unstarted_withdraw(engine, entry, mirror, &body)) {
        queue_retry_soon(engine, &mirror->facts.not_before_ns);
        return true;
    }
    mirror->facts.busy = command_send(engine, entry,
                                      &(struct command_spec){.type = REQUEST_DELETE,
                                                             .verb = VERB_DELETE,
                                                             .cluster = mirror->facts.cluster,
                                                             .body = body.data,
                                                             .body_len = body.len,
                                                             .withdraws = true});
    if (!mirror->facts.busy)
        queue_retry_soon(engine, &mirror->facts.not_before_ns);
    else
        unstarted_withdrawn(engine, entry, mirror);
    return true;
}

bool act_verify(struct engine *engine, struct entry *entry, size_t cluster) {
    struct mirror *mirror = entry_make_mirror(entry, cluster);
    if (!mirror) {
        queue_wake(engine, entry, engine->now.mono_ns + CLOCK_SECOND);
        return false;
    }
    bool earlier = entry->workload->facts.cluster == cluster &&
                   entry->workload->facts.clean_attempt != entry->workload->facts.attempt;
    if (earlier && mirror->failures == 0 && mirror->facts.unanswered_ns == 0) // as for a create
        mirror->facts.unanswered_ns = engine->now.mono_ns;
    mirror->facts.busy = command_send(
        engine, entry,
        &(struct command_spec){.type = REQUEST_VERIFY, .verb = VERB_GET, .cluster = mirror->facts.cluster});
    if (!mirror->facts.busy)
        queue_retry_soon(engine, &mirror->facts.not_before_ns);
    return true;
}

bool act_release(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    const struct json *object = doc_tree(&engine->store, &mirror->doc);
    AUTO_JSON patch = object ? finalizer_patch_off(object) : NULL;
    struct command_spec spec = {.type = REQUEST_RELEASE,
                                .verb = VERB_MERGE_PATCH,
                                .cluster = mirror->facts.cluster,
                                .attempt = entry->workload->facts.attempt};
    if (!patch || !command_send_patch(engine, entry, mirror, patch, spec))
        queue_retry_soon(engine, &mirror->facts.not_before_ns);
    return true;
}
