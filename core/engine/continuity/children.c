// SPDX-License-Identifier: Apache-2.0
#include "core/engine/continuity/children.h"

#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/continuity/children_kept.h"
#include "core/engine/continuity/children_state.h"
#include "core/engine/continuity/refusal.h"
#include "core/engine/engine_internal.h"
#include "core/engine/mirror/mirror_parts.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/kube/object/object.h"

#define MISSING_NS (5 * CLOCK_SECOND) // wait for children that depend on others
#define AGAIN_NS (500 * CLOCK_MS)     // between lists meanwhile
#define RESETS_MAX 2                  // statuses that the worker accepted and did not keep
#define CHANGED_MAX 3                 // lists before a planned move, while the mirror changes all the time
#define KEPT_NS (10 * CLOCK_SECOND)   // from a list to the move

static struct children *state_of(struct mirror *mirror) {
    if (!mirror->progress.children)
        mirror->progress.children = calloc(1, sizeof *mirror->progress.children);
    return mirror->progress.children;
}

static const wharf_child *row_of(const struct engine *engine, const struct entry *entry, size_t row) {
    const wharf_child *children = engine->kinds[entry->kind]->abi.children;
    return children && children[row].plural ? &children[row] : NULL;
}

static struct json *kept_of_workload(const struct json *workload) {
    return kept_read(object_annotation(workload, MARK_PROGRESS), object_uid(workload));
}

// Calls of the adapter ------------------------------------------------------------------------------------------------

// wharf_kind.child_progress for the new child, NULL: before its creation; `former` has the workload. *object NULL:
// there is nothing to give.
static wharf_result find_lack(struct adapter_call *call, struct json *former, const struct json *kept,
                              const struct json *child, struct json **object) {
    AUTO_JSON made = json_new_object();
    bool ok = made;
    for (const struct json *m = json_first(kept); m && ok; m = json_next(m))
        ok = strcmp(json_key(m), "workload") == 0 || json_set(former, json_key(m), json_copy(m));
    wharf_result result = ok ? adapter_child_progress(call, former, child, made) : WHARF_RETRY;
    for (const struct json *m = json_first(kept); m; m = json_next(m))
        if (strcmp(json_key(m), "workload") != 0)
            json_remove(former, json_key(m));
    if (result == WHARF_OK && json_size(made) > 0)
        *object = TAKE(made);
    return result == WHARF_REFUSED ? WHARF_OK : result; // nothing for this child
}

static struct json *former_of(const struct json *workload) {
    AUTO_JSON former = json_new_object();
    return json_set(former, "workload", json_copy(workload)) ? TAKE(former) : NULL;
}

static bool may_lack(struct adapter_call *call, struct json *former, const struct json *kept) {
    AUTO_JSON object = NULL;
    return find_lack(call, former, kept, NULL, &object) != WHARF_OK || object;
}

bool children_need(struct engine *engine, struct entry *entry, const struct mirror_context *context) {
    if (!row_of(engine, entry, 0))
        return false;
    AUTO_JSON kept = kept_of_workload(context->workload);
    AUTO_JSON former = former_of(context->workload);
    bool need = former && may_lack(context->call, former, NULL);
    for (const struct json *map = json_first(kept); map && former; map = json_next(map))
        for (const struct json *one = json_first(map); one && !need; one = json_next(one))
            need = may_lack(context->call, former, one);
    return need;
}

// The list ------------------------------------------------------------------------------------------------------------

static bool send_list(struct engine *engine, struct entry *entry, struct mirror *mirror, const wharf_child *child,
                      bool keeps) {
    char space[254];
    entry_namespace(entry, space);
    const struct resource resource = {
        .group = child->group, .version = child->version, .plural = child->plural, .cluster_scoped = *space == '\0'};
    AUTO_BUFFER(path, 2048);
    struct error *error = resource_path(&resource, space, NULL, NULL, &path);
    buffer_text(&path, "?labelSelector=");
    for (const char *at = child->label; *at; at++)
        (void)(*at == '/' ? buffer_text(&path, "%2F") : buffer_append(&path, at, 1));
    buffer_printf(&path, "%%3D%s", entry_name(entry));
    struct request_in_flight request = {.type = REQUEST_CHILDREN, .path = path.data, .keeps = keeps};
    bool sent = !error && !path.failed && command_send_about(engine, entry, mirror, &request);
    error_free(error);
    if (!sent)
        queue_retry_soon(engine, &mirror->facts.not_before_ns);
    return sent;
}

