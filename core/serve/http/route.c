// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http/server.h"

#include "core/base/text.h"
#include "core/serve/metrics/metrics.h"

#include <string.h>

static const struct route probes[] = {
    {.path = "/healthz", .content_type = WEB_TEXT, .make = page_health},
    {.path = "/livez", .content_type = WEB_TEXT, .make = page_health},
    {.path = "/readyz", .content_type = WEB_TEXT, .make = page_ready},
    {.path = "/metrics", .content_type = METRICS_CONTENT_TYPE, .make = page_metrics},
};

static const struct route api[] = {
    {.path = "/", .content_type = WEB_HTML, .make = page_ui},
    {.path = "/api/v1/status", .access = ACCESS_WHARF, .serve = serve_api},
    {.path = "/api/v1/workers", .access = ACCESS_WHARF, .serve = serve_api},
    {.path = "/api/v1/adapters", .access = ACCESS_WHARF, .serve = serve_api},
    {.path = "/api/v1/rights", .access = ACCESS_WHARF, .serve = serve_api},
    {.path = "/api/v1/watch", .access = ACCESS_WHARF, .kind = CONNECTION_WATCH, .serve = serve_watch},
    {.path = "/api/v1/workloads", .access = ACCESS_WORKLOADS, .serve = serve_api},
    {.path = "/api/v1/workloads/", .segments = 3, .access = ACCESS_EXPLAIN, .serve = serve_api},
    {.path = "/api/v1/pods/", .segments = 3, .access = ACCESS_LOGS, .serve = serve_pods},
    {.path = "/api/v1/logs/", .segments = 3, .access = ACCESS_LOGS, .kind = CONNECTION_LOGS, .serve = serve_logs},
    {.path = "/api/v1/exec/", .segments = 3, .access = ACCESS_EXEC, .kind = CONNECTION_EXEC, .serve = serve_exec},
};

static bool matches(const struct route *route, const char *path) {
    return route->segments > 0 ? text_has_prefix(path, route->path) : strcmp(path, route->path) == 0;
}

static const struct route *find_route(const struct route *routes, size_t count, const char *path) {
    for (size_t i = 0; i < count; i++)
        if (matches(&routes[i], path))
            return &routes[i];
    return NULL;
}

const struct route *route_find(const char *path, bool with_api) {
    const struct route *route = find_route(probes, sizeof probes / sizeof probes[0], path);
    if (!route && with_api)
        route = find_route(api, sizeof api / sizeof api[0], path);
    return route;
}

bool route_split(char *rest, size_t count, const char **segments) {
    for (size_t i = 0; i < count; i++) {
        char *slash = strchr(rest, '/');
        segments[i] = rest;
        if (*rest == '\0' || rest == slash || !slash != (i + 1 == count))
            return false;
        if (slash) {
            *slash = '\0';
            rest = slash + 1;
        }
    }
    return true;
}
