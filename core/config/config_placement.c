// SPDX-License-Identifier: Apache-2.0
// placement: how a worker is chosen, overall and by rules; and maxActive of workers.
#include "core/base/buffer.h"
#include "core/base/selector.h"
#include "core/base/text.h"
#include "core/config/config_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX ((size_t)16 << 10)
#define ACTIVE_MAX 1000000

static void rule_clear(struct placement_rule *rule) {
    free((char *)rule->kinds);
    free((char *)rule->namespaces);
    free((char *)rule->namespace_selector);
    free((char *)rule->worker_selector);
    *rule = (struct placement_rule){.kinds = NULL};
}

void config_placement_clear(struct placement_options *placement) {
    rule_clear(&placement->otherwise);
    for (size_t i = 0; i < placement->n_rules; i++)
        rule_clear((struct placement_rule *)&placement->rules[i]);
    free((struct placement_rule *)placement->rules);
    placement->rules = NULL;
    placement->n_rules = 0;
}

static const struct config_word policies[] = {{"leastActive", PLACEMENT_LEAST_ACTIVE},
                                              {"ordered", PLACEMENT_ORDERED},
                                              {"weighted", PLACEMENT_WEIGHTED},
                                              {"binPack", PLACEMENT_BIN_PACK}};

// Selectors -------------------------------------------------------------------------------------------------------

static void append_term(struct buffer *text, const char *term) {
    buffer_printf(text, "%s%s", text->len > 0 ? "," : "", term);
}

static void put_match_label(struct config_reader *reader, const struct config_place *place, const struct json *value,
                            struct buffer *text) {
    if (!json_string(value)) {
        config_wrong(reader, place, value, "a label value (in quotes if it looks like a number)");
        return;
    }
    AUTO_TEXT term = text_format("%s=%s", place->key, json_string(value));
    append_term(text, term ? term : "");
    reader->no_memory |= !term;
}

// " in (a,b)".
static void put_values(struct config_reader *reader, const struct config_place *place, const struct json *item,
                       const char *key, const char *operator_, struct buffer *text) {
    const struct json *values = json_get(item, "values");
    AUTO_BUFFER(term, LIST_MAX);
    buffer_printf(&term, "%s %s (", key, operator_);
    if (!json_is(values, JSON_ARRAY) || json_size(values) == 0)
        config_problem(reader, place, "values: found none, expected a list of label values");
    for (const struct json *one = json_first(values); one; one = json_next(one)) {
        if (!json_string(one))
            config_problem(reader, place, "values: found something else, expected label values (strings)");
        buffer_printf(&term, "%s%s", one == json_first(values) ? "" : ",", json_string_or(one, ""));
    }
    buffer_text(&term, ")");
    append_term(text, term.failed ? "" : term.data);
    reader->no_memory |= term.failed;
}

static void put_expression(struct config_reader *reader, const struct config_place *place, const struct json *item,
                           struct buffer *text) {
    const char *key = json_string_or(json_get(item, "key"), "");
    const char *word = json_string_or(json_get(item, "operator"), "");
    bool in = strcmp(word, "In") == 0, not_in = strcmp(word, "NotIn") == 0;
    AUTO_TEXT absent = text_format("!%s", key);
    if (in || not_in)
        put_values(reader, place, item, key, in ? "in" : "notin", text);
    else if (strcmp(word, "Exists") == 0)
        append_term(text, key);
    else if (strcmp(word, "DoesNotExist") == 0)
        append_term(text, absent ? absent : "");
    else
        config_problem(reader, place, "operator: found \"%s\", expected In, NotIn, Exists or DoesNotExist", word);
    reader->no_memory |= !absent;
}

// A metav1.LabelSelector becomes the text of a selector.
void config_read_selector(struct config_reader *reader, const struct config_place *place, const struct json *value,
                          void *target) {
    static const char expected[] = "a label selector: {matchLabels: {...}, matchExpressions: [...]}";
    if (!json_is(value, JSON_OBJECT)) {
        config_wrong(reader, place, value, expected);
        return;
    }
    AUTO_BUFFER(text, LIST_MAX);
    size_t known = reader->problems->count;
    for (const struct json *part = json_first(value); part; part = json_next(part)) {
        struct config_place at = {.up = place, .key = json_key(part)};
        bool labels = strcmp(at.key, "matchLabels") == 0 && json_is(part, JSON_OBJECT);
        bool expressions = strcmp(at.key, "matchExpressions") == 0 && json_is(part, JSON_ARRAY);
        if (!labels && !expressions)
            config_wrong(reader, &at, part, expected);
        size_t index = 0;
        for (const struct json *one = json_first(part); one && labels; one = json_next(one))
            put_match_label(reader, &(struct config_place){.up = &at, .key = json_key(one)}, one, &text);
        for (const struct json *one = json_first(part); one && expressions; one = json_next(one), index++)
            put_expression(reader, &(struct config_place){.up = &at, .index = index}, one, &text);
    }
    reader->no_memory |= text.failed;
    if (known != reader->problems->count || text.failed)
        return;
    struct selector selector;
    struct error *error = selector_parse(text.len > 0 ? text.data : "", &selector);
    if (error)
        config_problem(reader, place, "%s", error_text(error));
    else
        config_keep(reader, target, text.len > 0 ? text.data : "");
    error_free(error);
    selector_clear(&selector);
}

