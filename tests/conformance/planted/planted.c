// SPDX-License-Identifier: Apache-2.0
// One adapter without a fault, and what is planted in it: contradictions and typos. The setting `plant` names the one
// that is there. Above each stands what `wharf adapter test` has to find (its function), and part of what it has to
// say.
#include <wharf/adapter.h>

#define UNUSED __attribute__((unused))
#define LIST(...)                                                                                                      \
    (const char *const[]) {                                                                                            \
        __VA_ARGS__, NULL                                                                                              \
    }

#define SET(field, pointer)                                                                                            \
    do {                                                                                                               \
        static const char *const pointers[] = {pointer, NULL};                                                         \
        kind.field = pointers;                                                                                         \
    } while (0)

static const wharf_host *host;

static const wharf_carried carried[] = {
    {.pointer = "/spec/size/replicas"}, {.pointer = "/spec/state"}, {.pointer = NULL}};
static const wharf_phase_rule phases[] = {
    {"/status/conditions", "Complete", .phase = WHARF_SUCCEEDED},
    {"/status/conditions", "Failed", .phase = WHARF_FAILED},
    {"/status/conditions", "Suspended", .phase = WHARF_SUSPENDED, .flags = WHARF_RULE_WHILE_SUSPENDED},
    {.pointer = NULL},
};
static const wharf_pods pods[] = {{.templates = "/spec/template", .counts = LIST("/spec/size/replicas")},
                                  {.templates = NULL}};
static const wharf_status_change suspended[] = {
    {.change = WHARF_SET_CONDITION, .name = "Suspended", .value = "True", .reason = "Suspended", .message = "it waits"},
    {.name = NULL},
};

static const wharf_reference references[] = {
    {.name = "/spec/plan", .group = "example.com", .version = "v1", .resource = "plans", .kind = "Plan"},
    {.of = "plans.example.com", .name = "/spec/pod", .flags = WHARF_REFERENCE_PODS},
    {.name = NULL},
};

static wharf_kind kind = {
    WHARF_KIND_SIZES,
    .group = "example.com",
    .versions = LIST("v1"),
    .kind = "Thing",
    .plural = "things",
    .managed_by = "/spec/managedBy",
    .suspend = "/spec/state",
    .suspend_value = "Suspended",
    .carried = carried,
    .removed = LIST("/spec/deleteAfter"),
    .pods = pods,
    .status_removed = LIST("/status/podNames"),
    .observed_generation = "/status/observedGeneration",
    .condition_time = "lastUpdateTime",
    .suspended_status = suspended,
    .phases = phases,
    .finished_at = "/status/finishedAt",
    WHARF_REFERENCES(references),
    .continuity_size = sizeof(wharf_continuity),
};

#define PLANT(name) static void name(void)

// Nothing is planted.
// finds: nothing
PLANT(nothing) {
}

// -- contradictions in the data --

// finds: load start
// says: status_removed
PLANT(takes_what_phases_read) {
    SET(status_removed, "/status/conditions");
}

// finds: load start
// says: references.of: found "plan.example.com"
PLANT(references_of_what_nothing_names) {
    static const wharf_reference list[] = {
        {.of = "plan.example.com", .name = "/spec/pod", .flags = WHARF_REFERENCE_PODS}, {.name = NULL}};
    kind.references = list;
}

// finds: load start
// says: continuity.pointer: found "/spec/checkpoint"
PLANT(continuity_of_the_spec) {
    static const wharf_continuity list[] = {{"/spec/checkpoint", "CHECKPOINT"}, {.pointer = NULL}};
    kind.continuity = list;
}

// finds: load start
// says: managed_by
PLANT(managed_by_is_a_label) {
    kind.managed_by = "/metadata/labels/manager";
}

// finds: load start
// says: carried: found "/spec/state"
PLANT(carried_and_removed) {
    SET(removed, "/spec/state");
}

