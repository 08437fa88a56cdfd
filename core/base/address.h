// SPDX-License-Identifier: Apache-2.0
// IP addresses as text, with and without a port.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct address {
    int family;              // AF_INET, AF_INET6, or 0
    unsigned char bytes[16]; // network byte order; IPv4 uses the first four
    uint16_t port;           // 0 unless one was read
};

// "127.0.0.1" or "::1". False if invalid; family is then 0.
bool address_parse(const char *text, struct address *out);

// "127.0.0.1:9440" or "[::1]:9440": an IPv6 address with a port is in brackets (RFC 3986 section 3.2.2).
bool address_parse_port(const char *text, struct address *out);

// Whether a host name is "localhost" or a loopback address, IPv6 without brackets.
bool address_is_local(const char *host);
