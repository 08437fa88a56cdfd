// SPDX-License-Identifier: Apache-2.0
// Crashes in a call, and then in each start: from the time in the setting `until` on, in seconds since 1970.
#define FARM "restart"
#define SETTINGS "until", NULL
#define START crash_after(settings)
#include <wharf/adapter.h>
static void crash_after(const wharf_value *settings);
#include "tests/gallery/farm.h"

#include <time.h>

static void crash(void) {
    farm_wild = (void *)8;
    *(volatile int *)farm_wild = 1;
}

static void crash_after(const wharf_value *settings) {
    if (time(NULL) >= host->integer(host->find(settings, "/until"), 0))
        crash();
}

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    crash();
}
