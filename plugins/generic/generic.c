// SPDX-License-Identifier: Apache-2.0
// Any kind, described in the configuration; docs/generic.md says how. All that it can be is data: this is a reader.
#include "settings.h"

#include <string.h>

// The place of the word in the list; 0 if it is in none, which is told.
static int read_word(const struct place *at, const char *name, const char *const *words, const char *expected) {
    struct place member = settings_member(at, name);
    const char *text = at->in->host->string(member.value);
    for (int i = 0; text && words[i]; i++)
        if (strcmp(words[i], text) == 0)
            return i;
    settings_wrong(&member, expected);
    return 0;
}

// A pattern, or a mapping that says how it is carried.
static void read_carried(const struct place *item, void *element, int rules) {
    static const char *const words[] = {"Always", "WhileSuspended", NULL}; // in the order of wharf_carry_when
    static const struct field fields[] = {
        {"field", REQUIRED | POINTER | PATTERN, offsetof(wharf_carried, pointer)},
        {"when", OTHER, 0},
        {"key", 0, offsetof(wharf_carried, key)},
        {NULL, 0, 0},
    };
    wharf_carried *carried = element;
    if (item->in->host->type(item->value) != WHARF_OBJECT) {
        carried->pointer = settings_text(item, rules);
        return;
    }
    settings_fields(item, fields, carried);
    if (settings_member(item, "when").value)
        carried->when = (wharf_carry_when)read_word(item, "when", words, "Always or WhileSuspended");
}

struct pods {
    const char *template, **count;
};

static void read_pods(const struct place *item, void *element, int rules) {
    const struct field fields[] = {
        {"template", REQUIRED | rules, offsetof(struct pods, template)},
        {"count", LIST | rules, offsetof(struct pods, count)},
        {NULL, 0, 0},
    };
    struct pods read = {NULL, NULL};
    wharf_pods *pods = element;
    settings_fields(item, fields, &read);
    pods->templates = read.template;
    for (size_t i = 0; read.count && read.count[i]; i++)
        if (i < sizeof pods->multiplier / sizeof *pods->multiplier)
            pods->multiplier[i] = read.count[i];
        else
            settings_tell(item, "/count/3", "found a fourth pointer, expected at most three");
}

static void read_rule(const struct place *item, void *element, int rules) {
    static const char *const words[] = {"Pending", "Suspended", "Active", "Succeeded", "Failed", NULL};
    static const struct field fields[] = {
        {"field", POINTER | STATUS, offsetof(wharf_phase_rule, pointer)},
        {"condition", OTHER, 0},
        {"value", 0, offsetof(wharf_phase_rule, value)},
        {"status", 0, offsetof(wharf_phase_rule, status)},
        {"phase", REQUIRED | OTHER, 0},
        {NULL, 0, 0},
    };
    wharf_phase_rule *rule = element;
    struct place condition = settings_member(item, "condition");
    settings_fields(item, fields, rule);
    if (!condition.value == !rule->value)
        settings_tell(item, "", "expected either condition (the type of one), or field and value (its text)");
    else if (!condition.value && !rule->pointer)
        settings_tell(item, "/field", "found nothing, expected a pointer: it is required with value");
    else if (!condition.value && rule->status)
        settings_tell(item, "/status", "found it with value, expected it with condition only");
    if (condition.value)
        rule->value = settings_text(&condition, rules);
    if (!rule->pointer)
        rule->pointer = "/status/conditions";
    rule->phase = (wharf_phase_kind)read_word(item, "phase", words, "Pending, Suspended, Active, Succeeded or Failed");
}

// A kind that never finishes may have no rules; the host has followed those that there are.
static wharf_result phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    (void)call;
    (void)object;
    (void)out;
    return WHARF_OK;
}

