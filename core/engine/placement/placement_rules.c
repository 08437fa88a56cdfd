// SPDX-License-Identifier: Apache-2.0
#include "core/engine/placement/placement_rules.h"

#include "core/base/text.h"
#include "core/engine/engine_internal.h"
#include "core/engine/placement/namespace_labels.h"

#include <stdlib.h>
#include <string.h>

struct parsed_rule {
    struct selector namespaces, workers;
};

struct placement_settings {
    struct placement_options options; // its rules are `rules`
    struct placement_rule *rules;     // n_rules, and `otherwise`; texts are owned
    struct parsed_rule *parsed;       // of rules
};

void placement_settings_free(struct placement_settings *settings) {
    if (!settings)
        return;
    for (size_t i = 0; settings->rules && i <= settings->options.n_rules; i++) {
        struct placement_rule *rule = &settings->rules[i];
        free((char *)rule->kinds);
        free((char *)rule->namespaces);
        free((char *)rule->namespace_selector);
        free((char *)rule->worker_selector);
    }
    for (size_t i = 0; settings->parsed && i <= settings->options.n_rules; i++) {
        selector_clear(&settings->parsed[i].namespaces);
        selector_clear(&settings->parsed[i].workers);
    }
    free(settings->rules);
    free(settings->parsed);
    free(settings);
}

static bool copy_text(const char *from, const char **to) {
    *to = from ? strdup(from) : NULL;
    return !from || *to;
}

static bool copy_rule(const struct placement_rule *from, struct placement_rule *to) {
    *to = *from;
    to->kinds = to->namespaces = to->namespace_selector = to->worker_selector = NULL;
    return copy_text(from->kinds, &to->kinds) && copy_text(from->namespaces, &to->namespaces) &&
           copy_text(from->namespace_selector, &to->namespace_selector) &&
           copy_text(from->worker_selector, &to->worker_selector);
}

static struct error *parse(const char *text, const char *what, struct selector *out) {
    struct error *error = text ? selector_parse(text, out) : NULL;
    return error_wrap(error, "%s", what);
}

static struct error *fill(const struct placement_options *options, struct placement_settings *settings) {
    size_t n = options->n_rules;
    settings->options = *options;
    settings->rules = calloc(n + 1, sizeof *settings->rules);
    settings->parsed = calloc(n + 1, sizeof *settings->parsed);
    if (!settings->rules || !settings->parsed)
        return error_no_memory();
    struct error *error = NULL;
    for (size_t i = 0; i <= n && !error; i++) {
        const struct placement_rule *from = i < n ? &options->rules[i] : &options->otherwise;
        if (!copy_rule(from, &settings->rules[i]))
            return error_no_memory();
        error = parse(from->worker_selector, "workerSelector", &settings->parsed[i].workers);
        if (!error && i < n)
            error = parse(from->namespace_selector, "namespaceSelector", &settings->parsed[i].namespaces);
    }
    settings->options.rules = settings->rules;
    settings->options.otherwise = settings->rules[n];
    return error;
}

struct error *placement_settings_new(const struct placement_options *options, struct placement_settings **out) {
    struct placement_settings *settings = calloc(1, sizeof *settings);
    struct error *error = settings ? fill(options, settings) : error_no_memory();
    if (error)
        placement_settings_free(settings);
    *out = error ? NULL : settings;
    return error;
}

const struct placement_options *placement_settings_options(const struct placement_settings *settings) {
    return &settings->options;
}

static bool is_of_kind(const struct placement_rule *rule, const struct kind *kind) {
    return !rule->kinds || pattern_list_matches(rule->kinds, kind->plural_group) ||
           pattern_list_matches(rule->kinds, kind->abi.kind);
}

const struct placement_rule *placement_rule_of(const struct engine *engine, const struct entry *entry, bool *known,
                                               const struct selector **workers) {
    const struct placement_settings *settings = engine->placement.rules;
    size_t n = settings->options.n_rules, i = 0;
    bool labels_known = true;
    char space[254];
    if (n > 0)
        entry_namespace(entry, space);
    for (; i < n; i++) {
        const struct placement_rule *rule = &settings->rules[i];
        if (!is_of_kind(rule, engine->kinds[entry->kind]) ||
            (rule->namespaces && !pattern_list_matches(rule->namespaces, space)))
            continue;
        if (!rule->namespace_selector)
            break;
        const char *labels = NULL;
        labels_known = namespace_labels_of(engine->placement.namespace_labels, space, &labels);
        if (!labels_known)
            i = n;
        if (!labels_known || selector_is_met(&settings->parsed[i].namespaces, labels))
            break;
    }
    if (known)
        *known = labels_known;
    if (workers)
        *workers = &settings->parsed[i].workers;
    return &settings->rules[i];
}

bool placement_waits_when_lost(const struct engine *engine, const struct entry *entry) {
    bool known = false;
    return placement_rule_of(engine, entry, &known, NULL)->wait_when_lost || !known;
}
