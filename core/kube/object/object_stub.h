// SPDX-License-Identifier: Apache-2.0
// Internal to object.c: stubs of objects that are too large to parse.
#ifndef WHARF_KUBE_OBJECT_OBJECT_STUB_H
#define WHARF_KUBE_OBJECT_OBJECT_STUB_H

#include "core/kube/object/object.h"

// `text` is already stripped. `why` NULL means out of memory.
struct error *object_stub(const char *text, size_t len, const char *api_version, const char *kind,
                          const struct object_limits *limits, const char *why, struct object **out);

#endif
