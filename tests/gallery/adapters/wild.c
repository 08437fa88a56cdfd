// SPDX-License-Identifier: Apache-2.0
// Has a kind whose names are NULL or at wild pointers.
#define FARM "wild"
#define HARMLESS_CALLS
#define START *kinds = garbage()
#include <wharf/adapter.h>
static const wharf_kind *const *garbage(void);
#include "tests/gallery/farm.h"

static const wharf_kind *const *garbage(void) {
    static wharf_kind kind;
    static const wharf_kind *list[] = {&kind, NULL};
    kind = farm;
    kind.kind = NULL;
    kind.plural = (const char *)16;
    kind.versions = (const char *const *)(uintptr_t)0xdeadbeef000;
    return list;
}
