// SPDX-License-Identifier: Apache-2.0
// Which adapters the sandbox's wharf.yaml enables: those for kinds that its clusters serve. What they are for is asked
// of `wharf adapters`, so that no foreign code is loaded here.
#ifndef WHARF_SANDBOX_ADAPTERS_H
#define WHARF_SANDBOX_ADAPTERS_H

#include "core/base/error.h"
#include "tests/world/crd.h"

#define ADAPTERS_MAX 64

struct adapter_kind {         // what an adapter says of one kind
    char *adapter, *resource; // "rayjob", "rayjobs.ray.io"
    char *field, *value;      // "/spec/managedBy", "wharf.dev/host"
    char *file;
    bool served; // by the sandbox
};

struct adapter_list {
    struct adapter_kind kinds[ADAPTERS_MAX];
    size_t count;
};

// The program `wharf`: beside the running program, or as built with it. NULL: there is none.
char *adapters_find_wharf(void);

// Asks `wharf` about the adapters that belong to it and about those of the directory `folder` (NULL: none), which take
// precedence. Problems with the latter are printed on stderr. `scratch` is a directory for a temporary file. Kinds of
// `crds` and Jobs count as served.
struct error *adapters_probe(const char *wharf, const char *folder, const char *scratch, const struct crds *crds,
                             struct adapter_list *list);
void adapters_free(struct adapter_list *list);

// The kind's; NULL: no adapter is for it.
const struct adapter_kind *adapters_for(const struct adapter_list *list, const char *plural, const char *group);

// Appends the items of `adapters.enabled`, in YAML.
void adapters_print(const struct adapter_list *list, struct buffer *out);

#endif
