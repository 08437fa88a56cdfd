// SPDX-License-Identifier: Apache-2.0
// The checks of a kind's list of children.
#include "core/adapter/kind/kind_check.h"
#include "core/base/text.h"

#include <string.h>

static struct error *check_row(const wharf_child *child) {
    TRY(kind_check_group("children.group", child->group));
    TRY(kind_check_version("children.version", child->version));
    TRY(kind_check_plural("children.plural", child->plural));
    if (!child->label)
        return kind_missing("children.label");
    return text_is_label_key(child->label)
               ? NULL
               : kind_wrong("children.label", child->label, "the key of a label, like \"example.com/owner-name\"");
}

// The host gives children progress while the mirror is suspended.
static struct error *check_use(const wharf_kind *kind, const char *plural) {
    if (!kind->suspend)
        return kind_wrong("children", plural, "nothing, as there is no suspend");
    return kind->child_progress ? NULL : kind_wrong("children", plural, "nothing, as there is no child_progress");
}

struct error *kind_check_children(const wharf_kind *kind) {
    const wharf_child *first = kind->children;
    if (!first || !first->plural)
        return kind->child_progress
                   ? error_new(ERROR_INVALID, "children: found nothing, expected the resources of child_progress")
                   : NULL;
    TRY(check_use(kind, first->plural));
    for (const wharf_child *one = first; one->plural; one++) {
        TRY(check_row(one));
        for (const wharf_child *other = first; other < one; other++)
            if (strcmp(other->plural, one->plural) == 0)
                return kind_wrong("children.plural", one->plural, "each resource once");
    }
    return NULL;
}
