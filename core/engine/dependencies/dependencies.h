// SPDX-License-Identifier: Apache-2.0
// Objects that workloads refer to: copied into workers before the mirror, or checked there. docs/lifecycle.md, "Objects
// that a workload refers to", has the rules.
#pragma once

#include "core/engine/engine_internal.h"

#define MARK_COPY_OF "wharf.dev/copy-of"        // label of a copy: uid of the source
#define MARK_SOURCE "wharf.dev/source"          // annotation of a copy: "<uid>/<resourceVersion>" of the source
#define MARK_ALSO_USED "wharf.dev/also-used-by" // annotation of a copy: further origins, "a,b"
#define MARK_COPY "wharf.dev/copy"              // label of a source, "true": may be copied

// Whether a worker lacks what the workload needs, for good as far as the host knows; *until_ns: the next try,
// CLOCK_NEVER: none. See OBSTACLE_DEPENDENCY.
bool dependencies_exclude(const struct engine *engine, const struct entry *entry, size_t cluster, int64_t *until_ns);
// The workload has needs that a worker may lack.
bool dependencies_limit(const struct engine *engine, const struct entry *entry);
// Why, "configmaps default/settings: another writer's object has other content", and as a reason of Events; NULL, and
// nothing in `out`, otherwise.
const char *dependencies_put_lack(const struct engine *engine, const struct entry *entry, size_t cluster,
                                  struct buffer *out);
// What a workload with WAITING_DEPENDENCY waits for, as a sentence without an end.
void dependencies_put(const struct engine *engine, const struct entry *entry, struct buffer *out);

// A worker may leave: it has no copy that this host can still delete.
bool dependencies_may_leave(const struct engine *engine, size_t cluster);

// The needs of a workload, for the placed worker or `cluster`. Texts are valid until the next call.
struct dependency_view {
    const char *resource, *namespace_, *name;
    const char *where;   // the pointer to the first place that names it, or the object that refers to it
    const char *cluster; // the worker of the state; NULL: not placed
    enum dependency_state state;
    bool optional;
    const char *problem; // or NULL
};
void dependencies_visit(struct engine *engine, struct entry *entry,
                        void (*visit)(void *ctx, const struct dependency_view *view), void *ctx);

// Visits the device classes that a ResourceClaim, or a template of claims, in the entry's namespace names. False: the
// host has not read the object.
bool dependencies_classes(const struct engine *engine, const struct entry *entry, const char *resource,
                          const char *name, void (*visit)(void *ctx, const char *name), void *ctx);
