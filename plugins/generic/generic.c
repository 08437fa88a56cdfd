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
                    {"fallback", TEXT, POINTER, AT(wharf_pods, fallback)},
                    {"count", TEXTS, POINTER, AT(wharf_pods, counts)}, {"offset", INTEGER, 0, AT(wharf_pods, offset)},
                    {"podSpec", FLAG, 0, AT(wharf_pods, flags), .bit = WHARF_PODS_ARE_SPECS}),
};

// Kinds that need no group, version and resource.
static const struct {
    const char *kind, *group, *version, *resource;
    uint32_t flags;
} known[] = {
    {"ConfigMap", "", "v1", "configmaps", 0},
    {"Secret", "", "v1", "secrets", 0},
    {"ServiceAccount", "", "v1", "serviceaccounts", 0},
    {"PersistentVolumeClaim", "", "v1", "persistentvolumeclaims", 0},
    {"PriorityClass", "scheduling.k8s.io", "v1", "priorityclasses", WHARF_REFERENCE_CLUSTER_SCOPED},
    {"StorageClass", "storage.k8s.io", "v1", "storageclasses", WHARF_REFERENCE_CLUSTER_SCOPED},
};

static void complete_reference(const struct place *at, wharf_reference *reference) {
    int given = has(at, "group") + has(at, "version") + has(at, "resource");
    for (size_t i = 0; given == 0 && i < sizeof known / sizeof *known; i++)
        if (strcmp(reference->kind, known[i].kind) == 0) {
            reference->group = known[i].group;
            reference->version = known[i].version;
            reference->resource = known[i].resource;
            reference->flags |= known[i].flags;
            return;
        }
    if (given < 3)
        settings_report(at, NULL, "found name and kind, expected also group, version and resource of this kind");
}

static void finish_reference(const struct place *at, void *element) {
    static const struct {
        const char *name;
        uint32_t flag;
    } places[] = {{"name", 0},
                  {"podTemplate", WHARF_REFERENCE_PODS},
                  {"podSpec", WHARF_REFERENCE_POD_SPECS},
                  {"container", WHARF_REFERENCE_CONTAINERS},
                  {"volume", WHARF_REFERENCE_VOLUMES}};
    wharf_reference *reference = element;
    int found = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        found += has(at, places[i].name);
        reference->flags |= has(at, places[i].name) ? places[i].flag : 0;
    }
    if (found != 1)
        settings_report(at, NULL, "expected one of name, podTemplate, podSpec, container and volume");
    else if (has(at, "name") != has(at, "kind"))
        settings_report(at, "kind", "expected it with name, and with name only");
    else if (reference->kind)
        complete_reference(at, reference);
}

#define REFERENCE_FLAG(word, flag)                                                                                     \
    { word, FLAG, 0, AT(wharf_reference, flags), .bit = (flag) }
#define REFERENCE_PLACE(word)                                                                                          \
    { word, TEXT, POINTER, AT(wharf_reference, name) }
static const struct shape reference = {
    .size = sizeof(wharf_reference),
    .finish = finish_reference,
    .fields =
        TABLE(REFERENCE_PLACE("name"), REFERENCE_PLACE("podTemplate"), REFERENCE_PLACE("podSpec"),
              REFERENCE_PLACE("container"), REFERENCE_PLACE("volume"), {"of", TEXT, 0, AT(wharf_reference, of)},
              {"group", TEXT, EMPTY, AT(wharf_reference, group)}, {"version", TEXT, 0, AT(wharf_reference, version)},
              {"resource", TEXT, 0, AT(wharf_reference, resource)}, {"kind", TEXT, 0, AT(wharf_reference, kind)},
              {"kindField", TEXT, POINTER, AT(wharf_reference, kind_at)},
              {"namespaceField", TEXT, POINTER, AT(wharf_reference, namespace_)},
              {"optionalField", TEXT, POINTER, AT(wharf_reference, optional)},
              REFERENCE_FLAG("clusterScoped", WHARF_REFERENCE_CLUSTER_SCOPED),
              REFERENCE_FLAG("made", WHARF_REFERENCE_MADE), REFERENCE_FLAG("optional", WHARF_REFERENCE_OPTIONAL),
              REFERENCE_FLAG("kindByDefault", WHARF_REFERENCE_KIND_DEFAULT)),
};

