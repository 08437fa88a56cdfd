// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/rooms.h"

#include "core/base/clock.h"
#include "core/json/pointer.h"
#include "core/kube/api/pod_request.h"
#include "core/kube/object/object.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/rules.h"
#include "tests/world/indexes.h"

#include <stdlib.h>
#include <string.h>

#define TICK_NS (700 * CLOCK_MS)
#define NODES 3
#define OTHERS 24
#define ITEMS 128
#define TRIES 200000                // of arrangements; then there is room
#define YOUNG_NS (2 * CLOCK_SECOND) // by creationTimestamp: more than one second
#define WAIT_NS CLOCK_MINUTE
#define ROUGH_WAIT_NS (15 * CLOCK_MINUTE) // a worker that has rejected it is passed over for up to 10
#define KNOWN_NS (5 * CLOCK_SECOND)
#define CALM_NS CLOCK_MINUTE // after trouble, until what is left is known again
#define GPU "nvidia.com/gpu"

struct placed { // recorded by the host, its pods are new or still to come
    char uid[40];
    size_t cluster;
    int64_t attempt, generation, at_ns;
    unsigned process;              // of the host
    const char *namespace_, *name; // of rules_workload
};

struct rooms {
    struct random random;
    struct placed placed[RULES_WORKLOADS];
    size_t n_placed;
    struct other {
        size_t cluster;
        unsigned number;
    } others[OTHERS];
    size_t n_others;
    unsigned made;
    int64_t next_ns;
    int64_t room_ns[RULES_WORKLOADS];              // since when what waits could be placed anywhere; 0: it could not
    int64_t changed_ns[TRIAL_CLUSTERS];            // when a node came, went, or was cordoned
    struct json *removed[TRIAL_CLUSTERS][NODES];   // nodes that are to come back
    int64_t known_ns[TRIAL_HOSTS][TRIAL_CLUSTERS]; // since when a replica knows what is left; 0: it does not
};

// The nodes of a worker, and what is to fit there.
struct node_room {
    const struct json *node;
    int64_t cpu, gpu;
};

struct item { // one pod
    const struct json *spec;
    int64_t cpu, gpu;
    bool same; // as the one before
};

struct scene {
    struct node_room nodes[NODES];
    size_t n_nodes;
    struct item items[ITEMS];
    size_t n_items;
    unsigned tries;
};

void rooms_choose(struct trial *trial) {
    struct random random = {.state = trial->seed * 43 + 17};
    struct trial_plan *plan = &trial->plan;
    (void)random_next(&random);
    plan->capacity = random_below(&random, 12) == 0 || getenv("SIM_CAPACITY");
    plan->capacity = plan->capacity && !plan->elects; // replicas with shards place beside each other
    plan->rough = plan->capacity && (random_below(&random, 3) > 0 || getenv("SIM_ROUGH"));
    if (!plan->capacity)
        return;
    trial->n_kinds = 1;
    plan->faults = true;
    plan->gentle_users = !plan->rough || random_below(&random, 2) == 0;
    plan->plain = plan->upgrade = plan->stripping = plan->queues = plan->takeover = plan->members = false;
    plan->steady = plan->slow = plan->costs = plan->places = plan->guards = false;
    plan->spaces = plan->fields = plan->intake = plan->wait = false;
    plan->back = TRIAL_BACK_NONE;
    plan->shards = 0;
    plan->pending_timeout_ns = plan->give_up_after_ns = 0;
    memset(plan->starved, 0, sizeof plan->starved);
}

static void apply(struct trial *trial, size_t cluster, const char *plural, const char *text) {
    AUTO_JSON object = NULL;
    if (!text || json_parse(text, strlen(text), &object))
        abort();
    trial->user_acts = true;
    world_apply(trial->worlds[cluster], "", plural, object, trial->now_ns);
    trial->user_acts = false;
}

// Each Job fits on the first node; the others are smaller, and may be in another zone.
static void add_nodes(struct trial *trial, struct rooms *rooms, size_t cluster) {
    size_t count = 1 + random_below(&rooms->random, NODES);
    for (size_t n = 0; n < count; n++) {
        uint64_t cpu = n == 0 ? 8 : 2 + random_below(&rooms->random, 4);
        uint64_t gpu = n == 0 ? 4 : random_below(&rooms->random, 3);
        const char *zone = n == 0 || random_below(&rooms->random, 2) ? "a" : "b";
        AUTO_TEXT text = text_format(
            "{\"metadata\":{\"name\":\"n%zu\",\"labels\":{\"zone\":\"%s\"}},\"status\":{\"allocatable\":{\"cpu\":"
            "\"%llu\",\"" GPU "\":\"%llu\",\"pods\":\"110\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}"
            "]}}",
            n, zone, (unsigned long long)cpu, (unsigned long long)gpu);
        apply(trial, cluster, "nodes", text);
    }
}

