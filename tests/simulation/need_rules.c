// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/need_rules.h"

#include "core/adapter/phase.h"
#include "core/base/clock.h"
#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/forgery.h"
#include "tests/simulation/members.h"
#include "tests/world/pod_needs.h"

#include <stdlib.h>
#include <string.h>

#define COPY_OF "wharf.dev/copy-of"
#define SOURCE "wharf.dev/source"
#define ALSO_USED "wharf.dev/also-used-by"
#define ENFORCE "kubernetes.io/enforce-mountable-secrets"
#define POD "/spec/template/spec"

#define KEPT_NS CLOCK_MINUTE           // after the last user
#define UNUSED_NS (90 * CLOCK_SECOND)  // until a copy is gone, with nothing wrong
#define ROTATED_NS (10 * CLOCK_SECOND) // until a change is everywhere, with nothing wrong
#define KNOWN_NS (5 * CLOCK_SECOND)    // until the host knows what others have done
#define CALM_NS CLOCK_MINUTE           // after trouble
#define LOOK_NS (500 * CLOCK_MS)
#define ABSENT_NS (5 * CLOCK_MINUTE)
#define MADE 1024

struct need_state {              // of an object in a cluster
    int64_t others_ns;           // when somebody else than the host last wrote it
    int64_t used_ns;             // when a mirror was last there that needs it
    int64_t seen_used_ns;        // when it last had a user
    bool existed;                // it was there at some time
    int64_t stale_ns, unused_ns; // since when the copy differs, or has no user; 0: it does not
};

struct need_rules {
    struct need_state states[TRIAL_CLUSTERS][NEEDS_MAX];
    char made[MADE][40]; // uids of the host's copies
    size_t n_made;
    int64_t looked_ns;
    int64_t held_ns[TRIAL_CLUSTERS]; // when deletions were last held up by an orphan: the time begins again then
};

struct need_rules *need_rules_new(void) {
    return calloc(1, sizeof(struct need_rules));
}

static struct need_state *state_of(const struct trial *trial, size_t cluster, size_t index) {
    return &trial->need_rules->states[cluster][index];
}

static const char *label(const struct json *object, const char *name) {
    return rules_text(object, "metadata", "labels", name);
}

static const char *note(const struct json *object, const char *name) {
    return rules_text(object, "metadata", "annotations", name);
}

static char *name_of(const struct trial *trial, size_t index) {
    const struct thing *thing = needs_at(trial, index);
    return text_format("%s %s/%s", need_names[thing->resource].plural, thing->namespace_, thing->name);
}

static bool is_made(const struct trial *trial, const char *uid) {
    for (size_t i = 0; i < trial->need_rules->n_made; i++)
        if (strcmp(trial->need_rules->made[i], uid) == 0)
            return true;
    return false;
}

static bool is_labelled(const struct json *object) {
    return object && text_equal(label(object, MARK_ORIGIN), TRIAL_ORIGIN) && *label(object, COPY_OF);
}

// D8: without a seal it counts as handed over.
static bool is_given(const struct json *object) {
    return is_labelled(object) && !*note(object, MARK_SEAL);
}

// The host must recognise it as its own.
static bool is_copy(const struct trial *trial, const struct json *object) {
    bool unsealed = !seal_keys_any(trial->seals) || trial->plan.upgrade;
    return is_labelled(object) && (unsealed || *note(object, MARK_SEAL)) && is_made(trial, object_uid(object));
}

// Of pods -----------------------------------------------------------------------------------------------------

struct gather {
    struct trial *trial;
    const char *namespace_;
    uint64_t needed, optional; // sets of indexes
};

static void gather_one(void *ctx, const struct need *need) {
    struct gather *gather = ctx;
    size_t i = needs_find(gather->trial, need->group, need->plural, gather->namespace_, need->name);
    if (i < needs_count(gather->trial))
        *(need->optional ? &gather->optional : &gather->needed) |= UINT64_C(1) << i;
}

