// SPDX-License-Identifier: Apache-2.0
// Adapters for tests of the loader: real shared objects, and copies of them in a folder of the test's own.
#pragma once

#include "core/adapter/adapters.h"
#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

extern char *built;  // <build>/bad_adapters
extern char *folder; // of this test alone, emptied at the end

int adapters_set_up(void **state);
int adapters_tear_down(void **state);

char *in(const char *directory, const char *name);
// Copies an adapter into the test's folder and sets the byte at `offset` if that is not negative.
char *copied(const char *from, const char *name, long offset, char byte);

// A wanted adapter, with its own memory.
struct wanted {
    char *name, *file, *sha256, *managed_by;
    bool file_given;
    struct json *settings;
};

struct wanted enabled(const char *name, const char *file);
void drop(struct wanted *adapter);
struct adapters *load(const struct wanted *list, size_t count, struct problems *problems);
// Loads it alone: the one problem contains these texts.
void assert_refused(struct wanted *adapter, const char *const expected[3]);