struct rooms *rooms_new(struct trial *trial) {
    static const struct world_kind nodes = {
        .group = "", .versions = {"v1"}, .plural = "nodes", .kind = "Node", .cluster_scoped = true, .no_status = true};
    struct rooms *rooms = calloc(1, sizeof *rooms);
    if (!rooms)
        return NULL;
    rooms->random.state = trial->seed * 47 + 19;
    rooms->next_ns = trial->plan.capacity ? trial->now_ns + TICK_NS : CLOCK_NEVER;
    for (size_t c = 1; c < trial->plan.n_clusters && trial->plan.capacity; c++) {
        if (!world_register(trial->worlds[c], &nodes))
            abort();
        add_nodes(trial, rooms, c);
    }
    return rooms;
}

void rooms_free(struct rooms *rooms) {
    for (size_t c = 0; rooms && c < TRIAL_CLUSTERS; c++)
        for (size_t i = 0; i < NODES; i++)
            json_free(rooms->removed[c][i]);
    free(rooms);
}

void rooms_ask(struct trial *trial, struct json *job) {
    if (!trial->plan.capacity)
        return;
    struct random *random = &trial->rooms->random;
    AUTO_TEXT text = text_format("{\"requests\":{\"cpu\":\"%llu\"%s}}", (unsigned long long)random_below(random, 2) + 1,
                                 random_below(random, 3) == 0 ? ",\"" GPU "\":\"1\"" : "");
    struct json *resources = NULL;
    if (!text || json_parse(text, strlen(text), &resources) ||
        !pointer_set(job, "/spec/template/spec/containers/0/resources", resources))
        abort();
}

// The truth ----------------------------------------------------------------------------------------------------

static void read_request(const struct json *spec, int64_t *cpu, int64_t *gpu) {
    struct resource_list list = {0};
    pod_request_read(spec, NULL, &list);
    *cpu = resource_get(&list, "cpu");
    *gpu = resource_get(&list, GPU);
}

static bool is_allowed(const struct json *node, const struct json *spec) {
    for (const struct json *s = json_first(json_get(spec, "nodeSelector")); s; s = json_next(s))
        if (!json_equal(json_path(node, "metadata", "labels", json_key(s), NULL), s))
            return false;
    return true;
}

// Whether the items from `i` on have room, however they are arranged.
static bool fits(struct scene *scene, size_t i, size_t last) {
    if (i == scene->n_items || ++scene->tries > TRIES)
        return true;
    const struct item *item = &scene->items[i];
    for (size_t n = item->same ? last : 0; n < scene->n_nodes; n++) {
        struct node_room *node = &scene->nodes[n];
        if (node->cpu < item->cpu || node->gpu < item->gpu || !is_allowed(node->node, item->spec))
            continue;
        node->cpu -= item->cpu;
        node->gpu -= item->gpu;
        bool fit = fits(scene, i + 1, n);
        node->cpu += item->cpu;
        node->gpu += item->gpu;
        if (fit)
            return true;
    }
    return false;
}

// Of the indexes those that neither completed nor failed.
static int64_t indexes_left(const struct json *job, int64_t completions) {
    bool ended[64] = {false};
    int64_t left = completions;
    indexes_read(rules_text(job, "status", NULL, "completedIndexes"), ended, 64);
    indexes_read(rules_text(job, "status", NULL, "failedIndexes"), ended, 64);
    for (int64_t i = 0; i < completions && i < 64; i++)
        left -= ended[i];
    return left;
}

// A further attempt has the completions, or indexes, that are left (docs/capacity.md).
static int64_t pods_asked_for(const struct json *job) {
    int64_t count = json_int64(json_path(job, "spec", "parallelism", NULL), 1);
    int64_t left = json_int64(json_path(job, "spec", "completions", NULL), INT32_MAX);
    if (text_equal(rules_text(job, "spec", NULL, "completionMode"), "Indexed"))
        left = indexes_left(job, left);
    else if (left < INT32_MAX)
        left -= json_int64(json_path(job, "status", "succeeded", NULL), 0);
    return left < count ? left : count;
}