// Made for this mirror: earlier ones of the same name may still exist.
static bool is_of_mirror(const struct mirror *mirror, const struct json *child) {
    const struct json *owner = object_controller(child);
    return owner && text_equal(json_string(json_get(owner, "uid")), mirror->uid) &&
           !json_path(child, "metadata", "deletionTimestamp", NULL);
}

static uint64_t version_hash(struct engine *engine, struct mirror *mirror) {
    return text_hash(TEXT_HASH, doc_version(&engine->store, &mirror->doc));
}

// Giving --------------------------------------------------------------------------------------------------------------

static bool add_patch(struct children *children, const struct json *child, uint32_t row, struct json *status) {
    AUTO_JSON item = json_new_object();
    AUTO_JSON patch = json_new_object();
    if (!children->patches)
        children->patches = json_new_array();
    return mirror_set_precondition(patch, child, true) && json_set(patch, "status", status) &&
           json_set(item, "name", json_new_string(object_name(child))) && json_set(item, "row", json_new_int64(row)) &&
           json_set(item, "patch", TAKE(patch)) && json_append(children->patches, TAKE(item));
}

// *status: what the child lacks, NULL: nothing.
static wharf_result lack_of(struct adapter_call *call, struct json *former, const struct json *kept,
                            const struct json *child, struct json **status) {
    AUTO_JSON object = NULL;
    wharf_result result = find_lack(call, former, kept, child, &object);
    if (json_size(json_get(object, "status")) > 0)
        *status = json_detach(object, "status");
    return result;
}

static bool note_missing(struct children *children, const struct json *kept, const struct json *items) {
    struct json_index index = {0};
    if (!kept)
        return true;
    AUTO_JSON names = json_new_array();
    for (const struct json *i = json_first(items); i; i = json_next(i)) {
        AUTO_JSON name = json_new_object();
        if (!json_set(name, "name", json_new_string(object_name(i))) || !json_append(names, TAKE(name)))
            return false;
    }
    if (!json_index_init(&index, names, "name"))
        return false;
    for (const struct json *one = json_first(kept); one; one = json_next(one))
        children->missing |= !json_index_find(&index, json_key(one));
    json_index_free(&index);
    return true;
}

// Compares the children in a list with what they should have.
static wharf_result compare(struct engine *engine, struct entry *entry, struct mirror *mirror,
                            const struct json *items) {
    struct children *children = mirror->progress.children;
    const wharf_child *row = row_of(engine, entry, children->row);
    AUTO_CALL call;
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    const struct json *workload = doc_tree(&engine->store, &entry->workload->doc);
    AUTO_JSON kept = kept_of_workload(workload);
    AUTO_JSON former = former_of(workload);
    wharf_result result = former ? WHARF_OK : WHARF_RETRY;
    for (const struct json *i = json_first(items); i && result == WHARF_OK; i = json_next(i)) {
        AUTO_JSON status = NULL;
        if (!is_of_mirror(mirror, i))
            continue;
        result = lack_of(&call, former, kept_of(kept, row->plural, object_name(i)), i, &status);
        if (status && !add_patch(children, i, children->row, TAKE(status)))
            result = WHARF_RETRY;
    }
    if (result == WHARF_OK && !note_missing(children, json_get(kept, row->plural), items))
        result = WHARF_RETRY;
    return result;
}

static void begin_again(struct children *children) {
    json_free(TAKE(children->patches));
    children->row = 0;
    children->missing = false;
}