// finds: load start
// says: expected the field of suspend in it
PLANT(suspend_is_not_carried) {
    static const wharf_carried list[] = {{.pointer = "/spec/size/replicas"}, {.pointer = NULL}};
    kind.carried = list;
}

// finds: load start
// says: carried: found "/spec/size/replicas", expected it not to be in removed too, which has "/spec/size"
PLANT(removed_covers_carried) {
    SET(removed, "/spec/size");
}

// finds: load start
// says: observed_generation
PLANT(takes_observed_generation) {
    SET(status_removed, "/status/observedGeneration");
}

// finds: load start
// says: finished_at
PLANT(takes_finished_at) {
    SET(status_removed, "/status/*");
    kind.observed_generation = NULL;
    kind.suspended_status = NULL;
    static const wharf_phase_rule list[] = {{.pointer = NULL}};
    kind.phases = list;
    kind.flags = WHARF_KIND_NEVER_FINISHES;
}

// finds: load start
// says: WHARF_KIND_NEVER_FINISHES
PLANT(never_finishes_and_does) {
    kind.flags = WHARF_KIND_NEVER_FINISHES;
}

// finds: load start
// says: always matches first
PLANT(rule_in_the_shadow) {
    static const wharf_phase_rule list[] = {
        {"/status/conditions", "Failed", .phase = WHARF_FAILED},
        {"/status/conditions", "Failed", .reason = "Evicted", .phase = WHARF_ACTIVE},
        {.pointer = NULL}};
    kind.phases = list;
}

// finds: load start
// says: suspended_status
PLANT(suspended_without_suspend) {
    static const wharf_phase_rule list[] = {{"/status/conditions", "Failed", .phase = WHARF_FAILED}, {.pointer = NULL}};
    kind.phases = list;
    kind.suspend = kind.suspend_value = NULL;
}

// finds: load start
// says: NULL with WHARF_KIND_NO_STATUS_SUBRESOURCE
PLANT(generation_of_each_status) {
    kind.flags = WHARF_KIND_NO_STATUS_SUBRESOURCE;
}

// -- contradictions in the functions --

static wharf_result phase_resumes(UNUSED const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    if (host->integer(host->find(object, "/spec/size/replicas"), 0) > 4)
        out->phase = WHARF_ACTIVE;
    return WHARF_OK;
}

// finds: finished phase, story phase
PLANT(finished_runs_again) {
    kind.phase = phase_resumes;
}

static wharf_result mirror_delegates(const wharf_call *call, UNUSED const wharf_value *workload, wharf_value *mirror) {
    host->set_string(call, mirror, "/spec/managedBy", "example.com/worker");
    return WHARF_OK;
}

// finds: mirror-clean mirror
// says: /spec/managedBy is in the mirror
PLANT(mirror_is_delegated) {
    kind.mirror = mirror_delegates;
}

static wharf_result mirror_renames(const wharf_call *call, UNUSED const wharf_value *workload, wharf_value *mirror) {
    host->set_string(call, mirror, "/metadata/name", "another");
    return WHARF_OK;
}

// finds: marks mirror
// says: the output changes metadata.name from
PLANT(mirror_has_another_name) {
    kind.mirror = mirror_renames;
}

static wharf_result update_holds(const wharf_call *call, UNUSED const wharf_value *workload, const wharf_value *mirror,
                                 wharf_value *desired) {
    host->take(call, desired, mirror, "/spec/size/replicas");
    return WHARF_OK;
}

// finds: carried update
// says: /spec/size/replicas had to be carried
PLANT(update_takes_back_what_is_carried) {
    kind.update = update_holds;
}

static wharf_result update_asks(UNUSED const wharf_call *call, UNUSED const wharf_value *workload,
                                const wharf_value *mirror, UNUSED wharf_value *desired) {
    return host->integer(host->find(mirror, "/spec/sise/replicas"), 0) > 1000000 ? WHARF_RETRY : WHARF_OK;
}

