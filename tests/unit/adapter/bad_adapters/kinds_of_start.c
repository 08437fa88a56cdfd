// SPDX-License-Identifier: Apache-2.0
// The kinds that start returns are checked like others.
#include <wharf/adapter.h>

static const wharf_kind thing = {
    WHARF_KIND_SIZES,
    .group = "example.com",
    .versions = (const char *const[]){"v1", NULL},
    .kind = "Thing",
    .plural = "things",
    .flags = WHARF_KIND_NEVER_FINISHES,
    .managed_by = "/spec/managedBy",
    .carried = (const wharf_carried[]){{.pointer = "/spec/suspend"}, {.pointer = NULL}},
    .suspend = "suspend",
};
static const wharf_kind *const brought[] = {&thing, NULL};
#define START_CODE *list = brought;
#include "template.h"