static void gather_pull_secrets(struct gather *gather, size_t cluster) {
    for (size_t i = 0; i < needs_count(gather->trial); i++) {
        bool named = ((gather->needed | gather->optional) >> i & 1) != 0;
        const struct json *account = named && needs_at(gather->trial, i)->resource == NEED_ACCOUNTS
                                         ? needs_object(gather->trial, cluster, i)
                                         : NULL;
        for (const struct json *s = json_first(json_get(account, "imagePullSecrets")); s; s = json_next(s)) {
            const char *name = json_string_or(json_get(s, "name"), "");
            size_t secret = needs_find(gather->trial, "", "secrets", gather->namespace_, name);
            if (secret < needs_count(gather->trial))
                gather->optional |= UINT64_C(1) << secret;
        }
    }
}

static void gather_references(struct gather *gather, size_t kind, const struct json *object) {
    __attribute__((cleanup(references_clear))) struct references found = {0};
    sim_references(gather->trial->kinds[kind], object, &found);
    for (size_t i = 0; i < found.count; i++) {
        const struct reference *r = found.list[i];
        AUTO_TEXT plural = strndup(r->resource, strcspn(r->resource, "."));
        const char *dot = strchr(r->resource, '.');
        struct need need = {.group = dot ? dot + 1 : "", .plural = plural, .name = r->name, .optional = r->optional};
        if (!r->is_made && plural)
            gather_one(gather, &need);
    }
}

// What the pods of an object name, and its ServiceAccount as it is in that cluster.
static struct gather needs_of(struct trial *trial, size_t cluster, size_t kind, const struct json *object) {
    struct gather gather = {.trial = trial, .namespace_ = object_namespace(object)};
    if (kind == 0)
        pod_needs_each(pointer_find(object, POD), gather_one, &gather);
    else
        gather_references(&gather, kind, object);
    gather_pull_secrets(&gather, cluster);
    return gather;
}

// Used by mirrors that are there. `told`: that the host has seen.
static uint64_t used_by_mirrors(struct trial *trial, size_t cluster, bool told) {
    uint64_t used = 0;
    for (size_t k = 0; k < trial->n_kinds; k++) {
        const wharf_kind *abi = &trial->engine_kinds[k]->abi;
        const void *cursor = NULL;
        for (const struct json *o; (o = world_next(trial->worlds[cluster], abi->group, abi->plural, &cursor));) {
            const struct tracked_mirror *mirror = rules_mirror(trial, object_uid(o));
            if (!mirror || (told && !rules_was_told(trial, mirror)) || forgery_is(o) ||
                !rules_is_ours(trial, cluster, k, o))
                continue;
            struct gather gather = needs_of(trial, cluster, k, o);
            used |= gather.needed | gather.optional;
        }
    }
    return used;
}

// An unfinished workload that is placed there, or (`any`) is to be placed.
static bool is_user(const struct trial *trial, size_t cluster, size_t kind, const struct json *workload, bool any) {
    const char *placed = note(workload, MARK_CLUSTER);
    if (!trial_is_ours(trial, kind, workload) || sim_finished(trial->kinds[kind], workload))
        return false;
    return *placed ? strcmp(placed, world_name(trial->worlds[cluster])) == 0
                   : any && !phase_suspend_asked(&trial->engine_kinds[kind]->abi, workload);
}

static uint64_t used_by_workloads(struct trial *trial, size_t cluster, bool any) {
    uint64_t used = 0;
    for (size_t k = 0; k < trial->n_kinds; k++) {
        const wharf_kind *abi = &trial->engine_kinds[k]->abi;
        const void *cursor = NULL;
        for (const struct json *o;
             (o = world_next(trial->worlds[ENGINE_MANAGEMENT], abi->group, abi->plural, &cursor));) {
            if (!is_user(trial, cluster, k, o, any))
                continue;
            struct gather gather = needs_of(trial, ENGINE_MANAGEMENT, k, o);
            used |= gather.needed | gather.optional;
        }
    }
    return used;
}

// What the host knows -----------------------------------------------------------------------------------------

