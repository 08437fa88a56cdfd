// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/need_acts.h"

#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"
#include "tests/simulation/cuts.h"
#include "tests/simulation/need_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACTS_MAX 96

enum act {
    ACT_APPEAR, // the source, if it is missing
    ACT_ROTATE,
    ACT_VANISH,
    ACT_RENEW, // a source made anew under its name
    ACT_FREEZE,
    ACT_LABEL,
    ACT_RETYPE,
    ACT_PULLS, // of a ServiceAccount
    // In a worker.
    ACT_STRANGER,
    ACT_ADJUST, // another writer's object gets the content of the source, or another
    ACT_LEAVE,
    ACT_TAKE, // somebody deletes a copy, or a checked object
    ACT_TOKEN,
    ACT_UNMARK,
    ACT_RIVAL, // another host makes a copy, or begins to use one
    ACT_YIELD, // and needs it no longer
    ACTS
};

static const char *const act_names[ACTS] = {"creates",
                                            "rotates",
                                            "deletes",
                                            "replaces",
                                            "makes immutable",
                                            "labels",
                                            "changes the type of",
                                            "changes the pull secrets of",
                                            "has own",
                                            "adjusts own",
                                            "deletes own",
                                            "takes",
                                            "adds a token to",
                                            "takes marks off",
                                            "as another host, makes or uses",
                                            "as another host, leaves"};

struct act_due {
    int64_t at_ns;
    enum act act;
    size_t thing, cluster; // cluster 0: of the source
    unsigned order;
    bool off;
};

struct need_acts {
    struct random random;
    struct act_due due[ACTS_MAX];
    size_t n, next;
};

static const char *content_prefix(const struct thing *thing) {
    return thing->resource == NEED_CONFIGMAPS ? NEED_CONFIG_TEXT
           : thing->nature >= SECRET_TOKEN    ? NEED_DENIED_TEXT
                                              : NEED_SECRET_TEXT;
}

// The members of an object besides its metadata. `number` of the content; 0: a stranger's.
static char *members_of(const struct thing *thing, unsigned number) {
    AUTO_TEXT content = text_format("%s-%s-%s-%u", content_prefix(thing), thing->namespace_, thing->name, number);
    bool odd = number == 0;
    switch (thing->resource) {
    case NEED_CONFIGMAPS:
        return text_format(",\"data\":{\"k\":\"%s\"}", content);
    case NEED_SECRETS:
        if (thing->nature == SECRET_PULL)
            return text_format(",\"type\":\"kubernetes.io/dockerconfigjson\",\"stringData\":{\".dockerconfigjson\":"
                               "\"{\\\"auths\\\":{\\\"%s\\\":{}}}\"}",
                               content);
        return text_format(",\"type\":\"%s\",\"stringData\":{\"k\":\"%s\"}",
                           thing->nature == SECRET_TOKEN       ? "kubernetes.io/service-account-token"
                           : thing->nature == SECRET_HELM      ? "helm.sh/release.v1"
                           : thing->nature == SECRET_BOOTSTRAP ? "bootstrap.kubernetes.io/token"
                           : thing->retyped                    ? "example.com/other"
                                                               : "Opaque",
                           content);
    case NEED_ACCOUNTS:
        return thing->pulls != odd ? text_format(",\"imagePullSecrets\":[{\"name\":\"pull-0\"}]")
                                   : text_format("%s", "");
    case NEED_CLAIMS:
        return text_format(",\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":"
                           "\"%dGi\"}}}",
                           odd ? 2 : 1);
    case NEED_PRIORITIES:
        return text_format(",\"value\":%d", odd ? 2000 : 1000);
    default:
        return text_format(",\"handler\":\"%s\"", odd ? "gvisor" : "runc");
    }
}

static struct json *make(const struct thing *thing, unsigned number, bool labelled) {
    AUTO_TEXT members = members_of(thing, number);
    AUTO_TEXT text = text_format(
        "{\"metadata\":{\"name\":\"%s\"%s%s%s,\"labels\":{\"app\":\"x\"%s},\"annotations\":{\"example.com/note\":\"n\","
        "\"kubernetes.io/service-account.name\":\"default\",\"kubernetes.io/enforce-mountable-secrets\":\"true\"}}%s}",
        thing->name, *thing->namespace_ ? ",\"namespace\":\"" : "", thing->namespace_, *thing->namespace_ ? "\"" : "",
        labelled ? ",\"wharf.dev/copy\":\"true\"" : "", members);
    struct json *object = NULL;
    if (!members || !text || json_parse(text, strlen(text), &object))
        abort();
    return object;
}

