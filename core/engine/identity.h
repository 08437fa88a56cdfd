// SPDX-License-Identifier: Apache-2.0
// Which cluster is which: the uid of namespace kube-system names one.
#ifndef WHARF_ENGINE_IDENTITY_H
#define WHARF_ENGINE_IDENTITY_H

#include <stddef.h>

struct engine;

void identity_take(struct engine *engine, size_t cluster, const char *uid, const char *problem);
// The connection was lost: who answers next may be another one.
void identity_forget(struct engine *engine, size_t cluster);

#endif