static bool is_calm(const struct trial *trial, size_t cluster) {
    return !trial->plan.elects && !trial->plan.slow && !trial->plan.costs && !trial->plan.breaks &&
           !trial->plan.shards && faults_are_over(trial, cluster, CALM_NS) && members_knows(trial, cluster) &&
           !trial->host->silent[cluster] && trial->host->alive && trial->now_ns >= trial->host->asleep_until_ns;
}

// It must know this object, and its source, as they are.
static bool is_known(const struct trial *trial, size_t cluster, size_t index) {
    return is_calm(trial, cluster) && trial->now_ns - state_of(trial, cluster, index)->others_ns > KNOWN_NS &&
           trial->now_ns - state_of(trial, ENGINE_MANAGEMENT, index)->others_ns > KNOWN_NS;
}

// Decisions ---------------------------------------------------------------------------------------------------

// D2 and D4.
static void check_need(struct trial *trial, size_t cluster, size_t index, const char *mirror) {
    const struct json *there = needs_object(trial, cluster, index);
    const struct json *source = needs_object(trial, ENGINE_MANAGEMENT, index);
    enum need_resource resource = needs_at(trial, index)->resource;
    const char *worker = world_name(trial->worlds[cluster]);
    bool known = is_known(trial, cluster, index), copied = needs_is_copied(trial, index);
    AUTO_TEXT name = name_of(trial, index);
    if (!there && (known || !state_of(trial, cluster, index)->existed))
        trial_fail(trial, "rule D2: the mirror of %s is created in %s, which has no %s", mirror, worker, name);
    if (!there || !known || !copied || !source || resource == NEED_CLAIMS || needs_are_equal(resource, there, source))
        return;
    if (is_copy(trial, there))
        trial_fail(trial, "rule D2: the mirror of %s is created in %s, whose copy of %s is old", mirror, worker, name);
    else
        trial_fail(trial, "rule D4: the mirror of %s is created in %s, where another writer has other %s", mirror,
                   worker, name);
}

void need_rules_create(struct trial *trial, size_t cluster, size_t kind, const struct json *mirror) {
    struct gather gather = needs_of(trial, ENGINE_MANAGEMENT, kind, mirror);
    for (size_t i = 0; i < needs_count(trial); i++)
        if (gather.needed >> i & 1)
            check_need(trial, cluster, i, object_name(mirror));
}

// It has waited for so long that the host has asked the workers.
static bool has_waited(const struct trial *trial, const struct json *workload) {
    int64_t made_ns = trial->now_ns;
    (void)clock_parse_rfc3339(rules_text(workload, "metadata", NULL, "creationTimestamp"), &made_ns);
    return mirror_attempt(workload) == 0 && trial->now_ns - made_ns > 2 * KNOWN_NS;
}

// D3, and D4 where it is known.
void need_rules_place(struct trial *trial, size_t cluster, size_t kind, const struct json *workload) {
    struct gather gather = needs_of(trial, ENGINE_MANAGEMENT, kind, workload);
    bool asked = has_waited(trial, workload);
    for (size_t i = 0; i < needs_count(trial); i++) {
        if (!(gather.needed >> i & 1) || !is_known(trial, cluster, i))
            continue;
        AUTO_TEXT name = name_of(trial, i);
        const struct json *source = needs_object(trial, ENGINE_MANAGEMENT, i), *there = needs_object(trial, cluster, i);
        bool copied = needs_is_copied(trial, i);
        enum need_resource resource = needs_at(trial, i)->resource;
        if (copied && !source)
            trial_fail(trial, "rule D3: %s is placed, and there is no %s", object_name(workload), name);
        if (!copied && !there && asked)
            trial_fail(trial, "rule D4: %s is placed in %s, which has no %s", object_name(workload),
                       world_name(trial->worlds[cluster]), name);
        if (copied && there && source && asked && !*label(there, MARK_ORIGIN) && resource != NEED_CLAIMS &&
            !needs_are_equal(resource, there, source))
            trial_fail(trial, "rule D4: %s is placed in %s, where another writer has other %s", object_name(workload),
                       world_name(trial->worlds[cluster]), name);
    }
}

// Requests ----------------------------------------------------------------------------------------------------

