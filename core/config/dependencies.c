// SPDX-License-Identifier: Apache-2.0
#include "core/config/dependencies.h"

#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

#define KUBERNETES_GROUPS ".k8s.io" // API groups of Kubernetes itself, none of which has two more parts

enum dependency_use dependency_use_of(const struct dependency_options *options, const char *resource) {
    if (text_list_has(options->copy, resource))
        return DEPENDENCY_COPIED;
    return text_list_has(options->check, resource) ? DEPENDENCY_CHECKED : DEPENDENCY_IGNORED;
}

char **dependency_resources(const struct dependency_options *options, bool checked) {
    const char *copy = options->copy ? options->copy : "", *check = checked && options->check ? options->check : "";
    AUTO_TEXT all = text_format("%s%s%s", copy, *copy && *check ? "," : "", check);
    return all ? text_words(all, ',') : NULL;
}

bool dependency_options_any(const struct dependency_options *options) {
    return options->copy || options->check;
}

bool dependency_may_copy(const char *resource, bool cluster_scoped) {
    const char *group = strchr(resource, '.');
    return !cluster_scoped || (group && !text_has_suffix(group, KUBERNETES_GROUPS));
}

bool dependency_options_set(struct dependency_options *to, const struct dependency_options *from) {
    struct dependency_options made = *from;
    made.copy = made.check = NULL;
    if (!text_set((char **)&made.copy, from->copy) || !text_set((char **)&made.check, from->check)) {
        dependency_options_clear(&made);
        return false;
    }
    dependency_options_clear(to);
    *to = made;
    return true;
}

void dependency_options_clear(struct dependency_options *options) {
    free((char *)options->copy);
    free((char *)options->check);
    options->copy = options->check = NULL;
}
