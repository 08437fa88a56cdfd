// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/users.h"
#include "core/host/mirror.h"
#include "tests/simulation/rules.h"
#include "tests/simulation/shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACTIONS 256
#define JOBS 15

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
    ACT_RELEASE, // takes finalizers off, and away what was a mirror before somebody took its marks off
    ACT_ORPHAN,  // the last that does nothing to what is the host's
    ACT_STRANGER,
    ACT_CHILD,
    ACT_DELETE_MIRROR,
    ACT_STRIP,
    ACT_NONSENSE,
    ACTS
};

struct action_due {
    int64_t at_ns;
    enum act act;
    unsigned job, order;
};

struct users {
    struct action_due actions[ACTIONS];
    size_t n, next;
    unsigned n_jobs;
    struct {
        char namespace_[16], name[16];
        enum shape shape;
        bool finalizer;
    } jobs[JOBS];
};

static void plan(struct users *users, int64_t at_ns, enum act act, unsigned job) {
    if (users->n == ACTIONS)
        return;
    users->actions[users->n] = (struct action_due){at_ns, act, job, (unsigned)users->n};
    users->n++;
}

static int by_time(const void *a, const void *b) {
    const struct action_due *left = a, *right = b;
    if (left->at_ns != right->at_ns)
        return left->at_ns < right->at_ns ? -1 : 1;
    return left->order < right->order ? -1 : 1;
}

static void plan_job(struct trial *trial, struct users *users, unsigned job) {
    const struct trial_plan *p = &trial->plan;
    int64_t made_ns = trial->now_ns + trial_between(trial, 0, 40 * CLOCK_SECOND), end_ns = p->trouble_end_ns;
    users->jobs[job].shape = (enum shape)trial_below(trial, SHAPES);
    if (users->jobs[job].shape == SHAPE_SCRIPTED && !p->plain)
        users->jobs[job].shape = SHAPE_PLAIN; // a script knows nothing of suspension
    users->jobs[job].finalizer = !p->plain && trial_chance(trial, 10);
    bool team = trial_chance(trial, 20);
    text_copy(users->jobs[job].namespace_, sizeof users->jobs[job].namespace_, team ? "team" : "default");
    snprintf(users->jobs[job].name, sizeof users->jobs[job].name, "job-%u", job);
    plan(users, made_ns, ACT_CREATE, job);
    if (p->plain)
        return;
    for (uint64_t i = trial_below(trial, 5); i > 0; i--) {
        enum act act = (enum act)(ACT_DELETE + trial_below(trial, p->gentle_users ? ACT_ORPHAN : ACTS - ACT_DELETE));
        plan(users, trial_between(trial, made_ns, made_ns + (end_ns - made_ns) / 2), act, job);
    }
    if (trial_chance(trial, 15)) { // suspended in time, and changed then
        int64_t at_ns = made_ns + trial_between(trial, 0, 4 * CLOCK_SECOND);
        plan(users, at_ns, ACT_SUSPEND, job);
        plan(users, at_ns + trial_between(trial, 0, 30 * CLOCK_SECOND), ACT_TEMPLATE, job);
    }
    if (trial_chance(trial, 70))
        plan(users, trial_between(trial, made_ns, end_ns), ACT_RESUME, job);
    plan(users, end_ns + CLOCK_SECOND, ACT_RELEASE, job); // nothing is denied any more
}

struct users *users_new(struct trial *trial) {
    struct users *users = calloc(1, sizeof *users);
    if (!users)
        return NULL;
    users->n_jobs = 4 + (unsigned)trial_below(trial, JOBS - 3);
    for (unsigned i = 0; i < users->n_jobs; i++)
        plan_job(trial, users, i);
    qsort(users->actions, users->n, sizeof *users->actions, by_time);
    return users;
}

int64_t users_due(const struct trial *trial) {
    const struct users *users = trial->users;
    return users->next < users->n ? users->actions[users->next].at_ns : CLOCK_NEVER;
}

static const char *uid_of(const struct json *object) {
    return rules_text(object, "metadata", NULL, "uid");
}

static const struct json *workload_of(struct trial *trial, unsigned job) {
    return trial_job(trial, ENGINE_MANAGEMENT, trial->users->jobs[job].namespace_, trial->users->jobs[job].name);
}