// finds: nothing
PLANT(update_asks_for_a_field) {
    kind.update = update_asks;
}

static wharf_result status_counts(const wharf_call *call, const wharf_value *workload, UNUSED const wharf_value *mirror,
                                  wharf_value *object) {
    if (mirror)
        host->set_integer(call, object, "/status/copies",
                          host->integer(host->find(workload, "/status/copies"), 0) % 1000 + 1);
    return WHARF_OK;
}

// finds: status-stable status
PLANT(status_is_another_each_time) {
    kind.status = status_counts;
}

static wharf_result status_stamps(const wharf_call *call, UNUSED const wharf_value *workload, const wharf_value *mirror,
                                  wharf_value *object) {
    if (!mirror)
        host->set_string(call, object, "/status/checkedAt", call->now);
    return WHARF_OK;
}

// finds: status-stable status
PLANT(status_without_a_mirror_moves) {
    kind.status = status_stamps;
}

static wharf_result accept_once(const wharf_call *call, UNUSED const wharf_value *workload) {
    static int calls;
    call->answer->message = "it was accepted already";
    return ++calls % 2 == 0 ? WHARF_REFUSED : WHARF_OK;
}

// finds: repeat accept, restart accept
PLANT(accept_refuses_next_time) {
    kind.accept = accept_once;
}

// -- contradictions to the objects --

// finds: nothing
// says: pods.templates: /spec/workers/*/template is in none of the
PLANT(pods_are_nowhere) {
    static const wharf_pods list[] = {{.templates = "/spec/workers/*/template"}, {.templates = NULL}};
    kind.pods = list;
}

// finds: story phase
// says: suspend_value: "Suspend" at /spec/state is in none of the 4 objects given; did you mean "Suspended"?
PLANT(suspend_value_is_another) {
    kind.suspend_value = "Suspend";
    kind.suspended_status = NULL;
}

// finds: nothing
// says: condition_time: "lastProbeTime" in a condition is in none of the
PLANT(condition_has_no_such_time) {
    kind.condition_time = "lastProbeTime";
}

// finds: nothing
// says: /spec/deleteAfter stays on the mirror
PLANT(mirror_deletes_itself) {
    kind.removed = NULL;
}

// finds: story phase
// says: the workload is Active, and the file says Failed
PLANT(file_knows_better) {
    static const wharf_phase_rule list[] = {
        {"/status/conditions", "Complete", .phase = WHARF_SUCCEEDED},
        {"/status/conditions", "Suspended", .phase = WHARF_SUSPENDED, .flags = WHARF_RULE_WHILE_SUSPENDED},
        {.pointer = NULL}};
    kind.phases = list;
}

// -- typos --

// finds: story phase
// says: phases: "Complet" at /status/conditions is in none of the 4 statuses given; did you mean "Complete"?
PLANT(typo_in_a_condition) {
    static const wharf_phase_rule list[] = {
        {"/status/conditions", "Complet", .phase = WHARF_SUCCEEDED},
        {"/status/conditions", "Failed", .phase = WHARF_FAILED},
        {"/status/conditions", "Suspended", .phase = WHARF_SUSPENDED, .flags = WHARF_RULE_WHILE_SUSPENDED},
        {.pointer = NULL}};
    kind.phases = list;
}

// finds: nothing
// says: carried: /spec/size/replica is in none of the 4 objects given; did you mean "/spec/size/replicas"?
PLANT(typo_in_carried) {
    static const wharf_carried list[] = {
        {.pointer = "/spec/size/replica"}, {.pointer = "/spec/state"}, {.pointer = NULL}};
    kind.carried = list;
    kind.pods = NULL;
}

// finds: nothing
// says: removed: /spec/delteAfter is in none of the 4 objects given; did you mean "/spec/deleteAfter"?
PLANT(typo_in_removed) {
    SET(removed, "/spec/delteAfter");
}

