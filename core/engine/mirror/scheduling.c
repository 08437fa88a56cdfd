// SPDX-License-Identifier: Apache-2.0
// Fields that change how the pods of a workload are scheduled, of any kind: they have the same names wherever a kind
// contains a pod's spec. The names of the newest are from the Job of Kubernetes 1.37 (spec.scheduling) and the pods of
// 1.36 (schedulingGroup) and 1.35 (workloadRef); schedulingPolicy is the one of Kubeflow's runPolicy.
#include "core/base/text.h"
#include "core/engine/mirror/mirror.h"

#define DEPTH_MAX 64
#define MIX UINT64_C(0x9e3779b97f4a7c15)

// A field without `in` counts everywhere, others in a member of that name. A server defaults schedulerName, and so does
// not lose that field.
static const struct {
    const char *name, *in;
} fields[] = {
    {"affinity", NULL},         {"claims", "resources"},     {"nodeName", NULL},
    {"nodeSelector", NULL},     {"priorityClassName", NULL}, {"resourceClaims", NULL},
    {"resources", "spec"}, // of a pod
    {"scheduling", NULL},       {"schedulingGates", NULL},   {"schedulingGroup", NULL},
    {"schedulingPolicy", NULL}, {"tolerations", NULL},       {"topologySpreadConstraints", NULL},
    {"workloadRef", NULL},
};

bool scheduling_is_named(const char *name, const char *in) {
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (text_equal(fields[i].name, name) && (!fields[i].in || text_equal(fields[i].in, in)))
            return true;
    return false;
}

// The keys are the user's.
static bool is_map(const char *name) {
    static const char *const maps[] = {"nodeSelector", "matchLabels", "requests", "limits"};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (text_equal(name, maps[i]))
            return true;
    return false;
}

bool scheduling_is_unset(const char *name, const struct json *value) {
    if (json_is_container(value))
        return json_size(value) == 0 && (json_is(value, JSON_ARRAY) || is_map(name));
    return json_is_zero(value);
}

static bool is_below(const struct json *value, const char *name, int depth) {
    for (const struct json *member = json_first(value); member && depth < DEPTH_MAX; member = json_next(member)) {
        const char *key = json_key(member);
        if (key && scheduling_is_named(key, name) && !scheduling_is_unset(key, member))
            return true;
        if (is_below(member, key ? key : name, depth + 1))
            return true;
    }
    return false;
}

bool scheduling_is_below(const struct json *value, const char *name) {
    return is_below(value, name, 0);
}

// `path` is the hash of the names from the spec down to `value`, and `in` the last of them.
static void add_fields(const struct json *value, const char *in, uint64_t path, bool counts, int depth,
                       uint64_t *fingerprint) {
    for (const struct json *member = json_first(value); member && depth < DEPTH_MAX; member = json_next(member)) {
        const char *key = json_key(member);
        uint64_t at = key ? text_hash(text_hash(path, "/"), key) : path;
        bool here = counts || (key && scheduling_is_named(key, in));
        if (here && key && !scheduling_is_unset(key, member))
            *fingerprint = (*fingerprint ^ at) * MIX;
        if (!here || !key || !is_map(key))
            add_fields(member, key ? key : in, at, here, depth + 1, fingerprint);
    }
}

uint64_t scheduling_fingerprint(const struct kind *kind, const struct json *workload) {
    uint64_t fingerprint = 0;
    add_fields(json_get(workload, "spec"), NULL, text_hash(TEXT_HASH, kind->plural_group), false, 0, &fingerprint);
    return fingerprint;
}
