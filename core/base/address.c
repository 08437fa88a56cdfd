// SPDX-License-Identifier: Apache-2.0
#include "core/base/address.h"

#include "core/base/text.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

static bool parse_as(int family, const char *text, struct address *out) {
    *out = (struct address){0};
    if (inet_pton(family, text, out->bytes) != 1)
        return false;
    out->family = family;
    return true;
}

bool address_parse(const char *text, struct address *out) {
    return parse_as(AF_INET, text, out) || parse_as(AF_INET6, text, out);
}

bool address_parse_port(const char *text, struct address *out) {
    char host[INET6_ADDRSTRLEN];
    int64_t port = 0;
    const char *colon = strrchr(text, ':');
    *out = (struct address){0};
    if (!colon || !text_to_int64(colon + 1, &port) || port > UINT16_MAX)
        return false;
    size_t len = (size_t)(colon - text);
    bool brackets = len > 2 && text[0] == '[' && text[len - 1] == ']';
    size_t skipped = brackets ? 1 : 0;
    len -= 2 * skipped;
    if (len >= sizeof host)
        return false;
    text_copy(host, len + 1, text + skipped);
    if (!parse_as(brackets ? AF_INET6 : AF_INET, host, out))
        return false;
    out->port = (uint16_t)port;
    return true;
}

bool address_is_local(const char *host) {
    struct address address;
    static const unsigned char six[16] = {[15] = 1};
    if (!address_parse(host, &address))
        return strcasecmp(host, "localhost") == 0;
    return address.family == AF_INET ? address.bytes[0] == 127 : memcmp(address.bytes, six, sizeof six) == 0;
}
