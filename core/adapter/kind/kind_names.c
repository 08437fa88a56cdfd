// SPDX-License-Identifier: Apache-2.0
// The names of a kind, the value of managedBy that delegates it, and its data about mirrors: the suspend field, carried
// fields, removed fields, and pods.
#include "core/adapter/adapters.h"
#include "core/adapter/kind/kind_check.h"
#include "core/adapter/phase.h"
#include "core/base/text.h"

#define NAME_MAX_BYTES 63
#define MANAGED_BY_MAX 63  // batch/v1 JobSpec.managedBy
#define LABEL_VALUE_MAX 63 // apimachinery validation.LabelValueMaxLength
#define KNOWN_FLAGS (WHARF_KIND_NO_STATUS_SUBRESOURCE | WHARF_KIND_NEVER_FINISHES)

// CustomResourceDefinition names.kind, lower-cased, and names.plural are RFC 1035 labels.
static bool is_lower_label(const char *text) {
    return text_is_dns_label(text) && text[0] >= 'a' && text[0] <= 'z';
}

static bool is_kind_name(const char *text) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    return text[0] >= 'A' && text[0] <= 'Z' && text_is_within(text, NAME_MAX_BYTES) &&
           text[strspn(text, letters)] == '\0';
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

struct error *kind_check_group(const char *field, const char *group) {
    if (!group)
        return kind_missing(field);
    if (group[0] != '\0' && !text_is_dns_subdomain(group))
        return kind_wrong(field, group, "an API group (RFC 1123 subdomain), or \"\" for the core group");
    return NULL;
}

struct error *kind_check_kind(const char *field, const char *kind) {
    if (!kind)
        return kind_missing(field);
    return is_kind_name(kind) ? NULL : kind_wrong(field, kind, "the name of a kind, like \"Job\"");
}

struct error *kind_check_plural(const char *field, const char *plural) {
    if (!plural)
        return kind_missing(field);
    return is_lower_label(plural) ? NULL : kind_wrong(field, plural, "the name of a resource, like \"jobs\"");
}

struct error *kind_check_version(const char *field, const char *version) {
    if (!version)
        return kind_missing(field);
    return is_lower_label(version) ? NULL : kind_wrong(field, version, "an API version, like \"v1\"");
}

struct error *kind_check_names(const wharf_kind *kind) {
    TRY(kind_check_group("group", kind->group));
    TRY(kind_check_kind("kind", kind->kind));
    TRY(kind_check_plural("plural", kind->plural));
    size_t count = 0;
    TRY(kind_check_list("versions", kind->versions, &count));
    if (count == 0)
        return kind_missing("versions");
    for (size_t i = 0; i < count; i++)
        TRY(kind_check_version("versions", kind->versions[i]));
    if ((kind->flags & ~KNOWN_FLAGS) != 0)
        return error_new(ERROR_REFUSED, "flags: found unknown bits 0x%x, expected only 0x%x: it needs a newer host",
                         kind->flags & ~KNOWN_FLAGS, KNOWN_FLAGS);
    return check_length(kind);
}

static bool is_label_value(const char *value) {
    return value[0] != '\0' && text_is_label_value(value);
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
        if (kind_list_has(kind->managed_by_allowed, value))
            return NULL;
        AUTO_TEXT allowed = joined(kind->managed_by_allowed);
        return error_new(ERROR_REFUSED, "%s: found \"%s\", expected what the kind's API accepts: %s", source, value,
                         !allowed ? "?" : allowed);
    }
    if (strlen(value) > MANAGED_BY_MAX || !text_is_domain_prefixed_path(value))
        return error_new(
            ERROR_INVALID,
            "%s: found \"%s\", expected a domain-prefixed path of at most %d characters, like example.com/controller",
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
    TRY(kind_check_list("managed_by_allowed", kind->managed_by_allowed, &count));
    if (count == 0)
        return kind_wrong("managed_by_allowed", "", "at least one value, or NULL for an open set");
    for (size_t i = 0; i < count; i++) {
        const char *value = kind->managed_by_allowed[i];
        if (value[0] == '\0' || text_equal(value, kind->managed_by_builtin))
            return kind_wrong("managed_by_allowed", value, "values other than the built-in one");
        if (label && !is_label_value(value))
            return kind_wrong("managed_by_allowed", value, "what the value of a label may be");
    }
    return NULL;
}

