// SPDX-License-Identifier: Apache-2.0
// Any kind, described as data in the configuration: see docs/generic.md.
#include "settings.h"

#include <string.h>

const wharf_host *host;

#define AT(type, member) .offset = offsetof(type, member)
#define TABLE(...)                                                                                                     \
    (const struct field[]) {                                                                                           \
        __VA_ARGS__, {                                                                                                 \
            .name = NULL                                                                                               \
        }                                                                                                              \
    }
#define WORDS(...)                                                                                                     \
    (const char *const[]) {                                                                                            \
        __VA_ARGS__, NULL                                                                                              \
    }

static int has(const struct place *at, const char *name) {
    return settings_member(at, name).value ? 1 : 0;
}

static const struct shape carried = {
    .size = sizeof(wharf_carried),
    .is_short = 1,
    .fields = TABLE({"field", TEXT, REQUIRED | POINTER, AT(wharf_carried, pointer)},
                    {"when", WORD, 0, AT(wharf_carried, when), .words = WORDS("Always", "WhileSuspended")},
                    {"key", TEXT, 0, AT(wharf_carried, key)}),
};

static const struct shape pods = {
    .size = sizeof(wharf_pods),
    .fields = TABLE({"template", TEXT, REQUIRED | POINTER, AT(wharf_pods, templates)},
                    {"count", TEXTS, POINTER, AT(wharf_pods, counts)}),
};

// `value` is the type of a condition or the scalar.
static void finish_rule(const struct place *at, void *element) {
    wharf_phase_rule *rule = element;
    if (has(at, "condition") == has(at, "value"))
        settings_report(at, NULL, "expected either condition (the type of one), or field and value (its text)");
    else if (has(at, "value") && !rule->pointer)
        settings_report(at, "field", "found nothing, expected a pointer: it is required with value");
    else if (has(at, "value") && rule->status)
        settings_report(at, "status", "found it with value, expected it with condition only");
    if (!rule->pointer)
        rule->pointer = "/status/conditions";
}

static const struct shape phase_rule = {
    .size = sizeof(wharf_phase_rule),
    .finish = finish_rule,
    .fields =
        TABLE({"field", TEXT, POINTER, AT(wharf_phase_rule, pointer)},
              {"condition", TEXT, 0, AT(wharf_phase_rule, value)}, {"value", SCALAR, 0, AT(wharf_phase_rule, value)},
              {"status", TEXT, 0, AT(wharf_phase_rule, status)}, {"reason", TEXT, 0, AT(wharf_phase_rule, reason)},
              {"whileSuspended", FLAG, 0, AT(wharf_phase_rule, flags), .bit = WHARF_RULE_WHILE_SUSPENDED},
              {"phase", WORD, REQUIRED, AT(wharf_phase_rule, phase),
               .words = WORDS("Pending", "Suspended", "Active", "Succeeded", "Failed")}),
};

static void finish_change(const struct place *at, void *element) {
    static const char *const changes[] = {"condition", "field", "zero", "remove"}; // in the order of WHARF_SET_...
    wharf_status_change *change = element;
    int found = 0;
    for (uint32_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        change->change = has(at, changes[i]) ? i : change->change;
        found += has(at, changes[i]);
    }
    if (found != 1)
        settings_report(at, NULL, "expected one of condition, field, zero and remove");
    else if (has(at, "status") != has(at, "condition") || has(at, "value") != has(at, "field"))
        settings_report(at, NULL, "expected status with condition, value with field, and neither without");
}

static const struct shape status_change = {
    .size = sizeof(wharf_status_change),
    .finish = finish_change,
    .fields = TABLE(
        {"condition", TEXT, 0, AT(wharf_status_change, name)}, {"field", TEXT, POINTER, AT(wharf_status_change, name)},
        {"zero", TEXT, POINTER, AT(wharf_status_change, name)},
        {"remove", TEXT, POINTER, AT(wharf_status_change, name)}, {"status", TEXT, 0, AT(wharf_status_change, value)},
        {"value", TEXT, EMPTY, AT(wharf_status_change, value)}, {"reason", TEXT, 0, AT(wharf_status_change, reason)},
        {"message", TEXT, EMPTY, AT(wharf_status_change, message)},
        {"when", WORD, 0, AT(wharf_status_change, when), .words = WORDS("Always", "IfTrue", "IfAbsent")}),
};