static void add_items(struct scene *scene, const struct json *job, int64_t count) {
    const struct json *spec = json_get(job, "spec");
    for (int64_t i = 0; i < count && scene->n_items < ITEMS; i++) {
        struct item *item = &scene->items[scene->n_items++];
        item->spec = json_path(spec, "template", "spec", NULL);
        item->same = i > 0;
        read_request(item->spec, &item->cpu, &item->gpu);
    }
}

static int64_t age_of(const struct trial *trial, const struct json *pod) {
    int64_t made_ns = 0;
    (void)clock_parse_rfc3339(rules_text(pod, "metadata", NULL, "creationTimestamp"), &made_ns);
    return trial->now_ns - made_ns;
}

static bool is_suspended(const struct json *job) {
    return json_bool(json_path(job, "spec", "suspend", NULL), false);
}

static bool is_pod_of(const struct json *pod, const struct json *mirror) {
    const struct json *owner = mirror ? object_controller(pod) : NULL;
    return owner && text_equal(json_string(json_get(owner, "uid")), object_uid(mirror));
}

// It was there and is gone, so that the workload has to be placed anew.
static bool is_deleted(const struct trial *trial, const struct placed *p) {
    for (size_t i = 0; i < trial->rules->n_mirrors; i++) {
        const struct tracked_mirror *m = &trial->rules->mirrors[i];
        if (m->cluster == p->cluster && m->attempt == p->attempt && strcmp(m->workload, p->uid) == 0)
            return true;
    }
    return false;
}

// The workload, as long as its pods are to come or are new, and nobody has changed it.
static const struct json *fresh_workload(struct trial *trial, const struct placed *p) {
    const struct json *job = trial_object(trial, ENGINE_MANAGEMENT, 0, p->namespace_, p->name);
    // A later process knows only what has arrived.
    bool in_flight = trial->now_ns - p->at_ns < YOUNG_NS && p->process == trial->host->number;
    if (!job || strcmp(object_uid(job), p->uid) != 0 || object_is_being_deleted(job) || rules_finished(job) ||
        is_suspended(job) || json_int64(json_path(job, "metadata", "generation", NULL), 0) != p->generation ||
        (mirror_attempt(job) != p->attempt && !in_flight))
        return NULL;
    // The record of an earlier process never arrived, and the same attempt was placed elsewhere.
    if (!in_flight && !text_equal(object_annotation(job, MARK_CLUSTER), world_name(trial->worlds[p->cluster])))
        return NULL;
    const struct json *mirror = trial_object(trial, p->cluster, 0, p->namespace_, p->name);
    // A later process judges a record without a mirror as a new placement.
    if (!mirror && (is_deleted(trial, p) || p->process != trial->host->number))
        return NULL;
    const void *cursor = NULL;
    for (const struct json *pod; (pod = world_next(trial->worlds[p->cluster], "", "pods", &cursor));)
        if (is_pod_of(pod, mirror) && age_of(trial, pod) >= YOUNG_NS)
            return NULL;
    return mirror && rules_finished(mirror) ? NULL : job;
}

