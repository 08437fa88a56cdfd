// SPDX-License-Identifier: Apache-2.0
#include "core/host/check/dependencies.h"

#include "core/adapter/references.h"
#include "core/base/buffer.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/config/dependencies.h"

#define KNOWN_MAX 256 // resources that a suggestion is made from
#define NAMES_MAX 65536

struct dependency_check {
    const struct config *config;
    const struct adapters *adapters;
    struct problems *problems;
};

static void report(const struct dependency_check *check, const char *list, const char *sentence) {
    problems_add(check->problems, "%s:%zu: dependencies.%s: %s", check->config->path, check->config->dependencies_line,
                 list, sentence);
}

static bool is_meant(const char *found, const struct reference_resource *known) {
    size_t len = strcspn(known->resource, ".");
    return (strlen(found) == len && memcmp(found, known->resource, len) == 0) || strcasecmp(found, known->kind) == 0;
}

// The resource meant by "tasks", "Task" or "configmap"; NULL: unknown.
static const struct reference_resource *meant(const struct reference_resource *known, size_t count, const char *found) {
    const char *names[KNOWN_MAX];
    for (size_t i = 0; i < count; i++) {
        if (is_meant(found, &known[i]))
            return &known[i];
        names[i] = known[i].resource;
    }
    const char *near = suggest(found, names, count);
    for (size_t i = 0; i < count; i++)
        if (names[i] == near)
            return &known[i];
    return NULL;
}

static bool is_accepted(const char *list, const struct reference_resource *resource) {
    return strcmp(list, "copy") != 0 || dependency_may_copy(resource->resource, resource->cluster_scoped);
}

static void report_unknown(const struct dependency_check *check, const char *list, const char *found) {
    AUTO_BUFFER(text, NAMES_MAX);
    struct reference_resource *known = calloc(KNOWN_MAX, sizeof *known);
    size_t count = 0;
    while (known && count < KNOWN_MAX &&
           reference_resource_at(check->adapters->kinds, check->adapters->n_kinds, count, &known[count]))
        count++;
    buffer_printf(&text, "found \"%s\", to which no enabled kind refers, ", found);
    const struct reference_resource *suggested = meant(known, count, found);
    if (suggested)
        buffer_printf(&text, "did you mean \"%s\"%s?", suggested->resource,
                      is_accepted(list, suggested) ? "" : " in check");
    const char *before = "expected one of ";
    for (size_t i = 0; i < count && !suggested; i++) {
        if (!is_accepted(list, &known[i]))
            continue;
        buffer_printf(&text, "%s%s", before, known[i].resource);
        before = ", ";
    }
    free(known);
    report(check, list, text.failed ? "out of memory" : text.data);
}

static void check_resource(const struct dependency_check *check, const char *list, const char *resource) {
    struct reference_resource found;
    if (!reference_resource_find(check->adapters->kinds, check->adapters->n_kinds, resource, &found)) {
        report_unknown(check, list, resource);
        return;
    }
    if (is_accepted(list, &found))
        return;
    AUTO_TEXT sentence = text_format(
        "found %s, which are of the whole cluster and for its administrators to make, expected them in check",
        resource);
    report(check, list, sentence ? sentence : "out of memory");
}

static void check_list(const struct dependency_check *check, const char *list, const char *resources) {
    AUTO_WORDS words = text_words(resources, ',');
    for (char **word = words; word && *word; word++)
        check_resource(check, list, *word);
    if (!words)
        report(check, list, "out of memory");
}

void dependencies_check(const struct config *config, const struct adapters *adapters, struct problems *problems) {
    const struct dependency_check check = {config, adapters, problems};
    check_list(&check, "copy", config->engine.dependencies.copy);
    check_list(&check, "check", config->engine.dependencies.check);
}