#define SECRET_BASE64 "U0VDUkVU" // NEED_SECRET_TEXT
#define DENIED_BASE64 "REVOSUVE" // NEED_DENIED_TEXT

static void check_contents(struct trial *trial, size_t cluster, const struct http_request *request) {
    const char *text = request->body ? request->body : "";
    bool to_secrets = cluster != ENGINE_MANAGEMENT && strstr(request->path, "/secrets");
    if (memmem(text, request->body_len, DENIED_BASE64, strlen(DENIED_BASE64)) ||
        memmem(text, request->body_len, NEED_DENIED_TEXT, strlen(NEED_DENIED_TEXT)))
        trial_fail(trial, "rule D9: %s has the content of a Secret that is never copied", request->path);
    if (!to_secrets && (memmem(text, request->body_len, SECRET_BASE64, strlen(SECRET_BASE64)) ||
                        memmem(text, request->body_len, NEED_SECRET_TEXT, strlen(NEED_SECRET_TEXT))))
        trial_fail(trial, "rule D12: %s has the content of a Secret", request->path);
}

// /api/v1/namespaces/NS/secrets/NAME and the like, without the query.
static size_t find_path(const struct trial *trial, const char *path, const char *body_name) {
    for (size_t i = 0; i < needs_count(trial); i++) {
        const struct thing *thing = needs_at(trial, i);
        const struct need_names *names = &need_names[thing->resource];
        AUTO_TEXT base = text_format("%s%s/v1%s%s/%s", *names->group ? "/apis/" : "/api", names->group,
                                     names->cluster_scoped ? "" : "/namespaces/", thing->namespace_, names->plural);
        size_t len = base ? strlen(base) : 0, rest = strcspn(path, "?");
        if (rest < len || strncmp(path, base, len) != 0)
            continue;
        bool named = path[len] == '/' && rest - len - 1 == strlen(thing->name) &&
                     strncmp(path + len + 1, thing->name, rest - len - 1) == 0;
        if (named || (rest == len && *body_name && strcmp(body_name, thing->name) == 0))
            return i;
    }
    return needs_count(trial);
}

static void check_preconditions(struct trial *trial, const struct http_request *request, const struct json *body) {
    const char *part = request->method == HTTP_DELETE ? "preconditions" : "metadata";
    if (!*rules_text(body, part, NULL, "uid") || !*rules_text(body, part, NULL, "resourceVersion"))
        trial_fail(trial, "rule D1: a %s of %s without uid and resourceVersion", http_method_name(request->method),
                   request->path);
}

void need_rules_request(struct trial *trial, size_t cluster, const struct http_request *request,
                        const struct json *body) {
    if (!trial->plan.needs)
        return;
    check_contents(trial, cluster, request);
    size_t i = find_path(trial, request->path, rules_text(body, "metadata", NULL, "name"));
    if (i == needs_count(trial))
        return;
    const struct thing *thing = needs_at(trial, i);
    rules_count(trial, cluster, TRIAL_KINDS + thing->resource, thing->namespace_, thing->name, false);
    if (request->method == HTTP_GET)
        return;
    trial_trace(trial, "host: %s %s/%s in %s", http_method_name(request->method), thing->namespace_, thing->name,
                world_name(trial->worlds[cluster]));
    if (cluster == ENGINE_MANAGEMENT)
        trial_fail(trial, "rule D1: a %s of %s in the management cluster", http_method_name(request->method),
                   request->path);
    if (request->method != HTTP_POST)
        check_preconditions(trial, request, body);
    if (request->method == HTTP_PUT)
        trial_fail(trial, "rule D1: a PUT of %s", request->path);
}

