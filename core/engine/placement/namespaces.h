// SPDX-License-Identifier: Apache-2.0
// Namespaces whose workloads are placed: overall, and by worker. What was placed before a rule changed is followed to
// its end. A rule is a text with one pattern a line: "+team-*" allows, "-kube-*" denies; and one line "=env in (a,b)"
// with a selector of the namespace's labels. A denied namespace is denied whatever else says; where something is
// allowed, the rest is denied; where there is a selector, what it does not match is denied too.
#ifndef WHARF_ENGINE_NAMESPACES_H
#define WHARF_ENGINE_NAMESPACES_H

#include <stdbool.h>
#include <stddef.h>

enum namespaces_verdict {
    NAMESPACES_PERMITTED,
    NAMESPACES_DENIED,
    NAMESPACES_UNDECIDED // its labels are not known yet
};

struct namespaces_subject {
    const char *name; // so many bytes; "": of a cluster-scoped object, which is in none and permitted
    size_t len;
    bool labels_known;
    const char *labels; // "key=value,key=value"; NULL: none
};

// `rule` NULL or "": all.
enum namespaces_verdict namespaces_judge(const char *rule, const struct namespaces_subject *subject);
// A rule selects by labels, which have to be known.
bool namespaces_select(const char *rule);

#endif
