// SPDX-License-Identifier: Apache-2.0
#include "tests/world/route.h"
#include "tests/world/model.h"

#include <stdlib.h>
#include <string.h>

static int hex(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// In place. In a query `+` stands for a space (application/x-www-form-urlencoded).
static bool decode(char *text, bool query) {
    char *out = text;
    for (const char *in = text; *in; in++) {
        if (*in == '%') {
            int high = hex(in[1]), low = high < 0 ? -1 : hex(in[2]);
            if (low < 0 || high * 16 + low == 0)
                return false;
            *out++ = (char)(high * 16 + low);
            in += 2;
        } else {
            *out++ = query && *in == '+' ? ' ' : *in;
        }
    }
    *out = '\0';
    return true;
}

static bool read_query(struct route *route, char *text) {
    while (text && *text) {
        char *pair = text;
        text = strchr(pair, '&');
        if (text)
            *text++ = '\0';
        char *value = strchr(pair, '=');
        if (value)
            *value++ = '\0';
        if (route->queries == ROUTE_QUERIES || !decode(pair, true) || (value && !decode(value, true)))
            return false;
        route->query[route->queries].name = pair;
        route->query[route->queries++].value = value ? value : "";
    }
    return true;
}

static bool read_segments(struct route *route, char *text) {
    while (*text == '/')
        text++;
    while (*text) {
        char *segment = text;
        text = strchr(segment, '/');
        if (text)
            *text++ = '\0';
        else
            text = segment + strlen(segment);
        if (route->segments == ROUTE_SEGMENTS || !decode(segment, false))
            return false;
        route->segment[route->segments++] = segment;
    }
    return true;
}

static const char *segment(const struct route *route, size_t index) {
    return index < route->segments ? route->segment[index] : "";
}

static void find_resource(struct route *route) {
    size_t at;
    if (strcmp(segment(route, 0), "api") == 0 && route->segments > 2) {
        route->group = "";
        route->version = segment(route, 1);
        at = 2;
    } else if (strcmp(segment(route, 0), "apis") == 0 && route->segments > 3) {
        route->group = segment(route, 1);
        route->version = segment(route, 2);
        at = 3;
    } else {
        return;
    }
    // /namespaces/<name> is the Namespace itself, /namespaces/<name>/status its status.
    bool in_namespace = strcmp(segment(route, at), "namespaces") == 0 && route->segments > at + 2 &&
                        strcmp(segment(route, at + 2), "status") != 0 &&
                        strcmp(segment(route, at + 2), "finalize") != 0;
    if (in_namespace) {
        route->namespace_ = segment(route, at + 1);
        at += 2;
    }
    route->plural = segment(route, at);
    route->name = segment(route, at + 1);
    route->subresource = segment(route, at + 2);
    route->resource = route->segments <= at + 3;
}

bool route_read(struct route *route, const char *path) {
    *route = (struct route){.text = world_strdup(path)};
    route->group = route->version = route->namespace_ = route->plural = route->name = route->subresource = "";
    char *query = strchr(route->text, '?');
    if (query)
        *query++ = '\0';
    if (!read_segments(route, route->text) || !read_query(route, query))
        return false;
    find_resource(route);
    return true;
}

void route_free(struct route *route) {
    free(route->text);
    route->text = NULL;
}

const char *route_query(const struct route *route, const char *name) {
    for (size_t i = 0; i < route->queries; i++)
        if (strcmp(route->query[i].name, name) == 0)
            return route->query[i].value;
    return NULL;
}

bool route_flag(const struct route *route, const char *name) {
    const char *value = route_query(route, name);
    return value && (strcmp(value, "true") == 0 || strcmp(value, "1") == 0);
}