void need_rules_text(struct trial *trial, const char *text) {
    if (trial->plan.needs && (strstr(text, NEED_SECRET_TEXT) || strstr(text, SECRET_BASE64) ||
                              strstr(text, NEED_DENIED_TEXT) || strstr(text, DENIED_BASE64)))
        trial_fail(trial, "rule D12: a text shows the content of a Secret: %s", text);
}

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
    AUTO_TEXT name = name_of(trial, index);
    const char *worker = world_name(trial->worlds[cluster]), *uid = label(copy, COPY_OF);
    unsigned content = thing->resource <= NEED_SECRETS ? content_of(trial, index, copy) : 1;
    if (strcmp(label(copy, MARK_ORIGIN), TRIAL_ORIGIN) != 0 || !was_source(thing, uid))
        trial_fail(trial, "rule D1: the copy of %s in %s has origin \"%s\", and is of \"%s\"", name, worker,
                   label(copy, MARK_ORIGIN), uid);
    if (!text_has_prefix(note(copy, SOURCE), uid) || note(copy, SOURCE)[strlen(uid)] != '/')
        trial_fail(trial, "rule D1: the copy of %s in %s is of %s, and its annotation says \"%s\"", name, worker, uid,
                   note(copy, SOURCE));
    if (*label(copy, MARK_UID) || *label(copy, MARK_KIND))
        trial_fail(trial, "rule D1: the copy of %s in %s has the marks of a mirror", name, worker);
    if (json_get(copy, "immutable"))
        trial_fail(trial, "rule D6: the copy of %s in %s has `immutable`", name, worker);
    if (content == 0 || content > (thing->content ? thing->content : 1))
        trial_fail(trial, "rule D1: the copy of %s in %s has content that no source had", name, worker);
    if (thing->resource == NEED_ACCOUNTS && *note(copy, ENFORCE))
        trial_fail(trial, "rule D9: the copy of %s in %s has the annotation " ENFORCE, name, worker);
}

static void add_made(struct trial *trial, const char *uid) {
    struct need_rules *rules = trial->need_rules;
    if (is_made(trial, uid))
        return;
    if (rules->n_made == MADE)
        trial_fail(trial, "more copies than a trial can have: is there a loop?");
    else
        text_copy(rules->made[rules->n_made++], sizeof *rules->made, uid);
}

static void check_created(struct trial *trial, size_t cluster, size_t index, const struct json *copy) {
    const struct thing *thing = needs_at(trial, index);
    AUTO_TEXT name = name_of(trial, index);
    bool used = (used_by_mirrors(trial, cluster, false) | used_by_workloads(trial, cluster, true)) >> index & 1;
    if (!used && thing->nature != SECRET_PULL && is_known(trial, cluster, index) &&
        trial->now_ns - state_of(trial, cluster, index)->seen_used_ns > KNOWN_NS)
        trial_fail(trial, "rule D5: %s was created in %s, where nothing needs it", name,
                   world_name(trial->worlds[cluster]));
    if (!needs_copies(trial, thing->resource) || thing->nature >= SECRET_TOKEN)
        trial_fail(trial, "rule D1: %s was created in %s, and is not to be copied", name,
                   world_name(trial->worlds[cluster]));
    if (!needs_is_copied(trial, index) && is_known(trial, cluster, index))
        trial_fail(trial, "rule D9: %s was created in %s, whose source has no label that permits it", name,
                   world_name(trial->worlds[cluster]));
    check_copy(trial, cluster, index, copy);
    if (json_get(copy, "secrets") || pointer_find(copy, "/spec/volumeName") ||
        *note(copy, "pv.kubernetes.io/bind-completed"))
        trial_fail(trial, "rule D9: the copy of %s in %s has what belongs to the source", name,
                   world_name(trial->worlds[cluster]));
    add_made(trial, object_uid(copy));
}

static void check_changed(struct trial *trial, size_t cluster, size_t index, const struct world_write *write) {
    AUTO_TEXT name = name_of(trial, index);
    if (!is_copy(trial, write->old) && !is_given(write->old)) {
        trial_fail(trial, "rule D7: %s in %s was changed, and is no copy of the host's", name,
                   world_name(trial->worlds[cluster]));
        return;
    }
    check_copy(trial, cluster, index, write->now);
    const struct json *before = json_get(write->old, "secrets"), *after = json_get(write->now, "secrets");
    if (!before != !after || (before && !json_equal(before, after)))
        trial_fail(trial, "rule D9: `secrets` of %s in %s was changed", name, world_name(trial->worlds[cluster]));
    add_made(trial, object_uid(write->now));
    if (write->noop)
        trial_fail(trial, "rule 8: a patch of %s in %s changed nothing", name, world_name(trial->worlds[cluster]));
}

