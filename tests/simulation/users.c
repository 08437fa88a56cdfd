// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/users.h"
#include "core/engine/mirror/mirror.h"
#include "tests/simulation/crds.h"
#include "tests/simulation/cuts.h"
#include "tests/simulation/fields.h"
#include "tests/simulation/forgery.h"
#include "tests/simulation/needs.h"
#include "tests/simulation/pests.h"
#include "tests/simulation/places.h"
#include "tests/simulation/plays.h"
#include "tests/simulation/rooms.h"
#include "tests/simulation/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACTIONS 320
#define JOBS 15
#define PLAYS 6 // of other kinds

enum act {
    ACT_CREATE,
    ACT_DELETE,
    ACT_RECREATE,
    ACT_SUSPEND,
    ACT_RESUME,
    ACT_SCALE,
    ACT_TEMPLATE,
    ACT_LABEL,
    ACT_UNLABEL,
    ACT_MANAGER, // delegates or reclaims it
    ACT_STORY,   // does what the user in the object's story does next
    ACT_RETRY,   // asks to try again at once
    ACT_RELEASE, // removes finalizers, and former mirrors whose marks were stripped
    ACT_ORPHAN,  // the last one that does not change the host's own data
    ACT_FOREIGN,
    ACT_CHILD,
    ACT_DELETE_MIRROR,
    ACT_STRIP,
    ACT_NONSENSE,
    ACT_FORGE,
    ACTS
};

static const char *const act_names[] = {"creates",
                                        "deletes",
                                        "deletes and creates again",
                                        "suspends",
                                        "resumes",
                                        "scales",
                                        "changes template",
                                        "adds labels",
                                        "takes labels off",
                                        "delegates or reclaims",
                                        "tells the story of",
                                        "retries",
                                        "releases",
                                        "leaves an orphan",
                                        "creates a foreign object with the name of",
                                        "adds a child",
                                        "deletes mirror",
                                        "strips marks",
                                        "writes nonsense",
                                        "forges mirrors of"};

struct action_due {
    int64_t at_ns;
    enum act act;
    unsigned job, order;
    bool off; // left out of the plan
};

struct users {
    struct action_due actions[ACTIONS];
    size_t n, next;
    unsigned n_jobs;
    struct {
        size_t kind;
        char namespace_[16], name[16];
        enum shape shape; // of a Job
        bool finalizer;
        unsigned told;    // of its story
    } jobs[JOBS + PLAYS]; // and objects of other kinds
};

static void plan(struct users *users, int64_t at_ns, enum act act, unsigned job) {
    if (users->n == ACTIONS)
        return;
    users->actions[users->n] = (struct action_due){at_ns, act, job, (unsigned)users->n, false};
    users->n++;
}

static int by_time(const void *a, const void *b) {
    const struct action_due *left = a, *right = b;
    if (left->at_ns != right->at_ns)
        return left->at_ns < right->at_ns ? -1 : 1;
    return left->order < right->order ? -1 : 1;
}

static void choose(struct trial *trial, struct users *users, unsigned job) {
    const struct trial_plan *p = &trial->plan;
    users->jobs[job].shape = (enum shape)trial_below(trial, SHAPES);
    if (users->jobs[job].shape == SHAPE_SCRIPTED && !p->plain)
        users->jobs[job].shape = SHAPE_PLAIN; // a script does not suspend
    users->jobs[job].finalizer = !p->plain && trial_chance(trial, 10);
    bool team = trial_chance(trial, 20);
    text_copy(users->jobs[job].namespace_, sizeof users->jobs[job].namespace_, team ? "team" : "default");
    // Objects of other kinds may have the name of a Job.
    bool same = users->jobs[job].kind > 0 && trial_chance(trial, 50);
    snprintf(users->jobs[job].name, sizeof users->jobs[job].name, "job-%u", same ? job % 4 : job);
}