static void create(struct trial *trial, size_t cluster, size_t index, const struct json *object) {
    const struct need_names *names = &need_names[needs_at(trial, index)->resource];
    world_apply(trial->worlds[cluster], names->group, names->plural, object, trial->now_ns);
}

static void patch(struct trial *trial, size_t cluster, size_t index, const char *text) {
    const struct thing *thing = needs_at(trial, index);
    const struct need_names *names = &need_names[thing->resource];
    world_patch(trial->worlds[cluster], names->group, names->plural, thing->namespace_, thing->name, NULL, text,
                trial->now_ns);
}

static void remove_in(struct trial *trial, size_t cluster, size_t index) {
    const struct thing *thing = needs_at(trial, index);
    const struct need_names *names = &need_names[thing->resource];
    world_delete(trial->worlds[cluster], names->group, names->plural, thing->namespace_, thing->name, NULL,
                 trial->now_ns);
}

static void appear(struct trial *trial, size_t index) {
    struct thing *thing = needs_at(trial, index);
    if (needs_object(trial, ENGINE_MANAGEMENT, index))
        return;
    AUTO_JSON object = make(thing, ++thing->content, thing->labelled);
    create(trial, ENGINE_MANAGEMENT, index, object);
}

// An object of another writer in a worker: `equal` to the source, as it is or would be.
static void add_stranger(struct trial *trial, size_t cluster, size_t index, bool equal) {
    const struct thing *thing = needs_at(trial, index);
    if (needs_object(trial, cluster, index))
        return;
    AUTO_JSON object = make(thing, equal ? (thing->content ? thing->content : 1) : 0, false);
    create(trial, cluster, index, object);
}

static bool is_marked(const struct json *object) {
    return *need_label(object, MARK_ORIGIN);
}

static void rotate(struct trial *trial, size_t cluster, size_t index, unsigned number) {
    const struct thing *thing = needs_at(trial, index);
    AUTO_TEXT members = members_of(thing, number);
    AUTO_TEXT text = text_format("{\"metadata\":{\"labels\":{\"example.com/n\":\"%u\"}}%s}", number,
                                 thing->resource <= NEED_ACCOUNTS ? members : "");
    patch(trial, cluster, index, text);
}

static void on_source(struct trial *trial, enum act act, size_t index) {
    struct thing *thing = needs_at(trial, index);
    switch (act) {
    case ACT_ROTATE:
        if (needs_object(trial, ENGINE_MANAGEMENT, index))
            rotate(trial, ENGINE_MANAGEMENT, index, ++thing->content);
        break;
    case ACT_VANISH:
        remove_in(trial, ENGINE_MANAGEMENT, index);
        break;
    case ACT_FREEZE:
        if (thing->resource <= NEED_SECRETS)
            patch(trial, ENGINE_MANAGEMENT, index, "{\"immutable\":true}");
        break;
    case ACT_LABEL:
        thing->labelled = !thing->labelled;
        patch(trial, ENGINE_MANAGEMENT, index,
              thing->labelled ? "{\"metadata\":{\"labels\":{\"wharf.dev/copy\":\"true\"}}}"
                              : "{\"metadata\":{\"labels\":{\"wharf.dev/copy\":null}}}");
        break;
    case ACT_PULLS:
        if (thing->resource != NEED_ACCOUNTS)
            break;
        thing->pulled |= thing->pulls;
        thing->pulls = !thing->pulls;
        patch(trial, ENGINE_MANAGEMENT, index,
              thing->pulls ? "{\"imagePullSecrets\":[{\"name\":\"pull-0\"}]}" : "{\"imagePullSecrets\":null}");
        break;
    case ACT_RETYPE:
        thing->retyped = !thing->retyped;
        __attribute__((fallthrough));
    case ACT_RENEW:
        remove_in(trial, ENGINE_MANAGEMENT, index);
        __attribute__((fallthrough));
    default:
        appear(trial, index);
        break;
    }
}

