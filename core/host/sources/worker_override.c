// SPDX-License-Identifier: Apache-2.0
// Entries of the ConfigMap wharf-workers, and the check of a kubeconfig that came as text.
#include "core/base/text.h"
#include "core/host/sources/worker_objects.h"
#include "core/json/yaml.h"

#include <stdlib.h>
#include <string.h>

void worker_overrides_free(struct worker_override *list, size_t count) {
    for (size_t i = 0; list && i < count; i++) {
        free(list[i].name);
        free(list[i].uid);
        free(list[i].source);
    }
    free(list);
}

static struct error *read_member(const struct json *member, struct worker_override *out) {
    const char *key = json_key(member), *text = json_string(member);
    if (strcmp(key, "cordoned") == 0 && json_is(member, JSON_BOOL)) {
        out->sets_cordoned = true;
        out->cordoned = json_bool(member, false);
        return NULL;
    }
    if (strcmp(key, "drain") == 0 && (json_is(member, JSON_NULL) || text_equal(text, "") ||
                                      text_equal(text, "finish") || text_equal(text, "move"))) {
        out->sets_drain = true;
        out->drain = text_equal(text, "finish") ? DRAIN_FINISH : text_equal(text, "move") ? DRAIN_MOVE : DRAIN_NO;
        return NULL;
    }
    return error_new(ERROR_INVALID,
                     "%.40s: found %s, expected cordoned (true or false) or drain (\"finish\", \"move\" or null)", key,
                     strcmp(key, "cordoned") == 0 || strcmp(key, "drain") == 0 ? "another value" : "an unknown key");
}

struct error *worker_override_read(const char *name, const char *text, struct worker_override *out) {
    *out = (struct worker_override){.name = NULL};
    AUTO_JSON value = NULL;
    struct error *error = json_parse(text, strlen(text), &value);
    if (!error && !json_is(value, JSON_OBJECT))
        error = error_new(ERROR_INVALID, "found no JSON object, expected one like {\"cordoned\":true}");
    for (const struct json *member = json_first(value); member && !error; member = json_next(member))
        error = read_member(member, out);
    if (!error && !(out->name = strdup(name)))
        error = error_no_memory();
    return error_wrap(error, "key %.80s", name);
}

struct error *worker_spec_check(struct worker_spec *spec, const struct exec_policy *policy, int64_t wall_ns,
                                struct token_life *life, bool *usable) {
    struct endpoint *endpoint = NULL;
    *life = (struct token_life){0};
    *usable = false;
    spec->revision = text_hash(text_hash(TEXT_HASH, spec->kubeconfig_text), spec->context ? spec->context : "");
    struct exec_policy own = policy ? *policy : (struct exec_policy){.allow = NULL};
    own.own_entry = spec->source == SOURCE_CLUSTER_PROFILE; // as connection_load_worker
    struct error *error = kubeconfig_parse(spec->kubeconfig_text, strlen(spec->kubeconfig_text), "kubeconfig",
                                           spec->context, &own, &endpoint);
    if (error)
        return error;
    *usable = true;
    (void)token_life_read(endpoint->token, life);
    error = endpoint_check(endpoint, wall_ns);
    endpoint_free(endpoint);
    return error;
}

static struct json *find_entry(struct json *config, const char *section, const char *name) {
    for (struct json *item = json_first(json_get(config, section)); item; item = json_next(item))
        if (text_equal(json_string(json_get(item, "name")), name))
            return item;
    return NULL;
}

struct error *kubeconfig_with_token(const char *text, const char *context, const char *token, char **out) {
    __attribute__((cleanup(yaml_cleanup))) struct yaml yaml = {.value = NULL};
    *out = NULL;
    TRY(yaml_parse("kubeconfig", text, strlen(text), &yaml));
    const char *wanted = context && *context ? context : json_string(json_get(yaml.value, "current-context"));
    const struct json *used = json_get(find_entry(yaml.value, "contexts", wanted), "context");
    struct json *user = json_get(find_entry(yaml.value, "users", json_string(json_get(used, "user"))), "user");
    if (!json_is(user, JSON_OBJECT))
        return error_new(ERROR_INVALID, "kubeconfig: found no user in context %s, expected one with a token",
                         wanted ? wanted : "\"\"");
    AUTO_BUFFER(printed, (size_t)1 << 20);
    if (!json_set(user, "token", json_new_string(token)) || !yaml_print(yaml.value, &printed))
        return error_no_memory();
    *out = buffer_take(&printed, NULL);
    return *out ? NULL : error_no_memory();
}