static void plan_job(struct trial *trial, struct users *users, unsigned job) {
    const struct trial_plan *p = &trial->plan;
    size_t kind = users->jobs[job].kind;
    int64_t begin_ns =
        kind > 0 && crds_from_ns(trial, kind) > trial->now_ns ? crds_from_ns(trial, kind) : trial->now_ns;
    int64_t made_ns = begin_ns + trial_between(trial, 0, 40 * CLOCK_SECOND), end_ns = p->trouble_end_ns;
    if (p->burst)
        made_ns = begin_ns + 2 * CLOCK_SECOND;
    choose(trial, users, job);
    plan(users, made_ns, ACT_CREATE, job);
    if (p->plain)
        return;
    for (uint64_t i = trial_below(trial, 5); i > 0; i--) {
        enum act act = (enum act)(ACT_DELETE + trial_below(trial, p->gentle_users ? ACT_ORPHAN : ACTS - ACT_DELETE));
        plan(users, trial_between(trial, made_ns, made_ns + (end_ns - made_ns) / 2), act, job);
    }
    for (unsigned i = 0; kind > 0 && i < 4; i++)
        plan(users, trial_between(trial, made_ns, end_ns), ACT_STORY, job);
    if (trial_chance(trial, 15)) { // suspended in time, and changed then
        int64_t at_ns = made_ns + trial_between(trial, 0, 4 * CLOCK_SECOND);
        plan(users, at_ns, ACT_SUSPEND, job);
        plan(users, at_ns + trial_between(trial, 0, 30 * CLOCK_SECOND), ACT_TEMPLATE, job);
    }
    if (trial_chance(trial, 70))
        plan(users, trial_between(trial, made_ns, end_ns), ACT_RESUME, job);
    plan(users, end_ns + CLOCK_SECOND, ACT_RELEASE, job); // permissions are back
    if (p->upgrade || p->back != TRIAL_BACK_NONE) // a create may arrive until then, and NotSealed or MirrorHeld ask
        plan(users, end_ns + RULES_STRAY_NS, ACT_RELEASE, job);
}

// Whole objects first, then single acts. What only cleans up stays.
static void cut(struct trial *trial, struct users *users) {
    for (unsigned i = 0; i < users->n_jobs; i++) {
        const wharf_kind *abi = &trial->engine_kinds[users->jobs[i].kind]->abi;
        bool has = cuts_has(trial, "%s %s/%s", abi->plural, users->jobs[i].namespace_, users->jobs[i].name);
        for (size_t a = 0; a < users->n; a++)
            users->actions[a].off |= !has && users->actions[a].job == i;
    }
    for (size_t a = 0; a < users->n; a++) {
        struct action_due *due = &users->actions[a];
        if (due->act != ACT_CREATE && due->act != ACT_RELEASE)
            due->off |= !cuts_has(trial, "%.3f user: %s %s", (double)(due->at_ns - TRIAL_START_NS) / 1e9,
                                  act_names[due->act], users->jobs[due->job].name);
    }
}

struct users *users_new(struct trial *trial) {
    struct users *users = calloc(1, sizeof *users);
    if (!users)
        return NULL;
    users->n_jobs = 4 + (unsigned)trial_below(trial, JOBS - 3);
    unsigned plays = trial->n_kinds > 1 ? 1 + (unsigned)trial_below(trial, PLAYS) : 0;
    for (unsigned i = 0; i < plays; i++)
        users->jobs[users->n_jobs++].kind = 1 + i % (trial->n_kinds - 1);
    for (unsigned i = 0; i < users->n_jobs; i++)
        plan_job(trial, users, i);
    qsort(users->actions, users->n, sizeof *users->actions, by_time);
    cut(trial, users);
    return users;
}

int64_t users_due(const struct trial *trial) {
    const struct users *users = trial->users;
    return users->next < users->n ? users->actions[users->next].at_ns : CLOCK_NEVER;
}

static const char *uid_of(const struct json *object) {
    return rules_text(object, "metadata", NULL, "uid");
}

static const struct json *object_of(struct trial *trial, size_t cluster, unsigned job) {
    const struct users *users = trial->users;
    return trial_object(trial, cluster, users->jobs[job].kind, users->jobs[job].namespace_, users->jobs[job].name);
}

