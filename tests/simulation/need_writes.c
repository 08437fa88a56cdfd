// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/need_state.h"

#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"

#include <stdlib.h>
#include <string.h>

// Writes ------------------------------------------------------------------------------------------------------

// The number of a content; 0: it is not one of the sources' of that name.
static unsigned content_of(const struct trial *trial, size_t index, const struct json *object) {
    const struct thing *thing = needs_at(trial, index);
    AUTO_BUFFER(decoded, 1 << 16);
    const char *text =
        json_string_or(pointer_find(object, thing->nature == SECRET_PULL ? "/data/.dockerconfigjson" : "/data/k"), "");
    if (thing->resource == NEED_SECRETS) {
        error_free(text_base64_decode(text, &decoded));
        text = decoded.data ? decoded.data : "";
    }
    AUTO_TEXT mark = text_format("%s-%s-%s-", thing->resource == NEED_SECRETS ? NEED_SECRET_TEXT : NEED_CONFIG_TEXT,
                                 thing->namespace_, thing->name);
    const char *found = mark ? strstr(text, mark) : NULL;
    return found ? (unsigned)strtoul(found + strlen(mark), NULL, 10) : 0;
}

static bool was_source(const struct thing *thing, const char *uid) {
    for (unsigned i = 0; i < thing->n_uids; i++)
        if (strcmp(thing->uids[i % NEEDS_UIDS], uid) == 0)
            return true;
    return false;
}

// D1, D6 and D9: of what the host has just written.
static void check_copy(struct trial *trial, size_t cluster, size_t index, const struct json *copy) {
    const struct thing *thing = needs_at(trial, index);
    AUTO_TEXT name = need_name_of(trial, index);
    const char *worker = world_name(trial->worlds[cluster]), *uid = need_label(copy, COPY_OF);
    unsigned content = thing->resource <= NEED_SECRETS ? content_of(trial, index, copy) : 1;
    if (strcmp(need_label(copy, MARK_ORIGIN), TRIAL_ORIGIN) != 0 || !was_source(thing, uid))
        trial_fail(trial, "rule D1: the copy of %s in %s has origin \"%s\", and is of \"%s\"", name, worker,
                   need_label(copy, MARK_ORIGIN), uid);
    if (!text_has_prefix(need_note(copy, SOURCE), uid) || need_note(copy, SOURCE)[strlen(uid)] != '/')
        trial_fail(trial, "rule D1: the copy of %s in %s is of %s, and its annotation says \"%s\"", name, worker, uid,
                   need_note(copy, SOURCE));
    if (*need_label(copy, MARK_UID) || *need_label(copy, MARK_KIND))
        trial_fail(trial, "rule D1: the copy of %s in %s has the marks of a mirror", name, worker);
    if (json_get(copy, "immutable"))
        trial_fail(trial, "rule D6: the copy of %s in %s has `immutable`", name, worker);
    if (content == 0 || content > (thing->content ? thing->content : 1))
        trial_fail(trial, "rule D1: the copy of %s in %s has content that no source had", name, worker);
}

static void check_created(struct trial *trial, size_t cluster, size_t index, const struct json *copy) {
    const struct thing *thing = needs_at(trial, index);
    AUTO_TEXT name = need_name_of(trial, index);
    bool used =
        (need_used_by_mirrors(trial, cluster, MIRRORS_ALL) | need_used_by_workloads(trial, cluster, true)) >> index & 1;
    if (!used && thing->nature != SECRET_PULL && need_is_known(trial, cluster, index) &&
        trial->now_ns - need_state_of(trial, cluster, index)->seen_used_ns > KNOWN_NS)
        trial_fail(trial, "rule D5: %s was created in %s, where nothing needs it", name,
                   world_name(trial->worlds[cluster]));
    if (!needs_copies(trial, thing->resource) || thing->nature >= SECRET_TOKEN)
        trial_fail(trial, "rule D1: %s was created in %s, and is not to be copied", name,
                   world_name(trial->worlds[cluster]));
    if (!needs_is_copied(trial, index) && need_is_known(trial, cluster, index))
        trial_fail(trial, "rule D9: %s was created in %s, whose source has no label that permits it", name,
                   world_name(trial->worlds[cluster]));
    if (thing->resource == NEED_ACCOUNTS && *need_note(copy, ENFORCE))
        trial_fail(trial, "rule D9: the copy of %s in %s has the annotation " ENFORCE, name,
                   world_name(trial->worlds[cluster]));
    check_copy(trial, cluster, index, copy);
    if (json_get(copy, "secrets") || pointer_find(copy, "/spec/volumeName") ||
        *need_note(copy, "pv.kubernetes.io/bind-completed"))
        trial_fail(trial, "rule D9: the copy of %s in %s has what belongs to the source", name,
                   world_name(trial->worlds[cluster]));
    need_add_made(trial, object_uid(copy));
}

