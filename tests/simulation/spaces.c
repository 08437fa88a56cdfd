// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/spaces.h"

#include "core/base/text.h"
#include "tests/simulation/cuts.h"
#include "tests/simulation/members.h"
#include "tests/simulation/tenants.h"

#include <stdlib.h>
#include <string.h>

#define ACTS 6
#define LISTED_NS (3 * CLOCK_SECOND) // after a start, the list of namespaces takes up to so long

enum { DEFAULT, TEAM };
const char *const space_names[SPACES] = {"default", "team"};
static const char *const labels[] = {NULL, "env=prod", "env=dev", "env=dev,team=a"};
#define LABELS (sizeof labels / sizeof *labels)

// As the configuration has it, and what it means.
static const struct rule {
    const char *text;
    bool denies[SPACES];
    bool selects; // by label, those of which `selected` says so
    bool selected[LABELS];
} rules[] = {
    {.text = "-kube-*\n"},
    {.text = "-team\n", .denies = {false, true}},
    {.text = "+team*\n-kube-*\n", .denies = {true, false}},
    {.text = "+*\n-de*lt\n", .denies = {true, false}},
    {.text = "+default\n+te\n", .denies = {false, true}},
    {.text = "=env in (prod,test)\n", .selects = true, .selected = {false, true, false, false}},
    {.text = "-kube-*\n=env\n", .selects = true, .selected = {false, true, true, true}},
    {.text = "-default\n=env=dev\n", .denies = {true, false}, .selects = true, .selected = {false, false, true, true}}};
#define RULES (sizeof rules / sizeof *rules)

enum change { CHANGE_RULE, CHANGE_WORKER, CHANGE_LABELS, CHANGE_WATCH, CHANGES };
static const char *const change_words[] = {"other namespaces are permitted",
                                           "other namespaces are permitted in a worker", "a namespace has other labels",
                                           "namespaces cannot be watched for a moment"};

struct spaces {
    struct random random;
    size_t rule, workers[TRIAL_CLUSTERS]; // configured
    size_t labels[SPACES];
    struct known {                    // by a replica of the host
        size_t rules[TRIAL_CLUSTERS]; // of workers
        bool has[SPACES];
        size_t labels[SPACES];
        int64_t list_ns; // when the next list of namespaces is complete
    } known[TRIAL_HOSTS];
    struct {
        int64_t at_ns;
        enum change change;
    } acts[ACTS];
    size_t n_acts;
};

void spaces_add(struct trial *trial, size_t cluster) {
    AUTO_JSON team = NULL;
    static const char text[] = "{\"metadata\":{\"name\":\"team\"}}";
    error_free(json_parse(text, sizeof text - 1, &team));
    world_apply(trial->worlds[cluster], "", "namespaces", team, trial->now_ns);
    tenants_namespace(trial, cluster);
}

struct spaces *spaces_new(struct trial *trial) {
    struct spaces *spaces = calloc(1, sizeof *spaces);
    if (!spaces)
        return NULL;
    for (size_t i = 0; i < TRIAL_HOSTS; i++)
        spaces->known[i].list_ns = CLOCK_NEVER;
    if (!trial->plan.spaces)
        return spaces;
    spaces->random.state = trial->seed * 53 + 23;
    (void)random_next(&spaces->random);
    spaces->rule = random_below(&spaces->random, RULES);
    for (size_t c = 2; c < trial->plan.n_clusters; c++) // the first one takes what is permitted overall
        spaces->workers[c] = random_below(&spaces->random, 2) ? random_below(&spaces->random, RULES) : 0;
    for (size_t i = 0; i < SPACES; i++)
        spaces->labels[i] = random_below(&spaces->random, LABELS);
    spaces->n_acts = random_below(&spaces->random, ACTS + 1);
    uint64_t length_ns = (uint64_t)(trial->plan.trouble_end_ns - trial->now_ns);
    for (size_t i = 0; i < spaces->n_acts; i++) {
        spaces->acts[i].at_ns = trial->now_ns + (int64_t)random_below(&spaces->random, length_ns);
        spaces->acts[i].change = (enum change)random_below(&spaces->random, CHANGES);
        if (!cuts_has(trial, "%.3f operator: %s", (double)(spaces->acts[i].at_ns - TRIAL_START_NS) / 1e9,
                      change_words[spaces->acts[i].change]))
            spaces->acts[i].at_ns = CLOCK_NEVER;
    }
    return spaces;
}

