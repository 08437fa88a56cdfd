// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/kind/kind_fields.h"

#include <string.h>

#define END_OF(type, field) (offsetof(type, field) + sizeof(((type *)NULL)->field))
#define ROW(owner, kind_of, member)                                                                                    \
    { .name = #member, .at = offsetof(owner, member), .type = (kind_of) }
#define ELEMENTS(table, element, first_last, ending, size_member, version, macro)                                      \
    {                                                                                                                  \
        .fields = (table), .size = sizeof(element), .size_first = END_OF(element, first_last), .first = (version),     \
        .set_by = (macro), .size_at = offsetof(wharf_kind, size_member), .end = #ending,                               \
        .end_at = offsetof(element, ending)                                                                            \
    }
#define SIZES "a wharf_kind begins with WHARF_KIND_SIZES"
#define LIST(member, elements)                                                                                         \
    { .name = #member, .at = offsetof(wharf_kind, member), .type = FIELD_LIST, .list = &(elements) }
#define TEXT(member) ROW(wharf_kind, FIELD_TEXT, member)
#define TEXTS(member) ROW(wharf_kind, FIELD_TEXTS, member)
#define U32(member) ROW(wharf_kind, FIELD_U32, member)
#define FUNCTION(member) ROW(wharf_kind, FIELD_FUNCTION, member)
#define END                                                                                                            \
    { .name = NULL }

static const struct kind_field carried_fields[] = {ROW(wharf_carried, FIELD_TEXT, pointer),
                                                   ROW(wharf_carried, FIELD_TEXT, key),
                                                   ROW(wharf_carried, FIELD_U32, when), END};
static const struct kind_field pods_fields[] = {
    ROW(wharf_pods, FIELD_TEXT, templates), ROW(wharf_pods, FIELD_TEXTS, counts), ROW(wharf_pods, FIELD_TEXT, fallback),
    ROW(wharf_pods, FIELD_U32, offset),     ROW(wharf_pods, FIELD_U32, flags),    END};
static const struct kind_field rule_fields[] = {ROW(wharf_phase_rule, FIELD_TEXT, pointer),
                                                ROW(wharf_phase_rule, FIELD_TEXT, value),
                                                ROW(wharf_phase_rule, FIELD_TEXT, status),
                                                ROW(wharf_phase_rule, FIELD_TEXT, reason),
                                                ROW(wharf_phase_rule, FIELD_U32, phase),
                                                ROW(wharf_phase_rule, FIELD_U32, flags),
                                                ROW(wharf_phase_rule, FIELD_TEXTS, values),
                                                ROW(wharf_phase_rule, FIELD_TEXT, key),
                                                END};
static const struct kind_field change_fields[] = {ROW(wharf_status_change, FIELD_U32, change),
                                                  ROW(wharf_status_change, FIELD_U32, when),
                                                  ROW(wharf_status_change, FIELD_TEXT, name),
                                                  ROW(wharf_status_change, FIELD_TEXT, value),
                                                  ROW(wharf_status_change, FIELD_TEXT, reason),
                                                  ROW(wharf_status_change, FIELD_TEXT, message),
                                                  END};
static const struct kind_field reference_fields[] = {ROW(wharf_reference, FIELD_TEXT, name),
                                                     ROW(wharf_reference, FIELD_TEXT, of),
                                                     ROW(wharf_reference, FIELD_TEXT, group),
                                                     ROW(wharf_reference, FIELD_TEXT, version),
                                                     ROW(wharf_reference, FIELD_TEXT, resource),
                                                     ROW(wharf_reference, FIELD_TEXT, kind),
                                                     ROW(wharf_reference, FIELD_TEXT, kind_at),
                                                     ROW(wharf_reference, FIELD_TEXT, namespace_),
                                                     ROW(wharf_reference, FIELD_TEXT, optional),
                                                     ROW(wharf_reference, FIELD_U32, flags),
                                                     END};

static const struct kind_list carried_list =
    ELEMENTS(carried_fields, wharf_carried, when, pointer, carried_size, "1.0", SIZES);
static const struct kind_list pods_list = ELEMENTS(pods_fields, wharf_pods, counts, templates, pods_size, "1.0", SIZES);
static const struct kind_list rules =
    ELEMENTS(rule_fields, wharf_phase_rule, flags, pointer, phase_rule_size, "1.0", SIZES);
static const struct kind_list changes =
    ELEMENTS(change_fields, wharf_status_change, message, name, status_change_size, "1.0", SIZES);
static const struct kind_field child_fields[] = {
    ROW(wharf_child, FIELD_TEXT, group), ROW(wharf_child, FIELD_TEXT, version), ROW(wharf_child, FIELD_TEXT, plural),
    ROW(wharf_child, FIELD_TEXT, label), END};
static const struct kind_field continuity_fields[] = {ROW(wharf_continuity, FIELD_TEXT, pointer),
                                                      ROW(wharf_continuity, FIELD_TEXT, name), END};
static const struct kind_list children =
    ELEMENTS(child_fields, wharf_child, label, plural, child_size, "1.2", "WHARF_CHILDREN sets the list");
static const struct kind_list continuity = ELEMENTS(continuity_fields, wharf_continuity, name, pointer, continuity_size,
                                                    "1.2", "WHARF_CONTINUITY sets the list");
static const struct kind_list references =
    ELEMENTS(reference_fields, wharf_reference, flags, name, reference_size, "1.2", "WHARF_REFERENCES sets the list");

const struct kind_field kind_fields[] = {
    TEXT(group),
    TEXTS(versions),
    TEXT(kind),
    TEXT(plural),
    U32(flags),
    TEXT(managed_by),
    TEXT(managed_by_builtin),
    TEXTS(managed_by_allowed),
    TEXT(managed_by_default),
    TEXT(suspend),
    TEXT(suspend_value),
    LIST(carried, carried_list),
    TEXTS(removed),
    LIST(pods, pods_list),
    TEXTS(status_removed),
    TEXT(observed_generation),
    TEXT(condition_time),
    LIST(phases, rules),
    LIST(suspended_status, changes),
    LIST(resumed_status, changes),
    TEXT(finished_at),
    FUNCTION(phase),
    FUNCTION(accept),
    FUNCTION(mirror),
    FUNCTION(update),
    FUNCTION(status),
    FUNCTION(pod_sets),
    LIST(gave_up_status, changes),
    TEXTS(suspend_values),
    TEXT(refused),
    U32(suspend_type),
    LIST(references, references),
    FUNCTION(dependencies),
    FUNCTION(progress),
    LIST(children, children),
    FUNCTION(child_progress),
    LIST(continuity, continuity),
    END,
};

const void *kind_pointer_at(const void *memory, size_t at) {
    const void *pointer = NULL;
    memcpy(&pointer, (const char *)memory + at, sizeof(pointer));
    return pointer;
}
