// SPDX-License-Identifier: Apache-2.0
#include "core/kube/api/api_resources.h"

#include "core/base/text.h"

#include <string.h>

char *api_resources_path(const char *group, const char *version) {
    return text_format("%s%s/%s", group[0] != '\0' ? "/apis/" : "/api", group, version);
}

char *api_resources_version_path(const char *api_version) {
    const char *slash = strchr(api_version, '/'), *version = slash ? slash + 1 : api_version;
    AUTO_TEXT group = strndup(api_version, slash ? (size_t)(slash - api_version) : 0);
    if (!group || (slash && !text_is_dns_subdomain(group)) || !text_is_dns_label(version))
        return NULL;
    return api_resources_path(group, version);
}

const char *api_resources_plural(const struct json *list, const char *kind) {
    for (const struct json *item = json_first(json_get(list, "resources")); item; item = json_next(item)) {
        const char *name = json_string(json_get(item, "name"));
        if (name && text_is_dns_subdomain(name) && json_bool(json_get(item, "namespaced"), false) &&
            text_equal(json_string(json_get(item, "kind")), kind))
            return name;
    }
    return NULL;
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
