// SPDX-License-Identifier: Apache-2.0
// Parses the path and query of a request.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ROUTE_SEGMENTS 9
#define ROUTE_QUERIES 24

struct route {
    char *text;                          // what the pointers below point into
    const char *segment[ROUTE_SEGMENTS]; // percent-decoded
    size_t segments;
    struct {
        const char *name, *value;
    } query[ROUTE_QUERIES];
    size_t queries;

    // Of a path to a resource; "" where there is none.
    bool resource; // /api/v1/... or /apis/<group>/<version>/... with a plural
    const char *group, *version, *namespace_, *plural, *name, *subresource;
};

// False for an invalid path (bad percent-encoding, too many segments).
bool route_read(struct route *route, const char *path);
void route_free(struct route *route);

// The value of a query parameter, or NULL.
const char *route_query(const struct route *route, const char *name);
bool route_flag(const struct route *route, const char *name); // "true" or "1"