// finds: nothing
// says: pods.templates: /spec/templat is in none of the 4 objects given; did you mean "/spec/template"?
PLANT(typo_in_pods) {
    static const wharf_pods list[] = {{.templates = "/spec/templat"}, {.templates = NULL}};
    kind.pods = list;
}

// finds: nothing
// says: references: /spec/sise/plan is in none of the 4 objects given; did you mean "/spec/size/plan"?
PLANT(typo_in_references) {
    static const wharf_reference list[] = {
        {.name = "/spec/sise/plan", .group = "example.com", .version = "v1", .resource = "plans", .kind = "Plan"},
        {.name = NULL}};
    kind.references = list;
}

// finds: nothing
// says: continuity: /status/finishedAtt is in none of the 4 statuses given; did you mean "/status/finishedAt"?
PLANT(typo_in_continuity) {
    static const wharf_continuity list[] = {
        {"/status/finishedAtt", "END"}, {"/status/checkpoint", "CHECKPOINT"}, {.pointer = NULL}};
    kind.continuity = list;
}

// finds: nothing
// says: status_removed: /status/podName is in none of the 4 statuses given; did you mean "/status/podNames"?
PLANT(typo_in_status_removed) {
    SET(status_removed, "/status/podName");
}

// finds: story phase
// says: suspend: /spec/stat is in none of the 4 objects given; did you mean "/spec/state"?
PLANT(typo_in_suspend) {
    static const wharf_carried list[] = {
        {.pointer = "/spec/size/replicas"}, {.pointer = "/spec/stat"}, {.pointer = NULL}};
    kind.carried = list;
    kind.suspend = "/spec/stat";
}

// finds: nothing
// says: managed_by: /spec/managdBy is in none of the 4 objects given; did you mean "/spec/managedBy"?
PLANT(typo_in_managed_by) {
    kind.managed_by = "/spec/managdBy";
}

#define ROW(name)                                                                                                      \
    { #name, name }
static const struct {
    const char *name;
    void (*plant)(void);
} table[] = {
    ROW(nothing),
    ROW(takes_what_phases_read),
    ROW(references_of_what_nothing_names),
    ROW(continuity_of_the_spec),
    ROW(managed_by_is_a_label),
    ROW(carried_and_removed),
    ROW(suspend_is_not_carried),
    ROW(removed_covers_carried),
    ROW(takes_observed_generation),
    ROW(takes_finished_at),
    ROW(never_finishes_and_does),
    ROW(rule_in_the_shadow),
    ROW(suspended_without_suspend),
    ROW(generation_of_each_status),
    ROW(finished_runs_again),
    ROW(mirror_is_delegated),
    ROW(mirror_has_another_name),
    ROW(update_takes_back_what_is_carried),
    ROW(update_asks_for_a_field),
    ROW(status_is_another_each_time),
    ROW(status_without_a_mirror_moves),
    ROW(accept_refuses_next_time),
    ROW(pods_are_nowhere),
    ROW(suspend_value_is_another),
    ROW(condition_has_no_such_time),
    ROW(mirror_deletes_itself),
    ROW(file_knows_better),
    ROW(typo_in_a_condition),
    ROW(typo_in_carried),
    ROW(typo_in_removed),
    ROW(typo_in_pods),
    ROW(typo_in_references),
    ROW(typo_in_continuity),
    ROW(typo_in_status_removed),
    ROW(typo_in_suspend),
    ROW(typo_in_managed_by),
};

static const char *start(const wharf_host *services, const wharf_value *settings, const wharf_kind *const **kinds) {
    static const wharf_kind *const list[] = {&kind, NULL};
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (services->is(settings, "/plant", table[i].name)) {
            table[i].plant();
            *kinds = list;
            return NULL;
        }
    return "/plant: found nothing known";
}

WHARF_MODULE(.name = "planted", .version = "1.0.0", .host = &host, .settings = LIST("plant"), .start = start);