static const struct json *workload_of(struct trial *trial, unsigned job) {
    return object_of(trial, ENGINE_MANAGEMENT, job);
}

static const wharf_kind *abi_of(const struct trial *trial, unsigned job) {
    return &trial->engine_kinds[trial->users->jobs[job].kind]->abi;
}

static struct tracked_workload *tracked_of(struct trial *trial, unsigned job) {
    const struct json *workload = workload_of(trial, job);
    return workload ? rules_workload(trial, uid_of(workload)) : NULL;
}

static int patch(struct trial *trial, size_t cluster, unsigned job, const char *text) {
    const wharf_kind *abi = abi_of(trial, job);
    return world_patch(trial->worlds[cluster], abi->group, abi->plural, trial->users->jobs[job].namespace_,
                       trial->users->jobs[job].name, NULL, text, trial->now_ns);
}

static void create_in(struct trial *trial, size_t cluster, unsigned job, const struct json *object) {
    const wharf_kind *abi = abi_of(trial, job);
    world_apply(trial->worlds[cluster], abi->group, abi->plural, object, trial->now_ns);
}

static void delete_in(struct trial *trial, size_t cluster, unsigned job, const char *policy) {
    const wharf_kind *abi = abi_of(trial, job);
    world_delete(trial->worlds[cluster], abi->group, abi->plural, trial->users->jobs[job].namespace_,
                 trial->users->jobs[job].name, policy, trial->now_ns);
}

static bool is_annotated(const struct users *users, unsigned job) {
    return users->jobs[job].kind == 0 && strcmp(users->jobs[job].namespace_, "team") != 0;
}

static void create(struct trial *trial, unsigned job) {
    struct users *users = trial->users;
    size_t kind = users->jobs[job].kind;
    const char *namespace_ = users->jobs[job].namespace_, *name = users->jobs[job].name;
    AUTO_JSON object = kind > 0
                           ? play_object(trial, kind, namespace_, name, users->jobs[job].finalizer)
                           : shape_job(trial, users->jobs[job].shape, namespace_, name, users->jobs[job].finalizer);
    users->jobs[job].told = 0;
    if (is_annotated(users, job))
        places_annotate(trial, object);
    if (kind == 0) {
        rooms_ask(trial, object);
        fields_ask(trial, object);
        needs_ask(trial, object);
    }
    if (kind > 0)
        needs_provide(trial, kind, object);
    if (!workload_of(trial, job))
        create_in(trial, ENGINE_MANAGEMENT, job, object);
    struct tracked_workload *tracked = tracked_of(trial, job);
    // Not every worker has that namespace, and with unsealed mirrors more requests are needed.
    if (tracked && (strcmp(tracked->namespace_, "team") == 0 || users->jobs[job].shape == SHAPE_DEADLINE))
        tracked->touched = true;
}

static void delete_job(struct trial *trial, unsigned job) {
    static const char *const policies[] = {"Background", "Foreground", "Orphan"};
    delete_in(trial, ENGINE_MANAGEMENT, job, policies[trial_below(trial, 3)]);
}

static void scale(struct trial *trial, unsigned job) {
    enum shape shape = trial->users->jobs[job].shape;
    int64_t n = 1 + (int64_t)trial_below(trial, 4);
    AUTO_TEXT text = shape == SHAPE_ELASTIC ? text_format("{\"spec\":{\"parallelism\":%lld,\"completions\":%lld}}",
                                                          (long long)n, (long long)n)
                                            : text_format("{\"spec\":{\"parallelism\":%lld}}", (long long)n);
    patch(trial, ENGINE_MANAGEMENT, job, text);
}