// D5. A Secret of another type is made anew.
static void check_deleted(struct trial *trial, size_t cluster, size_t index, const struct json *copy) {
    AUTO_TEXT name = name_of(trial, index);
    const char *worker = world_name(trial->worlds[cluster]);
    const struct json *source = needs_object(trial, ENGINE_MANAGEMENT, index);
    bool retyped = needs_at(trial, index)->resource == NEED_SECRETS && source &&
                   !json_equal(json_get(source, "type"), json_get(copy, "type"));
    if (!is_copy(trial, copy))
        trial_fail(trial, "rule D7: %s in %s was deleted, and is no copy of the host's", name, worker);
    if (*note(copy, ALSO_USED))
        trial_fail(trial, "rule D8: %s in %s was deleted while others use it", name, worker);
    if (retyped)
        return;
    if (used_by_mirrors(trial, cluster, true) >> index & 1)
        trial_fail(trial, "rule D5: the copy of %s in %s was deleted while a mirror needs it", name, worker);
    int64_t used_ns = state_of(trial, cluster, index)->used_ns;
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
    struct gather gather = needs_of(trial, cluster, kind, mirror);
    for (size_t i = 0; i < needs_count(trial); i++)
        if ((gather.needed | gather.optional) >> i & 1)
            state_of(trial, cluster, i)->used_ns = trial->now_ns;
}

static bool is_orphan(struct trial *trial, size_t kind, const struct json *object) {
    const struct json *workload =
        trial_object(trial, ENGINE_MANAGEMENT, kind, object_namespace(object), object_name(object));
    return *label(object, MARK_UID) && (!workload || strcmp(object_uid(workload), label(object, MARK_UID)) != 0);
}

bool need_rules_hook(struct trial *trial, size_t cluster, const struct world_write *write) {
    if (!trial->plan.needs)
        return false;
    size_t kind = trial_kind(trial, write->group, write->plural);
    if (cluster != ENGINE_MANAGEMENT && write->status < 300 && write->old && kind < trial->n_kinds &&
        rules_mirror(trial, object_uid(write->old)))
        note_used(trial, cluster, kind, write->old);
    const struct json *object = write->now ? write->now : write->old;
    if (cluster != ENGINE_MANAGEMENT && write->status < 300 && kind < trial->n_kinds && is_orphan(trial, kind, object))
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
    struct need_state *state = state_of(trial, cluster, i);
    if (write->now)
        state->existed = true;
    if (!host)
        state->others_ns = trial->now_ns;
    if (cluster == ENGINE_MANAGEMENT)
        note_source(trial, i, write->now);
    return host;
}

void need_rules_went_back(struct trial *trial, size_t cluster) {
    for (size_t i = 0; i < needs_count(trial); i++)
        state_of(trial, cluster, i)->others_ns = trial->now_ns;
}

// Watches by name find no copy that nobody needs, of an earlier process or in a worker that went back or left.
static bool is_hidden(const struct trial *trial) {
    return trial->plan.faults && needs_options(trial).by_name;
}

// D5: what no workload is known for holds up all deletions in its worker.
static bool is_held_up(struct trial *trial, size_t cluster) {
    if (is_hidden(trial))
        return true;
    for (size_t k = 0; k < trial->n_kinds; k++)
        if (!trial->host->feeds[cluster][k].connected &&
            trial->now_ns - trial->host->feeds[cluster][k].lost_ns < ABSENT_NS)
            return true; // or the kind is not served: it takes a while to find that out
    for (size_t k = 0; k < trial->n_kinds; k++) {
        const wharf_kind *abi = &trial->engine_kinds[k]->abi;
        const void *cursor = NULL;
        for (const struct json *o; (o = world_next(trial->worlds[cluster], abi->group, abi->plural, &cursor));)
            if (is_orphan(trial, k, o))
                return true;
    }
    return false;
}

// What lasts --------------------------------------------------------------------------------------------------

