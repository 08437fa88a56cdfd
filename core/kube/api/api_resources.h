// SPDX-License-Identifier: Apache-2.0
// Discovery: the resources that a server serves for one group and version (metav1.APIResourceList).
#pragma once

#include "core/json/json.h"

#include <stdbool.h>

// Path of the list: "/api/v1", "/apis/batch/v1". NULL when out of memory.
char *api_resources_path(const char *group, const char *version);

// The same of an unchecked apiVersion ("batch/v1") from an owner reference: NULL also for a version that no API server
// serves, such as "../x/v1".
char *api_resources_version_path(const char *api_version);

// The plural of a namespaced kind; NULL: not served.
const char *api_resources_plural(const struct json *list, const char *kind);

// The resource of this name ("jobs", "jobs/status") in a list; NULL: not served.
const struct json *api_resources_find(const struct json *list, const char *name);

// Whether a resource has a verb ("watch").
bool api_resource_has_verb(const struct json *resource, const char *verb);
