// SPDX-License-Identifier: Apache-2.0
#include "core/base/sensitive.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

_Thread_local bool sensitive_section;

void sensitive_erase(void *memory) {
    if (memory)
        explicit_bzero(memory, malloc_usable_size(memory));
}

void sensitive_free(void *memory) {
    sensitive_erase(memory);
    free(memory);
}
