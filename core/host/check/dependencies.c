// SPDX-License-Identifier: Apache-2.0
#include "core/host/check/dependencies.h"

#include "core/adapter/references.h"
#include "core/base/buffer.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/config/dependencies.h"

#define KNOWN_MAX 256 // resources that a suggestion is made from
#define NAMES_MAX 65536

struct check {
    const struct config *config;
    const struct adapters *adapters;
    struct problems *problems;
};

static void report(const struct check *check, const char *list, const char *sentence) {
    problems_add(check->problems, "%s:%zu: dependencies.%s: %s", check->config->path, check->config->dependencies_line,
                 list, sentence);
}

// The one meant by "configmap", "ConfigMap" or "task", or by a name that is nearly right.
static const char *meant(const struct check *check, const char *resource, struct reference_resource found[KNOWN_MAX],
                         struct buffer *all) {
    const char *known[KNOWN_MAX];
    size_t count = 0;
    while (count < KNOWN_MAX &&
           reference_resource_at(check->adapters->kinds, check->adapters->n_kinds, count, &found[count])) {
        const struct reference_resource *at = &found[count];
        const char *group = strchr(at->resource, '.');
        size_t len = group ? (size_t)(group - at->resource) : strlen(at->resource);
        bool plural = strlen(resource) == len && memcmp(resource, at->resource, len) == 0;
        if (plural || strcasecmp(resource, at->kind) == 0)
            return at->resource;
        buffer_printf(all, "%s%s", count > 0 ? ", " : "", at->resource);
        known[count++] = at->resource;
    }
    return suggest(resource, known, count);
}

static void report_unknown(const struct check *check, const char *list, const char *resource) {
    AUTO_BUFFER(all, NAMES_MAX);
    struct reference_resource found[KNOWN_MAX];
    const char *suggested = meant(check, resource, found, &all);
    AUTO_TEXT sentence = suggested ? text_format("found \"%s\", to which no enabled kind refers, did you mean \"%s\"?",
                                                 resource, suggested)
                                   : text_format("found \"%s\", to which no enabled kind refers, expected one of %s",
                                                 resource, all.data ? all.data : "those of pods");
    report(check, list, sentence ? sentence : "out of memory");
}

static void check_resource(const struct check *check, const char *list, const char *resource, bool copied) {
    struct reference_resource found;
    if (!reference_resource_find(check->adapters->kinds, check->adapters->n_kinds, resource, &found)) {
        report_unknown(check, list, resource);
        return;
    }
    if (!copied || dependency_may_copy(resource, found.cluster_scoped))
        return;
    AUTO_TEXT sentence = text_format(
        "found %s, which are of the whole cluster and for its administrators to make, expected them in check",
        resource);
    report(check, list, sentence ? sentence : "out of memory");
}

static void check_list(const struct check *check, const char *list, const char *resources) {
    const char *at;
    size_t len = 0;
    while (dependency_next(&resources, &at, &len)) {
        AUTO_TEXT resource = strndup(at, len);
        if (resource)
            check_resource(check, list, resource, strcmp(list, "copy") == 0);
        else
            report(check, list, "out of memory");
    }
}

void dependencies_check(const struct config *config, const struct adapters *adapters, struct problems *problems) {
    const struct check check = {config, adapters, problems};
    check_list(&check, "copy", config->engine.dependencies.copy);
    check_list(&check, "check", config->engine.dependencies.check);
}
