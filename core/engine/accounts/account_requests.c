// SPDX-License-Identifier: Apache-2.0
// What the pods of a workload request together.
#include "core/engine/accounts/account_table.h"

#include "core/adapter/pods.h"
#include "core/base/memory.h"
#include "core/engine/dependencies/dependencies.h"
#include "core/engine/request/command.h"

// Names of claims as resources: with the device class, and of claims with an unknown one.
#define CLAIMS "resourceclaims"
#define CLAIMS_OF CLAIMS "/"

struct request_sum {
    struct engine *engine;
    const struct entry *entry;
    struct resource_list list;
    char *names[RESOURCES_MAX]; // of `list`, owned
    size_t n_names;
    const char *shared[RESOURCES_MAX]; // ResourceClaims that were counted
    size_t n_shared;
    int64_t count; // of the claim
    bool open;     // as in struct usage
};

static void clear_sum(struct request_sum *sum) {
    while (sum->n_names > 0)
        free(sum->names[--sum->n_names]);
}

// A copy of the name lives as long as the sum.
static void add_named(struct request_sum *sum, const char *prefix, const char *name) {
    char *text = sum->n_names < RESOURCES_MAX ? text_format("%s%s", prefix, name) : NULL;
    if (!text)
        return;
    sum->names[sum->n_names++] = text;
    (void)resource_add(&sum->list, text, sum->count);
}

static void add_class(void *ctx, const char *name) {
    add_named(ctx, CLAIMS_OF, name);
}

static void add_claim(struct request_sum *sum, const char *resource, const char *name, int64_t count) {
    sum->count = count;
    if (dependencies_classes(sum->engine, sum->entry, resource, name, add_class, sum))
        return;
    sum->open = true;
    (void)resource_add(&sum->list, CLAIMS, count);
}

// All pods share a ResourceClaim.
static bool is_counted(struct request_sum *sum, const char *name) {
    for (size_t i = 0; i < sum->n_shared; i++)
        if (strcmp(sum->shared[i], name) == 0)
            return true;
    if (sum->n_shared < RESOURCES_MAX)
        sum->shared[sum->n_shared++] = name;
    return false;
}

static void add_claims(struct request_sum *sum, const struct json *spec, int64_t count) {
    for (const struct json *c = json_first(json_get(spec, "resourceClaims")); c; c = json_next(c)) {
        const char *claim = json_string(json_get(c, "resourceClaimName"));
        const char *made_from = json_string(json_get(c, "resourceClaimTemplateName"));
        if (claim && !is_counted(sum, claim))
            add_claim(sum, "resourceclaims.resource.k8s.io", claim, 1);
        if (made_from)
            add_claim(sum, "resourceclaimtemplates.resource.k8s.io", made_from, count);
    }
}

static void add_set(struct request_sum *sum, const struct json *set) {
    const struct json *spec = json_path(set, "template", "spec", NULL);
    int64_t count = json_int64(json_get(set, "count"), 0);
    struct resource_list one;
    if (count <= 0)
        return;
    pod_request_read(spec, NULL, &one);
    for (size_t i = 0; i < one.count; i++)
        (void)resource_add(&sum->list, one.items[i].name, int64_times(one.items[i].amount, count));
    add_claims(sum, spec, count);
}

// Equal amounts give equal keys: six bits a character, the highest bit marks the end of a number.
static void put_number(struct buffer *key, uint64_t number) {
    for (; number > 63; number >>= 6)
        buffer_char(key, (char)(64 + (number & 63)));
    buffer_char(key, (char)(unsigned char)(128 + number));
}

static void put_amounts(const struct amounts *amounts, struct buffer *key) {
    for (size_t i = 0; i < amounts->count; i++) {
        put_number(key, amounts->items[i].resource);
        put_number(key, (uint64_t)amounts->items[i].amount);
    }
}

static struct usage *intern(struct accounts *accounts, const struct request_sum *sum) {
    AUTO_BUFFER(key, (size_t)64 << 10);
    struct amounts *amounts = amounts_new(&accounts->names, &sum->list);
    if (amounts)
        put_amounts(amounts, &key);
    buffer_text(&key, sum->open ? "?" : ".");
    struct usage *usage = amounts && !key.failed ? map_get(&accounts->usages, key.data) : NULL;
    struct usage *made = !usage && amounts && !key.failed ? calloc(1, sizeof *made + key.len + 1) : NULL;
    if (made) {
        memcpy(made->key, key.data, key.len + 1);
        made->amounts = amounts;
        made->open = sum->open;
        usage = map_put(&accounts->usages, made->key, made) ? made : NULL;
    }
    if (!usage || usage != made) {
        free(amounts);
        free(usage ? NULL : made);
    }
    if (usage)
        usage->refs++;
    return usage;
}

// By the spec alone: adapters leave out pods that have succeeded. Most workloads that start have no status yet.
struct usage *usage_of(struct engine *engine, struct entry *entry) {
    struct adapter_call call;
    AUTO_JSON sets = NULL;
    const struct json *workload = doc_tree(&engine->store, &entry->workload->doc);
    bool has_status = json_first(json_get(workload, "status"));
    AUTO_JSON bare = has_status ? json_copy(workload) : NULL;
    if (has_status) {
        json_remove(bare, "status");
        workload = bare;
    }
    if (!workload)
        return NULL;
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    bool read = pods_of(&call, workload, &sets) == WHARF_OK;
    adapter_call_end(&call);
    if (!read)
        return NULL;
    __attribute__((cleanup(clear_sum))) struct request_sum sum = {.engine = engine, .entry = entry};
    for (const struct json *set = json_first(sets); set; set = json_next(set))
        add_set(&sum, set);
    return intern(engine->accounts, &sum);
}

void usage_unref(struct accounts *accounts, struct usage *usage) {
    if (!usage || --usage->refs > 0)
        return;
    map_remove(&accounts->usages, usage->key);
    free(usage->amounts);
    free(usage);
}