static bool is_of(const struct json *object, const char *origin) {
    return object && strcmp(need_label(object, MARK_ORIGIN), origin) == 0;
}

#define RIVAL "another"

// D8: a host of another origin has copies in the same workers.
static void make_or_use(struct trial *trial, size_t cluster, size_t index) {
    const struct json *there = needs_object(trial, cluster, index);
    const struct json *source = needs_object(trial, ENGINE_MANAGEMENT, index);
    if (!there && source && needs_is_copied(trial, index)) {
        add_stranger(trial, cluster, index, true);
        patch(trial, cluster, index,
              "{\"metadata\":{\"labels\":{\"" MARK_ORIGIN "\":\"" RIVAL "\",\"" COPY_OF
              "\":\"u\"},\"annotations\":{\"" SOURCE "\":\"u/1\",\"" MARK_SEAL "\":\"" RIVAL "\"}}}");
    } else if (is_of(there, TRIAL_ORIGIN)) {
        patch(trial, cluster, index, "{\"metadata\":{\"annotations\":{\"" ALSO_USED "\":\"" RIVAL "\"}}}");
    }
}

static void yield_copy(struct trial *trial, size_t cluster, size_t index) {
    const struct json *there = needs_object(trial, cluster, index);
    const char *also = there ? need_note(there, ALSO_USED) : "";
    if (is_of(there, RIVAL) && strcmp(also, TRIAL_ORIGIN) == 0)
        patch(trial, cluster, index,
              "{\"metadata\":{\"labels\":{\"" MARK_ORIGIN "\":\"" TRIAL_ORIGIN "\"},\"annotations\":{\"" ALSO_USED
              "\":null,\"" MARK_SEAL "\":null}}}");
    else if (is_of(there, RIVAL))
        remove_in(trial, cluster, index);
    else if (is_of(there, TRIAL_ORIGIN) && strcmp(also, RIVAL) == 0)
        patch(trial, cluster, index, "{\"metadata\":{\"annotations\":{\"" ALSO_USED "\":null}}}");
}

static void in_worker(struct trial *trial, const struct act_due *due) {
    const struct json *there = needs_object(trial, due->cluster, due->thing);
    const struct thing *thing = needs_at(trial, due->thing);
    bool own = there && !is_marked(there), even = due->order % 2;
    if (due->act == ACT_RIVAL)
        make_or_use(trial, due->cluster, due->thing);
    else if (due->act == ACT_YIELD)
        yield_copy(trial, due->cluster, due->thing);
    else if (due->act == ACT_STRANGER && !there)
        add_stranger(trial, due->cluster, due->thing, even);
    else if (due->act == ACT_ADJUST && own)
        rotate(trial, due->cluster, due->thing, even ? thing->content : 0);
    else if ((due->act == ACT_LEAVE && own) || (due->act == ACT_TAKE && there))
        remove_in(trial, due->cluster, due->thing);
    else if (due->act == ACT_TOKEN && thing->resource == NEED_ACCOUNTS)
        patch(trial, due->cluster, due->thing, "{\"secrets\":[{\"name\":\"token-of-the-worker\"}]}");
    else if (due->act == ACT_UNMARK && there && is_marked(there))
        patch(trial, due->cluster, due->thing,
              even ? "{\"metadata\":{\"labels\":null}}" : "{\"metadata\":{\"annotations\":null}}");
}

static int by_time(const void *a, const void *b) {
    const struct act_due *left = a, *right = b;
    if (left->at_ns != right->at_ns)
        return left->at_ns < right->at_ns ? -1 : 1;
    return left->order < right->order ? -1 : 1;
}

