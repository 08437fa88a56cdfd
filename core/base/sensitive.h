// SPDX-License-Identifier: Apache-2.0
// Memory with secrets, overwritten before the memory is freed. Besides explicit calls there are sections: buffers, JSON
// documents, objects and responses made by a thread in a section are sensitive, also after the section. Temporary texts
// (AUTO_TEXT) that end in a section are overwritten.
#pragma once

#include <stdbool.h>

// free() of a whole block from malloc, overwritten first; NULL is fine.
void sensitive_free(void *memory);
void sensitive_erase(void *memory); // without the free

// The rest of the block is a section if `condition` is true, or if the block was in one.
#define SENSITIVE_WHILE(condition) SENSITIVE_AT(condition, __LINE__)
#define SENSITIVE_AT(condition, line) SENSITIVE_NAMED(condition, line)
#define SENSITIVE_NAMED(condition, line)                                                                               \
    __attribute__((cleanup(sensitive_leave), unused)) bool sensitive_before_##line = sensitive_enter(condition)

extern _Thread_local bool sensitive_section; // the thread is in a section

static inline bool sensitive_enter(bool condition) {
    bool before = sensitive_section;
    sensitive_section = before || condition;
    return before;
}

static inline void sensitive_leave(const bool *before) {
    sensitive_section = *before;
}