// What one rule, or one of the parts of a rule, tests: `value` and `values` are types of a condition or scalars.
#define TESTED                                                                                                         \
    {"field", TEXT, POINTER, AT(wharf_phase_rule, pointer)}, {"condition", TEXT, 0, AT(wharf_phase_rule, value)},      \
        {"conditions", TEXTS, 0, AT(wharf_phase_rule, values)}, {"value", SCALAR, 0, AT(wharf_phase_rule, value)},     \
        {"values", SCALARS, 0, AT(wharf_phase_rule, values)}, {"status", TEXT, 0, AT(wharf_phase_rule, status)},       \
        {"reason", TEXT, 0, AT(wharf_phase_rule, reason)}, {"key", TEXT, 0, AT(wharf_phase_rule, key)}, {              \
        "exists", FLAG, 0, AT(wharf_phase_rule, flags), .bit = WHARF_RULE_EXISTS                                       \
    }

static void finish_test(const struct place *at, void *element) {
    wharf_phase_rule *rule = element;
    static const char *const of_conditions[] = {"status", "reason", "key"};
    int scalar = has(at, "value") + has(at, "values"), condition = has(at, "condition") + has(at, "conditions");
    int exists = (rule->flags & WHARF_RULE_EXISTS) != 0;
    if (scalar + condition > 1 || (scalar + condition == 0 && !exists))
        settings_report(
            at, NULL, "expected either condition or conditions (types of one), or field with value, values or exists");
    else if (!condition && !rule->pointer)
        settings_report(at, "field", "found nothing, expected a pointer: it is required with value, values and exists");
    for (size_t i = 0; !condition && i < sizeof of_conditions / sizeof *of_conditions; i++)
        if (has(at, of_conditions[i]))
            settings_report(at, of_conditions[i], "found it without condition, expected it with condition only");
    if (!rule->pointer)
        rule->pointer = "/status/conditions";
}

static const struct shape tested = {.size = sizeof(wharf_phase_rule), .finish = finish_test, .fields = TABLE(TESTED)};

// A rule of the settings: of several parts, each is a rule of its own for the host.
struct rule_setting {
    wharf_phase_rule rule; // first: the fields of TESTED are its own
    wharf_phase_rule *all; // NULL: no parts
};

static void finish_rule(const struct place *at, void *element) {
    for (const struct field *f = tested.fields; has(at, "all") && f->name; f++)
        if (has(at, f->name))
            settings_report(at, f->name, "found it beside all, expected it in the items of all");
    if (!has(at, "all"))
        finish_test(at, element);
}

static const struct shape phase_rule = {
    .size = sizeof(struct rule_setting),
    .finish = finish_rule,
    .fields = TABLE(TESTED, {"all", LIST, 0, AT(struct rule_setting, all), .of = &tested},
                    {"whileSuspended", FLAG, 0, AT(wharf_phase_rule, flags), .bit = WHARF_RULE_WHILE_SUSPENDED},
                    {"phase", WORD, REQUIRED, AT(wharf_phase_rule, phase),
                     .words = WORDS("Pending", "Suspended", "Active", "Succeeded", "Failed")}),
};

// Appends one rule, or its parts, to the host's list, and returns their number. NULL: counts only.
static size_t put_rule(const struct rule_setting *rule, wharf_phase_rule *list) {
    size_t count = 0;
    for (; rule->all && rule->all[count].pointer; count++)
        if (list) {
            list[count] = rule->all[count];
            list[count].flags |= rule->rule.flags | (rule->all[count + 1].pointer ? WHARF_RULE_AND : 0);
        }
    if (list && count == 0)
        *list = rule->rule;
    count = count > 0 ? count : 1;
    if (list)
        list[count - 1].phase = rule->rule.phase;
    return count;
}

static const wharf_phase_rule *host_rules(const struct rule_setting *rules) {
    size_t count = 0, at = 0;
    for (const struct rule_setting *r = rules; r->rule.pointer || r->all; r++)
        count += put_rule(r, NULL);
    wharf_phase_rule *list = host->memory(NULL, (count + 1) * sizeof *list);
    for (const struct rule_setting *r = rules; list && (r->rule.pointer || r->all); r++)
        at += put_rule(r, list + at);
    return list;
}

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

