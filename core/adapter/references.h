// SPDX-License-Identifier: Apache-2.0
// The objects that a workload refers to: those of its pods, those of the kind's data (wharf_kind.references), and what
// the adapter's function `dependencies` changes. Names only. Pure: no object is read.
#pragma once

#include "core/adapter/adapters.h"
#include "core/adapter/services.h"

// Limits of one workload, with the references of references: docs/lifecycle.md.
#define REFERENCES_DEPTH 4
#define REFERENCES_MAX 64
#define REFERENCES_BYTES ((size_t)8 << 20) // of the objects

struct reference {          // the texts first, see struct_copy_with_texts; one block
    const char *resource;   // "configmaps", "tasks.tekton.dev"
    const char *version;    // "v1"
    const char *kind;       // "ConfigMap", "Task"
    const char *namespace_; // "": cluster-scoped; in references of a cluster-scoped object also the workload's own
    const char *name;
    const char *where; // the pointer to the first place that names the object; "pods/0/template/...": in a pod set of
                       // the adapter's function; "": named by the adapter
    bool cluster_scoped;
    bool optional; // at all places
    bool is_made;  // by the kind's controller: neither copied nor checked
};
#define REFERENCE_TEXTS 6

struct references { // zero-initialised; sorted by resource, namespace and name, without duplicates
    struct reference **list;
    size_t count;
};
void references_clear(struct references *references); // also for __attribute__((cleanup))

// In the order of the list; 0: the same object.
int reference_compare(const struct reference *a, const struct reference *b);
// Whether an object that is referred to can have this name: lower case, digits, "-", "." and ":".
bool reference_is_name(const char *name);

// Of a workload or a mirror. `call` was begun. Returns the adapter's result, with the message in the call; WHARF_RETRY
// also when out of memory; WHARF_REFUSED also for more than REFERENCES_MAX.
wharf_result references_of(struct adapter_call *call, const struct json *workload, struct references *out);

// The list that the adapter's function gets; NULL: out of memory.
struct json *references_list(const struct references *references);
// Whether an item of this list, the one with this number (from 1 on), is wrong after the function: a sentence, appended
// to `out`. `namespace_` is the workload's.
bool reference_item_problem(const wharf_kind *kind, const struct json *item, size_t number, const char *namespace_,
                            struct buffer *out);

// Of an object that workloads of these kinds refer to, `resource` as above: the secrets of a ServiceAccount, the Tasks
// of a Pipeline. is_made only if that holds for all kinds with this reference. Of more than REFERENCES_MAX by a kind,
// that number and one more. False: out of memory, *out is empty.
bool references_of_object(struct kind *const *kinds, size_t n_kinds, const char *resource, const struct json *object,
                          struct references *out);

// A resource that workloads can refer to. The built-in ones (of pods), and those of the kinds' data.
#define REFERENCE_RESOURCE_MAX 320 // with the NUL: a label, a dot, an API group
struct reference_resource {
    char resource[REFERENCE_RESOURCE_MAX]; // "tasks.tekton.dev"
    const char *version, *kind;            // "v1", "Task"; they live as long as the kinds
    bool cluster_scoped;
};
// "tekton.dev" of "tasks.tekton.dev", "" of "configmaps".
static inline const char *reference_group(const char *resource) {
    const char *dot = strchr(resource, '.');
    return dot ? dot + 1 : "";
}
// Of a row; false: it names the pods of an object.
bool reference_resource(const wharf_reference *row, struct reference_resource *out);
// False: there is none (or no more) with this number. Duplicates are left out.
bool reference_resource_at(struct kind *const *kinds, size_t n_kinds, size_t number, struct reference_resource *out);
// By "resource.group"; false: unknown.
bool reference_resource_find(struct kind *const *kinds, size_t n_kinds, const char *resource,
                             struct reference_resource *out);
// Whether objects of this resource may refer to others, so that somebody has to read them.
bool reference_resource_refers(struct kind *const *kinds, size_t n_kinds, const char *resource);
// reference_resource_find for one kind.
bool reference_resource_of(const wharf_kind *kind, const char *resource, struct reference_resource *out);
