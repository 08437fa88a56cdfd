// SPDX-License-Identifier: Apache-2.0
#include "tests/world/pod_needs.h"
#include "core/base/text.h"
#include "tests/world/world.h"

#include <string.h>

struct each {
    void (*call)(void *ctx, const struct need *need);
    void *ctx;
};

static void name(const struct each *each, const char *plural, const struct json *name, const struct json *optional,
                 enum need_effect effect) {
    struct need need = {.group = "",
                        .plural = plural,
                        .name = json_string_or(name, ""),
                        .optional = json_bool(optional, false),
                        .effect = effect};
    if (strcmp(plural, "priorityclasses") == 0 || strcmp(plural, "runtimeclasses") == 0) {
        need.group = *plural == 'p' ? "scheduling.k8s.io" : "node.k8s.io";
        need.cluster_scoped = true;
    }
    if (*need.name)
        each->call(each->ctx, &need);
}

// A reference {name, optional}.
static void refer(const struct each *each, const char *plural, const struct json *source, const char *key,
                  enum need_effect effect) {
    name(each, plural, json_get(source, key), json_get(source, "optional"), effect);
}

static void read_volume(const struct each *each, const struct json *volume) {
    refer(each, "configmaps", json_get(volume, "configMap"), "name", NEED_START);
    refer(each, "secrets", json_get(volume, "secret"), "secretName", NEED_START);
    refer(each, "persistentvolumeclaims", json_get(volume, "persistentVolumeClaim"), "claimName", NEED_START);
    for (const struct json *source = json_first(json_path(volume, "projected", "sources", NULL)); source;
         source = json_next(source)) {
        refer(each, "configmaps", json_get(source, "configMap"), "name", NEED_START);
        refer(each, "secrets", json_get(source, "secret"), "name", NEED_START);
    }
}

static void read_container(const struct each *each, const struct json *container) {
    for (const struct json *from = json_first(json_get(container, "envFrom")); from; from = json_next(from)) {
        refer(each, "configmaps", json_get(from, "configMapRef"), "name", NEED_START);
        refer(each, "secrets", json_get(from, "secretRef"), "name", NEED_START);
    }
    for (const struct json *env = json_first(json_get(container, "env")); env; env = json_next(env)) {
        const struct json *from = json_get(env, "valueFrom");
        refer(each, "configmaps", json_get(from, "configMapKeyRef"), "name", NEED_START);
        refer(each, "secrets", json_get(from, "secretKeyRef"), "name", NEED_START);
    }
}

void pod_needs_each(const struct json *spec, void (*call)(void *ctx, const struct need *need), void *ctx) {
    struct each each = {call, ctx};
    static const char *const lists[] = {"containers", "initContainers"};
    for (const struct json *volume = json_first(json_get(spec, "volumes")); volume; volume = json_next(volume))
        read_volume(&each, volume);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const struct json *c = json_first(json_get(spec, lists[i])); c; c = json_next(c))
            read_container(&each, c);
    for (const struct json *s = json_first(json_get(spec, "imagePullSecrets")); s; s = json_next(s))
        refer(&each, "secrets", s, "name", NEED_NONE);
    if (!text_equal(json_string(json_get(spec, "serviceAccountName")), "default")) // every namespace has it
        name(&each, "serviceaccounts", json_get(spec, "serviceAccountName"), NULL, NEED_REFUSED);
    name(&each, "priorityclasses", json_get(spec, "priorityClassName"), NULL, NEED_REFUSED);
    name(&each, "runtimeclasses", json_get(spec, "runtimeClassName"), NULL, NEED_REFUSED);
}

struct search {
    struct world_cluster *cluster;
    const char *namespace_;
    enum need_effect effect;
};

static void look(void *ctx, const struct need *need) {
    struct search *search = ctx;
    const char *space = need->cluster_scoped ? "" : search->namespace_;
    if (need->effect > search->effect && !need->optional &&
        !world_object(search->cluster, need->group, need->plural, space, need->name))
        search->effect = need->effect;
}

enum need_effect pod_needs_missing(struct world_cluster *cluster, const char *namespace_, const struct json *spec) {
    struct search search = {cluster, namespace_, NEED_NONE};
    pod_needs_each(spec, look, &search);
    return search.effect;
}
