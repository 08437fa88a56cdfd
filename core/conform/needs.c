// SPDX-License-Identifier: Apache-2.0
// The least minor version of the ABI with all that an adapter uses: fields that are not zero, and services.
#include "core/conform/child.h"

#include "core/base/memory.h"

#include <dlfcn.h>

#define END_OF(type, field) (offsetof(type, field) + sizeof(((type *)NULL)->field))
#define LATEST 2 // the minor version of what is newer than 1.1

// `end_0` and `end_1`: the sizes of the struct in 1.0 and 1.1.
static unsigned of_struct(const void *memory, size_t size, size_t end_0, size_t end_1) {
    unsigned minor = 0;
    const char *bytes = memory;
    for (size_t i = end_0; i < size; i++)
        if (bytes[i] != 0 && minor < (i < end_1 ? 1 : LATEST))
            minor = i < end_1 ? 1 : LATEST;
    return minor;
}

// Elements of a list, the last one of which has NULL at `key`. They have grown since 1.1 only.
static unsigned of_list(const void *list, size_t size, size_t key, size_t end_1) {
    unsigned minor = 0;
    for (const char *element = list; element; element += size) {
        const void *ends = NULL;
        memcpy(&ends, element + key, sizeof(ends));
        if (!ends)
            break;
        unsigned needed = of_struct(element, size, end_1, end_1);
        minor = needed > minor ? needed : minor;
    }
    return minor;
}

static unsigned of_changes(const wharf_status_change *list, size_t size) {
    return of_list(list, size, offsetof(wharf_status_change, name), END_OF(wharf_status_change, message));
}

// Values that are new in fields of 1.0.
static unsigned of_values(const wharf_kind *kind) {
    bool newer = kind->suspend && text_has_prefix(kind->suspend, "/metadata/");
    for (const wharf_phase_rule *rule = kind->phases; rule && rule->pointer; rule++)
        newer |= (rule->flags & ~WHARF_RULE_WHILE_SUSPENDED) != 0;
    return newer ? LATEST : 0;
}

static unsigned most(const unsigned *minors, size_t count) {
    unsigned minor = 0;
    for (size_t i = 0; i < count; i++)
        minor = minors[i] > minor ? minors[i] : minor;
    return minor;
}

// The kind's own fields. wharf_new_kind sets the size of elements of a list that need not be there.
static unsigned of_fields(const wharf_kind *given) {
    wharf_kind kind = {.size = 0};
    memcpy(&kind, given, size_least(given->size, sizeof(kind)));
    kind.reference_size = kind.references ? kind.reference_size : 0;
    kind.child_size = kind.children ? kind.child_size : 0;
    kind.continuity_size = kind.continuity ? kind.continuity_size : 0;
    return of_struct(&kind, sizeof(kind), END_OF(wharf_kind, pod_sets), END_OF(wharf_kind, gave_up_status));
}

static unsigned of_kind(const wharf_kind *kind) {
    bool gives_up = WHARF_HAS(wharf_kind, kind, gave_up_status);
    const unsigned minors[] = {of_fields(kind),
                               of_list(kind->carried, kind->carried_size, 0, END_OF(wharf_carried, when)),
                               of_list(kind->pods, kind->pods_size, 0, END_OF(wharf_pods, counts)),
                               of_list(kind->phases, kind->phase_rule_size, 0, END_OF(wharf_phase_rule, flags)),
                               of_changes(kind->suspended_status, kind->status_change_size),
                               of_changes(kind->resumed_status, kind->status_change_size),
                               of_changes(gives_up ? kind->gave_up_status : NULL, kind->status_change_size)};
    return most(minors, sizeof(minors) / sizeof(minors[0]));
}

static unsigned of_module(const struct adapter *adapter) {
    const wharf_module *module = adapter->handle ? dlsym(adapter->handle, "wharf_module_v1") : NULL;
    return module ? of_struct(module, module->size, END_OF(wharf_module, start), 0) : 0;
}

void needs_print(struct run *run) {
    unsigned needed = run->board->not_started ? 1 : 0;
    for (size_t i = 0; i < run->n_tested; i++) {
        const struct kind *kind = run->tested[i].real;
        const unsigned minors[] = {needed, of_kind(kind->given), of_values(&kind->abi)};
        needed = most(minors, 3);
    }
    for (size_t i = 0; i < run->adapters->count; i++) {
        const unsigned minors[] = {needed, of_module(run->adapters->list[i]), watch_newer() ? LATEST : 0};
        unsigned stated = run->adapters->list[i]->abi_minor;
        needed = most(minors, 3);
        run_print(run, "the adapter needs ABI 1.%u, and abi_minor states 1.%u%s", needed, stated,
                  stated > needed ? ": WHARF_NEEDS_MINOR can state less, for older hosts" : "");
        if (stated < needed)
            run_warn(
                run,
                "abi_minor states 1.%u, and the adapter uses fields or services of 1.%u, which an older host lacks",
                stated, needed);
    }
}