static void change_template(struct trial *trial, unsigned job) {
    if (trial_chance(trial, 30)) {
        patch(trial, ENGINE_MANAGEMENT, job,
              "{\"spec\":{\"template\":{\"metadata\":{\"annotations\":null},\"spec\":{\"nodeSelector\":null}}}}");
        return;
    }
    if (trial->plan.capacity) { // to a zone that has a node
        patch(trial, ENGINE_MANAGEMENT, job,
              "{\"spec\":{\"template\":{\"spec\":{\"nodeSelector\":{\"zone\":\"a\"}}}}}");
        return;
    }
    AUTO_TEXT text = text_format("{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{\"example.com/run\":\"%llu\"}"
                                 "},\"spec\":{\"nodeSelector\":{\"zone\":\"z%llu\"}}}}}",
                                 (unsigned long long)trial_below(trial, 9), (unsigned long long)trial_below(trial, 9));
    patch(trial, ENGINE_MANAGEMENT, job, text);
}

static void change_labels(struct trial *trial, unsigned job, bool add) {
    AUTO_TEXT text = text_format(
        "{\"metadata\":{\"labels\":{\"%s\":%s},\"annotations\":{\"example.com/n%llu\":\"%d\"}}}",
        add ? "example.com/l" : "team", add ? "\"x\"" : "null", (unsigned long long)trial_below(trial, 3), add);
    patch(trial, ENGINE_MANAGEMENT, job, text);
}

// One worker where it may go has no unsealed mirrors, so that every workload can be placed.
static size_t some_worker(struct trial *trial, unsigned job) {
    const struct users *users = trial->users;
    size_t workers = trial->plan.n_clusters - 1;
    bool first = trial->plan.fields || trial->plan.spaces || strcmp(users->jobs[job].namespace_, "team") == 0;
    size_t spared = first ? 0 : job % workers;
    const char *name = is_annotated(users, job) ? users->jobs[job].name : NULL;
    for (size_t i = 0; i < workers && !(places_permit(trial, 1 + spared, name) && fields_keeps(trial, 1 + spared)); i++)
        spared = (spared + 1) % workers;
    size_t other = trial_below(trial, workers - 1);
    return 1 + (other >= spared ? other + 1 : other);
}

static void add_foreign(struct trial *trial, unsigned job, enum foreign_kind kind, const char *name, size_t cluster,
                        const struct json *owner) {
    const struct json *workload = workload_of(trial, job);
    AUTO_TEXT uid = strdup(workload ? uid_of(workload) : "00000000-0000-4000-8000-000000000000");
    if (kind == FOREIGN_ORPHAN) {
        text_cleanup(&uid);
        uid = text_format("00000000-0000-4000-8000-0000000000%02u", job);
    }
    size_t index = trial->users->jobs[job].kind;
    const char *namespace_ = trial->users->jobs[job].namespace_, *owner_uid = owner ? uid_of(owner) : "";
    const char *owner_name = trial->users->jobs[job].name;
    AUTO_JSON object = index > 0 ? play_foreign(trial, index, kind, namespace_, name, uid, owner_uid, owner_name)
                                 : shape_foreign(trial, kind, namespace_, name, uid, owner_uid, owner_name);
    if (trial_object(trial, cluster, index, namespace_, name))
        return;
    if (kind == FOREIGN_ORPHAN)
        forgery_seal(trial, index, cluster, object);
    create_in(trial, cluster, job, object);
    const struct json *made = trial_object(trial, cluster, index, namespace_, name);
    if (made && kind == FOREIGN_ORPHAN)
        rules_adopt(trial, cluster, index, made);
}

static void unsealed(struct trial *trial, enum act act, unsigned job) {
    size_t cluster = some_worker(trial, job);
    char name[32];
    if (act == ACT_FOREIGN) {
        enum foreign_kind kind = trial_chance(trial, 50) ? FOREIGN_PLAIN : FOREIGN_OTHER_ORIGIN;
        add_foreign(trial, job, kind, trial->users->jobs[job].name, cluster, NULL);
    } else if (act == ACT_ORPHAN) {
        snprintf(name, sizeof name, "orphan-%u", job);
        add_foreign(trial, job, FOREIGN_ORPHAN, name, cluster, NULL);
    } else {
        snprintf(name, sizeof name, "child-%u", job);
        const struct json *owner = object_of(trial, cluster, job);
        if (owner)
            add_foreign(trial, job, FOREIGN_CHILD, name, cluster, owner);
    }
}