static const struct shape continuity = {
    .size = sizeof(wharf_continuity),
    .fields = TABLE({"field", TEXT, REQUIRED | POINTER, AT(wharf_continuity, pointer)},
                    {"name", TEXT, REQUIRED, AT(wharf_continuity, name)}),
};

static const struct shape managed_by = {
    .fields = TABLE({"field", TEXT, REQUIRED | POINTER, AT(wharf_kind, managed_by)},
                    {"builtIn", TEXT, 0, AT(wharf_kind, managed_by_builtin)},
                    {"allowed", TEXTS, 0, AT(wharf_kind, managed_by_allowed)}),
};

static const wharf_kind sizes = {WHARF_KIND_SIZES};

static int is_mark(const char *pointer) {
    return strncmp(pointer, "/metadata/", strlen("/metadata/")) == 0;
}

// The host writes the first value, in its type.
static void finish_suspend(const struct place *at, void *element) {
    wharf_kind *kind = element;
    if (has(at, "value") && has(at, "values"))
        settings_report(at, NULL, "found value and values, expected one of them");
    const wharf_value *first = settings_member(at, "value").value;
    if (kind->suspend_values) {
        first = host->first(settings_member(at, "values").value);
        kind->suspend_value = *kind->suspend_values++;
    }
    kind->suspend_type = is_mark(kind->suspend) ? WHARF_STRING : first ? host->type(first) : WHARF_BOOL;
}

static const struct shape suspend = {
    .finish = finish_suspend,
    .fields = TABLE({"field", TEXT, REQUIRED | POINTER, AT(wharf_kind, suspend)},
                    {"value", SCALAR, 0, AT(wharf_kind, suspend_value)},
                    {"values", SCALARS, 0, AT(wharf_kind, suspend_values)}),
};

// Carries the suspend field, which need not be named. The list has room for one more.
static void carry_suspend(wharf_kind *kind) {
    wharf_carried *list = (wharf_carried *)(uintptr_t)kind->carried;
    if (!list)
        kind->carried = list = host->memory(NULL, 2 * sizeof *list);
    while (list && list->pointer && strcmp(list->pointer, kind->suspend) != 0)
        list++;
    if (list && !list->pointer)
        list->pointer = kind->suspend;
}

static void finish_kind(const struct place *at, void *element) {
    (void)at;
    wharf_kind *kind = element;
    memcpy(kind, &sizes, offsetof(wharf_kind, group));
    kind->reference_size = sizeof(wharf_reference);
    kind->continuity_size = sizeof(wharf_continuity);
    if (kind->suspend && !is_mark(kind->suspend))
        carry_suspend(kind);
    if (kind->phases)
        kind->phases = host_rules((const void *)kind->phases);
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
              {"references", LIST, 0, AT(wharf_kind, references), .of = &reference},
              {"continuity", LIST, 0, AT(wharf_kind, continuity), .of = &continuity},
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

// A kind with a problem is refused alone.
static const char *start(const wharf_host *services, const wharf_value *settings, const wharf_kind *const **kinds) {
    (void)services;
    const char *problem = NULL, **problems = NULL;
    const struct place root = {.problem = &problem, .value = settings};
    const struct place list = settings_member(&root, "kinds");
    wharf_kind *read = list.value ? settings_read_list(&list, &kind, &problems) : NULL;
    if (!list.value)
        settings_report(&root, "kinds", "found nothing, expected a value: it is required");
    size_t count = host->count(list.value);
    const wharf_kind **made = host->memory(NULL, (count + 1) * sizeof *made);
    for (size_t i = 0; i < count && read && made; i++) {
        made[i] = &read[i];
        if (problems[i])
            read[i] = (wharf_kind){WHARF_KIND_SIZES, .kind = read[i].kind, .refused = problems[i]};
    }
    *kinds = made;
    return problem || (read && made) ? problem : "out of memory";
}

WHARF_MODULE(.name = "generic", .version = "0.1.0", .host = &host, .settings = WORDS("kinds"), .start = start);
