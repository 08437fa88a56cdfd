// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/adapters.h"

#include "core/adapter/load/adapter_load.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

void adapter_cleanup(struct adapter **adapter) {
    adapter_free(*adapter);
}

static void free_table(struct adapters *adapters) {
    const struct adapters *former = adapters->former;
    for (size_t i = 0; i < adapters->count; i++)
        if (!former || i >= former->count || former->list[i] != adapters->list[i])
            adapter_free(adapters->list[i]);
    free(adapters->list);
    free(adapters->kinds);
    free(adapters);
}

void adapters_free_newer(struct adapters *adapters, const struct adapters *kept) {
    while (adapters && adapters != kept) {
        struct adapters *former = adapters->former;
        free_table(adapters);
        adapters = former;
    }
}

void adapters_free(struct adapters *adapters) {
    adapters_free_newer(adapters, NULL);
}

bool adapters_same_kind(const struct kind *a, const struct kind *b) {
    return strcmp(a->abi.group, b->abi.group) == 0 &&
           (strcmp(a->abi.plural, b->abi.plural) == 0 || strcmp(a->abi.kind, b->abi.kind) == 0);
}

struct error *adapters_check_own(const struct adapter *adapter) {
    for (size_t i = 0; i < adapter->n_kinds; i++)
        for (size_t j = 0; j < i; j++)
            if (adapters_same_kind(adapter->kinds[i], adapter->kinds[j]))
                return error_new(ERROR_REFUSED, "%s: kind %s: found it twice in one adapter, expected it once",
                                 adapter->file, adapter->kinds[i]->plural_group);
    return NULL;
}

// Two adapters for one kind would both handle the objects.
struct error *adapters_check_distinct(const struct adapters *adapters, const struct adapter *adapter) {
    for (size_t i = adapter->n_inherited; i < adapter->n_kinds; i++) {
        const struct kind *kind = adapter->kinds[i];
        for (size_t j = 0; j < adapters->n_kinds; j++)
            if (adapters_same_kind(kind, adapters->kinds[j]))
                return error_new(ERROR_REFUSED,
                                 "%s: kind %s: found a second adapter for it, expected one: adapter %s "
                                 "(%s) has it already",
                                 adapter->file, kind->plural_group, adapters->kinds[j]->adapter->name,
                                 adapters->kinds[j]->adapter->file);
    }
    return NULL;
}

struct error *adapters_add(struct adapters *adapters, struct adapter *adapter) {
    size_t added = adapter->n_kinds - adapter->n_inherited;
    struct adapter **place = array_next(&adapters->list, adapters->count, sizeof(struct adapter *));
    if (!place)
        return error_no_memory();
    for (size_t i = 0; i < added; i++) {
        struct kind **kind = array_next(&adapters->kinds, adapters->n_kinds + i, sizeof(struct kind *));
        if (!kind)
            return error_no_memory();
        *kind = (struct kind *)adapter->kinds[adapter->n_inherited + i];
    }
    *place = adapter;
    adapters->n_kinds += added;
    adapters->count++;
    return NULL;
}

static struct error *load_and_add(struct loading *loading, struct adapters *adapters) {
    struct error *error = NULL;
    __attribute__((cleanup(adapter_cleanup))) struct adapter *adapter = adapter_load(loading, &error);
    if (!adapter)
        return error;
    error = adapters_check_own(adapter);
    if (!error)
        error = adapters_check_distinct(adapters, adapter);
    if (!error)
        error = adapters_add(adapters, adapter);
    if (!error)
        adapter = NULL;
    return error;
}

void adapters_report(const struct loading *loading, struct problems *problems, struct error *error) {
    error = error_wrap(error, "adapter %s", loading->wanted->name);
    if (loading->line > 0)
        error = error_wrap(error, "%s:%zu", loading->options->config_path, loading->line);
    problems_add_error(problems, error);
}

struct error *adapters_load(const struct adapters_options *options, struct problems *problems, struct adapters **out) {
    *out = NULL;
    struct adapters *adapters = calloc(1, sizeof(*adapters));
    if (!adapters)
        return error_no_memory();
    for (size_t i = 0; i < options->n_wanted; i++) {
        struct loading loading = {.options = options, .wanted = &options->wanted[i], .line = options->wanted[i].line};
        struct error *error = load_and_add(&loading, adapters);
        if (error && error->code == ERROR_NO_MEMORY) {
            adapters_free(adapters);
            return error;
        }
        adapters_report(&loading, problems, error);
    }
    *out = adapters;
    return NULL;
}