static void on_list(struct engine *engine, struct entry *entry, struct mirror *mirror, const struct json *items) {
    struct children *children = mirror->progress.children;
    mirror->facts.update_due = true;
    if (compare(engine, entry, mirror, items) != WHARF_OK) {
        begin_again(children);
        mirror->facts.update_at_ns = engine->now.mono_ns + CLOCK_SECOND;
        return;
    }
    children->row++;
}

static bool send_patch(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    struct children *children = mirror->progress.children;
    struct json *first = json_first(children->patches);
    struct request_in_flight request = {.type = REQUEST_CHILD,
                                        .path = json_string(json_get(first, "name")),
                                        .source = (uint32_t)json_int64(json_get(first, "row"), 0)};
    return command_send_patch(engine, entry, mirror, json_get(first, "patch"), request);
}

// Whether the controller may still make children that have progress: those that depend on others.
static bool waits_for_more(const struct engine *engine, struct children *children, struct mirror *mirror) {
    int64_t now_ns = engine->now.mono_ns;
    if (!children->missing)
        return false;
    if (children->missing_ns == 0)
        children->missing_ns = now_ns + MISSING_NS;
    if (children->missing_ns <= now_ns)
        return false;
    begin_again(children);
    mirror->facts.update_due = true;
    mirror->facts.update_at_ns = clock_earlier(now_ns + AGAIN_NS, children->missing_ns);
    return true;
}

enum children_step children_step(struct engine *engine, struct entry *entry, struct mirror *mirror,
                                 const struct mirror_context *context) {
    if (!row_of(engine, entry, 0))
        return CHILDREN_DONE;
    struct children *children = state_of(mirror);
    const struct json *status = json_get(context->mirror, "status");
    if (json_size(status) == 0 || mirror->facts.busy) // the controller makes the children first
        return CHILDREN_WAIT;
    const wharf_child *row = children ? row_of(engine, entry, children->row) : NULL;
    bool sent = true;
    if (!children)
        sent = false;
    else if (row)
        sent = send_list(engine, entry, mirror, row, false);
    else if (json_size(children->patches) > 0)
        sent = send_patch(engine, entry, mirror);
    else
        return waits_for_more(engine, children, mirror) ? CHILDREN_WAIT : CHILDREN_DONE;
    if (!sent) {
        mirror->facts.update_due = true;
        mirror->facts.update_at_ns = engine->now.mono_ns + CLOCK_SECOND;
    }
    return CHILDREN_WAIT;
}

// What the child of an answer still lacks: *status.
static wharf_result find_rest(struct engine *engine, struct entry *entry, const wharf_child *row,
                              const struct json *child, struct json **status) {
    AUTO_CALL call;
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    const struct json *workload = doc_tree(&engine->store, &entry->workload->doc);
    AUTO_JSON kept = kept_of_workload(workload);
    AUTO_JSON former = former_of(workload);
    return former ? lack_of(&call, former, kept_of(kept, row->plural, object_name(child)), child, status) : WHARF_RETRY;
}

static void on_child(struct engine *engine, struct entry *entry, struct mirror *mirror,
                     const struct request_in_flight *request, struct response *response) {
    struct children *children = mirror->progress.children;
    mirror->facts.update_due = true;
    if (response->reason != REASON_OK) {
        begin_again(children); // the child may be another one
        if (!continuity_rejected(engine, entry, mirror, response))
            mirror->facts.not_before_ns = answer_next_try_ns(engine, response, &mirror->failures);
        return;
    }
    mirror->failures = 0;
    AUTO_JSON rest = NULL;
    const struct json *child = response->object ? response->object->value : NULL;
    if (child && find_rest(engine, entry, row_of(engine, entry, request->source), child, &rest) != WHARF_OK) {
        begin_again(children);
        mirror->facts.update_at_ns = engine->now.mono_ns + CLOCK_SECOND;
        return;
    }
    if (rest) {
        begin_again(children);
        if (++children->resets >= RESETS_MAX)
            progress_refuse(mirror,
                            "the worker accepts the status of %s and does not keep it: a controller or a policy there "
                            "resets it",
                            object_name(child));
        return;
    }
    json_remove_child(children->patches, json_first(children->patches));
    if (children->missing) // others may follow
        children->missing_ns = engine->now.mono_ns + MISSING_NS;
}