static bool has_ended(const struct json *pod) {
    const char *phase = rules_text(pod, "status", NULL, "phase");
    return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

// All, as long as it has had none; then those that run.
static int64_t pods_of_fresh(struct trial *trial, const struct placed *p, const struct json *job) {
    const struct json *mirror = trial_object(trial, p->cluster, 0, p->namespace_, p->name);
    int64_t all = 0, live = 0, asked = pods_asked_for(job);
    const void *cursor = NULL;
    for (const struct json *pod; (pod = world_next(trial->worlds[p->cluster], "", "pods", &cursor));)
        if (is_pod_of(pod, mirror)) {
            all++;
            live += !has_ended(pod);
        }
    return all == 0 || live > asked ? asked : live;
}

static bool is_fresh(struct trial *trial, size_t cluster, const struct json *pod) {
    const struct rooms *rooms = trial->rooms;
    for (size_t i = 0; i < rooms->n_placed; i++) {
        const struct placed *p = &rooms->placed[i];
        if (p->cluster == cluster && is_pod_of(pod, trial_object(trial, cluster, 0, p->namespace_, p->name)))
            return true;
    }
    return false;
}

static void drop_old(struct trial *trial) {
    struct rooms *rooms = trial->rooms;
    size_t kept = 0;
    for (size_t i = 0; i < rooms->n_placed; i++)
        if (fresh_workload(trial, &rooms->placed[i]))
            rooms->placed[kept++] = rooms->placed[i];
    rooms->n_placed = kept;
}

static bool is_cordoned(const struct json *node) {
    return json_bool(json_path(node, "spec", "unschedulable", NULL), false);
}

// What the pods leave that are bound for a while, and with `young` also the others. Of a fresh mirror they count as to
// come: the host had reserved them somewhere.
static void set_scene(struct trial *trial, size_t cluster, bool young, struct scene *scene) {
    const void *cursor = NULL;
    *scene = (struct scene){0};
    for (const struct json *node;
         scene->n_nodes < NODES && (node = world_next(trial->worlds[cluster], "", "nodes", &cursor));) {
        struct resource_list offer = {0};
        if (is_cordoned(node))
            continue;
        resource_read(json_path(node, "status", "allocatable", NULL), &offer);
        scene->nodes[scene->n_nodes++] =
            (struct node_room){node, resource_get(&offer, "cpu"), resource_get(&offer, GPU)};
    }
    cursor = NULL;
    for (const struct json *pod; (pod = world_next(trial->worlds[cluster], "", "pods", &cursor));) {
        const char *name = rules_text(pod, "spec", NULL, "nodeName");
        int64_t cpu, gpu;
        if (has_ended(pod) || (!young && age_of(trial, pod) < YOUNG_NS) || is_fresh(trial, cluster, pod))
            continue;
        read_request(json_get(pod, "spec"), &cpu, &gpu);
        for (size_t n = 0; n < scene->n_nodes; n++)
            if (strcmp(object_name(scene->nodes[n].node), name) == 0) {
                scene->nodes[n].cpu -= cpu;
                scene->nodes[n].gpu -= gpu;
            }
    }
}

// Beside what is there, and what was placed there and fits.
static bool has_room_beside(struct trial *trial, size_t cluster, bool young, const struct json *workload) {
    struct scene scene;
    set_scene(trial, cluster, young, &scene);
    for (size_t i = 0; i < trial->rooms->n_placed; i++) {
        const struct placed *p = &trial->rooms->placed[i];
        const struct json *job = p->cluster == cluster ? fresh_workload(trial, p) : NULL;
        if (job && strcmp(object_uid(job), object_uid(workload)) != 0)
            add_items(&scene, job, pods_of_fresh(trial, p, job));
    }
    if (!fits(&scene, 0, 0))
        scene.n_items = 0; // somebody else was faster
    scene.tries = 0;
    add_items(&scene, workload, pods_asked_for(workload));
    bool fit = fits(&scene, 0, 0);
    for (size_t n = 0; n < scene.n_nodes && !fit; n++)
        trial_trace(trial, "%s of %s has %lldm cpu and %lld GPUs left, for %zu pods to come, of %lldm and %lld",
                    object_name(scene.nodes[n].node), world_name(trial->worlds[cluster]), (long long)scene.nodes[n].cpu,
                    (long long)scene.nodes[n].gpu, scene.n_items, (long long)scene.items[scene.n_items - 1].cpu,
                    (long long)scene.items[scene.n_items - 1].gpu);
    return fit;
}

// The host may know the young pods, and that what was placed there no longer fits beside them.
static bool has_room(struct trial *trial, size_t cluster, const struct json *workload) {
    return has_room_beside(trial, cluster, false, workload) || has_room_beside(trial, cluster, true, workload);
}

static void note_placed(struct trial *trial, size_t cluster, const struct json *workload, int64_t attempt) {
    struct rooms *rooms = trial->rooms;
    const struct tracked_workload *tracked = rules_workload(trial, object_uid(workload));
    size_t i = 0;
    while (i < rooms->n_placed && strcmp(rooms->placed[i].uid, object_uid(workload)) != 0)
        i++;
    if (i == RULES_WORKLOADS || !tracked)
        return;
    if (i == rooms->n_placed)
        rooms->n_placed++;
    rooms->placed[i] = (struct placed){.cluster = cluster,
                                       .attempt = attempt,
                                       .generation = json_int64(json_path(workload, "metadata", "generation", NULL), 0),
                                       .at_ns = trial->now_ns,
                                       .process = trial->host->number,
                                       .namespace_ = tracked->namespace_,
                                       .name = tracked->name};
    text_copy(rooms->placed[i].uid, sizeof rooms->placed[i].uid, object_uid(workload));
}

// The host knows the nodes and pods as they are.
static bool is_current(const struct trial *trial, size_t cluster) {
    const struct rooms *rooms = trial->rooms;
    int64_t known_ns = rooms->known_ns[trial->host->index][cluster];
    return !trial->plan.rough ||
           (known_ns && trial->now_ns - known_ns > KNOWN_NS && faults_are_over(trial, cluster, CALM_NS) &&
            trial->now_ns - rooms->changed_ns[cluster] > YOUNG_NS);
}

void rooms_told(struct trial *trial, const struct engine_event *event) {
    int64_t *known_ns = &trial->rooms->known_ns[trial->host->index][event->cluster];
    if (event->capacity.state != CAPACITY_KNOWN)
        *known_ns = 0;
    else if (*known_ns == 0)
        *known_ns = trial->now_ns;
}

void rooms_check(struct trial *trial, size_t cluster, const struct json *workload, const struct json *body) {
    // Of another version than the host knows, the patch is rejected.
    if (!trial->plan.capacity || !workload || !text_equal(object_version(workload), object_version(body)) ||
        is_suspended(workload))
        return;
    drop_old(trial);
    if (is_current(trial, cluster) && !has_room(trial, cluster, workload))
        trial_fail(trial, "%s is placed in %s, whose nodes have no room for its pods", object_name(workload),
                   world_name(trial->worlds[cluster]));
    note_placed(trial, cluster, workload, mirror_attempt(body));
}

void rooms_rejected(struct trial *trial, size_t cluster, const char *space, const char *name) {
    struct rooms *rooms = trial->rooms;
    size_t kept = 0;
    for (size_t i = 0; i < rooms->n_placed; i++) {
        const struct placed *p = &rooms->placed[i];
        if (p->cluster != cluster || strcmp(p->namespace_, space) != 0 || strcmp(p->name, name) != 0)
            rooms->placed[kept++] = *p;
    }
    rooms->n_placed = kept;
}

// It has never been placed, and nothing but room can be what it waits for.
static bool is_waiting(struct trial *trial, const struct json *job) {
    return trial_is_ours(trial, 0, job) && strcmp(object_namespace(job), "default") == 0 && !is_suspended(job) &&
           !rules_finished(job) && !object_is_being_deleted(job) && mirror_attempt(job) == 0 &&
           !sim_refuses(trial->kinds[0], job, trial->now_ns);
}

void rooms_check_waiting(struct trial *trial) {
    if (!trial->plan.capacity || trial->plan.breaks) // what an adapter failed for waits for that
        return;
    for (size_t i = 0; i < trial->rules->n_workloads; i++)
        if (trial->rules->workloads[i].also_run) // what is new waits for that, too
            return;
    drop_old(trial);
    for (size_t i = 0; i < trial->rules->n_workloads; i++) {
        const struct tracked_workload *tracked = &trial->rules->workloads[i];
        const struct json *job = trial_object(trial, ENGINE_MANAGEMENT, 0, tracked->namespace_, tracked->name);
        bool waits = job && strcmp(object_uid(job), tracked->uid) == 0 && is_waiting(trial, job);
        for (size_t c = 1; c < trial->plan.n_clusters && waits; c++)
            waits = has_room(trial, c, job);
        int64_t *since_ns = &trial->rooms->room_ns[i];
        *since_ns = !waits ? 0 : *since_ns ? *since_ns : trial->now_ns;
        if (waits && trial->now_ns - *since_ns > (trial->plan.rough ? ROUGH_WAIT_NS : WAIT_NS))
            trial_fail(trial, "%s is not placed although every worker has had room for it for a minute", tracked->name);
    }
}

// The others ---------------------------------------------------------------------------------------------------

// False: it is still there, since the server denies the deletion.
static bool remove_other(struct trial *trial, size_t index) {
    struct rooms *rooms = trial->rooms;
    struct other other = rooms->others[index];
    AUTO_TEXT name = text_format("other-%u", other.number);
    trial->user_acts = true;
    world_delete(trial->worlds[other.cluster], "", "pods", "default", name, NULL, trial->now_ns);
    trial->user_acts = false;
    if (world_object(trial->worlds[other.cluster], "", "pods", "default", name))
        return false;
    rooms->others[index] = rooms->others[--rooms->n_others];
    return true;
}

// Bound by somebody who looks whether there is room, at that moment.
static void add_other(struct trial *trial) {
    struct rooms *rooms = trial->rooms;
    size_t cluster = 1 + random_below(&rooms->random, trial->plan.n_clusters - 1);
    int64_t cpu = 1 + (int64_t)random_below(&rooms->random, 4), left = 0;
    struct scene scene;
    set_scene(trial, cluster, false, &scene);
    if (scene.n_nodes == 0)
        return;
    size_t n = random_below(&rooms->random, scene.n_nodes);
    left = scene.nodes[n].cpu;
    if (rooms->n_others == OTHERS || left < cpu * 1000)
        return;
    AUTO_TEXT text = text_format(
        "{\"metadata\":{\"namespace\":\"default\",\"name\":\"other-%u\"},\"spec\":{\"nodeName\":\"%s\",\"containers\":["
        "{"
        "\"name\":\"main\",\"image\":\"example.com/x:1\",\"resources\":{\"requests\":{\"cpu\":\"%lld\"}}}]}}",
        ++rooms->made, object_name(scene.nodes[n].node), (long long)cpu);
    rooms->others[rooms->n_others++] = (struct other){cluster, rooms->made};
    apply(trial, cluster, "pods", text);
}

static bool has_pods(struct trial *trial, size_t cluster, const char *node) {
    const void *cursor = NULL;
    for (const struct json *pod; (pod = world_next(trial->worlds[cluster], "", "pods", &cursor));)
        if (!has_ended(pod) && strcmp(rules_text(pod, "spec", NULL, "nodeName"), node) == 0)
            return true;
    return false;
}

static void bring_back(struct trial *trial, size_t cluster, size_t index) {
    struct json **node = &trial->rooms->removed[cluster][index];
    if (!*node)
        return;
    world_apply(trial->worlds[cluster], "", "nodes", *node, trial->now_ns);
    json_free(*node);
    *node = NULL;
}

static struct json *without_version(const struct json *node) {
    struct json *copy = json_copy(node);
    if (!copy)
        abort();
    pointer_remove(copy, "/metadata/resourceVersion");
    pointer_remove(copy, "/metadata/uid");
    return copy;
}

// One without pods is removed, and comes back later; else it is cordoned, or no longer.
static void change_node(struct trial *trial, size_t cluster, size_t index) {
    struct rooms *rooms = trial->rooms;
    struct world_cluster *world = trial->worlds[cluster];
    AUTO_TEXT name = text_format("n%zu", index);
    const struct json *node = world_object(world, "", "nodes", "", name);
    trial->user_acts = true;
    rooms->changed_ns[cluster] = trial->now_ns;
    if (!node)
        bring_back(trial, cluster, index);
    else if (!has_pods(trial, cluster, name) && random_below(&rooms->random, 2)) {
        trial_trace(trial, "operator: removes %s of %s", name, world_name(world));
        rooms->removed[cluster][index] = without_version(node);
        world_delete(world, "", "nodes", "", name, NULL, trial->now_ns);
    } else {
        trial_trace(trial, "operator: %s %s of %s", is_cordoned(node) ? "uncordons" : "cordons", name,
                    world_name(world));
        AUTO_TEXT patch = text_format("{\"spec\":{\"unschedulable\":%s}}", is_cordoned(node) ? "null" : "true");
        world_patch(world, "", "nodes", "", name, NULL, patch, trial->now_ns);
    }
    trial->user_acts = false;
}

static void restore_nodes(struct trial *trial) {
    for (size_t c = 1; c < trial->plan.n_clusters && trial->plan.rough; c++)
        for (size_t i = 0; i < NODES; i++) {
            AUTO_TEXT name = text_format("n%zu", i);
            trial->user_acts = true;
            bring_back(trial, c, i);
            world_patch(trial->worlds[c], "", "nodes", "", name, NULL, "{\"spec\":{\"unschedulable\":null}}",
                        trial->now_ns);
            trial->user_acts = false;
        }
}

int64_t rooms_due(const struct trial *trial) {
    return trial->rooms->next_ns;
}

void rooms_act(struct trial *trial) {
    struct rooms *rooms = trial->rooms;
    if (rooms->next_ns > trial->now_ns)
        return;
    rooms->next_ns = trial->now_ns + TICK_NS;
    uint64_t what = random_below(&rooms->random, 6);
    if (what < 2)
        add_other(trial);
    else if (what == 2 && rooms->n_others > 0)
        (void)remove_other(trial, random_below(&rooms->random, rooms->n_others));
    else if (what == 3 && trial->plan.rough && random_below(&rooms->random, 4) == 0)
        change_node(trial, 1 + random_below(&rooms->random, trial->plan.n_clusters - 1),
                    random_below(&rooms->random, NODES));
}

void rooms_end(struct trial *trial) {
    trial->rooms->next_ns = CLOCK_NEVER;
    while (trial->rooms->n_others > 0)
        if (!remove_other(trial, 0))
            abort();
    restore_nodes(trial);
}
