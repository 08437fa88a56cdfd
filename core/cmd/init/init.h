// SPDX-License-Identifier: Apache-2.0
// `wharf init`: a first configuration, from what can be found out.
#ifndef WHARF_CMD_INIT_H
#define WHARF_CMD_INIT_H

#include "core/base/buffer.h"
#include "core/cmd/cluster.h"
#include "core/cmd/setup.h"

#define INIT_CONTEXTS_MAX 100

struct init_context {
    char *name;
    bool management;
};

struct init_kind {
    const struct kind *kind;
    bool served;
};

// What was found.
struct init {
    char *kubeconfig; // absolute; NULL: in the cluster that this runs in
    bool has_file;    // there is a kubeconfig
    char *context;    // of the management cluster; NULL: none
    char *plugin;     // the command that its user runs for credentials; NULL: none
    struct init_context contexts[INIT_CONTEXTS_MAX];
    size_t n_contexts;
    struct cluster management;
    struct setup all; // all adapters that load without settings
    bool has_generic;
    bool directory_given;
    struct init_kind *kinds; // of all, in their order
};

void init_clear(struct init *init); // also for __attribute__((cleanup))

// find.c. `kubeconfig`, `context`, `adapters` are the flags.
struct error *init_find(struct init *init, const char *kubeconfig, const char *context, const char *adapters);
bool init_is_served(const struct init *init, const struct adapter *adapter);

// write.c
bool init_write(const struct init *init, struct buffer *out);

#endif
