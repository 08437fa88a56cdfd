// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/needs.h"

#include "core/json/pointer.h"
#include "tests/simulation/cuts.h"
#include "tests/simulation/need_acts.h"
#include "tests/simulation/need_rules.h"
#include "tests/simulation/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct need_names need_names[NEED_RESOURCES] = {
    [NEED_CONFIGMAPS] = {"", "configmaps", "configmaps", false},
    [NEED_SECRETS] = {"", "secrets", "secrets", false},
    [NEED_ACCOUNTS] = {"", "serviceaccounts", "serviceaccounts", false},
    [NEED_CLAIMS] = {"", "persistentvolumeclaims", "persistentvolumeclaims", false},
    [NEED_PRIORITIES] = {"scheduling.k8s.io", "priorityclasses", "priorityclasses.scheduling.k8s.io", true},
    [NEED_RUNTIMES] = {"node.k8s.io", "runtimeclasses", "runtimeclasses.node.k8s.io", true}};

struct needs {
    struct random random; // of what Jobs ask for
    struct thing things[NEEDS_MAX];
    size_t n;
    bool claims_copied, labelled_only;
    struct need_acts *acts;
};

// In an eighth of the trials; SIM_DEPENDENCIES: in all that can have them.
void needs_choose(struct trial *trial) {
    trial->plan.needs = (trial->seed % 8 == 5 || getenv("SIM_DEPENDENCIES")) && !trial->plan.capacity;
}

static void add(struct needs *needs, enum need_resource resource, const char *namespace_, const char *name,
                enum secret_nature nature) {
    if (needs->n == NEEDS_MAX)
        abort();
    struct thing *thing = &needs->things[needs->n++];
    *thing = (struct thing){.resource = resource, .nature = nature, .labelled = true};
    text_copy(thing->namespace_, sizeof thing->namespace_, need_names[resource].cluster_scoped ? "" : namespace_);
    text_copy(thing->name, sizeof thing->name, name);
}

static void add_some(struct needs *needs, enum need_resource resource, const char *namespace_, const char *letters,
                     unsigned many) {
    for (unsigned i = 0; i < many; i++) {
        AUTO_TEXT name = text_format("%s-%u", letters, i);
        add(needs, resource, namespace_, name, SECRET_PLAIN);
        needs->things[needs->n - 1].pulls = resource == NEED_ACCOUNTS && i == 0;
        needs->things[needs->n - 1].labelled = resource != NEED_SECRETS || i != 1;
    }
}

static void add_all(struct needs *needs, const char *namespace_, unsigned many) {
    add_some(needs, NEED_CONFIGMAPS, namespace_, "config", many);
    add_some(needs, NEED_SECRETS, namespace_, "secret", many);
    add(needs, NEED_SECRETS, namespace_, "pull-0", SECRET_PULL);
    add_some(needs, NEED_ACCOUNTS, namespace_, "account", 2);
    add_some(needs, NEED_CLAIMS, namespace_, "claim", 1);
}

struct needs *needs_new(struct trial *trial) {
    struct needs *needs = calloc(1, sizeof *needs);
    trial->need_rules = need_rules_new();
    if (!needs || !trial->need_rules)
        abort();
    if (!trial->plan.needs)
        return needs;
    trial->needs = needs;
    needs->random.state = trial->seed * 73 + 41;
    (void)random_next(&needs->random);
    needs->claims_copied = random_below(&needs->random, 2);
    needs->labelled_only = random_below(&needs->random, 2);
    add_all(needs, "default", 4);
    add_all(needs, "team", 2);
    add(needs, NEED_SECRETS, "default", "token-0", SECRET_TOKEN + (enum secret_nature)random_below(&needs->random, 3));
    add_some(needs, NEED_PRIORITIES, "", "high", 1);
    add_some(needs, NEED_RUNTIMES, "", "runtime", 1);
    needs->acts = need_acts_new(trial);
    return needs;
}

void needs_drop(struct trial *trial) {
    free(trial->needs->acts);
    free(trial->needs);
    free(trial->need_rules);
}

int64_t needs_due(const struct trial *trial) {
    return trial->plan.needs ? need_acts_due(trial->needs->acts) : CLOCK_NEVER;
}

void needs_act(struct trial *trial) {
    if (trial->plan.needs)
        need_acts_run(trial, trial->needs->acts);
}

void needs_end(struct trial *trial) {
    if (trial->plan.needs)
        need_acts_end(trial, trial->needs->acts);
}

void needs_set_up(struct trial *trial, size_t cluster) {
    if (trial->plan.needs)
        need_acts_set_up(trial, cluster);
}

struct dependency_options needs_options(const struct trial *trial) {
    if (!trial->plan.needs)
        return (struct dependency_options){0};
    bool claims = trial->needs->claims_copied;
    return (struct dependency_options){
        .copy =
            claims ? "configmaps,secrets,serviceaccounts,persistentvolumeclaims" : "configmaps,secrets,serviceaccounts",
        .check = claims ? "priorityclasses.scheduling.k8s.io,runtimeclasses.node.k8s.io"
                        : "persistentvolumeclaims,priorityclasses.scheduling.k8s.io,runtimeclasses.node.k8s.io",
        .secrets = trial->needs->labelled_only ? SECRETS_LABELLED : SECRETS_ALL,
        .by_name = trial->seed % 3 == 1};
}

