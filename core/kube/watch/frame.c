// SPDX-License-Identifier: Apache-2.0
#include "core/kube/watch/reflector.h"

size_t frame_next(struct frame_scanner *scanner, const char *bytes, size_t len, bool *bad) {
    size_t at = scanner->scanned;
    *bad = false;
    if (scanner->value.depth == 0) {
        at = scan_space(bytes, at, len);
        *bad = at < len && bytes[at] != '{' && bytes[at] != '[';
    }
    if (!*bad && scan_value(&scanner->value, bytes, &at, len)) {
        *scanner = (struct frame_scanner){0};
        return at;
    }
    scanner->scanned = at;
    return 0;
}
