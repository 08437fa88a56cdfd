// SPDX-License-Identifier: Apache-2.0
// The names of a kind, and the value of managedBy that delegates it.
#include "core/adapter/kind/kind_check.h"
#include "core/base/buffer.h"
#include "core/base/text.h"

#include <string.h>

#define NAME_MAX_BYTES 63
#define MANAGED_BY_MAX 63  // batch/v1 JobSpec.managedBy
#define LABEL_VALUE_MAX 63 // apimachinery validation.LabelValueMaxLength
#define KNOWN_FLAGS (WHARF_KIND_NO_STATUS_SUBRESOURCE | WHARF_KIND_NEVER_FINISHES)

// CustomResourceDefinition names.kind, lower-cased, and names.plural are RFC 1035 labels.
static bool is_lower_label(const char *text) {
    return text_is_dns_label(text) && text[0] >= 'a' && text[0] <= 'z';
}

static bool is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_kind_name(const char *text) {
    if (text[0] < 'A' || text[0] > 'Z' || strlen(text) > NAME_MAX_BYTES)
        return false;
    while (is_alphanumeric(*text))
        text++;
    return *text == '\0';
}

// A mirror's kind is the value of a label (wharf.dev/kind).
static struct error *check_length(const wharf_kind *kind) {
    size_t dot = kind->group[0] != '\0', len = strlen(kind->plural) + dot + strlen(kind->group);
    if (len <= LABEL_VALUE_MAX)
        return NULL;
    return error_about(error_new(ERROR_UNSUPPORTED,
                                 "plural and group: found \"%s%s%s\", expected at most %d characters together",
                                 kind->plural, dot ? "." : "", kind->group, LABEL_VALUE_MAX),
                       kind->plural);
}

struct error *kind_check_names(const wharf_kind *kind) {
    if (!kind->group)
        return kind_missing("group");
    if (kind->group[0] != '\0' && !text_is_dns_subdomain(kind->group))
        return kind_wrong("group", kind->group, "an API group (RFC 1123 subdomain), or \"\" for the core group");
    if (!kind->kind)
        return kind_missing("kind");
    if (!is_kind_name(kind->kind))
        return kind_wrong("kind", kind->kind, "the name of a kind, like \"Job\"");
    if (!kind->plural)
        return kind_missing("plural");
    if (!is_lower_label(kind->plural))
        return kind_wrong("plural", kind->plural, "the name of a resource, like \"jobs\"");
    size_t count = 0;
    struct error *error = kind_check_list("versions", kind->versions, &count);
    if (!error && count == 0)
        error = kind_missing("versions");
    for (size_t i = 0; !error && i < count; i++)
        if (!is_lower_label(kind->versions[i]))
            error = kind_wrong("versions", kind->versions[i], "an API version, like \"v1\"");
    if (!error && (kind->flags & ~KNOWN_FLAGS) != 0)
        error = error_new(ERROR_REFUSED, "flags: found unknown bits 0x%x, expected only 0x%x: it needs a newer host",
                          kind->flags & ~KNOWN_FLAGS, KNOWN_FLAGS);
    return error ? error : check_length(kind);
}

static bool is_open_value(const char *value) {
    return strlen(value) <= MANAGED_BY_MAX && text_is_domain_prefixed_path(value);
}

static bool is_label_value(const char *value) {
    return value[0] != '\0' && text_is_label_value(value);
}

static bool in_list(const char *const *list, const char *value) {
    while (*list && strcmp(*list, value) != 0)
        list++;
    return *list;
}

// "a, b" for messages; NULL when out of memory.
static char *joined(const char *const *list) {
    AUTO_BUFFER(text, 65536);
    for (size_t i = 0; list[i]; i++)
        buffer_printf(&text, "%s\"%s\"", i == 0 ? "" : ", ", list[i]);
    return buffer_take(&text, NULL);
}

// `source` is where the value comes from.
static struct error *check_value(const wharf_kind *kind, const char *value, const char *source) {
    if (text_equal(kind->managed_by_builtin, value))
        return error_new(ERROR_REFUSED,
                         "%s: found \"%s\", which names the kind's own controller, expected another value", source,
                         value);
    if (kind->managed_by_allowed) {
        if (in_list(kind->managed_by_allowed, value))
            return NULL;
        AUTO_TEXT allowed = joined(kind->managed_by_allowed);
        return error_new(ERROR_REFUSED, "%s: found \"%s\", expected what the kind's API accepts: %s", source, value,
                         !allowed ? "?" : allowed);
    }
    if (!is_open_value(value))
        return error_new(ERROR_INVALID,
                         "%s: found \"%s\", expected a domain-prefixed path of at most %d characters, "
                         "like example.com/controller",
                         source, value, MANAGED_BY_MAX);
    return NULL;
}

static struct error *check_allowed(const wharf_kind *kind) {
    size_t count = 0;
    bool label = text_has_prefix(kind->managed_by, "/metadata/labels/");
    if (kind->managed_by_builtin && kind->managed_by_builtin[0] == '\0')
        return kind_wrong("managed_by_builtin", "", "a value, or NULL if the kind has none");
    if (label && kind->managed_by_builtin && !is_label_value(kind->managed_by_builtin))
        return kind_wrong("managed_by_builtin", kind->managed_by_builtin, "what the value of a label may be");
    if (!kind->managed_by_allowed && label)
        return error_new(ERROR_INVALID,
                         "managed_by_allowed: found nothing, expected the values that \"%s\" may have: the host's own "
                         "name cannot be the value of a label",
                         kind->managed_by);
    if (!kind->managed_by_allowed)
        return NULL;
    struct error *error = kind_check_list("managed_by_allowed", kind->managed_by_allowed, &count);
    if (!error && count == 0)
        error = kind_wrong("managed_by_allowed", "", "at least one value, or NULL for an open set");
    for (size_t i = 0; !error && i < count; i++) {
        const char *value = kind->managed_by_allowed[i];
        if (value[0] == '\0' || text_equal(value, kind->managed_by_builtin))
            error = kind_wrong("managed_by_allowed", value, "values other than the built-in one");
        else if (label && !is_label_value(value))
            error = kind_wrong("managed_by_allowed", value, "what the value of a label may be");
    }
    return error;
}

struct error *kind_check_managed_by(const wharf_kind *kind, const char *configured, const char *controller_name,
                                    const char **value) {
    if (!kind->managed_by)
        return kind_missing("managed_by");
    struct error *error = kind_check_pointer("managed_by", kind->managed_by, PLACE_SPEC | PLACE_LABELS);
    if (!error)
        error = check_allowed(kind);
    if (!error && kind->managed_by_default)
        error = check_value(kind, kind->managed_by_default, "managed_by_default");
    if (error)
        return error;
    if (configured) {
        *value = configured;
        return error_about(check_value(kind, configured, "managedBy"), configured);
    }
    *value = kind->managed_by_default;
    if (!*value && kind->managed_by_allowed)
        *value = kind->managed_by_allowed[0];
    if (*value)
        return NULL;
    *value = controller_name;
    return error_about(check_value(kind, controller_name, "controllerName"), controller_name);
}