int64_t spaces_due(const struct trial *trial) {
    const struct spaces *spaces = trial->spaces;
    int64_t due = tenants_due(trial);
    for (size_t i = 0; i < trial->plan.hosts; i++)
        if (trial->hosts[i].alive)
            due = clock_earlier(due, spaces->known[i].list_ns);
    for (size_t i = 0; i < spaces->n_acts; i++)
        due = clock_earlier(due, spaces->acts[i].at_ns);
    return due;
}

static void post(struct trial *trial, enum namespace_news news, size_t space) {
    struct engine_event event = {.type = EVENT_NAMESPACE, .namespace_ = {.news = news, .name = space_names[space]}};
    event.namespace_.labels = news == NAMESPACE_SEEN ? labels[trial->spaces->labels[space]] : NULL;
    instance_post(trial, &event);
}

static struct known *known_of(const struct trial *trial) {
    return &trial->spaces->known[trial->host->index];
}

static void list(struct trial *trial) {
    known_of(trial)->list_ns = CLOCK_NEVER;
    post(trial, NAMESPACES_LISTING, 0);
    for (size_t i = 0; i < SPACES; i++)
        post(trial, NAMESPACE_SEEN, i);
    post(trial, NAMESPACES_LISTED, 0);
}

// Of the replica's watch of namespaces.
static void change_watch(struct trial *trial, enum change what, size_t space) {
    struct known *known = known_of(trial);
    if (what == CHANGE_LABELS && known->list_ns == CLOCK_NEVER)
        post(trial, NAMESPACE_SEEN, space);
    if (what != CHANGE_WATCH)
        return;
    post(trial, NAMESPACES_UNKNOWN, 0);
    known->list_ns = trial->now_ns + (int64_t)random_below(&trial->spaces->random, 10 * LISTED_NS);
}

static void change(struct trial *trial, enum change what) {
    struct spaces *spaces = trial->spaces;
    size_t rule = random_below(&spaces->random, RULES), space = random_below(&spaces->random, SPACES);
    size_t worker = 1 + random_below(&spaces->random, trial->plan.n_clusters - 1);
    trial_trace(trial, "operator: %s", change_words[what]);
    if (what == CHANGE_RULE) {
        spaces->rule = rule;
        instance_configure(trial);
    } else if (what == CHANGE_WORKER && worker > 1) {
        spaces->workers[worker] = rule;
    } else if (what == CHANGE_LABELS) {
        spaces->labels[space] = random_below(&spaces->random, LABELS);
    }
    for (size_t i = 0; i < trial->plan.hosts; i++) {
        instance_enter(&trial->hosts[i]);
        if (what == CHANGE_WORKER && worker > 1)
            members_tell_again(trial, worker);
        else if (trial->host->alive)
            change_watch(trial, what, space);
    }
}

void spaces_act(struct trial *trial) {
    struct spaces *spaces = trial->spaces;
    tenants_act(trial);
    for (size_t i = 0; i < trial->plan.hosts; i++)
        if (spaces->known[i].list_ns <= trial->now_ns && trial->hosts[i].alive)
            list(instance_enter(&trial->hosts[i]));
    for (size_t i = 0; i < spaces->n_acts; i++) {
        if (spaces->acts[i].at_ns > trial->now_ns)
            continue;
        spaces->acts[i].at_ns = CLOCK_NEVER;
        change(trial, spaces->acts[i].change);
    }
}

void spaces_end(struct trial *trial) {
    struct spaces *spaces = trial->spaces;
    spaces->n_acts = 0;
    if (!trial->plan.spaces || trial->seed % 2)
        return;
    trial_trace(trial, "operator: all namespaces are permitted");
    spaces->rule = 0;
    instance_configure(trial);
    memset(spaces->workers, 0, sizeof spaces->workers);
    for (size_t i = 0; i < trial->plan.hosts; i++) {
        instance_enter(&trial->hosts[i]);
        for (size_t c = 2; c < trial->plan.n_clusters; c++)
            members_tell_again(trial, c);
    }
}