struct error *kind_check_managed_by(const wharf_kind *kind, const char *configured, const char *controller_name,
                                    const char **value) {
    if (!kind->managed_by)
        return kind_missing("managed_by");
    TRY(kind_check_pointer("managed_by", kind->managed_by, PLACE_SPEC | PLACE_LABELS));
    TRY(check_allowed(kind));
    if (kind->managed_by_default)
        TRY(check_value(kind, kind->managed_by_default, "managed_by_default"));
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

// Mirrors ---------------------------------------------------------------------------------------------------------

static struct error *check_suspend_values(const wharf_kind *kind) {
    size_t count = 0;
    const char *value = kind->suspend_value ? kind->suspend_value : "true";
    if (!*value)
        return kind_wrong("suspend_value", "", "a value, or NULL for true");
    TRY(kind_check_list("suspend_values", kind->suspend_values, &count));
    for (const char *const *more = kind->suspend_values; more && *more; more++)
        if (!**more || strcmp(*more, value) == 0)
            return kind_wrong("suspend_values", *more, "values other than suspend_value");
    static const enum json_type types[] = {
        [WHARF_BOOL] = JSON_BOOL, [WHARF_NUMBER] = JSON_NUMBER, [WHARF_STRING] = JSON_STRING};
    if (kind->suspend_type == WHARF_ABSENT)
        return NULL;
    if (kind->suspend_type < WHARF_BOOL || kind->suspend_type > WHARF_STRING)
        return error_new(ERROR_REFUSED, "suspend_type: found %u, expected %d to %d, or %d for any", kind->suspend_type,
                         WHARF_BOOL, WHARF_STRING, WHARF_ABSENT);
    if (phase_suspends_by_mark(kind) && kind->suspend_type != WHARF_STRING)
        return kind_wrong("suspend", kind->suspend, "WHARF_STRING as the suspend_type of a label or annotation");
    AUTO_JSON made = phase_suspend_value(kind, NULL);
    return !made ? error_no_memory()
           : json_is(made, types[kind->suspend_type])
               ? NULL
               : kind_wrong("suspend_value", value, kind->suspend_type == WHARF_BOOL ? "true or false" : "a number");
}

// A label or annotation, which is always carried.
static struct error *check_suspend_mark(const wharf_kind *kind) {
    const char *name = strrchr(kind->suspend, '/') + 1, *slash = strstr(name, "~1");
    AUTO_TEXT domain = strndup(name, slash ? (size_t)(slash - name) : 0);
    if (!domain)
        return error_no_memory();
    if (strcmp(domain, "wharf.dev") == 0 || text_has_suffix(domain, ".wharf.dev"))
        return kind_wrong("suspend", kind->suspend, "a label or annotation that is not the host's own");
    const char *removed = kind_covering(kind->removed, kind->suspend);
    return removed
               ? kind_error(kind->suspend, "suspend: found \"%s\", expected it not to be in removed, which has \"%s\"",
                            kind->suspend, removed)
               : NULL;
}

static struct error *check_suspend_carried(const wharf_kind *kind) {
    const wharf_carried *carried = kind->carried;
    while (carried && carried->pointer && !kind_covers(carried->pointer, kind->suspend))
        carried++;
    if (!carried || !carried->pointer)
        return error_new(ERROR_INVALID,
                         "carried: found no \"%s\", expected the field of suspend in it: a workload that is suspended "
                         "suspends its mirror",
                         kind->suspend);
    if (carried->when == WHARF_CARRY_WHILE_SUSPENDED)
        return kind_wrong("carried", carried->pointer, "WHARF_CARRY_ALWAYS for the field of suspend");
    return NULL;
}

static struct error *check_suspend(const wharf_kind *kind) {
    const char *value = kind->suspend_value    ? kind->suspend_value
                        : kind->suspend_values ? kind->suspend_values[0]
                                               : NULL;
    if (!kind->suspend)
        return value ? kind_wrong(kind->suspend_value ? "suspend_value" : "suspend_values", value,
                                  "nothing, as there is no suspend")
                     : NULL;
    TRY(kind_check_pointer("suspend", kind->suspend, PLACE_SPEC | PLACE_LABELS));
    TRY(check_suspend_values(kind));
    if (kind_covers(kind->suspend, kind->managed_by) || kind_covers(kind->managed_by, kind->suspend))
        return kind_wrong("suspend", kind->suspend, "a field apart from managed_by");
    return phase_suspends_by_mark(kind) ? check_suspend_mark(kind) : check_suspend_carried(kind);
}

static struct error *check_one_carried(const wharf_kind *kind, const wharf_carried *carried) {
    TRY(kind_check_pointer("carried", carried->pointer, PLACE_SPEC | PLACE_PATTERN));
    if (kind_covers(carried->pointer, kind->managed_by) || kind_covers(kind->managed_by, carried->pointer))
        return kind_wrong("carried", carried->pointer, "another field: managed_by is never carried, nor what holds it");
    if (carried->when != WHARF_CARRY_ALWAYS && carried->when != WHARF_CARRY_WHILE_SUSPENDED)
        return error_new(ERROR_REFUSED, "carried: %s: found %u for when, expected %d or %d", carried->pointer,
                         carried->when, WHARF_CARRY_ALWAYS, WHARF_CARRY_WHILE_SUSPENDED);
    if (carried->when == WHARF_CARRY_WHILE_SUSPENDED && !kind->suspend)
        return kind_wrong("carried", carried->pointer, "no WHARF_CARRY_WHILE_SUSPENDED in a kind without suspend");
    if (carried->key && (carried->key[0] == '\0' || !strstr(carried->pointer, "/*")))
        return kind_error(carried->key, "carried: %s: found \"%s\" for key, expected %s", carried->pointer,
                          carried->key,
                          carried->key[0] ? "none, as the pointer has no \"*\"" : "the name of a member, or NULL");
    const char *removed = kind_covering(kind->removed, carried->pointer);
    if (removed)
        return kind_error(carried->pointer,
                          "carried: found \"%s\", expected it not to be in removed too, which has \"%s\"",
                          carried->pointer, removed);
    for (const wharf_carried *other = kind->carried; other < carried; other++)
        if (strcmp(other->pointer, carried->pointer) == 0)
            return kind_wrong("carried", carried->pointer, "it once in the list");
    return NULL;
}

static struct error *check_fallback(const wharf_pods *pods) {
    if (!pods->fallback)
        return NULL;
    TRY(kind_check_pointer("pods.fallback", pods->fallback, PLACE_SPEC | PLACE_PATTERN));
    if (strcmp(pods->fallback, pods->templates) == 0)
        return kind_wrong("pods.fallback", pods->fallback, "another place than that of templates");
    TRY(kind_check_path("pods.fallback", pods->fallback, pods->templates, pods->fallback));
    return kind_check_path("pods.fallback", pods->fallback, pods->templates, pods->templates);
}

static struct error *check_pods(const wharf_kind *kind, const wharf_pods *pods) {
    TRY(kind_check_pointer("pods.templates", pods->templates, PLACE_SPEC | PLACE_PATTERN));
    for (const wharf_pods *other = kind->pods; other < pods; other++)
        if (strcmp(other->templates, pods->templates) == 0)
            return kind_wrong("pods.templates", pods->templates, "it once in the list");
    TRY(kind_check_pointers("pods.counts", pods->counts, PLACE_SPEC | PLACE_PATTERN));
    for (const char *const *count = pods->counts; count && *count; count++)
        TRY(kind_check_path("pods.counts", *count, pods->templates, *count));
    if (pods->offset != 0 && (!pods->counts || !pods->counts[0]))
        return kind_error(pods->templates, "pods: %s: found offset %d without counts, expected counts to add it to",
                          pods->templates, (int)pods->offset);
    if ((pods->flags & ~WHARF_PODS_ARE_SPECS) != 0)
        return error_new(ERROR_REFUSED, "pods: %s: found unknown flags 0x%x, expected only 0x%x", pods->templates,
                         pods->flags & ~WHARF_PODS_ARE_SPECS, WHARF_PODS_ARE_SPECS);
    return check_fallback(pods);
}

struct error *kind_check_mirror(const wharf_kind *kind) {
    TRY(kind_check_pointers("removed", kind->removed, PLACE_SPEC | PLACE_LABELS | PLACE_PATTERN));
    for (const wharf_carried *carried = kind->carried; carried && carried->pointer; carried++)
        TRY(check_one_carried(kind, carried));
    TRY(check_suspend(kind));
    for (const wharf_pods *pods = kind->pods; pods && pods->templates; pods++)
        TRY(check_pods(kind, pods));
    return NULL;
}
