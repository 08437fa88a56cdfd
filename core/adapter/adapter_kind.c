// SPDX-License-Identifier: Apache-2.0
// The checks of one kind as an adapter gave it. An adapter is code of others: nothing is taken for granted but that its
// pointers point to what their types say.
#include "core/adapter/adapters.h"
#include "core/base/text.h"
#include "core/json/pointer.h"

#include <stdlib.h>
#include <string.h>

#define LIST_MAX 1024      // a list longer than this has lost its end
#define MANAGED_BY_MAX 63  // batch/v1 JobSpec.managedBy
#define LABEL_VALUE_MAX 63 // apimachinery validation.LabelValueMaxLength
#define KIND_SIZE_1_0 (offsetof(wharf_kind, pod_sets) + sizeof(((wharf_kind *)NULL)->pod_sets))
#define KNOWN_FLAGS (WHARF_KIND_NO_STATUS_SUBRESOURCE | WHARF_KIND_NEVER_FINISHES | WHARF_KIND_MAY_REFUSE)

static struct error *missing(const char *field) {
    return error_new(ERROR_INVALID, "%s: found nothing, expected a value: it is required", field);
}

static struct error *wrong(const char *field, const char *found, const char *expected) {
    return error_new(ERROR_INVALID, "%s: found \"%s\", expected %s", field, found, expected);
}

// CustomResourceDefinition names.kind, lower-cased, and names.plural are RFC 1035 labels.
static bool is_lower_label(const char *text) {
    return text_is_dns_label(text) && text[0] >= 'a' && text[0] <= 'z';
}

