// SPDX-License-Identifier: Apache-2.0
// One kind of a shipped adapter, for tests that call its functions.
#pragma once

#include "core/adapter/adapters.h"
#include "core/adapter/services.h"
#include "core/base/text.h"
#include "core/json/pointer.h"
#include "tests/unit/quoted.h"

#include <dlfcn.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

// The shared objects lie beside the folder of this program: <build>/unit/plugins/<name>, <build>/adapters/*.so.
static inline const wharf_kind *find_kind(const char *adapter, const char *name) {
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(len > 0);
    path[len] = '\0';
    for (int up = 0; up < 3; up++)
        *strrchr(path, '/') = '\0';
    AUTO_TEXT file = text_format("%s/adapters/%s.so", path, adapter);
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail_msg("%s", dlerror());
    const wharf_module *module = dlsym(handle, "wharf_module_v1");
    assert_non_null(module);
    *module->host = services_table();
    const wharf_kind *const *kind = module->kinds;
    while (*kind && strcmp((*kind)->kind, name) != 0)
        kind++;
    assert_non_null(*kind);
    return *kind;
}
