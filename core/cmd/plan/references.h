// SPDX-License-Identifier: Apache-2.0
// The objects that a workload refers to. Internal to core/cmd/plan.
#pragma once

#include "core/adapter/references.h"
#include "core/cmd/plan/plan.h"
#include "core/config/dependencies.h"

enum plan_presence { PLAN_NOT_ASKED, PLAN_ABSENT, PLAN_PRESENT, PLAN_UNREADABLE };

struct plan_need {
    struct reference *reference; // owned, one block
    char *from;                  // the object that refers to it, "serviceaccounts runner"; NULL: the workload
    unsigned depth;              // 1: the workload refers to it
    bool optional;               // like all objects on the way
    const char *in_file;         // "o.yaml:3", of the input; or NULL
    struct json *source;         // of the management cluster, else of the input; or NULL
    enum plan_presence here;     // in the management cluster
    char *trouble;               // UNREADABLE: why; owned
};

struct plan_needs {
    struct plan_need *list;
    size_t count;
};

// The host's use of the object; IGNORED: also one that the kind's controller makes.
enum dependency_use plan_use_of(const struct plan_object *object, const struct plan_need *need);
const char *plan_namespace_of(const struct plan_object *object, const struct reference *reference);

// Whether the Secret is not copied, as it has no label (rule D9). Unknown, without `source`: true.
bool plan_lacks_label(const struct plan_object *object, const struct plan_need *need);

// lookup.c
// Reads the object from the management cluster, with --look-up or --cluster.
struct error *plan_look_up(struct plan_object *object, struct plan_need *need);
// Appends the state in the clusters, "; found in the management cluster; w1 has a copy". Reads the object in the
// worker.
struct error *plan_describe_need(struct plan_object *object, const struct plan_need *need, struct buffer *out);
