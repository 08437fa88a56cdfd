// SPDX-License-Identifier: Apache-2.0
#include "core/engine/kueue/kueue_strip.h"

#include "core/base/text.h"
#include "core/engine/kueue/kueue_labels.h"
#include "core/kube/object/object.h"

#include <string.h>

static const char *const keys[] = {"kueue.x-k8s.io/workload",         "kueue.x-k8s.io/workload-slice-name",
                                   "kueue.x-k8s.io/podset",           "kueue.x-k8s.io/cluster-queue-name",
                                   "kueue.x-k8s.io/local-queue-name", "kueue.x-k8s.io/managed"};
#define GATE "kueue.x-k8s.io/topology" // only that Kueue removes it from the pods, which sees them

// Labels or annotations, a member of `parent`.
static bool strip_map(struct json *parent, const char *name, const struct json *there) {
    struct json *map = json_get(parent, name);
    const struct json *present = json_get(there, name);
    bool had = json_first(map);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct json *theirs = json_is(present, JSON_OBJECT) ? json_get(present, keys[i]) : NULL;
        if (!theirs)
            json_remove(map, keys[i]);
        else if (!json_equal(json_get(map, keys[i]), theirs) && !json_set(map, keys[i], json_copy(theirs)))
            return false;
    }
    if (had && !json_first(map) && !present)
        json_remove_child(parent, map);
    return true;
}

static const struct json *find_gate(const struct json *gates) {
    for (const struct json *g = json_is(gates, JSON_ARRAY) ? json_first(gates) : NULL; g; g = json_next(g))
        if (text_equal(json_string(json_get(g, "name")), GATE))
            return g;
    return NULL;
}

static bool strip_gates(struct json *parent, const struct json *there) {
    struct json *gates = json_get(parent, "schedulingGates");
    const struct json *present = json_get(there, "schedulingGates"), *theirs = find_gate(present);
    const struct json *ours = find_gate(gates);
    if (theirs && !ours)
        return json_append(gates, json_copy(theirs));
    for (struct json *g = json_first(gates), *next; g && ours && !theirs; g = next) {
        next = json_next(g);
        if (g == ours)
            json_remove_child(gates, g);
    }
    if (ours && !json_first(gates) && !present)
        json_remove_child(parent, gates);
    return true;
}

static bool strip(struct json *value, const struct json *there) {
    bool array = json_is(value, JSON_ARRAY), same = array && json_size(value) == json_size(there);
    size_t i = 0;
    for (struct json *m = array || json_is(value, JSON_OBJECT) ? json_first(value) : NULL, *next; m; m = next, i++) {
        next = json_next(m);
        const char *key = array ? "" : json_key(m);
        bool map = json_is(m, JSON_OBJECT) && (strcmp(key, "labels") == 0 || strcmp(key, "annotations") == 0);
        bool gates = json_is(m, JSON_ARRAY) && strcmp(key, "schedulingGates") == 0;
        const struct json *place = array ? (same ? json_at(there, i) : NULL) : json_get(there, key);
        if (!(map ? strip_map(value, key, there) : gates ? strip_gates(value, there) : strip(m, place)))
            return false;
    }
    return true;
}

bool kueue_strip(struct json *mirror, const struct json *present) {
    for (struct json *m = json_first(mirror); m; m = json_next(m))
        if (strcmp(json_key(m), "metadata") != 0 && strcmp(json_key(m), "status") != 0 &&
            !strip(m, json_get(present, json_key(m))))
            return false;
    return true;
}

const struct json *kueue_source(const struct json *workload, struct json **own) {
    if (!object_label(workload, KUEUE_QUEUE_NAME))
        return workload;
    *own = json_copy(workload);
    return *own && kueue_strip(*own, NULL) ? *own : NULL;
}