static void plan(struct trial *trial, struct need_acts *acts) {
    struct random *random = &acts->random;
    size_t count = trial->plan.plain ? 0 : 8 + random_below(random, ACTS_MAX - 8);
    uint64_t length_ns = (uint64_t)(trial->plan.trouble_end_ns - trial->now_ns);
    for (size_t i = 0; i < count; i++) {
        struct act_due *due = &acts->due[acts->n++];
        *due = (struct act_due){.at_ns = trial->now_ns + (int64_t)random_below(random, length_ns),
                                .act = (enum act)random_below(random, ACTS),
                                .thing = random_below(random, needs_count(trial)),
                                .cluster = 1 + random_below(random, trial->plan.n_clusters - 1),
                                .order = (unsigned)i};
        if (due->act < ACT_STRANGER)
            due->cluster = ENGINE_MANAGEMENT;
    }
    qsort(acts->due, acts->n, sizeof *acts->due, by_time);
    for (size_t i = 0; i < acts->n; i++) {
        struct act_due *due = &acts->due[i];
        const struct thing *thing = needs_at(trial, due->thing);
        due->off =
            !cuts_has(trial, "%.3f needs, %s: %s %s/%s", (double)(due->at_ns - TRIAL_START_NS) / 1e9,
                      world_name(trial->worlds[due->cluster]), act_names[due->act], thing->namespace_, thing->name);
    }
}

// A worker has all that is checked, or most of it.
static void set_up_worker(struct trial *trial, size_t cluster, struct random *random) {
    for (size_t i = 0; i < needs_count(trial); i++)
        if (!needs_is_copied(trial, i) && (!random || random_below(random, 3)))
            add_stranger(trial, cluster, i, true);
}

void need_acts_set_up(struct trial *trial, size_t cluster) {
    trial->user_acts = true;
    if (cluster != ENGINE_MANAGEMENT)
        set_up_worker(trial, cluster, NULL);
    for (size_t i = 0; i < needs_count(trial) && cluster == ENGINE_MANAGEMENT; i++)
        appear(trial, i);
    trial->user_acts = false;
}

void need_acts_provide(struct trial *trial, size_t index) {
    appear(trial, index);
    for (size_t c = 1; c < trial->plan.n_clusters && !needs_is_copied(trial, index); c++)
        add_stranger(trial, c, index, true);
}

struct need_acts *need_acts_new(struct trial *trial) {
    struct need_acts *acts = calloc(1, sizeof *acts);
    if (!acts)
        return NULL;
    acts->random.state = trial->seed * 79 + 43;
    (void)random_next(&acts->random);
    trial->user_acts = true;
    for (size_t i = 0; i < needs_count(trial); i++)
        if (trial->plan.plain || random_below(&acts->random, 4))
            appear(trial, i);
    for (size_t c = 1; c < trial->plan.n_clusters; c++)
        set_up_worker(trial, c, trial->plan.plain ? NULL : &acts->random);
    trial->user_acts = false;
    plan(trial, acts);
    return acts;
}

int64_t need_acts_due(const struct need_acts *acts) {
    return acts->next < acts->n ? acts->due[acts->next].at_ns : CLOCK_NEVER;
}

void need_acts_run(struct trial *trial, struct need_acts *acts) {
    trial->user_acts = true;
    while (acts->next < acts->n && acts->due[acts->next].at_ns <= trial->now_ns) {
        const struct act_due *due = &acts->due[acts->next++];
        const struct thing *thing = needs_at(trial, due->thing);
        if (due->off)
            continue;
        trial_trace(trial, "somebody %s %s/%s in %s", act_names[due->act], thing->namespace_, thing->name,
                    world_name(trial->worlds[due->cluster]));
        if (due->act < ACT_STRANGER)
            on_source(trial, due->act, due->thing);
        else
            in_worker(trial, due);
    }
    trial->user_acts = false;
}

static void repair_worker(struct trial *trial, size_t cluster, size_t index) {
    yield_copy(trial, cluster, index);
    const struct json *there = needs_object(trial, cluster, index);
    const struct json *source = needs_object(trial, ENGINE_MANAGEMENT, index);
    if (there && !is_marked(there) && needs_is_copied(trial, index) &&
        !needs_are_equal(needs_at(trial, index)->resource, there, source))
        remove_in(trial, cluster, index);
    if (!needs_is_copied(trial, index))
        add_stranger(trial, cluster, index, true);
}

void need_acts_end(struct trial *trial, struct need_acts *acts) {
    acts->next = acts->n;
    trial->user_acts = true;
    for (size_t i = 0; i < needs_count(trial); i++) {
        if (!needs_at(trial, i)->labelled)
            on_source(trial, ACT_LABEL, i);
        appear(trial, i);
        for (size_t c = 1; c < trial->plan.n_clusters; c++)
            repair_worker(trial, c, i);
    }
    trial->user_acts = false;
}