// The worker that has the mirror of this Job, or 0.
static size_t worker_with_mirror(struct trial *trial, unsigned job) {
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        const struct json *object = object_of(trial, c, job);
        if (object && rules_mirror(trial, uid_of(object)))
            return c;
    }
    return 0;
}

static void touch_mirror(struct trial *trial, enum act act, unsigned job) {
    size_t cluster = worker_with_mirror(trial, job);
    if (!cluster)
        return;
    if (act == ACT_DELETE_MIRROR) {
        delete_in(trial, cluster, job, trial_chance(trial, 50) ? "Background" : "Foreground");
        return;
    }
    static const char *const patches[] = {
        "{\"metadata\":{\"labels\":{\"wharf.dev/origin\":null}}}",
        "{\"metadata\":{\"labels\":{\"wharf.dev/uid\":null,\"wharf.dev/kind\":null}}}",
        "{\"metadata\":{\"annotations\":{\"wharf.dev/attempt\":null}}}",
        "{\"metadata\":{\"annotations\":{\"wharf.dev/carried\":\"\"}}}",
        "{\"metadata\":{\"annotations\":{\"wharf.dev/seal\":null}}}",
        "{\"metadata\":{\"annotations\":{\"wharf.dev/attempt\":\"2000\"}}}"};
    patch(trial, cluster, job, patches[trial_below(trial, sizeof patches / sizeof *patches)]);
}

// Under its own name elsewhere, or under another one.
static void forge(struct trial *trial, unsigned job) {
    size_t from = worker_with_mirror(trial, job);
    if (!from || trial->plan.upgrade) // an unsealed object may be a mirror then
        return;
    char name[32];
    snprintf(name, sizeof name, "copy-%u", job);
    bool own = !seal_keys_any(trial->seals) || trial_chance(trial, 70);
    forgery_make(trial, trial->users->jobs[job].kind, object_of(trial, from, job), some_worker(trial, job),
                 own ? trial->users->jobs[job].name : name);
}

// Created by the process without a key, after the first list of the process with a key.
static bool came_too_late(const struct trial *trial, const struct json *object) {
    return trial->plan.upgrade && trial->host->number > 1 && !*rules_text(object, "metadata", "annotations", MARK_SEAL);
}

// A forged object in place of the mirror, with the marks of exactly the recorded attempt: the Event NotSealed asks for
// its deletion.
static bool is_waited_for(struct trial *trial, unsigned job, size_t cluster, const struct json *object) {
    const struct json *workload = workload_of(trial, job);
    return workload && !rules_mirror(trial, uid_of(object)) && mirror_attempt(object) == mirror_attempt(workload) &&
           strcmp(rules_text(object, "metadata", "labels", MARK_UID), uid_of(workload)) == 0 &&
           strcmp(rules_text(workload, "metadata", "annotations", MARK_CLUSTER), world_name(trial->worlds[cluster])) ==
               0;
}

// A mirror without its marks is foreign to a host that was restarted since, and occupies the name forever. Nothing
// removes the host's finalizer from it: docs/lifecycle.md describes how to.
static void clean_up(struct trial *trial, unsigned job) {
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        const struct json *object = object_of(trial, c, job);
        if (object && is_waited_for(trial, job, c, object))
            delete_in(trial, c, job, "Background");
        else if (object && rules_mirror(trial, uid_of(object)) &&
                 (forgery_is(object) || came_too_late(trial, object) ||
                  !rules_is_ours(trial, c, trial->users->jobs[job].kind, object))) {
            delete_in(trial, c, job, "Background");
            patch(trial, c, job, "{\"metadata\":{\"finalizers\":null}}");
        }
    }
}