// Rules -----------------------------------------------------------------------------------------------------------

// A list of words, joined by commas.
static void read_words(struct config_reader *reader, const struct config_place *place, const struct json *value,
                       char **target, const char *allowed, const char *expected_list, const char *expected) {
    AUTO_BUFFER(text, LIST_MAX);
    if (!json_is(value, JSON_ARRAY) || json_size(value) == 0) {
        config_wrong(reader, place, value, expected_list);
        return;
    }
    size_t i = 0;
    for (const struct json *item = json_first(value); item; item = json_next(item), i++) {
        const char *word = json_string_or(item, "");
        if (!*word || strspn(word, allowed) != strlen(word))
            config_wrong(reader, &(struct config_place){.up = place, .index = i}, item, expected);
        append_term(&text, word);
    }
    reader->no_memory |= text.failed;
    if (!text.failed)
        config_keep(reader, target, text.data);
}

#define LOWER "abcdefghijklmnopqrstuvwxyz0123456789-*"

static void read_kinds(struct config_reader *reader, const struct config_place *place, const struct json *value,
                       void *target) {
    read_words(reader, place, value, target, LOWER ".ABCDEFGHIJKLMNOPQRSTUVWXYZ",
               "a list of kinds, such as [jobs.batch]", "a kind such as Job or jobs.batch, or a pattern");
}

static void read_namespaces(struct config_reader *reader, const struct config_place *place, const struct json *value,
                            void *target) {
    read_words(reader, place, value, target, LOWER, "a list of namespaces and patterns, such as [team-*]",
               "a namespace, or a pattern such as team-*");
}

#define OF(field) offsetof(struct placement_rule, field)

static void read_rule(struct config_reader *reader, const struct config_place *place, const struct json *value) {
    static const struct config_field fields[] = {
        {"kinds", read_kinds, OF(kinds), false, .help = "Default: all. Kind or plural.group; patterns with '*'."},
        {"namespaces", read_namespaces, OF(namespaces), false, .help = "Default: all. Patterns may have '*'."},
        {"namespaceSelector", config_read_selector, OF(namespace_selector), false,
         .help = "Default: all. Of the labels of namespaces of the management cluster."},
        {"policy", config_read_word, OF(policy), false, .help = "Instead of placement.policy.", CONFIG_WORDS(policies)},
        {"workerSelector", config_read_selector, OF(worker_selector), false,
         .help = "Instead of placement.workerSelector."},
        {"requireFields", config_read_bool, OF(require_fields), false, .help = "Instead of placement.requireFields."},
        {"pendingTimeout", config_read_duration, OF(pending_timeout_ns), false,
         .help = "Instead of placement.pendingTimeout."},
        {"giveUpAfter", config_read_duration, OF(give_up_after_ns), false, .help = "Instead of placement.giveUpAfter."},
        {"onWorkerLost", config_read_switch, OF(wait_when_lost), false, .help = "Instead of onWorkerLost.",
         CONFIG_WORDS(config_lost_words)},
    };
    struct placement_options *placement = &reader->config->engine.placement;
    struct placement_rule *rule = config_grow(reader, &placement->rules, placement->n_rules, sizeof(*placement->rules));
    if (!rule)
        return;
    *rule = placement->otherwise;
    rule->worker_selector = NULL;
    placement->n_rules++;
    if (placement->otherwise.worker_selector)
        config_keep(reader, (char **)&rule->worker_selector, placement->otherwise.worker_selector);
    config_mapping(reader, place, value, fields, CONFIG_COUNT(fields), rule);
}

// config_read_rules reads the rules later.
static void read_rules(struct config_reader *reader, const struct config_place *place, const struct json *value,
                       void *target) {
    (void)target;
    if (reader->describe)
        config_each(reader, place, value, "rule", read_rule);
}

void config_read_rules(struct config_reader *reader, const struct config_place *root) {
    const struct config_place placement = {.up = root, .key = "placement"};
    const struct config_place place = {.up = &placement, .key = "rules"};
    const struct json *rules = json_path(reader->yaml.value, "placement", "rules", NULL);
    if (rules && !json_is(rules, JSON_NULL))
        config_each(reader, &place, rules, "rule", read_rule);
}

#define OVERALL(field) offsetof(struct placement_options, otherwise.field)

