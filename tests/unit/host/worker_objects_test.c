// SPDX-License-Identifier: Apache-2.0
#include "core/host/sources/sources.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/json/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// {"apiVersion": "v1"} and "w1-ctx" in base64
#define KUBECONFIG_64 "eyJhcGlWZXJzaW9uIjogInYxIn0="
#define CONTEXT_64 "dzEtY3R4"

static struct json *parse(const char *text) {
    struct yaml yaml;
    struct error *error = yaml_parse("object", text, strlen(text), &yaml);
    if (error)
        fail_msg("%s", error_text(error));
    struct json *value = json_copy(yaml.value);
    yaml_cleanup(&yaml);
    return value;
}

// A Secret with these annotations and data, in YAML's flow style.
static struct json *secret(const char *annotations, const char *data) {
    AUTO_TEXT text = text_format("{metadata: {name: w-secret, namespace: ours, uid: u, creationTimestamp: "
                                 "\"2026-01-02T03:04:05Z\", labels: {wharf.dev/worker: \"true\", "
                                 "worker.wharf.dev/region: eu}, annotations: {%s}}, data: {%s}}",
                                 annotations, data);
    return parse(text);
}

static void a_secret_gives_a_worker_with_its_labels_policy_and_limits(void **state) {
    (void)state;
    AUTO_JSON object =
        secret("wharf.dev/worker-name: w1, wharf.dev/cordoned: \"true\", wharf.dev/drain: move, "
               "wharf.dev/qps: \"7.5\", wharf.dev/namespaces: \"team-*,-team-x\", wharf.dev/weight: \"3\", "
               "wharf.dev/order: \"2\", wharf.dev/max-active: \"10,jobs.batch=5,JobSet=1\", "
               "wharf.dev/cluster-uid: k1",
               "kubeconfig: " KUBECONFIG_64 ", context: " CONTEXT_64);
    struct worker_spec spec;
    assert_null(worker_source_read(SOURCE_SECRET, object, NULL, &spec));
    assert_string_equal(spec.settings.name, "w1");
    assert_int_equal(spec.source, SOURCE_SECRET);
    assert_string_equal(spec.origin_text, "Secret ours/w-secret");
    assert_string_equal(spec.kubeconfig_text, "{\"apiVersion\": \"v1\"}");
    assert_string_equal(spec.context, "w1-ctx");
    assert_string_equal(spec.settings.labels, "region=eu");
    assert_true(spec.cordoned && spec.drain == DRAIN_MOVE && spec.settings.qps == 7.5 && spec.settings.burst == 15);
    assert_string_equal(spec.settings.namespaces, "+team-*\n-team-x\n");
    assert_int_equal(spec.settings.weight, 3);
    assert_int_equal(spec.settings.order, 2);
    assert_int_equal(spec.settings.max_active, 10);
    assert_string_equal(spec.settings.max_kinds, "jobs.batch=5,JobSet=1");
    struct worker_spec copy;
    assert_true(worker_spec_copy(&spec, &copy));
    assert_string_equal(copy.settings.labels, "region=eu");
    assert_string_equal(copy.settings.namespaces, "+team-*\n-team-x\n");
    assert_string_equal(copy.settings.max_kinds, "jobs.batch=5,JobSet=1");
    assert_string_equal(copy.settings.uid, "k1");
    assert_string_equal(copy.created, "2026-01-02T03:04:05Z");
    assert_true(worker_settings_equal(&copy.settings, &spec.settings));
    copy.settings.weight = 4;
    assert_false(worker_settings_equal(&copy.settings, &spec.settings));
    worker_spec_clear(&copy);
    worker_spec_clear(&spec);
    AUTO_JSON plain = secret("", "kubeconfig: " KUBECONFIG_64);
    assert_null(worker_source_read(SOURCE_SECRET, plain, NULL, &spec));
    assert_string_equal(spec.settings.name, "w-secret");
    assert_true(!spec.cordoned && spec.drain == DRAIN_NO && spec.settings.qps == 0 && !spec.context &&
                !spec.settings.namespaces);
    worker_spec_clear(&spec);
}

