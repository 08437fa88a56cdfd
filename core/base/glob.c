// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"

bool text_matches(const char *pattern, size_t pattern_len, const char *text, size_t len) {
    const char *at = text, *end = text + len, *stop = pattern + pattern_len;
    const char *star = NULL, *mark = NULL; // the last '*', and where the text that it stands for ends
    while (at < end || pattern < stop) {
        if (pattern < stop && *pattern == '*') {
            star = ++pattern;
            mark = at;
        } else if (pattern < stop && at < end && *pattern == *at) {
            pattern++;
            at++;
        } else if (star && mark < end) {
            pattern = star;
            at = ++mark;
        } else {
            return false;
        }
    }
    return true;
}