// But for the list of those who use it, and what each write changes.
static struct json *without_users(const struct json *object) {
    struct json *copy = json_copy(object);
    if (!copy)
        abort();
    pointer_remove(copy, "/metadata/annotations/wharf.dev~1also-used-by");
    if (json_size(pointer_find(copy, "/metadata/annotations")) == 0) // the list may be the only annotation
        pointer_remove(copy, "/metadata/annotations");
    pointer_remove(copy, "/metadata/resourceVersion");
    pointer_remove(copy, "/metadata/managedFields");
    return copy;
}

// D8. True: the write is about another host.
static bool check_shared(struct trial *trial, size_t cluster, size_t index, const struct world_write *write) {
    AUTO_TEXT name = need_name_of(trial, index);
    const char *worker = world_name(trial->worlds[cluster]);
    if (need_is_of_another_host(write->old)) {
        AUTO_JSON before = without_users(write->old);
        AUTO_JSON after = without_users(write->now);
        if (!json_equal(before, after))
            trial_fail(trial, "rule D8: more than the users of %s in %s was changed, which is another host's", name,
                       worker);
        return true;
    }
    if (!need_is_of_another_host(write->now))
        return false;
    if (strcmp(need_note(write->old, ALSO_USED), need_label(write->now, MARK_ORIGIN)) != 0)
        trial_fail(trial, "rule D8: %s in %s was given to a host that does not use it", name, worker);
    if (need_used_by_mirrors(trial, cluster, MIRRORS_TOLD) >> index & 1)
        trial_fail(trial, "rule D8: %s in %s was given away while a mirror needs it", name, worker);
    return true;
}

static void check_changed(struct trial *trial, size_t cluster, size_t index, const struct world_write *write) {
    AUTO_TEXT name = need_name_of(trial, index);
    if (check_shared(trial, cluster, index, write))
        return;
    if (!need_is_copy(trial, write->old) && !need_is_given(write->old)) {
        trial_fail(trial, "rule D7: %s in %s was changed, and is no copy of the host's", name,
                   world_name(trial->worlds[cluster]));
        return;
    }
    check_copy(trial, cluster, index, write->now);
    const struct json *before = json_get(write->old, "secrets"), *after = json_get(write->now, "secrets");
    if (!before != !after || (before && !json_equal(before, after)))
        trial_fail(trial, "rule D9: `secrets` of %s in %s was changed", name, world_name(trial->worlds[cluster]));
    need_add_made(trial, object_uid(write->now));
    if (write->noop)
        trial_fail(trial, "rule 8: a patch of %s in %s changed nothing", name, world_name(trial->worlds[cluster]));
}

// D5: the time since the last user.
static void check_deleted(struct trial *trial, size_t cluster, size_t index, const struct json *copy) {
    AUTO_TEXT name = need_name_of(trial, index);
    const char *worker = world_name(trial->worlds[cluster]);
    if (!need_is_copy(trial, copy))
        trial_fail(trial, "rule D7: %s in %s was deleted, and is no copy of the host's", name, worker);
    if (need_is_retyped(trial, index, copy))
        return;
    if (*need_note(copy, ALSO_USED))
        trial_fail(trial, "rule D8: %s in %s was deleted while others use it", name, worker);
    int64_t used_ns = need_state_of(trial, cluster, index)->used_ns;
    if (used_ns && trial->now_ns - used_ns < KEPT_NS)
        trial_fail(trial, "rule D5: the copy of %s in %s was deleted %.3f s after its last user", name, worker,
                   (double)(trial->now_ns - used_ns) / 1e9);
}

