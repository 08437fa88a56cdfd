// SPDX-License-Identifier: Apache-2.0
#include "core/engine/continuity/continuity.h"

#include "core/adapter/phase.h"
#include "core/base/memory.h"
#include "core/engine/continuity/children.h"
#include "core/engine/continuity/refusal.h"
#include "core/engine/engine_internal.h"
#include "core/engine/kueue/kueue.h"
#include "core/engine/mirror/mirror_parts.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/status/status.h"

#define ACCEPTED_MAX 2    // patches that the worker accepted and did not keep
#define KUEUE_WAITS_MAX 5 // seconds, until the worker's Kueue has certainly seen a mirror

// What the mirror lacks, as an object with /status; *lacks NULL: nothing.
static wharf_result find_lack(const struct mirror_context *context, struct json **lacks) {
    if (!context->kind->abi.progress)
        return WHARF_OK;
    AUTO_JSON object = json_new_object();
    wharf_result result =
        object ? adapter_progress(context->call, context->workload, context->mirror, object) : WHARF_RETRY;
    if (result == WHARF_OK && json_size(json_get(object, "status")) > 0)
        *lacks = json_detach(object, "status");
    return result;
}

// Rule P4.
static void report_refusal(struct engine *engine, struct entry *entry, size_t cluster, const char *why) {
    report_event(engine, entry, true, "ProgressRefused", "GiveProgress",
                 "attempt %u in cluster %s starts from nothing, since the mirror there did not get the progress of "
                 "earlier attempts: %s",
                 entry->workload->facts.attempt, engine->clusters[cluster].name, why);
}

// The adapter's reason, which is not for the call that follows.
static const char *refusal_of(struct adapter_call *call) {
    const char *why = adapter_answer_message(call, "the adapter refused without a reason");
    call->answer.reason = call->answer.message = NULL;
    return why;
}

wharf_result continuity_needs(struct engine *engine, struct entry *entry, struct mirror_context *context) {
    // A first attempt is made again where its mirror went unseen.
    bool begun = json_size(json_get(context->workload, "status")) > 0;
    if (!begun || !continuity_is_on(engine, entry, context->workload))
        return WHARF_OK;
    AUTO_JSON lacks = NULL;
    wharf_result result = find_lack(context, &lacks);
    if (result == WHARF_OK && (lacks || children_need(engine, entry, context)))
        context->progress = PROGRESS_OWED;
    if (result != WHARF_REFUSED)
        return result;
    context->progress = PROGRESS_REFUSED;
    report_refusal(engine, entry, facts_placed_cluster(entry), refusal_of(context->call));
    return WHARF_OK;
}

void continuity_accepted(struct mirror *mirror) {
    mirror->progress.failures = 0;
    mirror->progress.accepted++;
}

// Rule P2: whoever resumed the mirror, it may have run.
static bool may_have_run(const struct mirror_context *context, const struct mirror *mirror) {
    return !phase_suspend_asked(&context->kind->abi, context->mirror) || mirror->phase == WHARF_ACTIVE ||
           object_generation(context->mirror) > 1;
}

// Takes `status`.
static void send(struct engine *engine, struct entry *entry, struct mirror *mirror, const struct json *object,
                 struct json *status) {
    AUTO_JSON body = json_new_object();
    bool made = json_set(body, "status", status) && mirror_set_precondition(body, object, true);
    if (made && command_send_patch(engine, entry, mirror, body, (struct request_in_flight){.type = REQUEST_PROGRESS}))
        return;
    queue_retry_soon(engine, &mirror->facts.not_before_ns);
    mirror->facts.update_due = true;
}

// The mirror has its progress, or never gets it. A worker's Kueue resumes a mirror of its queues itself: the host waits
// for Kueue's Workload, since a worker without Kueue has none.
static bool settle(const struct engine *engine, struct mirror *mirror, struct mirror_context *context,
                   enum progress_mark mark) {
    bool suspended = phase_suspend_asked(&context->kind->abi, context->mirror);
    bool queue = suspended && object_label(context->mirror, KUEUE_QUEUE_NAME);
    if (queue && !kueue_status_resumes(mirror) && mirror->progress.waits < KUEUE_WAITS_MAX) {
        mirror->progress.waits++;
        mirror->facts.update_due = true;
        mirror->facts.update_at_ns = engine->now.mono_ns + CLOCK_SECOND;
        return false;
    }
    context->suspended_by_kueue |= queue && kueue_status_resumes(mirror);
    context->progress = mark;
    mirror->progress.settled = (uint8_t)mark;
    return true;
}

static bool settle_with_children(struct engine *engine, struct entry *entry, struct mirror *mirror,
                                 struct mirror_context *context) {
    bool late = may_have_run(context, mirror);
    if (late && context->kind->abi.children)
        progress_refuse(mirror, "another writer resumed or changed the mirror before its children had the progress");
    enum children_step step = late ? CHILDREN_DONE : children_step(engine, entry, mirror, context);
    if (step == CHILDREN_WAIT)
        return false;
    return settle(engine, mirror, context, mirror->progress.refused ? PROGRESS_REFUSED : PROGRESS_GIVEN);
}

