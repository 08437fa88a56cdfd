// SPDX-License-Identifier: Apache-2.0
// The resources of `dependencies`, as "configmaps" or "tasks.tekton.dev". Pure.
#pragma once

#include "core/config/engine_settings.h"

enum dependency_use { DEPENDENCY_IGNORED, DEPENDENCY_CHECKED, DEPENDENCY_COPIED };

// The use of a resource by these options.
enum dependency_use dependency_use_of(const struct dependency_options *options, const char *resource);
// The resources of `copy`, `checked`: then those of `check`, as of text_words.
char **dependency_resources(const struct dependency_options *options, bool checked);
bool dependency_options_any(const struct dependency_options *options); // false: the feature is off

// Objects in namespaces, and cluster-scoped ones of a CRD. Those of Kubernetes itself (PriorityClass, RuntimeClass,
// StorageClass, DeviceClass) belong to a cluster's administrators and are checked only.
bool dependency_may_copy(const char *resource, bool cluster_scoped);

// False: out of memory, and *to is unchanged. The former texts of *to are freed.
bool dependency_options_set(struct dependency_options *to, const struct dependency_options *from);
void dependency_options_clear(struct dependency_options *options);