static void a_secret_that_is_wrong_is_refused_by_its_field(void **state) {
    (void)state;
    static const struct {
        const char *annotations, *data, *says;
    } cases[] = {
        {"", "", "key kubeconfig: found nothing, expected a kubeconfig"},
        {"", "kubeconfig: \"%%\"", "key kubeconfig: "},
        {"", "kubeconfig: AAA=", "key kubeconfig: found a NUL byte"},
        {"", "kubeconfig: " KUBECONFIG_64 ", context: \"!\"", "key context: "},
        {"wharf.dev/worker-name: W1", "kubeconfig: " KUBECONFIG_64, "annotation wharf.dev/worker-name: found \"W1\""},
        {"wharf.dev/worker-name: management", "kubeconfig: " KUBECONFIG_64, "this one is reserved"},
        {"wharf.dev/cordoned: \"yes\"", "kubeconfig: " KUBECONFIG_64, "wharf.dev/cordoned: found \"yes\""},
        {"wharf.dev/cluster-uid: \"\"", "kubeconfig: " KUBECONFIG_64, "annotation wharf.dev/cluster-uid: found \"\""},
        {"wharf.dev/cluster-uid: k123456789012345678901234567890123456789", "kubeconfig: " KUBECONFIG_64,
         "expected the uid of namespace kube-system"},
        {"wharf.dev/drain: now", "kubeconfig: " KUBECONFIG_64, "wharf.dev/drain: found \"now\""},
        {"wharf.dev/namespaces: \"team-*,Team\"", "kubeconfig: " KUBECONFIG_64, "wharf.dev/namespaces: found \"Team\""},
        {"wharf.dev/namespaces: \"-\"", "kubeconfig: " KUBECONFIG_64, "wharf.dev/namespaces: found \"-\""},
        {"wharf.dev/weight: \"0\"", "kubeconfig: " KUBECONFIG_64, "annotation wharf.dev/weight: found \"0\""},
        {"wharf.dev/order: first", "kubeconfig: " KUBECONFIG_64, "annotation wharf.dev/order: found \"first\""},
        {"wharf.dev/max-active: \",5\"", "kubeconfig: " KUBECONFIG_64, "wharf.dev/max-active: found \"\""},
        {"wharf.dev/max-active: \"a/b/c=5\"", "kubeconfig: " KUBECONFIG_64, "wharf.dev/max-active: found \"a/b/c\""},
        {"wharf.dev/namespace-map: \"a\"", "kubeconfig: " KUBECONFIG_64,
         "wharf.dev/namespace-map: found \"\", expected"},
        {"wharf.dev/namespace-map: \"a=b,,c=d\"", "kubeconfig: " KUBECONFIG_64, "found an empty rule"},
        {"wharf.dev/namespace-map: \"a=x,b=x\"", "kubeconfig: " KUBECONFIG_64, "would both be namespace x"},
        {"wharf.dev/qps: fast", "kubeconfig: " KUBECONFIG_64, "wharf.dev/qps: found \"fast\""},
        {"wharf.dev/qps: \"-1\"", "kubeconfig: " KUBECONFIG_64, "wharf.dev/qps: found \"-1\""},
        {"wharf.dev/qps: nan", "kubeconfig: " KUBECONFIG_64, "wharf.dev/qps: found \"nan\""},
        {"wharf.dev/burst: \"5\"", "kubeconfig: " KUBECONFIG_64, "wharf.dev/burst: found it without"},
        {"wharf.dev/qps: \"5\", wharf.dev/burst: \"0.5\"", "kubeconfig: " KUBECONFIG_64, "expected at least 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_JSON object = secret(cases[i].annotations, cases[i].data);
        struct worker_spec spec;
        struct error *error = worker_source_read(SOURCE_SECRET, object, NULL, &spec);
        if (!error || !strstr(error_text(error), cases[i].says))
            fail_msg("%zu: \"%s\" does not say \"%s\"", i, error_text(error), cases[i].says);
        assert_null(spec.settings.name);
        error_free(error);
    }
}

static void the_account_of_a_token_is_named_by_namespace_and_name(void **state) {
    (void)state;
    char space[64];
    const char *name;
    AUTO_JSON good = secret("wharf.dev/token-service-account: wharf-system/wharf", "");
    assert_null(worker_secret_account(good, space, &name));
    assert_string_equal(space, "wharf-system");
    assert_string_equal(name, "wharf");
    AUTO_JSON none = secret("", "");
    struct error *error = worker_secret_account(none, space, &name);
    assert_int_equal(error->code, ERROR_NOT_FOUND);
    error_free(error);
    static const char *const wrong[] = {"wharf", "a/b/c", "/b", "a/", "A/b"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        AUTO_TEXT annotation = text_format("wharf.dev/token-service-account: \"%s\"", wrong[i]);
        AUTO_JSON object = secret(annotation, "");
        error = worker_secret_account(object, space, &name);
        assert_int_equal(error->code, ERROR_INVALID);
        error_free(error);
    }
}

static struct config_access_provider provider(const char *name, const char *command) {
    static char names[4][16];
    static size_t used;
    char *kept = names[used++ % 4];
    text_copy(kept, 16, name);
    AUTO_TEXT exec = text_format("{apiVersion: client.authentication.k8s.io/v1, command: %s, args: [a]}", command);
    return (struct config_access_provider){.name = kept, .exec = parse(exec)};
}

#define PROFILE(status)                                                                                                \
    "{metadata: {name: fleet-1, namespace: fleet, uid: u, labels: {worker.wharf.dev/zone: z}}, status: {" status "}}"

static void a_cluster_profile_gives_its_cluster_and_the_command_of_the_configuration(void **state) {
    (void)state;
    struct config_access_provider providers[] = {provider("google", "gke"), provider("secretreader", "reader")};
    AUTO_JSON object = parse(
        PROFILE("accessProviders: [{name: other, cluster: {server: \"https://x\"}}, {name: secretreader, cluster: "
                "{server: \"https://a\", certificate-authority-data: Q0E=, extensions: [{name: e, extension: 1}]}}], "
                "credentialProviders: [{name: secretreader, cluster: {server: \"https://old\"}}]"));
    struct worker_spec spec;
    assert_null(worker_source_read(SOURCE_CLUSTER_PROFILE, object,
                                   &(struct config_workers_from){.providers = providers, .n_providers = 2}, &spec));
    assert_string_equal(spec.settings.name, "fleet-1");
    assert_int_equal(spec.source, SOURCE_CLUSTER_PROFILE);
    assert_string_equal(spec.origin_text, "ClusterProfile fleet/fleet-1");
    assert_string_equal(spec.settings.labels, "zone=z");
    AUTO_JSON config = parse(spec.kubeconfig_text);
    const struct json *cluster = json_get(json_at(json_get(config, "clusters"), 0), "cluster");
    assert_string_equal(json_string(json_get(cluster, "server")), "https://a");
    assert_string_equal(json_string(json_get(cluster, "certificate-authority-data")), "Q0E=");
    assert_int_equal(json_size(json_get(cluster, "extensions")), 1);
    const struct json *exec = json_path(json_at(json_get(config, "users"), 0), "user", "exec", NULL);
    assert_string_equal(json_string(json_get(exec, "command")), "reader");
    assert_string_equal(json_string(json_get(exec, "interactiveMode")), "Never");
    worker_spec_clear(&spec);
    AUTO_JSON deprecated = parse(PROFILE("credentialProviders: [{name: google, cluster: {server: \"https://b\"}}]"));
    assert_null(worker_source_read(SOURCE_CLUSTER_PROFILE, deprecated,
                                   &(struct config_workers_from){.providers = providers, .n_providers = 2}, &spec));
    assert_non_null(strstr(spec.kubeconfig_text, "https://b"));
    worker_spec_clear(&spec);
    static const struct {
        const char *text, *says;
        enum error_code code;
    } wrong[] = {
        {PROFILE("accessProviders: [{name: other, cluster: {server: \"https://x\"}}]"), "none of", ERROR_NOT_FOUND},
        {"{metadata: {name: a, namespace: b, uid: u}}", "none of", ERROR_NOT_FOUND},
        {PROFILE("accessProviders: [{name: google}]"), "google: cluster.server: found nothing", ERROR_INVALID},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        AUTO_JSON bad = parse(wrong[i].text);
        struct error *error =
            worker_source_read(SOURCE_CLUSTER_PROFILE, bad,
                               &(struct config_workers_from){.providers = providers, .n_providers = 2}, &spec);
        assert_int_equal(error->code, wrong[i].code);
        assert_non_null(strstr(error_text(error), wrong[i].says));
        error_free(error);
    }
    json_free(providers[0].exec);
    json_free(providers[1].exec);
}

static void an_entry_of_the_config_map_sets_what_it_has(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool sets_cordoned, cordoned, sets_drain;
        enum drain drain;
    } good[] = {
        {"{}", false, false, false, DRAIN_NO},
        {"{\"cordoned\":true}", true, true, false, DRAIN_NO},
        {"{\"cordoned\":false,\"drain\":null}", true, false, true, DRAIN_NO},
        {"{\"drain\":\"finish\"}", false, false, true, DRAIN_FINISH},
        {"{\"drain\":\"move\",\"cordoned\":true}", true, true, true, DRAIN_MOVE},
    };
    struct worker_override found;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_null(worker_override_read("w1", good[i].text, &found));
        assert_string_equal(found.name, "w1");
        assert_true(found.sets_cordoned == good[i].sets_cordoned && found.cordoned == good[i].cordoned);
        assert_true(found.sets_drain == good[i].sets_drain && found.drain == good[i].drain);
    }
    static const char *const wrong[] = {
        "", "true", "{\"cordoned\":\"true\"}", "{\"drain\":\"now\"}", "{\"drian\":null}", "{", "[]"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct error *error = worker_override_read("w1", wrong[i], &found);
        assert_non_null(error);
        assert_true(text_has_prefix(error_text(error), "key w1: "));
        error_free(error);
    }
}