void config_read_placement(struct config_reader *reader, const struct config_place *place, const struct json *value,
                           void *target) {
    static const struct config_field fields[] = {
        {"policy", config_read_word, OVERALL(policy), false,
         .help = "Default leastActive. Which of the workers that may have a workload gets it (docs/placement.md).",
         CONFIG_WORDS(policies)},
        {"workerSelector", config_read_selector, OVERALL(worker_selector), false,
         .help = "Default: all. Of the workers' labels."},
        {"requireFields", config_read_bool, OVERALL(require_fields), false,
         .help = "Default false. Whether to withdraw a mirror after its worker dropped fields, and to place the "
                 "workload elsewhere."},
        {"pendingTimeout", config_read_duration, OVERALL(pending_timeout_ns), false,
         .help = "Default 0: never. When a mirror that has not started is withdrawn and placed elsewhere."},
        {"giveUpAfter", config_read_duration, OVERALL(give_up_after_ns), false,
         .help = "Default 0: never. When a workload that no worker accepts or starts is given up."},
        {"capacity", config_read_bool, offsetof(struct placement_options, capacity), false,
         .help = "Default false. Whether to place a workload only in workers with enough capacity (docs/capacity.md)."},
        {"rules", read_rules, 0, false,
         .help = "By kind and namespace: the keys of the first matching rule replace the keys above."},
    };
    struct placement_options *placement = target;
    config_mapping(reader, place, value, fields, CONFIG_COUNT(fields), placement);
}

// See core/engine/namespaces.h.
static bool selects_by_labels(const char *rule) {
    return rule && (*rule == '=' || strstr(rule, "\n="));
}

bool config_needs_namespaces(const struct config *config) {
    if (selects_by_labels(config->engine.namespaces))
        return true;
    for (size_t i = 0; i < config->n_workers; i++)
        if (selects_by_labels(config->workers[i].settings.namespaces))
            return true;
    for (size_t i = 0; i < config->engine.placement.n_rules; i++)
        if (config->engine.placement.rules[i].namespace_selector)
            return true;
    return false;
}

// Workers ---------------------------------------------------------------------------------------------------------

static const struct config_field limit_field = {.min = 1, .max = ACTIVE_MAX};

static void read_kind_limits(struct config_reader *reader, const struct config_place *place, const struct json *value,
                             void *target) {
    AUTO_BUFFER(text, LIST_MAX);
    if (!json_is(value, JSON_OBJECT)) {
        config_wrong(reader, place, value, "a mapping of kinds to numbers, such as {jobs.batch: 10}");
        return;
    }
    for (const struct json *member = json_first(value); member; member = json_next(member)) {
        size_t limit = 0;
        char number[24];
        if (!text_is_label_key(json_key(member)))
            config_problem(reader, place, "found \"%s\", expected a kind such as Job or jobs.batch", json_key(member));
        config_read_whole(reader, &(struct config_place){.up = place, .key = json_key(member), .field = &limit_field},
                          member, &limit);
        snprintf(number, sizeof number, "%zu", limit);
        labels_add(&text, json_key(member), number);
    }
    reader->no_memory |= text.failed;
    if (!text.failed && text.len > 0)
        config_keep(reader, target, text.data);
}

void config_read_max_active(struct config_reader *reader, const struct config_place *place, const struct json *value,
                            void *target) {
    static const struct config_field fields[] = {
        {"total", config_read_whole, offsetof(struct worker_spec, settings.max_active), false, .help = "Of all kinds.",
         .min = 1, .max = ACTIVE_MAX},
        {"kinds", read_kind_limits, offsetof(struct worker_spec, settings.max_kinds), false, .help = "Of each kind."},
    };
    struct worker_spec *worker = target;
    if (reader->describe || json_is(value, JSON_OBJECT))
        config_mapping(reader, place, value, fields, CONFIG_COUNT(fields), worker);
    else if (json_is(value, JSON_NUMBER))
        config_read_whole(reader, &(struct config_place){.up = place->up, .key = place->key, .field = &limit_field},
                          value, &worker->settings.max_active);
    else
        config_wrong(reader, place, value, "a whole number, or {total: N, kinds: {jobs.batch: N}}");
}

void config_read_choice(struct config_reader *reader, const struct config_place *place, const struct json *value,
                        void *target) {
    bool yes = false;
    size_t known = reader->problems->count;
    config_read_bool(reader, place, value, &yes);
    if (known == reader->problems->count)
        *(enum choice *)target = yes ? CHOICE_YES : CHOICE_NO;
}

bool config_wants_capacity(const struct config *config, enum choice worker) {
    return worker == CHOICE_NOT_MADE ? config->engine.placement.capacity : worker == CHOICE_YES;
}

bool config_wants_any_capacity(const struct config *config) {
    bool any = config->engine.placement.capacity;
    for (size_t w = 0; w < config->n_workers; w++)
        any |= config_wants_capacity(config, config->workers[w].capacity);
    return any;
}