bool continuity_step(struct engine *engine, struct entry *entry, struct mirror *mirror,
                     struct mirror_context *context) {
    struct mirror_progress *progress = &mirror->progress;
    bool owed = mirror->facts.owed || mirror_progress(context->mirror) == PROGRESS_OWED;
    if (!context->workload || !context->mirror || !owed)
        return true;
    bool runs = !phase_suspend_asked(&context->kind->abi, context->mirror);
    if (runs && progress->settled != PROGRESS_NONE) // another writer took back the mark
        return settle(engine, mirror, context, (enum progress_mark)progress->settled);
    if (progress->refused || !continuity_is_on(engine, entry, context->workload))
        return settle(engine, mirror, context, PROGRESS_REFUSED);
    AUTO_JSON lacks = NULL;
    mirror->facts.update_due = false; // until the mirror or the workload changes
    wharf_result result = find_lack(context, &lacks);
    if (result == WHARF_RETRY) {
        (void)call_succeeded(engine, entry, result, context->call, "GiveProgress", &mirror->denials,
                             &mirror->facts.update_at_ns);
        mirror->facts.update_due = true;
        return false;
    }
    if (result == WHARF_OK && !lacks)
        return settle_with_children(engine, entry, mirror, context);
    if (result != WHARF_OK)
        progress_refuse(mirror, "%s", refusal_of(context->call));
    else if (may_have_run(context, mirror))
        progress_refuse(mirror, "another writer resumed or changed the mirror before it had the progress");
    else if (progress->accepted >= ACCEPTED_MAX)
        progress_refuse(mirror, "the worker accepts the status and does not keep it: a controller or a policy there "
                                "resets it");
    if (progress->refused)
        return settle(engine, mirror, context, PROGRESS_REFUSED);
    send(engine, entry, mirror, context->mirror, TAKE(lacks));
    return false;
}

void continuity_read(const struct engine *engine, struct mirror *mirror, const struct json *object) {
    bool was = mirror->facts.owed;
    enum progress_mark mark = mirror_progress(object);
    uint32_t status = was || mark == PROGRESS_OWED || mirror->progress.status
                          ? repeat_fold(json_hash(json_get(object, "status")))
                          : 0;
    // Another writer may remove the mark.
    mirror->facts.owed = !mirror->facts.finished && (mark == PROGRESS_OWED || (was && mark == PROGRESS_NONE));
    mirror->facts.untouched =
        mark == PROGRESS_GIVEN && !mirror->facts.suspended && status && status == mirror->progress.status;
    mirror->progress.status = mirror->facts.owed || mirror->facts.untouched ? status : 0;
    if (mirror->facts.owed)
        mirror->facts.update_due = true;
    if (was && !mirror->facts.owed && mirror->facts.unstarted_since_ns) // the wait for a start begins again
        mirror->facts.unstarted_since_ns = engine->now.mono_ns;
}

// Once for each value.
static void note_ignored(struct engine *engine, struct entry *entry, const struct json *object, bool had) {
    (void)engine;
    struct workload_continuity *continuity = &entry->workload->continuity;
    struct values_ignored ignored;
    uint32_t hash = 0;
    for (size_t i = 0; values_next_ignored(object, &i, &ignored);)
        hash ^= decide_name_hash(ignored.value) + (uint32_t)i;
    continuity->ignored_unreported = hash && (continuity->ignored_unreported || !had || hash != continuity->ignored);
    continuity->ignored = hash;
}

static void report_ignored(struct engine *engine, struct entry *entry) {
    const struct json *object = doc_tree(&engine->store, &entry->workload->doc);
    struct values_ignored ignored;
    entry->workload->continuity.ignored_unreported = false;
    for (size_t i = 0; values_next_ignored(object, &i, &ignored);)
        report_event(engine, entry, true, "InvalidAnnotation", "Place",
                     "annotation %s is ignored: found \"%.60s\", expected \"%s\"", ignored.key, ignored.value,
                     ignored.expected);
}

// Rule P4: tells a refusal once the mirror has the mark.
static void tell(struct engine *engine, struct entry *entry, const struct action *action) {
    (void)action;
    const struct workload_facts *w = &entry->workload->facts;
    if (entry->workload->continuity.ignored_unreported && w->exists && !w->finished && !w->being_deleted)
        report_ignored(engine, entry);
    struct mirror *mirror = facts_placed_mirror(entry);
    if (!mirror || !mirror->progress.problem || mirror->facts.owed)
        return;
    report_refusal(engine, entry, mirror->facts.cluster, mirror->progress.problem);
    free(TAKE(mirror->progress.problem));
}

// The first status of the mirror that this process resumed: the worker's controller may have started from nothing.
static void check_kept(struct engine *engine, struct entry *entry) {
    struct mirror *mirror = entry->workload->facts.exists ? facts_placed_mirror(entry) : NULL;
    if (!mirror || mirror->progress.settled != PROGRESS_GIVEN || mirror->progress.checked || mirror->facts.owed ||
        mirror->facts.unread || (mirror->phase != WHARF_ACTIVE && !mirror->facts.finished) || aside_waits(entry))
        return;
    AUTO_CALL call;
    struct mirror_context context = call_begin_for_mirror(engine, entry, mirror, WHARF_MIRROR_PRESENT, &call);
    AUTO_JSON lacks = NULL;
    if (!context.workload || !context.mirror || find_lack(&context, &lacks) == WHARF_RETRY)
        return;
    mirror->progress.checked = true;
    if (lacks)
        report_event(engine, entry, true, "ProgressLost", "GiveProgress",
                     "attempt %u in cluster %s had the progress of earlier attempts when it was resumed, and no longer "
                     "has it: a controller or a policy there reset the status, and the work runs again",
                     mirror->facts.attempt, mirror_cluster(engine, mirror));
}

const struct part part_continuity = {.name = "progress", .seen = note_ignored, .before = check_kept, .after = tell};