static struct tracked_job *tracked_of(struct trial *trial, unsigned job) {
    const struct json *workload = workload_of(trial, job);
    return workload ? rules_job(trial, uid_of(workload)) : NULL;
}

static int patch(struct trial *trial, size_t cluster, unsigned job, const char *text) {
    return world_patch(trial->worlds[cluster], "batch", "jobs", trial->users->jobs[job].namespace_,
                       trial->users->jobs[job].name, NULL, text, trial->now_ns);
}

static void create(struct trial *trial, unsigned job) {
    struct users *users = trial->users;
    AUTO_JSON object = shape_job(trial, users->jobs[job].shape, users->jobs[job].namespace_, users->jobs[job].name,
                                 users->jobs[job].finalizer);
    if (!workload_of(trial, job))
        world_apply(trial->worlds[ENGINE_MANAGEMENT], "batch", "jobs", object, trial->now_ns);
    struct tracked_job *tracked = tracked_of(trial, job);
    // Not every worker has that namespace, and where there are strangers things cost more.
    if (tracked && (strcmp(tracked->namespace_, "team") == 0 || users->jobs[job].shape == SHAPE_DEADLINE))
        tracked->touched = true;
}

static void delete_job(struct trial *trial, unsigned job) {
    static const char *const policies[] = {"Background", "Foreground", "Orphan"};
    world_delete(trial->worlds[ENGINE_MANAGEMENT], "batch", "jobs", trial->users->jobs[job].namespace_,
                 trial->users->jobs[job].name, policies[trial_below(trial, 3)], trial->now_ns);
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

// One worker is left without strangers, so that there is a place for everyone.
static size_t some_worker(struct trial *trial, unsigned job) {
    size_t workers = trial->plan.n_clusters - 1;
    size_t spared = strcmp(trial->users->jobs[job].namespace_, "team") == 0 ? 0 : job % workers;
    size_t other = trial_below(trial, workers - 1);
    return 1 + (other >= spared ? other + 1 : other);
}

static void add_stranger(struct trial *trial, unsigned job, enum stranger kind, const char *name, size_t cluster,
                         const struct json *owner) {
    const struct json *workload = workload_of(trial, job);
    AUTO_TEXT uid = strdup(workload ? uid_of(workload) : "00000000-0000-4000-8000-000000000000");
    if (kind == STRANGER_ORPHAN) {
        text_cleanup(&uid);
        uid = text_format("00000000-0000-4000-8000-0000000000%02u", job);
    }
    AUTO_JSON object = shape_stranger(trial, kind, trial->users->jobs[job].namespace_, name, uid,
                                      owner ? uid_of(owner) : "", trial->users->jobs[job].name);
    if (trial_job(trial, cluster, trial->users->jobs[job].namespace_, name))
        return;
    world_apply(trial->worlds[cluster], "batch", "jobs", object, trial->now_ns);
    const struct json *made = trial_job(trial, cluster, trial->users->jobs[job].namespace_, name);
    if (made && kind == STRANGER_ORPHAN)
        rules_adopt(trial, cluster, made);
}

static void strangers(struct trial *trial, enum act act, unsigned job) {
    size_t cluster = some_worker(trial, job);
    char name[32];
    if (act == ACT_STRANGER) {
        enum stranger kind = trial_chance(trial, 50) ? STRANGER_PLAIN : STRANGER_OTHER_ORIGIN;
        add_stranger(trial, job, kind, trial->users->jobs[job].name, cluster, NULL);
    } else if (act == ACT_ORPHAN) {
        snprintf(name, sizeof name, "orphan-%u", job);
        add_stranger(trial, job, STRANGER_ORPHAN, name, cluster, NULL);
    } else {
        snprintf(name, sizeof name, "child-%u", job);
        const struct json *owner =
            trial_job(trial, cluster, trial->users->jobs[job].namespace_, trial->users->jobs[job].name);
        if (owner)
            add_stranger(trial, job, STRANGER_CHILD, name, cluster, owner);
    }
}

// The worker that has the mirror of this Job, or 0.
static size_t worker_with_mirror(struct trial *trial, unsigned job) {
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        const struct json *object =
            trial_job(trial, c, trial->users->jobs[job].namespace_, trial->users->jobs[job].name);
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
        world_delete(trial->worlds[cluster], "batch", "jobs", trial->users->jobs[job].namespace_,
                     trial->users->jobs[job].name, trial_chance(trial, 50) ? "Background" : "Foreground",
                     trial->now_ns);
        return;
    }
    static const char *const patches[] = {
        "{\"metadata\":{\"labels\":{\"wharf.dev/origin\":null}}}",
        "{\"metadata\":{\"labels\":{\"wharf.dev/uid\":null,\"wharf.dev/kind\":null}}}",
        "{\"metadata\":{\"annotations\":{\"wharf.dev/attempt\":null}}}",
        "{\"metadata\":{\"annotations\":{\"wharf.dev/carried\":\"\"}}}"};
    patch(trial, cluster, job, patches[trial_below(trial, 4)]);
}