// Keeping -------------------------------------------------------------------------------------------------------------

// Adds what to keep of the children in a list. Those that do not exist keep what they had.
static wharf_result keep_all(struct engine *engine, struct entry *entry, struct mirror *mirror, const wharf_child *row,
                             const struct json *items, struct json *kept) {
    AUTO_CALL call;
    call_begin(engine, entry, WHARF_MIRROR_PRESENT, &call);
    const struct json *former = doc_tree(&engine->store, &mirror->doc);
    for (const struct json *i = json_first(items); i; i = json_next(i)) {
        AUTO_JSON object = json_new_object();
        if (!is_of_mirror(mirror, i))
            continue;
        wharf_result result = object && former ? adapter_child_progress(&call, i, former, object) : WHARF_RETRY;
        if (result == WHARF_RETRY)
            return result;
        if (result == WHARF_OK && json_size(object) > 0 && !kept_add(kept, row->plural, object_name(i), TAKE(object)))
            return WHARF_RETRY;
    }
    return WHARF_OK;
}

// Whether the workload has what is to be kept.
static bool is_saved(struct engine *engine, struct entry *entry, const char *text) {
    AUTO_JSON kept = kept_read(text, entry->workload->uid);
    AUTO_JSON there = kept_of_workload(doc_tree(&engine->store, &entry->workload->doc));
    return json_size(kept) == 0 || json_equal(kept, there);
}

static void keep_list(struct engine *engine, struct entry *entry, struct mirror *mirror, const struct json *items,
                      uint64_t version) {
    struct children *children = mirror->progress.children;
    const struct json *workload = doc_tree(&engine->store, &entry->workload->doc);
    size_t dropped = 0;
    AUTO_JSON kept = children->kept ? kept_read(children->kept, entry->workload->uid) : kept_of_workload(workload);
    if (!kept)
        kept = json_new_object();
    wharf_result result =
        kept ? keep_all(engine, entry, mirror, row_of(engine, entry, children->row), items, kept) : WHARF_RETRY;
    AUTO_TEXT text = result == WHARF_OK ? kept_print(kept, entry->workload->uid, KEPT_MAX, &dropped) : NULL;
    if (!text) {
        mirror->facts.not_before_ns = engine->now.mono_ns + CLOCK_SECOND;
        return;
    }
    free(children->kept);
    children->kept = TAKE(text);
    if (dropped > 0)
        report_event(engine, entry, true, "ProgressRefused", "KeepProgress",
                     "%zu children of the mirror in cluster %s start from nothing in the next attempt: the progress of "
                     "all would take more than %zu bytes",
                     dropped, mirror_cluster(engine, mirror), KEPT_MAX);
    if (children->row == 0)
        children->version = version;
    if (row_of(engine, entry, ++children->row))
        return;
    children->listing = false;
    children->kept_ns = engine->now.mono_ns;
    children->lists++;
}

static void send_keep(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    struct workload *w = entry->workload;
    AUTO_JSON patch = json_new_object();
    AUTO_JSON annotations = json_new_object();
    int64_t at_ns = clock_later(w->facts.not_before_ns,
                                pacing_has_spare(engine, ENGINE_MANAGEMENT) ? 0 : engine->now.mono_ns + 100 * CLOCK_MS);
    if (entry->busy || at_ns > engine->now.mono_ns) {
        mirror->facts.not_before_ns = clock_later(at_ns, engine->now.mono_ns + CLOCK_MS);
        return;
    }
    bool ok = mirror_set_precondition(patch, doc_tree(&engine->store, &w->doc), true) &&
              json_set(annotations, MARK_PROGRESS, json_new_string(mirror->progress.children->kept)) &&
              json_set(json_get(patch, "metadata"), "annotations", TAKE(annotations));
    struct request_in_flight request = {.type = REQUEST_KEEP, .source = mirror->facts.cluster};
    if (!ok || !command_send_patch(engine, entry, NULL, patch, request))
        mirror->facts.not_before_ns = engine->now.mono_ns + CLOCK_SECOND;
}