static bool is_kind_name(const char *text) {
    if (text[0] < 'A' || text[0] > 'Z' || strlen(text) > 63)
        return false;
    for (; *text != '\0'; text++)
        if (!((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') || (*text >= '0' && *text <= '9')))
            return false;
    return true;
}

static struct error *count_list(const char *field, const char *const *list, size_t *count) {
    *count = 0;
    while (list && list[*count])
        if (++*count > LIST_MAX)
            return error_new(ERROR_INVALID, "%s: found more than %d entries, expected a list that ends with NULL",
                             field, LIST_MAX);
    return NULL;
}

static struct error *check_names(const wharf_kind *kind) {
    if (!kind->group)
        return missing("group");
    if (kind->group[0] != '\0' && !text_is_dns_subdomain(kind->group))
        return wrong("group", kind->group, "an API group (RFC 1123 subdomain), or \"\" for the core group");
    if (!kind->kind)
        return missing("kind");
    if (!is_kind_name(kind->kind))
        return wrong("kind", kind->kind, "the name of a kind, like \"Job\"");
    if (!kind->plural)
        return missing("plural");
    if (!is_lower_label(kind->plural))
        return wrong("plural", kind->plural, "the name of a resource, like \"jobs\"");
    size_t count = 0;
    struct error *error = count_list("versions", kind->versions, &count);
    if (!error && count == 0)
        error = missing("versions");
    for (size_t i = 0; !error && i < count; i++)
        if (!is_lower_label(kind->versions[i]))
            error = wrong("versions", kind->versions[i], "an API version, like \"v1\"");
    if (!error && (kind->flags & ~KNOWN_FLAGS) != 0)
        error = error_new(ERROR_REFUSED,
                          "flags: found unknown bits 0x%x, expected only 0x%x: it was built for a newer "
                          "host",
                          kind->flags & ~KNOWN_FLAGS, KNOWN_FLAGS);
    return error;
}

// `below`: what it must begin with, or NULL.
static struct error *check_pointer(const char *field, const char *pointer, bool pattern, const char *below) {
    struct error *error = pointer_check(pointer, pattern);
    if (error)
        return error_wrap(error, "%s: found \"%s\"", field, pointer);
    if (pointer[0] == '\0')
        return wrong(field, pointer, "a pointer to a field, not to the whole object");
    if (below && !text_has_prefix(pointer, below))
        return error_new(ERROR_INVALID, "%s: found \"%s\", expected a pointer that begins with \"%s\"", field, pointer,
                         below);
    return NULL;
}

static struct error *check_pointers(const char *field, const char *const *list, const char *below) {
    size_t count = 0;
    struct error *error = count_list(field, list, &count);
    for (size_t i = 0; !error && i < count; i++)
        error = check_pointer(field, list[i], true, below);
    return error;
}

// Names, namespace and marks are the host's; the status has its own rules.
static bool belongs_to_spec(const char *pointer) {
    static const char *const others[] = {"/metadata", "/status", "/apiVersion", "/kind"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        size_t len = strlen(others[i]);
        if (text_has_prefix(pointer, others[i]) && (pointer[len] == '\0' || pointer[len] == '/'))
            return false;
    }
    return true;
}

static struct error *check_carried(const wharf_kind *kind) {
    const wharf_carried *carried = kind->carried;
    for (size_t i = 0; carried && carried[i].pointer; i++) {
        if (i >= LIST_MAX)
            return error_new(ERROR_INVALID,
                             "carried: found more than %d entries, expected a list that ends with one "
                             "whose pointer is NULL",
                             LIST_MAX);
        struct error *error = check_pointer("carried", carried[i].pointer, true, NULL);
        if (error)
            return error;
        if (!belongs_to_spec(carried[i].pointer))
            return wrong("carried", carried[i].pointer, "a field of the spec: metadata and status belong to the host");
        if (strcmp(carried[i].pointer, kind->managed_by) == 0)
            return wrong("carried", carried[i].pointer, "another field: managed_by is never carried");
        if (carried[i].when != WHARF_CARRY_ALWAYS && carried[i].when != WHARF_CARRY_WHILE_SUSPENDED)
            return error_new(ERROR_REFUSED, "carried: %s: found %d for when, expected %d or %d", carried[i].pointer,
                             (int)carried[i].when, WHARF_CARRY_ALWAYS, WHARF_CARRY_WHILE_SUSPENDED);
        if (carried[i].when == WHARF_CARRY_WHILE_SUSPENDED && !kind->suspend)
            return wrong("carried", carried[i].pointer, "no WHARF_CARRY_WHILE_SUSPENDED in a kind without suspend");
    }
    return NULL;
}

// Length of a pattern up to and with its last "*" segment; 0 if it has none.
static size_t starred_length(const char *pattern) {
    size_t length = 0;
    for (size_t i = 0; pattern[i] != '\0'; i++)
        if (pattern[i] == '*' && i > 0 && pattern[i - 1] == '/' && (pattern[i + 1] == '/' || pattern[i + 1] == '\0'))
            length = i + 1;
    return length;
}

static struct error *check_templates(const wharf_pods *pods) {
    struct error *error = check_pointer("pods.templates", pods->templates, true, NULL);
    for (size_t i = 0; !error && i < sizeof(pods->multiplier) / sizeof(pods->multiplier[0]); i++) {
        const char *multiplier = pods->multiplier[i];
        if (!multiplier)
            continue;
        error = check_pointer("pods.multiplier", multiplier, true, NULL);
        size_t starred = !error ? starred_length(multiplier) : 0;
        if (starred > 0 && (strncmp(multiplier, pods->templates, starred) != 0 ||
                            (pods->templates[starred] != '/' && pods->templates[starred] != '\0')))
            error = error_new(ERROR_INVALID,
                              "pods.multiplier: found \"%s\", expected the same path up to the last \"*\" "
                              "as in \"%s\"",
                              multiplier, pods->templates);
    }
    return error;
}

static struct error *check_pods(const wharf_pods *pods) {
    for (size_t i = 0; pods && pods[i].templates; i++) {
        if (i >= LIST_MAX)
            return error_new(ERROR_INVALID,
                             "pods: found more than %d entries, expected a list that ends with one "
                             "whose templates is NULL",
                             LIST_MAX);
        struct error *error = check_templates(&pods[i]);
        if (error)
            return error;
    }
    return NULL;
}

static struct error *check_suspend(const wharf_kind *kind) {
    if (kind->suspend)
        return check_pointer("suspend", kind->suspend, false, NULL);
    if (kind->suspend_value)
        return wrong("suspend_value", kind->suspend_value, "nothing, as there is no suspend");
    return NULL;
}

static struct error *check_phases(const wharf_kind *kind) {
    const wharf_phase_rule *rules = kind->phases;
    if (!kind->phase && (!rules || !rules[0].pointer))
        return error_new(ERROR_INVALID, "phase: found neither the function nor rules in phases, expected one of both");
    for (size_t i = 0; rules && rules[i].pointer; i++) {
        if (i >= LIST_MAX)
            return error_new(ERROR_INVALID,
                             "phases: found more than %d entries, expected a list that ends with one whose pointer is "
                             "NULL",
                             LIST_MAX);
        struct error *error = check_pointer("phases", rules[i].pointer, false, "/status/");
        if (error)
            return error;
        if (!rules[i].value)
            return wrong("phases", rules[i].pointer, "a value with it: the type of a condition, or a string");
        if (rules[i].phase < WHARF_PENDING || rules[i].phase > WHARF_FAILED)
            return error_new(ERROR_REFUSED, "phases: %s: found phase %d, expected one of %d to %d", rules[i].pointer,
                             (int)rules[i].phase, WHARF_PENDING, WHARF_FAILED);
    }
    return NULL;
}

static struct error *check_fields(const wharf_kind *kind) {
    if (!kind->managed_by)
        return missing("managed_by");
    struct error *error = check_pointer("managed_by", kind->managed_by, false, NULL);
    if (!error)
        error = check_suspend(kind);
    if (!error)
        error = check_carried(kind);
    if (!error)
        error = check_pointers("removed", kind->removed, NULL);
    if (!error)
        error = check_pods(kind->pods);
    if (!error)
        error = check_pointers("status_removed", kind->status_removed, "/status/");
    if (!error && kind->observed_generation)
        error = check_pointer("observed_generation", kind->observed_generation, false, "/status/");
    if (!error && kind->observed_generation && (kind->flags & WHARF_KIND_NO_STATUS_SUBRESOURCE) != 0)
        error = wrong("observed_generation", kind->observed_generation,
                      "NULL with WHARF_KIND_NO_STATUS_SUBRESOURCE: each write of the status is a new generation");
    if (!error && kind->finished_at)
        error = check_pointer("finished_at", kind->finished_at, false, "/status/");
    if (!error)
        error = check_phases(kind);
    return error;
}

static bool is_open_value(const char *value) {
    return strlen(value) <= MANAGED_BY_MAX && text_is_domain_prefixed_path(value);
}

static bool in_list(const char *const *list, const char *value) {
    for (; *list; list++)
        if (strcmp(*list, value) == 0)
            return true;
    return false;
}

// "a, b" for messages; NULL when out of memory.
static char *joined(const char *const *list) {
    struct buffer text __attribute__((cleanup(buffer_cleanup)));
    buffer_init(&text, 65536);
    for (size_t i = 0; list[i]; i++)
        buffer_printf(&text, "%s\"%s\"", i == 0 ? "" : ", ", list[i]);
    return buffer_take(&text, NULL);
}

// `source` says who chose the value.
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
    if (kind->managed_by_builtin && kind->managed_by_builtin[0] == '\0')
        return wrong("managed_by_builtin", "", "a value, or NULL if the kind has none");
    if (!kind->managed_by_allowed)
        return NULL;
    struct error *error = count_list("managed_by_allowed", kind->managed_by_allowed, &count);
    if (!error && count == 0)
        error = wrong("managed_by_allowed", "", "at least one value, or NULL for an open set");
    for (size_t i = 0; !error && i < count; i++) {
        const char *value = kind->managed_by_allowed[i];
        if (value[0] == '\0' || text_equal(value, kind->managed_by_builtin))
            error = wrong("managed_by_allowed", value, "values besides the built-in one");
    }
    return error;
}

// The value to answer to: what the configuration says, or the adapter's default, or the first that is allowed, or our
// own name.
static struct error *choose_value(const wharf_kind *kind, const char *configured, const char *controller_name,
                                  const char **value) {
    struct error *error = check_allowed(kind);
    if (!error && kind->managed_by_default)
        error = check_value(kind, kind->managed_by_default, "managed_by_default");
    if (error)
        return error;
    if (configured) {
        *value = configured;
        return check_value(kind, configured, "managedBy");
    }
    *value = kind->managed_by_default;
    if (!*value && kind->managed_by_allowed)
        *value = kind->managed_by_allowed[0];
    if (*value)
        return NULL;
    *value = controller_name;
    return check_value(kind, controller_name, "controllerName");
}

// What marks the kind of a mirror is the value of a label.
static struct error *check_label(const struct kind *kind) {
    if (strlen(kind->plural_group) <= LABEL_VALUE_MAX)
        return NULL;
    return error_new(ERROR_UNSUPPORTED, "plural and group: found \"%s\", expected at most %d characters together",
                     kind->plural_group, LABEL_VALUE_MAX);
}

struct error *kind_check(const wharf_kind *given, const char *managed_by, const char *controller_name,
                         struct kind **out) {
    if (given->size < KIND_SIZE_1_0)
        return error_new(ERROR_REFUSED, "struct wharf_kind: found size %zu, expected at least %zu (ABI 1.0)",
                         given->size, KIND_SIZE_1_0);
    wharf_kind known;
    memset(&known, 0, sizeof(known));
    memcpy(&known, given, given->size < sizeof(known) ? given->size : sizeof(known));
    const char *value = NULL;
    struct error *error = check_names(&known);
    if (!error)
        error = check_fields(&known);
    if (!error)
        error = choose_value(&known, managed_by, controller_name, &value);
    if (error)
        return error;
    struct kind *kind = calloc(1, sizeof(*kind));
    if (!kind)
        return error_no_memory();
    kind->abi = known;
    kind->given = given;
    kind->managed_by = strdup(value);
    kind->plural_group =
        known.group[0] == '\0' ? strdup(known.plural) : text_format("%s.%s", known.plural, known.group);
    error = !kind->managed_by || !kind->plural_group ? error_no_memory() : check_label(kind);
    if (error) {
        kind_free(kind);
        return error;
    }
    *out = kind;
    return NULL;
}

void kind_free(struct kind *kind) {
    if (!kind)
        return;
    free(kind->managed_by);
    free(kind->plural_group);
    free(kind);
}