static bool is_current(struct trial *trial, size_t index, const struct json *copy) {
    const struct json *source = needs_object(trial, ENGINE_MANAGEMENT, index);
    enum need_resource resource = needs_at(trial, index)->resource;
    if (!source || !needs_is_copied(trial, index) || resource == NEED_CLAIMS)
        return true;
    AUTO_TEXT version = text_format("%s/%s", object_uid(source), object_version(source));
    return needs_are_equal(resource, copy, source) && strcmp(note(copy, SOURCE), version ? version : "") == 0;
}

static bool lasts(const struct trial *trial, int64_t *since_ns, bool so, int64_t most_ns) {
    *since_ns = !so ? 0 : *since_ns ? *since_ns : trial->now_ns;
    return so && trial->now_ns - *since_ns > most_ns;
}

struct usage {
    uint64_t needed; // by mirrors and placed workloads
    uint64_t used;   // also by workloads that are to be placed
};

static struct usage usage_of(struct trial *trial, size_t cluster) {
    uint64_t mirrors = used_by_mirrors(trial, cluster, false);
    return (struct usage){mirrors | used_by_workloads(trial, cluster, false),
                          mirrors | used_by_workloads(trial, cluster, true)};
}

static void look_at(struct trial *trial, size_t cluster, size_t index, const struct usage *usage, bool held) {
    bool used = (usage->used >> index & 1) != 0, needed = (usage->needed >> index & 1) != 0;
    struct need_state *state = state_of(trial, cluster, index);
    const struct json *there = needs_object(trial, cluster, index);
    bool copy = is_copy(trial, there) && !object_is_being_deleted(there);
    AUTO_TEXT name = name_of(trial, index);
    if (lasts(trial, &state->unused_ns, copy && !used && !held && !*note(there, ALSO_USED), UNUSED_NS))
        trial_fail(trial, "rule D5: nothing has used the copy of %s in %s for %.0f s", name,
                   world_name(trial->worlds[cluster]), (double)UNUSED_NS / 1e9);
    if (lasts(trial, &state->stale_ns, copy && needed && !is_current(trial, index, there), ROTATED_NS))
        trial_fail(trial, "rule D6: the copy of %s in %s is old for %.0f s", name, world_name(trial->worlds[cluster]),
                   (double)ROTATED_NS / 1e9);
}

void need_rules_check(struct trial *trial) {
    struct need_rules *rules = trial->need_rules;
    if (!trial->plan.needs || trial->now_ns < rules->looked_ns + LOOK_NS)
        return;
    rules->looked_ns = trial->now_ns;
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        bool calm = is_calm(trial, c);
        bool held = calm && (is_held_up(trial, c) || trial->now_ns - rules->held_ns[c] < UNUSED_NS);
        struct usage usage = calm ? usage_of(trial, c) : (struct usage){0};
        for (size_t i = 0; i < needs_count(trial); i++) {
            struct need_state *state = state_of(trial, c, i);
            if (usage.used >> i & 1)
                state->seen_used_ns = trial->now_ns;
            if (calm)
                look_at(trial, c, i, &usage, held);
            else
                state->unused_ns = state->stale_ns = 0;
        }
    }
}

static char *missing_in(struct trial *trial, size_t cluster) {
    struct usage usage = usage_of(trial, cluster);
    for (size_t i = 0; i < needs_count(trial); i++) {
        const struct json *there = needs_object(trial, cluster, i);
        AUTO_TEXT name = name_of(trial, i);
        if (!is_copy(trial, there))
            continue;
        if (!(usage.used >> i & 1) && !is_hidden(trial))
            return text_format("a copy of %s is left over in %s", name, world_name(trial->worlds[cluster]));
        if (usage.needed >> i & 1 && !is_current(trial, i, there))
            return text_format("the copy of %s in %s is not as its source", name, world_name(trial->worlds[cluster]));
    }
    return NULL;
}

char *need_rules_missing(struct trial *trial) {
    for (size_t c = 1; c < trial->plan.n_clusters && trial->plan.needs; c++) {
        char *missing = missing_in(trial, c);
        if (missing)
            return missing;
    }
    return NULL;
}
