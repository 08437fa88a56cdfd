// SPDX-License-Identifier: Apache-2.0
// Permitted namespaces of workloads: overall, and by worker. A workload with an earlier placement stays until the end
// after a change of the rule. A rule is a text with one pattern a line: "+team-*" allows, "-kube-*" denies; and one
// line "=env in (a,b)" with a selector of the namespace's labels. A denial always wins; if a pattern allows namespaces,
// the rule denies all others; a selector denies every namespace that does not match.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum namespaces_verdict {
    NAMESPACES_PERMITTED,
    NAMESPACES_DENIED,
    NAMESPACES_UNDECIDED // for lack of the namespace's labels
};

struct namespaces_subject {
    const char *name; // so many bytes; "": of a cluster-scoped object, which is always permitted
    size_t len;
    bool labels_known;
    const char *labels; // "key=value,key=value"; NULL: none
};

// `rule` NULL or "": all.
enum namespaces_verdict namespaces_judge(const char *rule, const struct namespaces_subject *subject);