bool children_are_saved(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    if (!row_of(engine, entry, 0) || mirror->facts.owed ||
        !continuity_is_on(engine, entry, doc_tree(&engine->store, &entry->workload->doc)))
        return true;
    struct children *children = state_of(mirror);
    if (!children) {
        queue_retry_soon(engine, &mirror->facts.not_before_ns);
        return false;
    }
    // The children change while the mirror does not.
    bool fresh = children->kept_ns && engine->now.mono_ns - children->kept_ns < KEPT_NS;
    bool as_seen = children->version == version_hash(engine, mirror) || children->lists >= CHANGED_MAX;
    if (!children->listing && fresh && as_seen) {
        children->saved |= is_saved(engine, entry, children->kept);
        if (!children->saved)
            send_keep(engine, entry, mirror);
        return children->saved;
    }
    if (!children->listing) {
        begin_again(children);
        free(TAKE(children->kept));
        children->lists = fresh ? children->lists : 0;
        children->saved = false;
        children->listing = true;
    }
    (void)send_list(engine, entry, mirror, row_of(engine, entry, children->row), true);
    return false;
}

// Without a right the move goes on.
static void not_listed(struct engine *engine, struct entry *entry, struct mirror *mirror,
                       const struct request_in_flight *request, const struct response *response) {
    struct children *children = mirror->progress.children;
    mirror->facts.update_due |= !request->keeps;
    if (!request->keeps && continuity_rejected(engine, entry, mirror, response))
        return;
    mirror->facts.not_before_ns = answer_next_try_ns(engine, response, &mirror->failures);
    if (!request->keeps || !reason_is_permanent(response->reason))
        return;
    mirror->facts.not_before_ns = 0;
    children->saved = true;
    children->listing = false;
    children->kept_ns = engine->now.mono_ns;
    children->lists = CHANGED_MAX;
    report_event(
        engine, entry, true, "ProgressRefused", "KeepProgress",
        "the children of the mirror in cluster %s start from nothing in the next attempt, since the host cannot "
        "list them: %s",
        mirror_cluster(engine, mirror), response->message);
}

// See answer_of_workload, which handled the answer as that of any write.
static void on_kept(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                    const struct response *response) {
    struct mirror *mirror = entry_mirror(entry, request->source);
    struct children *children = mirror ? mirror->progress.children : NULL;
    bool rejected = reason_is_permanent(response->reason);
    if (!children || !entry->workload->facts.exists || (!rejected && response->reason != REASON_OK))
        return;
    children->saved = true; // the move goes on, even if a policy removed the annotation
    if (!rejected)
        return;
    report_event(engine, entry, true, "ProgressRefused", "KeepProgress",
                 "the children of the mirror in cluster %s start from nothing in the next attempt, since the "
                 "management cluster rejected their progress: %s",
                 mirror_cluster(engine, mirror), response->message);
}

static void answered(struct engine *engine, struct entry *entry, struct request_in_flight *request,
                     struct response *response) {
    struct mirror *mirror = request->type == REQUEST_KEEP ? NULL : entry_mirror(entry, request->cluster);
    if (request->type == REQUEST_KEEP) {
        on_kept(engine, entry, request, response);
        return;
    }
    if (!mirror)
        return;
    mirror->facts.busy = false;
    mirror->outdated = false;
    if (!mirror->progress.children) // another mirror
        return;
    const struct json *items = json_get(response->value, "items");
    bool listed = response->reason == REASON_OK && json_is(items, JSON_ARRAY);
    if (request->type == REQUEST_CHILD)
        on_child(engine, entry, mirror, request, response);
    else if (!listed)
        not_listed(engine, entry, mirror, request, response);
    else if (request->keeps)
        keep_list(engine, entry, mirror, items, request->known);
    else
        on_list(engine, entry, mirror, items);
}

const struct part part_children = {.name = "children",
                                   .requests = PART_REQUEST(REQUEST_CHILDREN) | PART_REQUEST(REQUEST_CHILD) |
                                               PART_REQUEST(REQUEST_KEEP),
                                   .answered = answered};
