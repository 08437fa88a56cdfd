// SPDX-License-Identifier: Apache-2.0
// The parts of an API server's URL.
#pragma once

#include "core/base/error.h"

#include <stdbool.h>

struct server_url {
    bool tls;   // https
    char *host; // IPv6 addresses without brackets
    char *port; // the scheme's default if the URL has none
    bool has_port;
    char *path; // prefix of every path: "" or "/cluster-a"
};

// Only http and https, without user, query and fragment. `out` is empty on failure.
struct error *server_url_parse(const char *text, struct server_url *out);
void server_url_free(struct server_url *url);
struct error *server_url_check(const char *text); // checks only the syntax

// "https://host:port/prefix"; `host` NULL: the URL's own. NULL when out of memory.
char *server_url_base(const struct server_url *url, const char *host);

// "host" or "host:port" for the Host header and CONNECT_TO; IPv6 in brackets. NULL when out of memory.
char *server_url_authority(const struct server_url *url, bool with_port);