void spaces_started(struct trial *trial) {
    struct known *known = known_of(trial);
    *known = (struct known){.list_ns = CLOCK_NEVER};
    if (trial->plan.spaces)
        known->list_ns = trial->now_ns + (int64_t)random_below(&trial->spaces->random, LISTED_NS);
}

const char *spaces_rule(const struct trial *trial) {
    return trial->plan.spaces ? rules[trial->spaces->rule].text : NULL;
}

void spaces_worker(const struct trial *trial, size_t cluster, struct engine_event *event) {
    if (trial->plan.spaces)
        event->worker.namespaces = rules[trial->spaces->workers[cluster]].text;
}

void spaces_told(struct trial *trial, const struct engine_event *event) {
    struct known *known = known_of(trial);
    if (event->type == EVENT_WORKER) {
        for (size_t i = 0; event->worker.namespaces && i < RULES; i++)
            if (strcmp(rules[i].text, event->worker.namespaces) == 0)
                known->rules[event->cluster] = i;
        return;
    }
    if (event->cluster != ENGINE_MANAGEMENT) // a namespace of a worker is new
        return;
    if (event->namespace_.news == NAMESPACES_LISTED || event->namespace_.news == NAMESPACES_UNKNOWN)
        memset(known->has, event->namespace_.news == NAMESPACES_LISTED, sizeof known->has);
    for (size_t i = 0; event->namespace_.news == NAMESPACE_SEEN && i < SPACES; i++)
        for (size_t l = 0; strcmp(space_names[i], event->namespace_.name) == 0 && l < LABELS; l++)
            if (text_equal(labels[l], event->namespace_.labels)) {
                known->has[i] = true;
                known->labels[i] = l;
            }
}

size_t space_of(const char *namespace_) {
    size_t i = 0;
    while (i < SPACES && strcmp(space_names[i], namespace_) != 0)
        i++;
    return i;
}

static bool permits(const struct rule *rule, size_t space, bool known, size_t label) {
    return !rule->denies[space] && (!rule->selects || (known && rule->selected[label]));
}

// By what the engine was told.
static void check(struct trial *trial, size_t cluster, const char *namespace_, const char *what, const char *name) {
    const struct spaces *spaces = trial->spaces;
    size_t space = space_of(namespace_);
    if (!trial->plan.spaces || space == SPACES || cluster >= trial->plan.n_clusters)
        return;
    const struct known *known = known_of(trial);
    const struct rule *both[] = {&rules[spaces->rule], &rules[known->rules[cluster]]};
    for (size_t i = 0; i < 2; i++)
        if (!permits(both[i], space, known->has[space], known->labels[space]))
            trial_fail(trial, "namespaces: %s %s in %s, and namespace %s is not permitted %s", name, what,
                       world_name(trial->worlds[cluster]), namespace_, i ? "there" : "at all");
}

void spaces_command(struct trial *trial, const struct command *command) {
    const struct request *request = &command->request;
    if (request->verb != VERB_CREATE || command->cluster == ENGINE_MANAGEMENT)
        return;
    if (strcmp(request->resource.plural, "namespaces") == 0)
        check(trial, command->cluster, request->name, "is created", "the namespace");
    else if (trial_kind(trial, request->resource.group, request->resource.plural) < trial->n_kinds)
        check(trial, command->cluster, request->namespace_, "is created", request->name);
}

void spaces_check_place(struct trial *trial, size_t cluster, const char *namespace_, const char *name) {
    check(trial, cluster, namespace_, "is placed", name);
}

bool spaces_keep(const struct trial *trial, const char *namespace_) {
    const struct spaces *spaces = trial->spaces;
    size_t space = space_of(namespace_);
    return trial->plan.spaces && space < SPACES && !permits(&rules[spaces->rule], space, true, spaces->labels[space]);
}
