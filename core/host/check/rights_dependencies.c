// SPDX-License-Identifier: Apache-2.0
// The rights on objects that workloads refer to.
#include "core/adapter/references.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/config/dependencies.h"
#include "core/host/check/rights_internal.h"

#define TEXT_MAX 65536
#define SECRETS "secrets"

struct referred {
    char *name;        // "tasks"; owned, with the group behind it
    const char *group; // "" for core
    char *objects;     // "a, b"; owned; "": not limited to some
    bool cluster_scoped;
    bool is_done;
};

struct referred_list {
    struct referred *list;
    size_t count;
};

static void clear(struct referred_list *resources) {
    for (size_t i = 0; i < resources->count; i++) {
        free(resources->list[i].name);
        free(resources->list[i].objects);
    }
    free(resources->list);
}

// Of `resource` in a list like "secrets/a,configmaps/b": "a". Empty: none; NULL: out of memory.
static char *objects_of(const char *objects, const char *resource) {
    AUTO_BUFFER(names, TEXT_MAX);
    const char *at;
    size_t len = 0, prefix = strlen(resource);
    while (text_next_word(&objects, ',', &at, &len))
        if (len > prefix + 1 && memcmp(at, resource, prefix) == 0 && at[prefix] == '/')
            buffer_printf(&names, "%s%.*s", names.len > 0 ? ", " : "", (int)(len - prefix - 1), at + prefix + 1);
    if (names.failed)
        return NULL;
    return names.len > 0 ? buffer_take(&names, NULL) : strdup("");
}

static bool add(struct referred_list *resources, const struct rights_wanted *wanted, const char *at, size_t len) {
    struct referred *added = array_next(&resources->list, resources->count, sizeof *added);
    if (!added)
        return false;
    struct reference_resource known;
    char *name = strndup(at, len);
    *added = (struct referred){.name = name, .objects = name ? objects_of(wanted->objects, name) : NULL, .group = ""};
    resources->count++;
    if (!added->objects)
        return false;
    added->cluster_scoped =
        reference_resource_find((struct kind *const *)wanted->kinds, wanted->n_kinds, name, &known) &&
        known.cluster_scoped;
    char *dot = strchr(name, '.');
    if (dot) {
        *dot = '\0';
        added->group = dot + 1;
    }
    return true;
}

static bool add_list(struct referred_list *resources, const struct rights_wanted *wanted, const char *list) {
    const char *at;
    size_t len = 0;
    while (text_next_word(&list, ',', &at, &len))
        if (!add(resources, wanted, at, len))
            return false;
    return true;
}

static bool is_secrets(const struct referred *resource) {
    return *resource->group == '\0' && strcmp(resource->name, SECRETS) == 0;
}

// Secrets have a right of their own, with a comment.
static bool is_alone(const struct referred *resource) {
    return *resource->objects || is_secrets(resource);
}

static bool go_together(const struct referred *a, const struct referred *b) {
    return !is_alone(a) && !is_alone(b) && strcmp(a->group, b->group) == 0 && a->cluster_scoped == b->cluster_scoped;
}

// The first resource, and those that go together with it. False: out of memory.
static bool add_right(struct rights_table *table, struct right right, const struct referred_list *resources,
                      struct referred *first) {
    AUTO_BUFFER(names, TEXT_MAX);
    for (size_t i = 0; i < resources->count; i++) {
        struct referred *other = &resources->list[i];
        if (other != first && (other->is_done || !go_together(first, other)))
            continue;
        buffer_printf(&names, "%s%s", names.len > 0 ? ", " : "", other->name);
        other->is_done = true;
    }
    right.group = first->group;
    right.names = *first->objects ? first->objects : NULL;
    if (first->cluster_scoped)
        right.scope = RIGHT_CLUSTER;
    if (names.failed)
        return false;
    rights_add(table, &right, names.data);
    return true;
}

// RBAC cannot limit create to a name, so it is a right of its own where there are names.
static bool add_rights(struct rights_table *table, struct right right, const struct referred_list *resources,
                       struct referred *first) {
    static const char create[] = "create, ";
    if (!*first->objects || !text_has_prefix(right.verbs, create))
        return add_right(table, right, resources, first);
    struct right others = right;
    others.verbs += strlen(create);
    if (!add_right(table, others, resources, first))
        return false;
    free(first->objects);
    first->objects = strdup("");
    right.verbs = "create";
    right.comment = NULL;
    return first->objects && add_right(table, right, &(struct referred_list){first, 1}, first);
}

static const char *comment_on(const struct referred *resource, bool copies) {
    if (copies)
        return "Copies of Secrets.";
    return *resource->objects ? "Secrets that workloads refer to (dependencies)."
                              : "Secrets that workloads refer to (dependencies). RBAC cannot limit this to a label.";
}

void rights_add_dependencies(struct rights_table *table, const struct right *right, bool copies) {
    const struct dependency_options *options = &table->wanted->features.dependencies;
    __attribute__((cleanup(clear))) struct referred_list resources = {.list = NULL};
    bool good = add_list(&resources, table->wanted, options->copy) &&
                (copies || add_list(&resources, table->wanted, options->check)),
         told = false;
    for (size_t i = 0; i < resources.count && good; i++) {
        struct referred *resource = &resources.list[i];
        struct right next = *right;
        if (resource->is_done)
            continue;
        if (options->by_name && next.scope == RIGHT_CLUSTER) // in some namespaces, if the host may write only there
            next.scope = RIGHT_WORK;
        if (is_secrets(resource))
            next.comment = comment_on(resource, copies);
        else if (told)
            next.comment = NULL;
        told |= !is_secrets(resource);
        good = add_rights(table, next, &resources, resource);
    }
    table->no_memory |= !good;
}
