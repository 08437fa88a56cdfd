// SPDX-License-Identifier: Apache-2.0
#include "core/engine/placement/namespaces.h"

#include "core/base/selector.h"
#include "core/base/text.h"

#define ALLOW '+'
#define DENY '-'
#define SELECT '='

static const char *next_line(const char *line) {
    line += strcspn(line, "\n");
    return line + (*line == '\n');
}

// The configuration has checked the selector; without memory no namespace matches.
static bool is_selected(const char *text, const char *labels) {
    AUTO_TEXT line = strndup(text, strcspn(text, "\n"));
    struct selector selector = {.n_terms = 0};
    struct error *error = line ? selector_parse(line, &selector) : error_no_memory();
    bool met = !error && selector_is_met(&selector, labels);
    error_free(error);
    selector_clear(&selector);
    return met;
}

enum namespaces_verdict namespaces_judge(const char *rule, const struct namespaces_subject *subject) {
    bool any_allowed = false, allowed = false;
    const char *selector = NULL;
    if (subject->len == 0)
        return NAMESPACES_PERMITTED;
    for (const char *line = rule; line && *line; line = next_line(line)) {
        bool matches = *line != SELECT && text_matches(line + 1, strcspn(line + 1, "\n"), subject->name, subject->len);
        if (*line == SELECT && !selector)
            selector = line + 1;
        else if (*line == DENY && matches)
            return NAMESPACES_DENIED;
        any_allowed |= *line == ALLOW;
        allowed |= *line == ALLOW && matches;
    }
    if (any_allowed && !allowed)
        return NAMESPACES_DENIED;
    if (selector && !subject->labels_known)
        return NAMESPACES_UNDECIDED;
    return !selector || is_selected(selector, subject->labels) ? NAMESPACES_PERMITTED : NAMESPACES_DENIED;
}
