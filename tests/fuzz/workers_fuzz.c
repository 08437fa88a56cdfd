// SPDX-License-Identifier: Apache-2.0
// Objects of the management cluster that describe workers: whatever they say, a worker has a name, names no file of
// this machine and runs nothing that is not allowed; or there is a sentence. Two parts: the object, and a kubeconfig
// that becomes its content.
#include "tests/fuzz/fuzz.h"

#include "core/base/text.h"
#include "core/host/sources/sources.h"

#include <stdlib.h>
#include <string.h>

#define NOW_NS (INT64_C(1767323045) * CLOCK_SECOND)

static char *allowed[] = {(char *)"sh"};
static const struct exec_policy policy = {.allow = allowed, .n_allow = 1};

static void must_be_told(struct error *error) {
    if (error && error_text(error)[0] == '\0')
        fuzz_fail("an error that says nothing");
    error_free(error);
}

static void check_spec(struct error *error, struct worker_spec *spec) {
    struct token_life life;
    bool usable = false;
    if (!error) {
        if (!spec->settings.name || !text_is_dns_label(spec->settings.name) ||
            strcmp(spec->settings.name, "management") == 0)
            fuzz_fail("a worker named %s", spec->settings.name ? spec->settings.name : "nothing");
        if (!spec->kubeconfig_text || spec->kubeconfig_path)
            fuzz_fail("a worker without a kubeconfig, or with the path of one");
        must_be_told(worker_spec_check(spec, &policy, NOW_NS, &life, &usable));
        char *changed = NULL;
        must_be_told(kubeconfig_with_token(spec->kubeconfig_text, spec->context, "new", &changed));
        free(changed);
    }
    must_be_told(error);
    worker_spec_clear(spec);
}

static void check_account(const struct json *object) {
    char space[64];
    const char *name = NULL;
    struct error *error = worker_secret_account(object, space, &name);
    if (!error && (!text_is_dns_label(space) || !text_is_dns_subdomain(name)))
        fuzz_fail("account %s/%s", space, name);
    must_be_told(error);
}

static void check_overrides(const struct json *object) {
    const struct json *data = json_get(object, "data");
    for (const struct json *entry = json_first(data); entry; entry = json_next(entry)) {
        struct worker_override found;
        must_be_told(worker_override_read(json_key(entry), json_string_or(entry, ""), &found));
    }
}

void fuzz_one(const uint8_t *data, size_t size) {
    struct fuzz_part text = fuzz_next_part(&data, &size);
    AUTO_JSON object = NULL;
    AUTO_JSON exec = NULL;
    AUTO_BUFFER(base64, 1 << 20);
    static const char entry[] = "{\"command\":\"sh\",\"apiVersion\":\"client.authentication.k8s.io/v1\"}";
    static char provider[] = "p";
    error_free(json_parse(text.text, text.len, &object));
    if (!object || json_parse(entry, sizeof entry - 1, &exec))
        return;
    struct worker_spec spec;
    struct config_access_provider providers[] = {{.name = provider, .exec = exec}};
    check_spec(worker_source_read(SOURCE_CLUSTER_PROFILE, object,
                                  &(struct config_workers_from){.providers = providers, .n_providers = 1}, &spec),
               &spec);
    check_account(object);
    check_overrides(object);
    struct json *secret = json_get(object, "data");
    if (size > 0 && json_is(secret, JSON_OBJECT) && text_base64_encode(data, size, &base64))
        (void)json_set(secret, "kubeconfig", json_new_string(base64.data));
    check_spec(worker_source_read(SOURCE_SECRET, object, NULL, &spec), &spec);
}