static void by_host(struct trial *trial, size_t cluster, size_t index, const struct world_write *write) {
    bool stale = write->message && strstr(write->message, "metadata.uid"); // another object of that name by now
    if ((write->status == 400 || write->status == 422) && !stale)
        trial_fail(trial, "a write to %s %s in %s was refused: %s", write->plural, write->name,
                   world_name(trial->worlds[cluster]), write->message);
    if (write->status >= 300)
        return;
    if (cluster == ENGINE_MANAGEMENT)
        trial_fail(trial, "rule D1: a write to %s in the management cluster", write->plural);
    else if (index == needs_count(trial))
        trial_fail(trial, "rule D1: a write to %s %s/%s, to which nothing refers", write->plural, write->namespace_,
                   write->name);
    else if (write->verb == WORLD_CREATE)
        check_created(trial, cluster, index, write->now);
    else if (write->verb == WORLD_DELETE)
        check_deleted(trial, cluster, index, write->old);
    else
        check_changed(trial, cluster, index, write);
}

static void note_source(struct trial *trial, size_t index, const struct json *object) {
    struct thing *thing = needs_at(trial, index);
    if (object && !was_source(thing, object_uid(object)))
        text_copy(thing->uids[thing->n_uids++ % NEEDS_UIDS], sizeof *thing->uids, object_uid(object));
}

// A mirror is gone, or names other objects from now on. Of an orphan the host does not know what it names.
static void note_used(struct trial *trial, size_t cluster, size_t kind, const struct json *mirror) {
    const struct tracked_mirror *tracked = rules_mirror(trial, object_uid(mirror));
    const struct tracked_workload *job = rules_workload(trial, tracked->workload);
    if (!job || tracked->late_ns || job->mirror_unsure || !rules_is_ours(trial, cluster, kind, mirror))
        return;
    struct need_gather gather = need_gather(trial, cluster, kind, mirror);
    for (size_t i = 0; i < needs_count(trial); i++)
        if ((gather.needed | gather.optional) >> i & 1)
            need_state_of(trial, cluster, i)->used_ns = trial->now_ns;
}

bool need_rules_hook(struct trial *trial, size_t cluster, const struct world_write *write) {
    if (!trial->plan.needs)
        return false;
    size_t kind = trial_kind(trial, write->group, write->plural);
    if (cluster != ENGINE_MANAGEMENT && write->status < 300 && write->old && kind < trial->n_kinds &&
        rules_mirror(trial, object_uid(write->old)))
        note_used(trial, cluster, kind, write->old);
    if (cluster == ENGINE_MANAGEMENT && write->status < 300 && kind < trial->n_kinds) {
        need_note_user(trial, kind, write->old);
        need_note_user(trial, kind, write->now);
    }
    const struct json *object = write->now ? write->now : write->old;
    if (cluster != ENGINE_MANAGEMENT && write->status < 300 && kind < trial->n_kinds &&
        need_is_held(trial, kind, object))
        trial->need_rules->held_ns[cluster] = trial->now_ns;
    if (needs_resource(write->group, write->plural) == NEED_RESOURCES)
        return false;
    size_t i = needs_find(trial, write->group, write->plural, write->namespace_, write->name);
    bool known = i < needs_count(trial), host = !trial->user_acts && !write->internal;
    for (size_t c = 0; c < trial->plan.n_clusters && known && write->status < 300; c++)
        rules_count(trial, c, TRIAL_KINDS + needs_at(trial, i)->resource, write->namespace_, write->name, true);
    if (host)
        by_host(trial, cluster, i, write);
    if (!known || write->status >= 300)
        return host;
    struct need_state *state = need_state_of(trial, cluster, i);
    if (write->now)
        state->existed = true;
    if (!host)
        state->others_ns = trial->now_ns;
    if (cluster == ENGINE_MANAGEMENT)
        note_source(trial, i, write->now);
    return host;
}
