// SPDX-License-Identifier: Apache-2.0
// The names of the management cluster's namespaces in a worker: namespaces: {map} of a worker, as text with one rule a
// line, "team-*={origin}-{namespace}". The first rule with a matching pattern applies; without one the name is the
// same. A map is one-to-one: a namespace whose name there does not lead back to it has none there.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define NAMESPACE_SIZE 64 // of a name, with the NUL

// The name of a namespace in the worker. False: it has none there (no RFC 1123 label, or the name of another one).
// `map` NULL or "": the same name.
bool namespace_there(const char *map, const char *origin, const char *name, char out[NAMESPACE_SIZE]);

// The namespace of the management cluster that has this name in the worker. False: there is none.
bool namespace_here(const char *map, const char *origin, const char *there, char out[NAMESPACE_SIZE]);
