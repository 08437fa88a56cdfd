// SPDX-License-Identifier: Apache-2.0
#include "core/kube/api_resources.h"

#include "core/base/text.h"

char *api_resources_path(const char *group, const char *version) {
    return text_format("%s%s/%s", group[0] != '\0' ? "/apis/" : "/api", group, version);
}

const struct json *api_resources_find(const struct json *list, const char *name) {
    for (const struct json *item = json_first(json_get(list, "resources")); item; item = json_next(item))
        if (text_equal(json_string(json_get(item, "name")), name))
            return item;
    return NULL;
}

bool api_resource_has_verb(const struct json *resource, const char *verb) {
    for (const struct json *item = json_first(json_get(resource, "verbs")); item; item = json_next(item))
        if (text_equal(json_string(item), verb))
            return true;
    return false;
}
