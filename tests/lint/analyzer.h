// SPDX-License-Identifier: Apache-2.0
// Included before every file that clang-tidy looks at. The analyzer does not see into other files, so that it would
// follow paths on which error_new returns NULL, "no error", and what an error was about is then used. Here is what
// core/base/error.h says, in the one form that it takes into account.
#pragma once

#include "core/base/error.h"

static inline struct error *analyzer_never_null(struct error *error) {
    if (!error)
        __builtin_unreachable();
    return error;
}

static inline struct error *analyzer_null_if(const struct error *wrapped, struct error *error) {
    if (!wrapped != !error)
        __builtin_unreachable();
    return error;
}

#define error_no_memory() analyzer_never_null((error_no_memory)())
#define error_new(...) analyzer_never_null((error_new)(__VA_ARGS__))
#define error_vnew(...) analyzer_never_null((error_vnew)(__VA_ARGS__))
// The first argument may have effects: it is evaluated once.
#define error_wrap(inner, ...)                                                                                         \
    ({                                                                                                                 \
        struct error *wrapped_ = (inner);                                                                              \
        analyzer_null_if(wrapped_, (error_wrap)(wrapped_, __VA_ARGS__));                                               \
    })