// The worker that the annotations name, if it has a mirror; or 0.
static size_t named_cluster(struct trial *trial, const struct json *workload, unsigned job) {
    const char *named = rules_text(workload, "metadata", "annotations", MARK_CLUSTER);
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        const struct json *object = object_of(trial, c, job);
        if (object && rules_mirror(trial, uid_of(object)) && strcmp(world_name(trial->worlds[c]), named) == 0)
            return c;
    }
    return 0;
}

// The annotations name a mirror that exists: another one that is not older is held, and the Event asks for its
// deletion.
static void delete_others(struct trial *trial, const struct json *workload, unsigned job) {
    size_t named = named_cluster(trial, workload, job);
    for (size_t c = 1; c < trial->plan.n_clusters && named; c++) {
        const struct json *object = object_of(trial, c, job);
        if (object && rules_mirror(trial, uid_of(object)) && c != named &&
            mirror_attempt(object) >= mirror_attempt(workload))
            delete_in(trial, c, job, "Background");
    }
}

// Below it no mirror is held: the annotations' attempt or, where they name no cluster and so none, the last that the
// host began, a create of which may be on its way.
static uint32_t least_attempt(struct trial *trial, const struct json *workload, unsigned job) {
    return object_annotation(workload, MARK_CLUSTER) ? mirror_attempt(workload) : tracked_of(trial, job)->begun;
}

// Without a key only the annotations identify the mirror to a host that was restarted since: whoever overwrote them
// restores them, as the Event asks.
static void name_mirror(struct trial *trial, unsigned job) {
    const struct json *workload = workload_of(trial, job);
    size_t named = workload ? named_cluster(trial, workload, job) : 0;
    size_t cluster = named ? named : worker_with_mirror(trial, job);
    const struct json *mirror = cluster ? object_of(trial, cluster, job) : NULL;
    if ((seal_keys_any(trial->seals) && !trial->plan.upgrade) || !mirror || !workload ||
        forgery_is(mirror) || // which clean_up has deleted, and a finalizer may still hold
        mirror_attempt(mirror) < least_attempt(trial, workload, job) ||
        (!tracked_of(trial, job)->tampered && trial->plan.back == TRIAL_BACK_NONE) ||
        strcmp(rules_text(mirror, "metadata", "labels", MARK_UID), uid_of(workload)) != 0)
        return;
    delete_others(trial, workload, job);
    AUTO_TEXT text =
        text_format("{\"metadata\":{\"annotations\":{\"" MARK_CLUSTER "\":\"%s\",\"" MARK_ATTEMPT "\":\"%u\"}}}",
                    world_name(trial->worlds[cluster]), mirror_attempt(mirror));
    patch(trial, ENGINE_MANAGEMENT, job, text);
}

static void write_nonsense(struct trial *trial, unsigned job) {
    static const char *const clusters[] = {"null", "\"nowhere\"", "\"\"", "\"w1\"", "\"w2\"", "\"management\""};
    static const char *const attempts[] = {"null", "\"banana\"", "\"1\"", "\"7\"", "\"-1\"", "\"4294967294\""};
    size_t what = trial_below(trial, 4);
    if (what == 3) {
        AUTO_TEXT label =
            text_format("{\"metadata\":{\"labels\":{\"wharf.dev/cluster\":%s}}}", clusters[trial_below(trial, 6)]);
        patch(trial, ENGINE_MANAGEMENT, job, label);
        return;
    }
    AUTO_TEXT cluster = text_format("\"wharf.dev/cluster\":%s", clusters[trial_below(trial, 6)]);
    AUTO_TEXT attempt = text_format("\"wharf.dev/attempt\":%s", attempts[trial_below(trial, 6)]);
    AUTO_TEXT text = text_format("{\"metadata\":{\"annotations\":{%s%s%s}}}", what != 1 ? cluster : "",
                                 what == 2 ? "," : "", what != 0 ? attempt : "");
    patch(trial, ENGINE_MANAGEMENT, job, text);
}

