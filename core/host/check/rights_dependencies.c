// SPDX-License-Identifier: Apache-2.0
// The rights on objects that workloads refer to.
#include "core/adapter/references.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/config/dependencies.h"
#include "core/host/check/rights_internal.h"

#define TEXT_MAX 65536
#define CREATE "create, "

struct referred {
    const char *resource; // "tasks.tekton.dev"
    char *objects;        // "a, b"; owned; "": not limited to some
    bool is_secrets, cluster_scoped, is_done;
};

struct referred_list {
    char **words; // the resources
    struct referred *list;
    size_t count;
};

static void clear(struct referred_list *resources) {
    for (size_t i = 0; i < resources->count; i++)
        free(resources->list[i].objects);
    free(resources->list);
    free(resources->words);
}

// Of `resource` in a list like "secrets/a,configmaps/b": "a". Empty: none; NULL: out of memory.
static char *objects_of(const char *objects, const char *resource) {
    AUTO_BUFFER(names, TEXT_MAX);
    AUTO_WORDS words = text_words(objects, ',');
    size_t prefix = strlen(resource);
    names.failed |= !words;
    for (char **at = words; at && *at; at++)
        if (text_has_prefix(*at, resource) && (*at)[prefix] == '/')
            buffer_printf(&names, "%s%s", names.len > 0 ? ", " : "", *at + prefix + 1);
    if (names.failed)
        return NULL;
    return names.len > 0 ? buffer_take(&names, NULL) : strdup("");
}

static bool fill(struct referred_list *resources, const struct rights_wanted *wanted, bool copies) {
    struct reference_resource known;
    resources->words = dependency_resources(&wanted->features.dependencies, !copies);
    for (char **word = resources->words; word && *word; word++) {
        struct referred *added = array_next(&resources->list, resources->count, sizeof *added);
        if (!added)
            return false;
        *added = (struct referred){.resource = *word,
                                   .objects = objects_of(wanted->objects, *word),
                                   .is_secrets = strcmp(*word, "secrets") == 0};
        resources->count++;
        if (!added->objects)
            return false;
        added->cluster_scoped =
            reference_resource_find((struct kind *const *)wanted->kinds, wanted->n_kinds, *word, &known) &&
            known.cluster_scoped;
    }
    return resources->words;
}

// Secrets have a right of their own, with a comment.
static bool is_alone(const struct referred *resource) {
    return *resource->objects || resource->is_secrets;
}

static bool go_together(const struct referred *a, const struct referred *b) {
    return !is_alone(a) && !is_alone(b) && a->cluster_scoped == b->cluster_scoped &&
           strcmp(reference_group(a->resource), reference_group(b->resource)) == 0;
}

// The first resource, and those that go together with it.
static void take_together(const struct referred_list *resources, const struct referred *first, struct buffer *names) {
    for (size_t i = 0; i < resources->count; i++) {
        struct referred *other = &resources->list[i];
        if (other != first && (other->is_done || !go_together(first, other)))
            continue;
        buffer_printf(names, "%s%.*s", names->len > 0 ? ", " : "", (int)strcspn(other->resource, "."), other->resource);
        other->is_done = true;
    }
}

// RBAC cannot limit create to a name, so it is a right of its own where there are names.
static void add_rights(struct rights_table *table, struct right right, const struct referred_list *resources,
                       const struct referred *first) {
    AUTO_BUFFER(names, TEXT_MAX);
    bool apart = *first->objects && text_has_prefix(right.verbs, CREATE);
    take_together(resources, first, &names);
    table->no_memory |= names.failed;
    if (names.failed)
        return;
    right.group = reference_group(first->resource);
    right.names = *first->objects ? first->objects : NULL;
    right.scope = first->cluster_scoped ? RIGHT_CLUSTER : right.scope;
    right.verbs += apart ? strlen(CREATE) : 0;
    rights_add(table, &right, names.data);
    right.comment = right.names = NULL;
    right.verbs = "create";
    if (apart)
        rights_add(table, &right, names.data);
}

static const char *comment_on(const struct referred *resource, bool copies) {
    if (copies)
        return "Copies of Secrets.";
    return *resource->objects ? "Secrets that workloads refer to (dependencies)."
                              : "Secrets that workloads refer to (dependencies). RBAC cannot limit this to a label.";
}

void rights_add_dependencies(struct rights_table *table, const struct right *right, bool copies) {
    __attribute__((cleanup(clear))) struct referred_list resources = {.list = NULL};
    bool told = false;
    table->no_memory |= !fill(&resources, table->wanted, copies);
    for (size_t i = 0; i < resources.count && !table->no_memory; i++) {
        const struct referred *resource = &resources.list[i];
        struct right next = *right;
        if (resource->is_done)
            continue;
        if (table->wanted->features.dependencies.by_name && next.scope == RIGHT_CLUSTER)
            next.scope = RIGHT_WORK; // in some namespaces, if the host may write only there
        if (resource->is_secrets)
            next.comment = comment_on(resource, copies);
        else if (told)
            next.comment = NULL;
        told |= !resource->is_secrets;
        add_rights(table, next, &resources, resource);
    }
}
