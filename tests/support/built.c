// SPDX-License-Identifier: Apache-2.0
#include "tests/support/built.h"

#include "core/base/text.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

char *built_path(const char *relative) {
    char here[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", here, sizeof here - 1);
    if (len < 0)
        return NULL;
    here[len] = '\0';
    for (char *slash; (slash = strrchr(here, '/')) && slash != here;) {
        *slash = '\0';
        AUTO_TEXT mark = text_format("%s/core.a", here);
        if (mark && access(mark, F_OK) == 0)
            return text_format("%s/%s", here, relative);
    }
    return NULL;
}