// {"iat": 1000, "exp": 2000}, {"exp": 5000}, {"iat": 3000, "exp": 2000}
#define CLAIMS "eyJpYXQiOiAxMDAwLCAiZXhwIjogMjAwMH0"
#define EXP_ONLY "eyJleHAiOiA1MDAwfQ"
#define BACKWARDS "eyJpYXQiOiAzMDAwLCAiZXhwIjogMjAwMH0"

static void a_token_says_when_it_expires(void **state) {
    (void)state;
    struct token_life life;
    assert_true(token_life_read("h." CLAIMS ".s", &life));
    assert_true(life.issued_wall_ns == 1000 * CLOCK_SECOND && life.expires_wall_ns == 2000 * CLOCK_SECOND);
    assert_true(token_life_renew_at(&life) == 1800 * CLOCK_SECOND);
    assert_true(token_life_read("h." EXP_ONLY ".s", &life));
    assert_true(life.issued_wall_ns == 1400 * CLOCK_SECOND);
    static const char *const none[] = {"", "abc", "a.b", "h..s", "h.!!.s", ("h." BACKWARDS ".s"), "h.e30.s"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_false(token_life_read(none[i], &life));
    assert_false(token_life_read(NULL, &life));
}

static void only_the_token_of_the_contexts_user_is_replaced(void **state) {
    (void)state;
    static const char text[] =
        "apiVersion: v1\ncurrent-context: c2\ncontexts:\n- {name: c1, context: {user: u1, cluster: x}}\n"
        "- {name: c2, context: {user: u2, cluster: x}}\nusers:\n- {name: u1, user: {token: a}}\n"
        "- {name: u2, user: {token: b}}\n";
    char *out;
    assert_null(kubeconfig_with_token(text, NULL, "new", &out));
    AUTO_JSON second = parse(out);
    free(out);
    const struct json *users = json_get(second, "users");
    assert_string_equal(json_string(json_path(json_at(users, 0), "user", "token", NULL)), "a");
    assert_string_equal(json_string(json_path(json_at(users, 1), "user", "token", NULL)), "new");
    assert_null(kubeconfig_with_token(text, "c1", "new", &out));
    AUTO_JSON first = parse(out);
    free(out);
    users = json_get(first, "users");
    assert_string_equal(json_string(json_path(json_at(users, 0), "user", "token", NULL)), "new");
    assert_string_equal(json_string(json_path(json_at(users, 1), "user", "token", NULL)), "b");
    struct error *error = kubeconfig_with_token(text, "c3", "new", &out);
    assert_non_null(strstr(error_text(error), "no user in context c3"));
    error_free(error);
}

static void a_kubeconfig_says_what_placement_asks_for_in_an_extension(void **state) {
    (void)state;
    static const struct {
        const char *text, *says; // NULL: good
    } cases[] = {
        {"{}", NULL},
        {"extensions: [{name: other, extension: {weight: none}}]", NULL},
        {"extensions: [{name: wharf.dev, extension: {weight: 2, order: 3, maxActive: 7, labels: {gpu: h100, z: a}}}]",
         NULL},
        {"extensions: [{name: wharf.dev, extension: {weight: 2, order: \"3\", maxActive: \"7\", labels: {gpu: h100, "
         "z: a}}}]",
         NULL},
        {"extensions: [{name: wharf.dev, extension: {weight: 0}}]", "extension wharf.dev: weight: found \"0\""},
        {"extensions: [{name: wharf.dev, extension: {maxActive: \"Job=x\"}}]", "maxActive: found \"x\""},
        {"extensions: [{name: wharf.dev, extension: {labels: {gpu: 1}}}]", "labels: found \"gpu\""},
        {"extensions: [{name: wharf.dev, extension: {wait: 1}}]", "wait: found an unknown key"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct worker_spec spec = {.source = SOURCE_CONFIG};
        struct error *error = worker_placement_of_kubeconfig(cases[i].text, strlen(cases[i].text), &spec);
        if (!error != !cases[i].says || (error && !strstr(error_text(error), cases[i].says)))
            fail_msg("%s: %s", cases[i].text, error ? error_text(error) : "good");
        if (!error && i >= 2) {
            assert_string_equal(spec.settings.labels, "gpu=h100,z=a");
            assert_true(spec.settings.weight == 2 && spec.settings.order == 3 && spec.settings.max_active == 7);
        }
        error_free(error);
        worker_spec_clear(&spec);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_gives_a_worker_with_its_labels_policy_and_limits),
        cmocka_unit_test(a_kubeconfig_says_what_placement_asks_for_in_an_extension),
        cmocka_unit_test(a_secret_that_is_wrong_is_refused_by_its_field),
        cmocka_unit_test(the_account_of_a_token_is_named_by_namespace_and_name),
        cmocka_unit_test(a_cluster_profile_gives_its_cluster_and_the_command_of_the_configuration),
        cmocka_unit_test(an_entry_of_the_config_map_sets_what_it_has),
        cmocka_unit_test(a_token_says_when_it_expires),
        cmocka_unit_test(only_the_token_of_the_contexts_user_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