static const struct shape managed_by = {
    .fields = TABLE({"field", TEXT, REQUIRED | POINTER, AT(wharf_kind, managed_by)},
                    {"builtIn", TEXT, 0, AT(wharf_kind, managed_by_builtin)},
                    {"allowed", TEXTS, 0, AT(wharf_kind, managed_by_allowed)}),
};

static const wharf_kind sizes = {WHARF_KIND_SIZES};

static const struct shape suspend = {
    .fields = TABLE({"field", TEXT, REQUIRED | POINTER, AT(wharf_kind, suspend)},
                    {"value", SCALAR, 0, AT(wharf_kind, suspend_value)}),
};

// Carries the suspend field, which need not be named. The list has room for one more.
static void finish_kind(const struct place *at, void *element) {
    (void)at;
    wharf_kind *kind = element;
    memcpy(kind, &sizes, offsetof(wharf_kind, group));
    wharf_carried *list = (wharf_carried *)(uintptr_t)kind->carried;
    if (!list)
        kind->carried = list = host->memory(NULL, 2 * sizeof *list);
    while (list && kind->suspend && list->pointer && strcmp(list->pointer, kind->suspend) != 0)
        list++;
    if (list && !list->pointer)
        list->pointer = kind->suspend;
}

static const struct shape kind = {
    .size = sizeof(wharf_kind),
    .finish = finish_kind,
    .fields =
        TABLE({"group", TEXT, REQUIRED | EMPTY, AT(wharf_kind, group)},
              {"versions", TEXTS, REQUIRED, AT(wharf_kind, versions)}, {"kind", TEXT, REQUIRED, AT(wharf_kind, kind)},
              {"plural", TEXT, REQUIRED, AT(wharf_kind, plural)}, {"managedBy", PART, REQUIRED, .of = &managed_by},
              {"suspend", PART, 0, .of = &suspend}, {"carry", LIST, 0, AT(wharf_kind, carried), .of = &carried},
              {"remove", TEXTS, POINTER, AT(wharf_kind, removed)}, {"pods", LIST, 0, AT(wharf_kind, pods), .of = &pods},
              {"phases", LIST, 0, AT(wharf_kind, phases), .of = &phase_rule},
              {"finishedAt", TEXT, POINTER, AT(wharf_kind, finished_at)},
              {"neverFinishes", FLAG, 0, AT(wharf_kind, flags), .bit = WHARF_KIND_NEVER_FINISHES},
              {"observedGeneration", TEXT, POINTER, AT(wharf_kind, observed_generation)},
              {"conditionTime", TEXT, 0, AT(wharf_kind, condition_time)},
              {"suspendedStatus", LIST, 0, AT(wharf_kind, suspended_status), .of = &status_change},
              {"resumedStatus", LIST, 0, AT(wharf_kind, resumed_status), .of = &status_change},
              {"gaveUpStatus", LIST, 0, AT(wharf_kind, gave_up_status), .of = &status_change},
              {"statusRemove", TEXTS, POINTER, AT(wharf_kind, status_removed)},
              {"statusSubresource", NOT_FLAG, 0, AT(wharf_kind, flags), .bit = WHARF_KIND_NO_STATUS_SUBRESOURCE}),
};

static const struct shape root = {
    .fields = TABLE({"kinds", LIST, REQUIRED, .of = &kind}),
};

static const char *start(const wharf_host *services, const wharf_value *settings, const wharf_kind *const **kinds) {
    (void)services;
    const char *problem = NULL;
    const wharf_kind *read = NULL;
    struct place at = {.problem = &problem, .value = settings};
    settings_read(&at, &root, &read);
    size_t count = host->count(host->find(settings, "/kinds"));
    const wharf_kind **list = host->memory(NULL, (count + 1) * sizeof *list);
    for (size_t i = 0; i < count && read && list; i++)
        list[i] = &read[i];
    *kinds = list;
    return problem || (read && list) ? problem : "out of memory";
}

WHARF_MODULE(.name = "generic", .version = "0.1.0", .host = &host, .settings = WORDS("kinds"), .start = start);