void needs_deny(struct trial *trial, size_t cluster) {
    static const char *const verbs[] = {"create", "patch", "delete", "get", "list", "watch", "*"};
    const char *verb = verbs[trial_below(trial, sizeof verbs / sizeof *verbs)];
    const struct need_names *names = &need_names[trial_below(trial, NEED_RESOURCES)];
    bool unnamed = trial_chance(trial, 30);
    trial_trace(trial, "trouble: %s of %s is denied", unnamed ? "all but one by its name" : verb, names->resource);
    if (unnamed)
        world_deny_unnamed(trial->worlds[cluster], names->resource);
    else
        world_deny(trial->worlds[cluster], verb, names->resource);
}

// What Jobs name ---------------------------------------------------------------------------------------------

static void put(struct json *job, const char *pointer, struct json *value) {
    if (!value || !pointer_set(job, pointer, value))
        abort();
}

static void ensure(struct json *job, const char *pointer) {
    if (!pointer_find(job, pointer))
        put(job, pointer, json_new_array());
}

// {key: value}
static struct json *hold(const char *key, struct json *value) {
    struct json *object = json_new_object();
    if (!object || !value || !json_set(object, key, value))
        abort();
    return object;
}

static struct json *refer(const char *key, const char *name, bool optional) {
    struct json *object = hold(key, json_new_string(name));
    if (optional && !json_set(object, "optional", json_new_bool(true)))
        abort();
    return object;
}

#define POD "/spec/template/spec/"
#define CONTAINER POD "containers/0/"

static void add_volume(struct json *job, struct json *volume) {
    ensure(job, POD "volumes");
    AUTO_TEXT name = text_format("v%zu", json_size(pointer_find(job, POD "volumes")));
    if (!json_set(volume, "name", json_new_string(name)))
        abort();
    put(job, POD "volumes/-", volume);
}

static struct json *projected(struct json *source) {
    struct json *sources = json_new_array();
    if (!sources || !json_append(sources, source))
        abort();
    return hold("projected", hold("sources", sources));
}

static void name_config(struct json *job, const char *name, uint64_t way, bool optional) {
    ensure(job, CONTAINER "envFrom");
    if (way == 0)
        put(job, CONTAINER "envFrom/-", hold("configMapRef", refer("name", name, optional)));
    else if (way == 1)
        add_volume(job, projected(hold("configMap", refer("name", name, optional))));
    else
        add_volume(job, hold("configMap", refer("name", name, optional)));
}

static void name_secret(struct json *job, const char *name, uint64_t way, bool optional) {
    ensure(job, CONTAINER "env");
    if (way > 0) {
        add_volume(job, hold("secret", refer("secretName", name, optional)));
        return;
    }
    struct json *key = refer("name", name, optional);
    struct json *variable = hold("valueFrom", hold("secretKeyRef", key));
    if (!json_set(key, "key", json_new_string("k")) || !json_set(variable, "name", json_new_string("E")))
        abort();
    put(job, CONTAINER "env/-", variable);
}

static void ask_for(struct trial *trial, struct json *job, const struct thing *thing) {
    struct random *random = &trial->needs->random;
    uint64_t way = random_below(random, 4);
    bool optional = random_below(random, 4) == 0;
    if (thing->resource == NEED_CONFIGMAPS) {
        name_config(job, thing->name, way, optional);
    } else if (thing->resource == NEED_SECRETS && thing->nature == SECRET_PULL) {
        ensure(job, POD "imagePullSecrets");
        put(job, POD "imagePullSecrets/-", refer("name", thing->name, false));
    } else if (thing->resource == NEED_SECRETS) {
        name_secret(job, thing->name, way, optional);
    } else if (thing->resource == NEED_CLAIMS) {
        add_volume(job, hold("persistentVolumeClaim", refer("claimName", thing->name, false)));
    } else if (thing->resource == NEED_ACCOUNTS) {
        put(job, POD "serviceAccountName", json_new_string(thing->name));
    } else if (thing->resource == NEED_RUNTIMES) {
        put(job, POD "runtimeClassName", json_new_string(thing->name));
    } else if (!pointer_find(job, POD "priorityClassName")) {
        put(job, POD "priorityClassName", json_new_string(thing->name));
    }
}

void needs_ask(struct trial *trial, struct json *job) {
    if (!trial->plan.needs || random_below(&trial->needs->random, 5) == 0)
        return;
    const char *namespace_ = rules_text(job, "metadata", NULL, "namespace");
    for (uint64_t i = 1 + random_below(&trial->needs->random, 3); i > 0; i--) {
        const struct thing *thing = &trial->needs->things[random_below(&trial->needs->random, trial->needs->n)];
        if (!*thing->namespace_ || strcmp(thing->namespace_, namespace_) == 0)
            ask_for(trial, job, thing);
    }
}