// A mirror without its marks is a stranger to a host that was started since, and in the way for ever.
static void clean_up(struct trial *trial, unsigned job) {
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        const struct json *object =
            trial_job(trial, c, trial->users->jobs[job].namespace_, trial->users->jobs[job].name);
        if (object && rules_mirror(trial, uid_of(object)) && !mirror_is_ours(trial->kind, TRIAL_ORIGIN, object))
            world_delete(trial->worlds[c], "batch", "jobs", trial->users->jobs[job].namespace_,
                         trial->users->jobs[job].name, "Background", trial->now_ns);
    }
}

static void write_nonsense(struct trial *trial, unsigned job) {
    static const char *const clusters[] = {"null", "\"nowhere\"", "\"\"", "\"w1\"", "\"w2\"", "\"management\""};
    static const char *const attempts[] = {"null", "\"banana\"", "\"1\"", "\"7\"", "\"-1\"", "\"4294967294\""};
    size_t what = trial_below(trial, 3);
    AUTO_TEXT cluster = text_format("\"wharf.dev/cluster\":%s", clusters[trial_below(trial, 6)]);
    AUTO_TEXT attempt = text_format("\"wharf.dev/attempt\":%s", attempts[trial_below(trial, 6)]);
    AUTO_TEXT text = text_format("{\"metadata\":{\"annotations\":{%s%s%s}}}", what != 1 ? cluster : "",
                                 what == 2 ? "," : "", what != 0 ? attempt : "");
    patch(trial, ENGINE_MANAGEMENT, job, text);
}

static void act_on_job(struct trial *trial, enum act act, unsigned job) {
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
    case ACT_RELEASE:
        clean_up(trial, job);
        patch(trial, ENGINE_MANAGEMENT, job, "{\"metadata\":{\"finalizers\":null}}");
        break;
    case ACT_NONSENSE:
        write_nonsense(trial, job);
        break;
    case ACT_DELETE_MIRROR:
    case ACT_STRIP:
        touch_mirror(trial, act, job);
        break;
    default:
        strangers(trial, act, job);
        break;
    }
}

static void act_once(struct trial *trial, enum act act, unsigned job) {
    static const char *const names[] = {"creates",          "deletes",          "deletes and creates again",
                                        "suspends",         "resumes",          "scales",
                                        "changes template", "adds labels",      "takes labels off",
                                        "releases",         "leaves an orphan", "puts a stranger in the way of",
                                        "adds a child",     "deletes mirror",   "strips marks",
                                        "writes nonsense"};
    trial_trace(trial, "user: %s %s", names[act], trial->users->jobs[job].name);
    bool strange = act == ACT_STRIP || act == ACT_NONSENSE;
    struct tracked_job *tracked = tracked_of(trial, job);
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
    if (act == ACT_SCALE && trial->users->jobs[job].shape == SHAPE_INDEX_FAILS)
        return;
    act_on_job(trial, act, job);
}

void users_act(struct trial *trial) {
    struct users *users = trial->users;
    trial->user_acts = true;
    while (users->next < users->n && users->actions[users->next].at_ns <= trial->now_ns) {
        const struct action_due *due = &users->actions[users->next++];
        act_once(trial, due->act, due->job);
    }
    trial->user_acts = false;
}

int64_t users_some_time(struct trial *trial) {
    const struct users *users = trial->users;
    return users->actions[trial_below(trial, users->n)].at_ns;
}