// Acts that differ for the kinds that have fixtures. False: none.
static bool act_on_play(struct trial *trial, enum act act, unsigned job) {
    size_t kind = trial->users->jobs[job].kind;
    const struct json *object = workload_of(trial, job);
    AUTO_TEXT text = NULL;
    if (kind == 0)
        return act == ACT_MANAGER || act == ACT_STORY;
    if (act == ACT_SUSPEND || act == ACT_RESUME)
        text = play_suspend(trial, kind, act == ACT_SUSPEND);
    else if (act == ACT_SCALE || act == ACT_TEMPLATE)
        text = play_patch(trial, kind);
    else if (act == ACT_STORY && object)
        text = play_story_patch(trial, kind, object, trial->users->jobs[job].told++);
    else if (act == ACT_MANAGER && object)
        text = play_manager(trial, kind, object);
    else
        return act == ACT_STORY || act == ACT_MANAGER;
    if (text)
        patch(trial, ENGINE_MANAGEMENT, job, text);
    return true;
}

static void act_on_job(struct trial *trial, enum act act, unsigned job) {
    if (act_on_play(trial, act, job))
        return;
    switch (act) {
    case ACT_RECREATE:
        delete_job(trial, job);
        create(trial, job);
        break;
    case ACT_DELETE:
        delete_job(trial, job);
        break;
    case ACT_SUSPEND:
    case ACT_RESUME:
        patch(trial, ENGINE_MANAGEMENT, job,
              act == ACT_SUSPEND ? "{\"spec\":{\"suspend\":true}}" : "{\"spec\":{\"suspend\":false}}");
        break;
    case ACT_SCALE:
        scale(trial, job);
        break;
    case ACT_TEMPLATE:
        change_template(trial, job);
        break;
    case ACT_LABEL:
    case ACT_UNLABEL:
        change_labels(trial, job, act == ACT_LABEL);
        break;
    case ACT_RETRY: {
        AUTO_TEXT text = text_format("{\"metadata\":{\"annotations\":{\"" MARK_RETRY "\":\"%lld\"}}}",
                                     (long long)trial_below(trial, 1000));
        if (patch(trial, ENGINE_MANAGEMENT, job, text) == 200 && trial->users->jobs[job].kind == 0)
            pests_retried(trial, trial->users->jobs[job].name);
        break;
    }
    case ACT_RELEASE:
        clean_up(trial, job);
        name_mirror(trial, job);
        patch(trial, ENGINE_MANAGEMENT, job, "{\"metadata\":{\"finalizers\":null}}");
        break;
    case ACT_NONSENSE:
        write_nonsense(trial, job);
        break;
    case ACT_FORGE:
        forge(trial, job);
        break;
    case ACT_DELETE_MIRROR:
    case ACT_STRIP:
        touch_mirror(trial, act, job);
        break;
    default:
        unsealed(trial, act, job);
        break;
    }
}

static void act_once(struct trial *trial, enum act act, unsigned job) {
    trial_trace(trial, "user: %s %s", act_names[act], trial->users->jobs[job].name);
    bool strange = act == ACT_STRIP || act == ACT_NONSENSE || act == ACT_MANAGER;
    struct tracked_workload *tracked = tracked_of(trial, job);
    if (tracked && act != ACT_CREATE) {
        tracked->touched = true;
        tracked->tampered |= strange;
        tracked->scaled |= act == ACT_SCALE;
    }
    if (act == ACT_CREATE) {
        create(trial, job);
        return;
    }
    // With one index that fails, the outcome would depend on when.
    if (act == ACT_SCALE && trial->users->jobs[job].kind == 0 && trial->users->jobs[job].shape == SHAPE_INDEX_FAILS)
        return;
    act_on_job(trial, act, job);
}

void users_act(struct trial *trial) {
    struct users *users = trial->users;
    trial->user_acts = true;
    while (users->next < users->n && users->actions[users->next].at_ns <= trial->now_ns) {
        const struct action_due *due = &users->actions[users->next++];
        if (!due->off)
            act_once(trial, due->act, due->job);
    }
    trial->user_acts = false;
}

int64_t users_some_time(struct trial *trial) {
    const struct users *users = trial->users;
    return users->actions[trial_below(trial, users->n)].at_ns;
}