static enum need_resource resource_of(const struct reference *reference) {
    size_t i = 0;
    while (i < NEED_RESOURCES && strcmp(need_names[i].resource, reference->resource) != 0)
        i++;
    return (enum need_resource)i;
}

void needs_provide(struct trial *trial, size_t kind, const struct json *object) {
    __attribute__((cleanup(references_clear))) struct references found = {0};
    if (!trial->plan.needs)
        return;
    sim_references(trial->kinds[kind], object, &found);
    for (size_t i = 0; i < found.count; i++) {
        const struct reference *r = found.list[i];
        enum need_resource resource = resource_of(r);
        if (resource == NEED_RESOURCES || r->is_made)
            continue;
        size_t index = needs_find_reference(trial, r);
        if (index == needs_count(trial))
            add(trial->needs, resource, r->namespace_, r->name, SECRET_PLAIN);
        need_acts_provide(trial, index);
    }
}

// The objects ------------------------------------------------------------------------------------------------

size_t needs_count(const struct trial *trial) {
    return trial->plan.needs && trial->needs ? trial->needs->n : 0;
}

struct thing *needs_at(const struct trial *trial, size_t index) {
    return &trial->needs->things[index];
}

enum need_resource needs_resource(const char *group, const char *plural) {
    size_t i = 0;
    while (i < NEED_RESOURCES && (strcmp(need_names[i].plural, plural) != 0 || strcmp(need_names[i].group, group) != 0))
        i++;
    return (enum need_resource)i;
}

static size_t find(const struct trial *trial, enum need_resource resource, const char *namespace_, const char *name) {
    size_t i = 0;
    for (; i < needs_count(trial); i++) {
        const struct thing *thing = needs_at(trial, i);
        if (thing->resource == resource && strcmp(thing->name, name) == 0 &&
            (need_names[resource].cluster_scoped || strcmp(thing->namespace_, namespace_) == 0))
            break;
    }
    return i;
}

size_t needs_find(const struct trial *trial, const char *group, const char *plural, const char *namespace_,
                  const char *name) {
    return find(trial, needs_resource(group, plural), namespace_, name);
}

size_t needs_find_reference(const struct trial *trial, const struct reference *reference) {
    return find(trial, resource_of(reference), reference->namespace_, reference->name);
}

const struct json *needs_object(struct trial *trial, size_t cluster, size_t index) {
    const struct thing *thing = needs_at(trial, index);
    const struct need_names *names = &need_names[thing->resource];
    return world_object(trial->worlds[cluster], names->group, names->plural, thing->namespace_, thing->name);
}

bool needs_copies(const struct trial *trial, enum need_resource resource) {
    return resource <= NEED_ACCOUNTS || (resource == NEED_CLAIMS && trial->needs->claims_copied);
}

bool needs_may_be_copied(struct trial *trial, size_t index) {
    const struct thing *thing = needs_at(trial, index);
    const struct json *source = needs_object(trial, ENGINE_MANAGEMENT, index);
    bool by_label = thing->resource == NEED_SECRETS && trial->needs->labelled_only;
    return needs_copies(trial, thing->resource) &&
           (!by_label || !source || strcmp(rules_text(source, "metadata", "labels", "wharf.dev/copy"), "true") == 0);
}

bool needs_is_copied(struct trial *trial, size_t index) {
    return needs_may_be_copied(trial, index) && needs_at(trial, index)->nature < SECRET_TOKEN;
}

static bool same(const struct json *a, const struct json *b, const char *pointer) {
    const struct json *x = pointer_find(a, pointer), *y = pointer_find(b, pointer);
    return (!x && !y) || (x && y && json_equal(x, y));
}

static bool compare(enum need_resource resource, const struct json *there, const struct json *wanted, bool extra) {
    static const char *const parts[NEED_RESOURCES][4] = {
        [NEED_CONFIGMAPS] = {"/data", "/binaryData"},
        [NEED_SECRETS] = {"/data", "/type"},
        [NEED_ACCOUNTS] = {"/imagePullSecrets", "/automountServiceAccountToken"},
        [NEED_CLAIMS] = {"/spec/accessModes", "/spec/resources", "/spec/storageClassName", "/spec/volumeMode"},
        [NEED_PRIORITIES] = {"/value"},
        [NEED_RUNTIMES] = {"/handler"}};
    for (size_t i = 0; i < 4 && parts[resource][i]; i++)
        if ((!extra || pointer_find(wanted, parts[resource][i])) && !same(there, wanted, parts[resource][i]))
            return false;
    return true;
}

bool needs_are_equal(enum need_resource resource, const struct json *a, const struct json *b) {
    return compare(resource, a, b, false);
}

bool needs_suffice(enum need_resource resource, const struct json *there, const struct json *source) {
    return compare(resource, there, source, resource == NEED_ACCOUNTS);
}
