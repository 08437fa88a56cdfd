// SPDX-License-Identifier: Apache-2.0
// namespaces: {allow, deny}, of the host and of each worker, as the text that core/engine/placement/namespaces.h
// describes.
#include "core/base/buffer.h"
#include "core/base/text.h"
#include "core/config/config_reader.h"

#include <stdlib.h>
#include <string.h>

#define RULE_MAX ((size_t)256 << 10)
#define PATTERN_MAX 63 // of a namespace (RFC 1123 label)

static bool is_pattern(const char *text) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-*";
    size_t len = strlen(text);
    return len > 0 && len <= PATTERN_MAX && strspn(text, allowed) == len;
}

// Appends the patterns, each on a separate line behind `sign`.
static void read_patterns(struct config_reader *reader, const struct config_place *place, const struct json *value,
                          char sign, char **rule) {
    static const char expected[] = "a namespace, or a pattern such as team-*";
    AUTO_BUFFER(text, RULE_MAX);
    buffer_text(&text, *rule ? *rule : "");
    if (!json_is(value, JSON_ARRAY)) {
        config_wrong(reader, place, value, "a list of namespaces and patterns, such as [kube-*]");
        return;
    }
    size_t i = 0;
    for (const struct json *item = json_first(value); item; item = json_next(item), i++) {
        const char *pattern = json_string(item);
        if (!pattern || !is_pattern(pattern))
            config_wrong(reader, &(struct config_place){.up = place, .index = i}, item, expected);
        else
            buffer_printf(&text, "%c%s\n", sign, pattern);
    }
    if (text.failed && text.len >= RULE_MAX)
        config_problem(reader, place, "found more than %zu bytes of patterns, expected fewer", RULE_MAX);
    else if (text.len > 0 || text.failed)
        config_keep(reader, rule, text.failed ? "" : text.data);
    reader->no_memory |= text.failed;
}

static void read_allow(struct config_reader *reader, const struct config_place *place, const struct json *value,
                       void *target) {
    read_patterns(reader, place, value, '+', target);
}

static void read_deny(struct config_reader *reader, const struct config_place *place, const struct json *value,
                      void *target) {
    read_patterns(reader, place, value, '-', target);
}

static void read_selector(struct config_reader *reader, const struct config_place *place, const struct json *value,
                          void *target) {
    char **rule = target;
    AUTO_TEXT selector = NULL;
    config_read_selector(reader, place, value, &selector);
    if (!selector || !*selector)
        return;
    AUTO_TEXT text = text_format("%s=%s\n", *rule ? *rule : "", selector);
    reader->no_memory |= !text;
    config_keep(reader, rule, text ? text : "");
}

// A list of denied namespaces replaces the default.
void config_read_namespaces(struct config_reader *reader, const struct config_place *place, const struct json *value,
                            void *target) {
    static const struct config_field fields[] = {
        {"allow", read_allow, 0, false, .help = "Default: all. Only these namespaces, or patterns with '*'."},
        {"deny", read_deny, 0, false, .help = "Default [kube-*]. Never these; goes before allow."},
        {"selector", read_selector, 0, false,
         .help = "Default: all. In addition, the labels of the namespace must match."},
    };
    char **rule = target;
    if (reader->describe || json_get(value, "deny"))
        config_keep(reader, rule, "");
    config_mapping(reader, place, value, fields, CONFIG_COUNT(fields), rule);
}

void config_read_worker_namespaces(struct config_reader *reader, const struct config_place *place,
                                   const struct json *value, void *target) {
    static const struct config_field fields[] = {
        {"allow", read_allow, 0, false, .help = "Default: all that the host's rule permits."},
        {"deny", read_deny, 0, false, .help = "Default: none but those that the host's rule denies."},
        {"selector", read_selector, 0, false,
         .help = "Default: all. Of the labels of the namespace in the management cluster."},
    };
    config_mapping(reader, place, value, fields, CONFIG_COUNT(fields), target);
}
