// SPDX-License-Identifier: Apache-2.0
// Which adapters the sandbox's wharf.yaml enables: those for kinds that its clusters serve. Their kinds are read from
// `wharf adapters`, so that no third-party code is loaded here.
#pragma once

#include "core/base/error.h"
#include "tests/world/crd.h"

#define ADAPTERS_MAX 64

struct adapter_kind {         // an adapter's data for one kind
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

// Runs `wharf` to list its own adapters and those of the directory `folder` (NULL: none), which take precedence.
// Problems with the latter are printed on stderr. `scratch` is a directory for a temporary file. Kinds of `crds` and
// Jobs count as served.
struct error *adapters_probe(const char *wharf, const char *folder, const char *scratch, const struct crds *crds,
                             struct adapter_list *list);
void adapters_free(struct adapter_list *list);

// The kind's; NULL: no adapter is for it.
const struct adapter_kind *adapters_for(const struct adapter_list *list, const char *plural, const char *group);

// Appends the items of `adapters.enabled`, in YAML.
void adapters_print(const struct adapter_list *list, struct buffer *out);
