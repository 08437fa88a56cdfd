// SPDX-License-Identifier: Apache-2.0
// namespaces: {allow, deny, selector}, of the host and of each worker, as the text that core/engine/decide/decide.h
// describes; and {map} of a worker, as that of namespace_map.h.
#include "core/base/namespace_map.h"
#include "core/config/config_reader.h"

#define RULE_MAX ((size_t)256 << 10)
#define PATTERN_MAX 63 // of a namespace (RFC 1123 label)

static bool is_pattern(const char *text) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-*";
    size_t len = strlen(text);
    return len > 0 && len <= PATTERN_MAX && strspn(text, allowed) == len;
}

static bool take_lines(const struct config_value *value, struct buffer *lines, const char *of) {
    if (lines->failed && lines->len >= RULE_MAX)
        config_problem(value, "found more than %zu bytes of %s, expected fewer", RULE_MAX, of);
    return lines->len == 0 && !lines->failed ? true : config_take(value, buffer_take(lines, NULL));
}

// Appends the patterns to the rule, each on a separate line behind the field's sign.
static bool read_patterns(const struct config_value *value) {
    AUTO_BUFFER(text, RULE_MAX);
    size_t i = 0;
    const char *rule = *(char **)value->target;
    if (!json_is(value->json, JSON_ARRAY))
        return config_wrong(value, "a list of namespaces and patterns, such as [kube-*]");
    buffer_text(&text, rule ? rule : "");
    for (const struct json *item = json_first(value->json); item; item = json_next(item)) {
        struct config_value at = config_child(value, item, i++);
        const char *pattern = json_string(item);
        if (!pattern || !is_pattern(pattern))
            config_wrong(&at, "a namespace, or a pattern such as team-*");
        else
            buffer_printf(&text, "%s%s\n", value->field->characters, pattern);
    }
    return take_lines(value, &text, "patterns");
}

static bool read_namespace_selector(const struct config_value *value) {
    AUTO_TEXT selector = NULL;
    struct config_value at = *value;
    const char *rule = *(char **)value->target;
    at.target = &selector;
    return config_read_selector(&at) && *selector &&
           config_take(value, text_format("%s=%s\n", rule ? rule : "", selector));
}

// A list of denied namespaces replaces the default.
bool config_read_namespaces(const struct config_value *value) {
    static const struct config_field fields[] = {
        {"allow", read_patterns, 0, .help = "Default: all. Only these namespaces, or patterns with '*'.",
         .characters = "+"},
        {"deny", read_patterns, 0, .help = "Default [kube-*]. Never these; goes before allow.", .characters = "-"},
        {"selector", read_namespace_selector, 0,
         .help = "Default: all. In addition, the labels of the namespace must match."},
        {.key = NULL},
    };
    if (json_get(value->json, "deny"))
        config_take(value, strdup(""));
    return config_mapping(value, fields, value->target);
}

// A worker's names of namespaces ------------------------------------------------------------------------------------

static bool read_map(const struct config_value *value) {
    AUTO_BUFFER(text, RULE_MAX);
    if (!json_is(value->json, JSON_OBJECT))
        return config_wrong(value, "a mapping of namespaces to their names there, such as {team-*: "
                                   "\"{origin}-{namespace}\"}");
    for (const struct json *member = json_first(value->json); member; member = json_next(member)) {
        AUTO_BUFFER(problem, RULE_MAX);
        struct config_value at = config_child(value, member, 0);
        const char *name = json_string(member);
        if (!name)
            config_wrong(&at, "a name, such as \"{origin}-{namespace}\"");
        else if (namespace_rule_problem(at.key, name, NULL, &problem))
            config_problem(&at, "%s", problem.data);
        else
            buffer_printf(&text, "%s=%s\n", at.key, name);
    }
    return take_lines(value, &text, "rules");
}

// The target of the section is settings.namespaces.
#define MAP_AT (offsetof(struct worker_settings, namespace_map) - offsetof(struct worker_settings, namespaces))

const struct config_field config_worker_namespaces[] = {
    {"allow", read_patterns, 0, .help = "Default: all that the host's rule permits.", .characters = "+"},
    {"deny", read_patterns, 0, .help = "Default: none but those that the host's rule denies.", .characters = "-"},
    {"selector", read_namespace_selector, 0,
     .help = "Default: all. Of the labels of the namespace in the management cluster."},
    {"map", read_map, MAP_AT,
     .help = "Default: the same. Names of namespaces in the worker, by the first matching pattern (docs/workers.md)."},
    {.key = NULL},
};

// Without an origin in the configuration, that of the host is a uid.
#define SOME_ORIGIN "00000000-0000-0000-0000-000000000000"

static void check_rules(const struct config_reader *reader, const struct worker_spec *worker, const char *origin) {
    AUTO_BUFFER(problem, RULE_MAX);
    const char *map = worker->settings.namespace_map;
    if (namespace_map_problem(map, origin, worker->settings.is_self, &problem) ||
        namespace_map_collision(map, origin, &problem))
        problems_add(reader->problems, "%s:%zu: worker %s: namespaces.map: %s", reader->file, worker->line,
                     worker->settings.name, problem.data);
}

void config_check_namespaces(struct config_reader *reader, struct worker_spec *worker) {
    const char *origin = reader->config->origin ? reader->config->origin : SOME_ORIGIN;
    if (worker->settings.is_self && !worker->settings.namespace_map) {
        problems_add(reader->problems,
                     "%s:%zu: worker %s: namespaces.map: found nothing, expected other names for the namespaces, "
                     "since self is true: mirrors in the management cluster would collide with their workloads",
                     reader->file, worker->line, worker->settings.name);
        return;
    }
    check_rules(reader, worker, origin);
    if (!worker->settings.is_self)
        return;
    char *map = text_format("%s" NAMESPACE_MAP_SELF_RULE, worker->settings.namespace_map);
    reader->no_memory |= !map;
    if (!map)
        return;
    free((char *)worker->settings.namespace_map);
    worker->settings.namespace_map = map;
}