static void read_parts(const struct place *at, wharf_kind *kind) {
    static const struct field managed_by[] = {
        {"field", REQUIRED | POINTER | LABELS, offsetof(wharf_kind, managed_by)},
        {"builtIn", 0, offsetof(wharf_kind, managed_by_builtin)},
        {"allowed", LIST, offsetof(wharf_kind, managed_by_allowed)},
        {NULL, 0, 0},
    };
    static const struct field suspend[] = {
        {"field", REQUIRED | POINTER, offsetof(wharf_kind, suspend)},
        {"value", 0, offsetof(wharf_kind, suspend_value)},
        {NULL, 0, 0},
    };
    struct place member = settings_member(at, "managedBy");
    settings_fields(&member, managed_by, kind);
    member = settings_member(at, "suspend");
    if (member.value)
        settings_fields(&member, suspend, kind);
    member = settings_member(at, "phases");
    kind->phases = settings_each(&member, sizeof(wharf_phase_rule), read_rule, 0);
    member = settings_member(at, "pods");
    kind->pods = settings_each(&member, sizeof(wharf_pods), read_pods, POINTER | PATTERN);
    member = settings_member(at, "carry");
    wharf_carried *carried = settings_each(&member, sizeof(wharf_carried), read_carried, POINTER | PATTERN);
    kind->carried = carried;
    while (carried && kind->suspend && carried->pointer && strcmp(carried->pointer, kind->suspend) != 0)
        carried++;
    if (carried && !carried->pointer) // what suspends is carried without being named
        carried->pointer = kind->suspend;
}

static void read_kind(const struct place *item, void *element, int rules) {
    static const struct field fields[] = {
        {"group", REQUIRED | EMPTY, offsetof(wharf_kind, group)},
        {"versions", REQUIRED | LIST, offsetof(wharf_kind, versions)},
        {"kind", REQUIRED, offsetof(wharf_kind, kind)},
        {"plural", REQUIRED, offsetof(wharf_kind, plural)},
        {"managedBy", REQUIRED | OTHER, 0},
        {"suspend", OTHER, 0},
        {"carry", OTHER, 0},
        {"remove", LIST | POINTER | PATTERN | LABELS, offsetof(wharf_kind, removed)},
        {"pods", OTHER, 0},
        {"phases", OTHER, 0},
        {"finishedAt", POINTER | STATUS, offsetof(wharf_kind, finished_at)},
        {"neverFinishes", OTHER, 0},
        {"observedGeneration", POINTER | STATUS, offsetof(wharf_kind, observed_generation)},
        {"statusRemove", LIST | POINTER | PATTERN | STATUS, offsetof(wharf_kind, status_removed)},
        {"statusSubresource", OTHER, 0},
        {NULL, 0, 0},
    };
    (void)rules;
    wharf_kind *kind = element;
    kind->size = sizeof *kind;
    kind->phase = phase;
    settings_fields(item, fields, kind);
    if (!settings_bool(item, "statusSubresource", true))
        kind->flags |= WHARF_KIND_NO_STATUS_SUBRESOURCE;
    if (settings_bool(item, "neverFinishes", false))
        kind->flags |= WHARF_KIND_NEVER_FINISHES;
    read_parts(item, kind);
    if (!item->in->problem)
        check_kind(item, kind);
}

WHARF_EXPORT const wharf_module *wharf_adapters_v1(const wharf_host *host, const wharf_value *value,
                                                   const char **problem) {
    static struct settings settings; // there until the process ends
    static const struct field fields[] = {{"kinds", REQUIRED | OTHER, 0}, {NULL, 0, 0}};
    static const char *const known[] = {"kinds", NULL};
    settings.host = host;
    settings.problem = NULL;
    struct place root = {.in = &settings, .value = value}, list = settings_member(&root, "kinds");
    settings_fields(&root, fields, NULL);
    const wharf_kind *kinds = settings_each(&list, sizeof *kinds, read_kind, 0);
    wharf_module *module = settings_memory(&settings, sizeof *module);
    const wharf_kind **pointers = settings_memory(&settings, (host->count(list.value) + 1) * sizeof *pointers);
    for (size_t i = 0; kinds && pointers && kinds[i].size; i++)
        pointers[i] = &kinds[i];
    if (module)
        *module = (wharf_module){sizeof *module, WHARF_ABI_MAJOR, 0, "generic", "0.1.0", pointers, known};
    *problem = settings.problem;
    if (settings.problem)
        settings_forget(&settings);
    return settings.problem ? NULL : module;
}
