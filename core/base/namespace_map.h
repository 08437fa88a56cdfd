// SPDX-License-Identifier: Apache-2.0
// The names of the management cluster's namespaces in a worker: namespaces: {map} of a worker, as text with one rule a
// line, "team-*={origin}-{namespace}". The first rule with a matching pattern applies; without one the name is the
// same. A map is one-to-one: a namespace whose name there does not lead back to it has none there. Of several
// namespaces with one name, that of the first rule has it.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buffer;

#define NAMESPACE_MAP_ANNOTATION "wharf.dev/namespace-map" // of a worker's Secret, see namespace_map_read
#define NAMESPACE_SIZE 64                                  // of a name, with the NUL
#define NAMESPACE_MAP_SELF_RULE                                                                                        \
    "*=\n" // the last one of the management cluster as a worker: other namespaces have no name

// The name of a namespace in the worker. False: it has none there (no RFC 1123 label, or the name of another one).
// `map` NULL or "": the same name.
bool namespace_there(const char *map, const char *origin, const char *name, char out[NAMESPACE_SIZE]);

// The namespace of the management cluster that has this name in the worker. False: there is none.
bool namespace_here(const char *map, const char *origin, const char *there, char out[NAMESPACE_SIZE]);

// Appends the reason why the namespace has no name in the worker, one sentence.
void namespace_describe_none(const char *map, const char *origin, const char *name, struct buffer *out);

// A rule: "team-*" and "{origin}-{namespace}". `origin` NULL: not known yet. Appends the problem as "found ...,
// expected ..."; false: there is none.
bool namespace_rule_problem(const char *pattern, const char *name, const char *origin, struct buffer *out);
// A map of rules separated by ',' as in annotations; free(). NULL: appends the problem, or out of memory.
char *namespace_map_read(const char *text, struct buffer *problem);
// The first problem of a map's rules. `self`: of the management cluster as a worker, where names must differ.
bool namespace_map_problem(const char *map, const char *origin, bool self, struct buffer *out);
// Two namespaces that two rules give one name there, as a sentence. False: the rules collide in no obvious way.
bool namespace_map_collision(const char *map, const char *origin, struct buffer *out);
