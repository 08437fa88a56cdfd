// SPDX-License-Identifier: Apache-2.0
// Names, and what contradicts itself.
#include "settings.h"

#include <string.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define LABEL_MAX 63

// Begins with one of `first`, has only `all`, and does not end with a dash, a dot or a line.
static bool is_name(const char *text, const char *first, const char *all) {
    size_t len = strlen(text);
    return len > 0 && len <= LABEL_MAX && strchr(first, text[0]) && !text[strspn(text, all)] &&
           !strchr("-._", text[len - 1]);
}

static void check_name(const struct place *at, const char *name, const char *first, const char *all,
                       const char *expected) {
    struct place member = settings_member(at, name);
    if (!is_name(at->in->host->string(member.value), first, all))
        settings_wrong(&member, expected);
}

// True if what `outer` matches is, or is around, what `inner` matches.
static bool covers(const char *outer, const char *inner) {
    while (inner && *outer == '/' && *inner == '/') {
        size_t a = strcspn(++outer, "/"), b = strcspn(++inner, "/");
        bool any = (a == 1 && *outer == '*') || (b == 1 && *inner == '*');
        if (!any && (a != b || memcmp(outer, inner, a) != 0))
            return false;
        outer += a;
        inner += b;
    }
    return inner && !*outer;
}

static void check_names(const struct place *at, const wharf_kind *kind) {
    if (*kind->group)
        check_name(at, "group", LOWER DIGITS, LOWER DIGITS "-.",
                   "an API group like example.com, or \"\" for the core group");
    check_name(at, "kind", UPPER, LOWER UPPER DIGITS, "the name of a kind, like Workflow");
    check_name(at, "plural", LOWER, LOWER DIGITS "-", "the name of a resource, like workflows");
    if (strlen(kind->plural) + 1 + strlen(kind->group) > LABEL_MAX)
        settings_tell(at, "/plural", "found more than 62 letters together with the group: a label must hold both");
    for (size_t i = 0; kind->versions[i]; i++)
        if (!is_name(kind->versions[i], LOWER, LOWER DIGITS "-"))
            SETTINGS_TELL(at, "/versions", "found \"%s\", expected API versions like v1", kind->versions[i]);
    for (size_t i = 1; i <= at->index; i++) {
        const wharf_kind *other = kind - i;
        bool plural = strcmp(other->plural, kind->plural) == 0;
        if (strcmp(other->group, kind->group) == 0 && (plural || strcmp(other->kind, kind->kind) == 0))
            SETTINGS_TELL(at, plural ? "/plural" : "/kind",
                          "found %s of this group a second time, expected it once: kinds/%zu has it",
                          plural ? kind->plural : kind->kind, at->index - i);
    }
}

static void check_managed_by(const struct place *at, const wharf_kind *kind) {
    bool label = strncmp(kind->managed_by, "/metadata/labels/", 17) == 0;
    if (label && !kind->managed_by_allowed)
        settings_tell(at, "/managedBy/allowed",
                      "found nothing, expected the value to answer to: the host's own name cannot be that of a label");
    for (size_t i = 0; kind->managed_by_allowed && kind->managed_by_allowed[i]; i++) {
        const char *value = kind->managed_by_allowed[i];
        if (kind->managed_by_builtin && strcmp(value, kind->managed_by_builtin) == 0)
            SETTINGS_TELL(at, "/managedBy/allowed", "found \"%s\", expected values other than builtIn", value);
        if (label && !is_name(value, LOWER UPPER DIGITS, LOWER UPPER DIGITS "-._"))
            SETTINGS_TELL(at, "/managedBy/allowed", "found \"%s\", expected what the value of a label may be", value);
    }
    if (kind->suspend && (covers(kind->suspend, kind->managed_by) || covers(kind->managed_by, kind->suspend)))
        settings_tell(at, "/suspend/field", "found the field of managedBy, expected another one");
    for (size_t i = 0; kind->removed && kind->removed[i]; i++)
        if (covers(kind->removed[i], kind->suspend))
            SETTINGS_TELL(at, "/remove", "found %s, expected fields other than that of suspend", kind->removed[i]);
}

