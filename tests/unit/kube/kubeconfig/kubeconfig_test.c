// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/kube/kubeconfig/kubeconfig.h"
#include "tests/unit/kube/pki.h"

#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

// A folder with kubeconfig files and what they name, and the certificates to put in.
struct world {
    char folder[32];
    char before[4096]; // the folder to go back to
    struct pki_pair ca, client, other;
    char *ca64, *cert64, *key64;
};

static char *encode(const char *text) {
    size_t len = strlen(text);
    char *out = malloc(4 * ((len + 2) / 3) + 1);
    EVP_EncodeBlock((unsigned char *)out, (const unsigned char *)text, (int)len);
    return out;
}

static void write_file(const char *name, const char *content) {
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    fclose(file);
}

static int setup(void **state) {
    struct world *world = calloc(1, sizeof *world);
    text_copy(world->folder, sizeof world->folder, "/tmp/wharf-test-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    assert_non_null(getcwd(world->before, sizeof world->before));
    assert_int_equal(chdir(world->folder), 0);
    world->ca = pki_make(&(struct pki_request){.name = "ca", .ca = true});
    world->client = pki_make(&(struct pki_request){.name = "me", .issuer = &world->ca});
    world->other = pki_make(&(struct pki_request){.name = "other", .issuer = &world->ca});
    world->ca64 = encode(world->ca.cert);
    world->cert64 = encode(world->client.cert);
    world->key64 = encode(world->client.key);
    assert_int_equal(mkdir("pki", 0700), 0);
    write_file("pki/ca.crt", world->ca.cert);
    write_file("pki/me.crt", world->client.cert);
    write_file("pki/me.key", world->client.key);
    write_file("pki/token", "from-file\n");
    write_file("pki/empty", "");
    *state = world;
    return 0;
}

static int teardown(void **state) {
    struct world *world = *state;
    static const char *const files[] = {"pki/ca.crt", "pki/me.crt", "pki/me.key", "pki/token",
                                        "pki/empty",  "config",     "second",     "third"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        unlink(files[i]);
    rmdir("pki");
    assert_int_equal(chdir(world->before), 0);
    assert_int_equal(rmdir(world->folder), 0);
    pki_free(&world->ca);
    pki_free(&world->client);
    pki_free(&world->other);
    free(world->ca64);
    free(world->cert64);
    free(world->key64);
    free(world);
    return 0;
}

// A kubeconfig with one of each; `cluster` and `user` are flow mappings, lines 5 and 7.
static void write_config(const char *name, const char *cluster, const char *user) {
    AUTO_TEXT text = text_format("apiVersion: v1\n"
                                 "kind: Config\n"
                                 "current-context: c\n"
                                 "clusters:\n"
                                 "- {name: k, cluster: %s}\n"
                                 "users:\n"
                                 "- {name: u, user: %s}\n"
                                 "contexts:\n"
                                 "- {name: c, context: {cluster: k, user: u, namespace: ns}}\n",
                                 cluster, user);
    write_file(name, text);
}

static struct endpoint *load(const char *context) {
    struct endpoint *endpoint = NULL;
    struct error *error = kubeconfig_load("config", context, NULL, &endpoint);
    assert_string_equal(error_text(error), "no error");
    return endpoint;
}

static void every_field_is_read(void **state) {
    struct world *world = *state;
    AUTO_TEXT cluster = text_format("{server: 'https://h:6443/x/', certificate-authority-data: %s, tls-server-name: t, "
                                    "proxy-url: 'socks5://p:1', disable-compression: true, extensions: []}",
                                    world->ca64);
    AUTO_TEXT user =
        text_format("{client-certificate-data: %s, client-key-data: %s, token: tok, as: '', as-groups: [], "
                    "as-user-extra: {}, exec: null}",
                    world->cert64, world->key64);
    write_config("config", cluster, user);
    struct endpoint *endpoint = load(NULL);
    assert_string_equal(endpoint->server, "https://h:6443/x");
    assert_string_equal(endpoint->ca_pem, world->ca.cert);
    assert_string_equal(endpoint->tls_server_name, "t");
    assert_string_equal(endpoint->proxy_url, "socks5://p:1");
    assert_true(endpoint->disable_compression);
    assert_false(endpoint->insecure);
    assert_string_equal(endpoint->client_cert_pem, world->client.cert);
    assert_string_equal(endpoint->client_key_pem, world->client.key);
    assert_string_equal(endpoint->token, "tok");
    assert_string_equal(endpoint->namespace_, "ns");
    assert_string_equal(endpoint->description, "config, context c");
    assert_null(endpoint->ca_file);
    assert_null(endpoint->client_cert_file);
    assert_null(endpoint->client_key_file);
    assert_null(endpoint->token_file);
    endpoint_free(endpoint);
}

static void files_are_found_beside_the_kubeconfig_that_names_them(void **state) {
    struct world *world = *state;
    write_config("config", "{server: 'https://h', certificate-authority: pki/ca.crt}",
                 "{client-certificate: pki/me.crt, client-key: ./pki/me.key, tokenFile: pki/token}");
    AUTO_TEXT path = text_format("%s/config", world->folder);
    assert_int_equal(chdir("/"), 0);
    struct endpoint *endpoint = NULL;
    assert_string_equal(error_text(kubeconfig_load(path, NULL, NULL, &endpoint)), "no error");
    assert_int_equal(chdir(world->folder), 0);
    assert_string_equal(endpoint->ca_pem, world->ca.cert);
    assert_string_equal(endpoint->client_cert_pem, world->client.cert);
    assert_string_equal(endpoint->client_key_pem, world->client.key);
    AUTO_TEXT ca_file = text_format("%s/pki/ca.crt", world->folder);
    assert_string_equal(endpoint->ca_file, ca_file);
    assert_true(endpoint->token_file[0] == '/');
    assert_non_null(endpoint->client_cert_file);
    assert_non_null(endpoint->client_key_file);
    char *token;
    assert_null(endpoint_token(endpoint, &token));
    assert_string_equal(token, "from-file");
    free(token);
    endpoint_free(endpoint);
}

static void data_beats_the_file_beside_it(void **state) {
    struct world *world = *state;
    AUTO_TEXT cluster = text_format("{server: 'https://h', certificate-authority: /nonexistent, "
                                    "certificate-authority-data: %s}",
                                    world->ca64);
    write_config("config", cluster, "{}");
    struct endpoint *endpoint = load("c");
    assert_string_equal(endpoint->ca_pem, world->ca.cert);
    assert_null(endpoint->ca_file);
    endpoint_free(endpoint);
}

static void a_server_may_lack_its_scheme(void **state) {
    (void)state;
    static const struct {
        const char *cluster, *server;
    } cases[] = {
        {"{server: 'h:8080'}", "http://h:8080"},
        {"{server: 'h:8080', certificate-authority: pki/ca.crt}", "https://h:8080"},
        {"{server: 'h', insecure-skip-tls-verify: true}", "https://h"},
        {"{server: 'https://[::1]:6443/'}", "https://[::1]:6443"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_config("config", cases[i].cluster, "{}");
        struct endpoint *endpoint = load(NULL);
        assert_string_equal(endpoint->server, cases[i].server);
        endpoint_free(endpoint);
    }
}

static void without_tls_no_credentials_are_read(void **state) {
    (void)state;
    write_config("config", "{server: 'http://h'}", "{token: t, exec: {command: x}, client-certificate: /nonexistent}");
    struct endpoint *endpoint = load(NULL);
    assert_null(endpoint->token);
    assert_null(endpoint->client_cert_pem);
    endpoint_free(endpoint);
}

static void a_program_is_not_needed_where_there_are_credentials(void **state) {
    (void)state;
    write_config("config", "{server: 'https://h'}", "{token: t, exec: {command: x}}");
    struct endpoint *endpoint = load(NULL);
    assert_string_equal(endpoint->token, "t");
    endpoint_free(endpoint);
}

static void expect_error(size_t number, struct error *error, enum error_code code, const char *message) {
    if (!error || strcmp(error_text(error), message) != 0 || error->code != code)
        fail_msg("case %zu: found error %d\n  %s\nexpected %d\n  %s", number, error ? (int)error->code : -1,
                 error_text(error), (int)code, message);
    error_free(error);
}

#define BASIC                                                                                                          \
    "basic authentication (username and password) is not supported, expected a token, a tokenFile or a client "        \
    "certificate"
#define URL "expected a URL like https://host:6443"

static const struct {
    const char *cluster, *user, *message;
    enum error_code code;
} wrong_entries[] = {
    {"{}", "{}", "config:5: clusters[0].cluster.server: found nothing, " URL, ERROR_INVALID},
    {"{server: 7}", "{}", "config:5: clusters[0].cluster.server: found a number, expected a string", ERROR_INVALID},
    {"{server: 'https://'}", "{}", "config:5: clusters[0].cluster.server: \"https://\" is not a URL, " URL,
     ERROR_INVALID},
    {"{server: 'ftp://h'}", "{}", "config:5: clusters[0].cluster.server: \"ftp://h\" is neither http nor https, " URL,
     ERROR_INVALID},
    {"{server: 'https://me:pass@h'}", "{}",
     "config:5: clusters[0].cluster.server: the URL contains a user, expected credentials in the users section",
     ERROR_INVALID},
    {"{server: 'ftp://me:pass@h'}", "{}",
     "config:5: clusters[0].cluster.server: the URL contains a user, expected credentials in the users section",
     ERROR_INVALID},
    {"{server: 'https://me:pass@h:port'}", "{}",
     "config:5: clusters[0].cluster.server: found no URL, expected one like https://host:6443", ERROR_INVALID},
    {"7", "{}", "config:5: clusters[0].cluster: found a number, expected a mapping", ERROR_INVALID},
    {"{server: 'https://h', insecure-skip-tls-verify: 'yes'}", "{}",
     "config:5: clusters[0].cluster.insecure-skip-tls-verify: found a string, expected true or false", ERROR_INVALID},
    {"{server: 'https://h', certificate-authority-data: 'a*b'}", "{}",
     "config:5: clusters[0].cluster.certificate-authority-data: expected PEM text in base64: not base64: "
     "unexpected character at offset 1",
     ERROR_INVALID},
    {"{server: 'https://h', certificate-authority-data: aGVsbG8=}", "{}",
     "config:5: clusters[0].cluster.certificate-authority-data: found no PEM certificate, expected -----BEGIN "
     "CERTIFICATE-----",
     ERROR_INVALID},
    {"{server: 'https://h', certificate-authority: /nonexistent/ca}", "{}",
     "config:5: clusters[0].cluster.certificate-authority: cannot read /nonexistent/ca: No such file or directory",
     ERROR_NOT_FOUND},
    {"{server: 'https://h', certificate-authority: pki/ca.crt, insecure-skip-tls-verify: true}", "{}",
     "config:5: clusters[0].cluster.insecure-skip-tls-verify: found true together with a certificate authority, "
     "expected only one of them",
     ERROR_INVALID},
    {"{server: 'https://h', proxy-url: 'ftp://p'}", "{}",
     "config:5: clusters[0].cluster.proxy-url: found an unsupported URL, expected one that begins with http://, "
     "https:// or socks5://",
     ERROR_INVALID},
    {"{server: 'https://h'}", "[]", "config:7: users[0].user: found a list, expected a mapping", ERROR_INVALID},
    {"{server: 'https://h'}", "{token: 12345}", "config:7: users[0].user.token: found a number, expected a string",
     ERROR_INVALID},
    {"{server: 'https://h'}", "{token: t, username: me}", "config:7: users[0].user.username: " BASIC,
     ERROR_UNSUPPORTED},
    {"{server: 'https://h'}", "{tokenFile: pki/token, username: me}", "config:7: users[0].user.username: " BASIC,
     ERROR_UNSUPPORTED},
    {"{server: 'https://h'}", "{username: me, password: pass}", "config:7: users[0].user.username: " BASIC,
     ERROR_UNSUPPORTED},
    {"{server: 'https://h'}", "{password: pass}", "config:7: users[0].user.password: " BASIC, ERROR_UNSUPPORTED},
    {"{server: 'https://h', certificate-authority: ~/ca.crt}", "{}",
     "config:5: clusters[0].cluster.certificate-authority: found ~/ca.crt, expected an absolute path: ~ is not "
     "expanded",
     ERROR_INVALID},
    {"{server: 'https://h'}", "{tokenFile: ~/token}",
     "config:7: users[0].user.tokenFile: found ~/token, expected an absolute path: ~ is not expanded", ERROR_INVALID},
    {"{server: 'https://h'}", "{tokenFile: /nonexistent/token}",
     "config:7: users[0].user.tokenFile: token file: cannot read /nonexistent/token: No such file or directory",
     ERROR_NOT_FOUND},
    {"{server: 'https://h'}", "{token: 'a b'}",
     "config:7: users[0].user.token: token: found an invalid byte at offset 1, expected a bearer token", ERROR_INVALID},
    {"{server: 'https://h'}", "{client-certificate: pki/me.crt}",
     "config:7: users[0].user.client-key: found nothing, expected it along with the client certificate", ERROR_INVALID},
    {"{server: 'https://h'}", "{client-key: pki/me.key}",
     "config:7: users[0].user.client-certificate: found nothing, expected it along with the client key", ERROR_INVALID},
    {"{server: 'https://h'}", "{client-certificate: pki/me.crt, client-key-data: aGVsbG8=}",
     "config:7: users[0].user.client-key-data: found no valid PEM private key, expected -----BEGIN "
     "PRIVATE KEY----- or its RSA or EC form",
     ERROR_INVALID},
    {"{server: 'https://h'}", "{token: t, auth-provider: {name: oidc}}",
     "config:7: users[0].user.auth-provider: auth-provider is not supported, expected exec with a credential plugin "
     "(for oidc: kubectl oidc-login), a token, a tokenFile or a client certificate",
     ERROR_UNSUPPORTED},
    {"{server: 'https://h'}", "{exec: []}", "config:7: users[0].user.exec: found a list, expected a mapping",
     ERROR_INVALID},
    {"{server: 'https://h'}", "{exec: {apiVersion: a}}",
     "config:7: users[0].user.exec.command: found nothing, expected the credential plugin to run", ERROR_INVALID},
    {"{server: 'https://h'}", "{exec: {command: x}}",
     "config:7: users[0].user.exec.apiVersion: found nothing, expected client.authentication.k8s.io/v1 or "
     "client.authentication.k8s.io/v1beta1",
     ERROR_INVALID},
    {"{server: 'https://h'}", "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}}",
     "config:7: users[0].user.exec.apiVersion: found \"client.authentication.k8s.io/v1alpha1\", expected "
     "client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1",
     ERROR_UNSUPPORTED},
    {"{server: 'https://h'}", "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1}}",
     "config:7: users[0].user.exec.interactiveMode: found nothing, expected Never or IfAvailable", ERROR_INVALID},
    {"{server: 'https://h'}",
     "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Always}}",
     "config:7: users[0].user.exec.interactiveMode: found Always, expected Never or IfAvailable: there is no terminal",
     ERROR_UNSUPPORTED},
    {"{server: 'https://h'}",
     "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1beta1, interactiveMode: Maybe}}",
     "config:7: users[0].user.exec.interactiveMode: found \"Maybe\", expected Never or IfAvailable", ERROR_INVALID},
    {"{server: 'https://h'}", "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1beta1, args: [1]}}",
     "config:7: users[0].user.exec.args: found a number, expected a list of strings without NUL characters",
     ERROR_INVALID},
    {"{server: 'https://h'}", "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1beta1, env: [{a: b}]}}",
     "config:7: users[0].user.exec.env: found an item that is not a variable, expected name and value, which are "
     "strings",
     ERROR_INVALID},
    {"{server: 'https://h'}", "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1beta1}}",
     "config:7: users[0].user.exec.command: the command \"x\" may not be run: add it to the allowed credential "
     "plugins to allow it",
     ERROR_REFUSED},
    {"{server: 'https://h'}", "{token: t, as: \"a\\nb\"}",
     "config:7: users[0].user.as: found a control character, expected the value of a header", ERROR_INVALID},
    {"{server: 'https://h'}", "{token: t, as-groups: [g]}",
     "config:7: users[0].user.as: found nothing, expected a user along with as-uid, as-groups or as-user-extra",
     ERROR_INVALID},
    {"{server: 'https://h'}", "{token: t, as: u, as-groups: g}",
     "config:7: users[0].user.as-groups: found a string, expected a list of strings", ERROR_INVALID},
    {"{server: 'https://h'}", "{token: t, as: u, as-user-extra: {k: v}}",
     "config:7: users[0].user.as-user-extra.k: found a string, expected a list of strings", ERROR_INVALID},
};

static void what_is_wrong_in_an_entry_is_said_with_its_place(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof wrong_entries / sizeof wrong_entries[0]; i++) {
        write_config("config", wrong_entries[i].cluster, wrong_entries[i].user);
        struct endpoint *endpoint = NULL;
        expect_error(i, kubeconfig_load("config", NULL, NULL, &endpoint), wrong_entries[i].code,
                     wrong_entries[i].message);
        assert_null(endpoint);
    }
}

static void a_user_may_be_impersonated(void **state) {
    (void)state;
    static const char *const expected[] = {"Impersonate-User: jane",
                                           "Impersonate-Uid: 7f",
                                           "Impersonate-Group: dev",
                                           "Impersonate-Group: ops",
                                           "Impersonate-Extra-scopes: view",
                                           "Impersonate-Extra-scopes:",
                                           "Impersonate-Extra-acme.com%2F50%25%20off: yes"};
    write_config("config", "{server: 'https://h'}",
                 "{token: t, as: jane, as-uid: 7f, as-groups: [dev, ops], as-user-extra: {scopes: [view, ''], "
                 "'acme.com/50% off': ['yes']}}");
    struct endpoint *endpoint = load(NULL);
    size_t count = sizeof expected / sizeof expected[0];
    for (size_t i = 0; i < count; i++)
        assert_string_equal(endpoint->impersonation[i], expected[i]);
    assert_null(endpoint->impersonation[count]);
    endpoint_free(endpoint);
}

static void what_is_wrong_with_a_file_is_said(void **state) {
    (void)state;
    static const struct {
        const char *text, *context, *message;
        enum error_code code;
    } cases[] = {
        {"", NULL, "config: found no current-context, expected one of contexts: (none)", ERROR_NOT_FOUND},
        {"[]", NULL, "config: found a list, expected a kubeconfig, which is a mapping", ERROR_INVALID},
        {"kind: Pod\n", NULL, "config:1: kind: found \"Pod\", expected \"Config\"", ERROR_INVALID},
        {"apiVersion: 1\n", NULL, "config:1: apiVersion: found a number, expected a string", ERROR_INVALID},
        {"current-context: []\n", NULL, "config:1: current-context: found a list, expected a string", ERROR_INVALID},
        {"contexts: {}\n", "c", "config:1: contexts: found a mapping, expected a list", ERROR_INVALID},
        {"contexts:\n- context: {}\n", "c", "config:2: contexts[0]: found nothing, expected a name", ERROR_INVALID},
        {"contexts:\n- name: 7\n", "c", "config:2: contexts[0]: name: found a number, expected a string",
         ERROR_INVALID},
        {"contexts:\n- name: c\n- name: c\n", "c",
         "config:3: contexts[1]: \"c\" is a duplicate name: line 2 has it already", ERROR_INVALID},
        {"contexts:\n- name: a\n- name: b\n", "c",
         "config: found no context \"c\", expected one of contexts: \"a\", \"b\"", ERROR_NOT_FOUND},
        {"contexts:\n- name: a\n", NULL, "config: found no current-context, expected one of contexts: \"a\"",
         ERROR_NOT_FOUND},
        {"contexts:\n- name: c\n", "c",
         "config:2: contexts[0].context.cluster: found nothing, expected the name of a cluster", ERROR_INVALID},
        {"contexts:\n- name: c\n  context: {cluster: k}\nclusters:\n- name: j\n", "c",
         "config:3: contexts[0].context.cluster: found no cluster \"k\", expected one of clusters: \"j\"",
         ERROR_NOT_FOUND},
        {"contexts:\n- name: c\n  context: {cluster: k, user: u}\nclusters:\n- name: k\n", "c",
         "config:3: contexts[0].context.user: found no user \"u\", expected one of users: (none)", ERROR_NOT_FOUND},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file("config", cases[i].text);
        struct endpoint *endpoint = NULL;
        expect_error(i, kubeconfig_load("config", cases[i].context, NULL, &endpoint), cases[i].code, cases[i].message);
    }
    struct endpoint *endpoint = NULL;
    expect_error(100, kubeconfig_load("/nonexistent/config", NULL, NULL, &endpoint), ERROR_NOT_FOUND,
                 "cannot read /nonexistent/config: No such file or directory");
}

static void of_several_files_the_first_to_define_an_entry_wins_whole(void **state) {
    (void)state;
    write_file("config", "current-context: ''\n"
                         "clusters:\n- {name: k, cluster: {server: 'https://one'}}\n");
    write_file("second", "current-context: c\n"
                         "clusters:\n- {name: k, cluster: {server: 'https://two', insecure-skip-tls-verify: true}}\n"
                         "users:\n- {name: u, user: {token: two}}\n");
    write_file("third", "current-context: d\n"
                        "users:\n- {name: u, user: {token: three}}\n"
                        "contexts:\n- {name: c, context: {cluster: k, user: u}}\n");
    struct endpoint *endpoint = NULL;
    struct error *error = kubeconfig_load_list("missing::config:config:second:third", NULL, NULL, &endpoint);
    assert_string_equal(error_text(error), "no error");
    assert_string_equal(endpoint->server, "https://one");
    assert_false(endpoint->insecure);
    assert_string_equal(endpoint->token, "two");
    assert_string_equal(endpoint->description, "third, context c");
    assert_null(endpoint->namespace_);
    endpoint_free(endpoint);
}

static void a_list_without_a_file_that_can_be_read_is_an_error(void **state) {
    (void)state;
    struct endpoint *endpoint = NULL;
    expect_error(0, kubeconfig_load_list("missing:gone", NULL, NULL, &endpoint), ERROR_NOT_FOUND,
                 "found no kubeconfig in the list \"missing:gone\", expected at least one that exists");
    write_config("config", "{server: 'https://h'}", "{}");
    write_file("second", "[");
    struct error *error = kubeconfig_load_list("config:second", NULL, NULL, &endpoint);
    assert_non_null(error);
    assert_true(text_has_prefix(error_text(error), "second:"));
    error_free(error);
}

static void make_pod(struct world *world, const char *token) {
    static const char *const folders[] = {"var", "var/run", "var/run/secrets", "var/run/secrets/kubernetes.io",
                                          "var/run/secrets/kubernetes.io/serviceaccount"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        mkdir(folders[i], 0700);
    if (token)
        write_file("var/run/secrets/kubernetes.io/serviceaccount/token", token);
    write_file("var/run/secrets/kubernetes.io/serviceaccount/ca.crt", world->ca.cert);
    write_file("var/run/secrets/kubernetes.io/serviceaccount/namespace", "wharf-system\n");
}

static void remove_pod(void) {
    unlink("var/run/secrets/kubernetes.io/serviceaccount/token");
    unlink("var/run/secrets/kubernetes.io/serviceaccount/ca.crt");
    unlink("var/run/secrets/kubernetes.io/serviceaccount/namespace");
    rmdir("var/run/secrets/kubernetes.io/serviceaccount");
    rmdir("var/run/secrets/kubernetes.io");
    rmdir("var/run/secrets");
    rmdir("var/run");
    rmdir("var");
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
}

static void a_pod_finds_its_credentials(void **state) {
    struct world *world = *state;
    struct endpoint *endpoint = NULL;
    unsetenv("KUBERNETES_SERVICE_HOST");
    struct error *error = kubeconfig_in_cluster(world->folder, &endpoint);
    assert_non_null(error);
    assert_int_equal(error->code, ERROR_NOT_FOUND);
    error_free(error);

    make_pod(world, "pod-token\n");
    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    assert_string_equal(error_text(kubeconfig_in_cluster(world->folder, &endpoint)), "no error");
    assert_string_equal(endpoint->server, "https://[fd00::1]:443");
    assert_string_equal(endpoint->ca_pem, world->ca.cert);
    assert_string_equal(endpoint->namespace_, "wharf-system");
    assert_non_null(endpoint->ca_file);
    char *token = NULL;
    assert_null(endpoint_token(endpoint, &token));
    assert_string_equal(token, "pod-token");
    free(token);
    endpoint_free(endpoint);
    remove_pod();
}

static void a_pod_without_a_token_is_refused(void **state) {
    struct world *world = *state;
    make_pod(world, NULL);
    setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    struct endpoint *endpoint = NULL;
    struct error *error = kubeconfig_in_cluster(world->folder, &endpoint);
    assert_non_null(error);
    assert_true(text_has_prefix(error_text(error), "in-cluster: token file: cannot read "));
    error_free(error);
    remove_pod();
}

#define with_world(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        with_world(every_field_is_read),
        with_world(files_are_found_beside_the_kubeconfig_that_names_them),
        with_world(data_beats_the_file_beside_it),
        with_world(a_server_may_lack_its_scheme),
        with_world(without_tls_no_credentials_are_read),
        with_world(a_program_is_not_needed_where_there_are_credentials),
        with_world(what_is_wrong_in_an_entry_is_said_with_its_place),
        with_world(a_user_may_be_impersonated),
        with_world(what_is_wrong_with_a_file_is_said),
        with_world(of_several_files_the_first_to_define_an_entry_wins_whole),
        with_world(a_list_without_a_file_that_can_be_read_is_an_error),
        with_world(a_pod_finds_its_credentials),
        with_world(a_pod_without_a_token_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