static void check_carried(const struct place *at, const wharf_kind *kind) {
    for (const wharf_carried *c = kind->carried; c->pointer; c++) {
        const char *below = at->in->host->format(NULL, "/carry/%zu", (size_t)(c - kind->carried));
        if (c->when == WHARF_CARRY_WHILE_SUSPENDED && !kind->suspend)
            settings_tell(at, below, "found when: WhileSuspended, expected a kind that has suspend");
        if (c->when == WHARF_CARRY_WHILE_SUSPENDED && covers(c->pointer, kind->suspend))
            settings_tell(at, below, "found when: WhileSuspended, expected that what suspends is carried always");
        if (covers(c->pointer, kind->managed_by) || covers(kind->managed_by, c->pointer))
            SETTINGS_TELL(at, below, "found %s, expected no field that is, or holds, that of managedBy", c->pointer);
        for (size_t i = 0; kind->removed && kind->removed[i]; i++)
            if (covers(kind->removed[i], c->pointer))
                SETTINGS_TELL(at, below, "found %s, expected it in either carry or remove (remove/%zu)", c->pointer, i);
        for (const wharf_carried *other = kind->carried; other < c; other++)
            if (strcmp(other->pointer, c->pointer) == 0)
                SETTINGS_TELL(at, below, "found %s a second time, expected it once", c->pointer);
    }
}

static bool same_value(const wharf_phase_rule *a, const wharf_phase_rule *b) {
    return strcmp(a->pointer, b->pointer) == 0 && strcmp(a->value, b->value) == 0 &&
           strcmp(a->status ? a->status : "True", b->status ? b->status : "True") == 0;
}

static void check_phases(const struct place *at, const wharf_kind *kind) {
    bool endless = kind->flags & WHARF_KIND_NEVER_FINISHES, ends = false;
    for (const wharf_phase_rule *rule = kind->phases; rule->pointer; rule++) {
        const char *below = at->in->host->format(NULL, "/phases/%zu", (size_t)(rule - kind->phases));
        bool final = rule->phase == WHARF_SUCCEEDED || rule->phase == WHARF_FAILED;
        ends = ends || final;
        if (final && endless)
            settings_tell(at, below, "found a phase that is the end, expected none with neverFinishes");
        for (const wharf_phase_rule *other = kind->phases; other < rule; other++)
            if (same_value(other, rule))
                SETTINGS_TELL(at, below, "found a second rule for %s, expected one: phases/%zu has it", rule->value,
                              (size_t)(other - kind->phases));
        for (size_t i = 0; kind->status_removed && kind->status_removed[i]; i++)
            if (covers(kind->status_removed[i], rule->pointer))
                SETTINGS_TELL(at, below, "found %s, which statusRemove/%zu takes away", rule->pointer, i);
    }
    if (!endless && !ends)
        settings_tell(at, "/phases", "found no rule for Succeeded or Failed, expected one, or neverFinishes: true");
    if (endless && kind->finished_at)
        settings_tell(at, "/finishedAt", "found a pointer, expected nothing with neverFinishes");
    if (kind->observed_generation && (kind->flags & WHARF_KIND_NO_STATUS_SUBRESOURCE))
        settings_tell(at, "/observedGeneration",
                      "found a pointer, expected nothing with statusSubresource: false: each status is a generation");
}

// The host takes the items of a count from those of its template: the same path as far as the last "*".
static void check_pods(const struct place *at, const wharf_kind *kind) {
    for (const wharf_pods *p = kind->pods; p->templates; p++)
        for (size_t i = 0; i < 3 && p->multiplier[i]; i++) {
            const char *star = p->multiplier[i];
            while (strstr(star, "/*"))
                star = strstr(star, "/*") + 2;
            size_t len = (size_t)(star - p->multiplier[i]);
            if (strncmp(p->multiplier[i], p->templates, len) != 0)
                SETTINGS_TELL(at, at->in->host->format(NULL, "/pods/%zu/count/%zu", (size_t)(p - kind->pods), i),
                              "found %s, expected the path of template as far as its last \"*\"", p->multiplier[i]);
        }
}

void check_kind(const struct place *at, const wharf_kind *kind) {
    check_names(at, kind);
    check_managed_by(at, kind);
    check_carried(at, kind);
    check_phases(at, kind);
    check_pods(at, kind);
}
