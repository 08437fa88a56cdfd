// SPDX-License-Identifier: Apache-2.0
// The address and credentials of an API server: kubeconfig files (k8s.io/client-go clientcmd), merging of several as
// KUBECONFIG lists them, and the credentials of a pod. Loads everything into memory except token files, which rotate
// while in use.
#pragma once

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/text.h"

#include <stdatomic.h>

// The commands that kubeconfigs may run as credential plugins: a kubeconfig may come from elsewhere (a Secret), and its
// commands run with the host's rights.
// NULL instead of a policy allows nothing.
struct exec_policy {
    char **allow; // names, searched in PATH, and absolute paths
    size_t n_allow;
    // Variables that a kubeconfig from a text may set in the environment of plugins. Not given: the defaults in
    // exec_policy.c.
    char **env;
    size_t n_env;
    bool env_is_given;
    bool any;       // every command: a user's own kubeconfig, in a command that this user runs
    bool own_entry; // the exec entry is the host's own, of a kubeconfig from a text: its `env` is trusted
    char *setting;  // the setting that allows commands, for messages: "credentialPlugins.allow in /etc/wharf.yaml"
};

// A copy in *out. False when out of memory.
bool exec_policy_copy(const struct exec_policy *policy, struct exec_policy **out); // NULL: NULL
bool exec_policy_equal(const struct exec_policy *a, const struct exec_policy *b);  // equal permissions
void exec_policy_clear(struct exec_policy *policy);
void exec_policy_free(struct exec_policy *policy); // of a copy; NULL is fine

bool exec_policy_allows_variable(const struct exec_policy *policy, const char *name, const char *value);

// Finds the file of `command`: a name is searched in PATH (absolute folders only, as Go's exec.LookPath), a path with
// "/" is below `directory` (NULL: only absolute paths). ERROR_REFUSED if not allowed, or if others than root and the
// current user could replace the file; ERROR_NOT_FOUND if there is no such command. *path: free().
struct error *exec_policy_resolve(const struct exec_policy *policy, const char *command, const char *directory,
                                  char **path);

struct endpoint {
    char *server;          // URL without a trailing slash
    char *socket;          // of a host on this machine: its verified Unix socket; NULL: connect to `server`
    char *ca_pem;          // NULL: the system's CAs; else trust only this one
    bool insecure;         // insecure-skip-tls-verify
    char *tls_server_name; // NULL: the host of `server`
    char *proxy_url;       // http, https, socks5 (resolved at the proxy); NULL: none
    bool disable_compression;
    char *client_cert_pem, *client_key_pem; // both or none
    char *token;
    char *token_file;     // absolute; takes precedence over `token` once readable; reloaded every 50 s and after a 401
    char *namespace_;     // of the context; may be NULL
    char *description;    // for messages: "w1.kubeconfig, context kind-w1"
    char **impersonation; // headers, "Impersonate-User: jane"; ends with NULL; NULL: none
    struct exec_plugin *exec; // brings the token or the client certificate, see credentials.h; NULL: none
    // The origin, to read the endpoint again. NULL: neither a kubeconfig file nor a list of files as in KUBECONFIG.
    char *paths;
    bool is_list;
    char *context; // NULL: current-context
    struct exec_policy *policy;
    uint64_t stamp;                                     // of the files, just before the read
    char *ca_file, *client_cert_file, *client_key_file; // source of the PEMs, for reloading; NULL: inline data
    atomic_uint more;                                   // references besides the first
};

// Drops a reference; the last one frees the endpoint. NULL is fine.
void endpoint_free(struct endpoint *endpoint);
void endpoint_cleanup(struct endpoint **endpoint);
#define AUTO_ENDPOINT __attribute__((cleanup(endpoint_cleanup))) struct endpoint *

// True: the endpoint's kubeconfig files were changed or replaced since the last read. False without `paths`.
bool endpoint_is_outdated(const struct endpoint *endpoint);
// Reads the files again. The endpoint must have `paths`.
struct error *endpoint_reload(const struct endpoint *endpoint, struct endpoint **out);

// A number that changes whenever the file at the path is changed, replaced, created or removed.
uint64_t endpoint_file_stamp(const char *path);

// True: both lead to the same server in the same way: URL, proxy, tls-server-name, and verification. All other
// differences are credentials, which need no new connection.
bool endpoint_same_address(const struct endpoint *a, const struct endpoint *b);

// Another reference, for a second user on any thread; the endpoint must not change from then on.
struct endpoint *endpoint_hold(struct endpoint *endpoint);

// One file. `context` NULL or "": current-context. Errors name the file, the field, the found and the
// expected value; auth-provider and basic authentication give ERROR_UNSUPPORTED. `policy` NULL: no command may be run.
struct error *kubeconfig_load(const char *path, const char *context, const struct exec_policy *policy,
                              struct endpoint **out);

// A colon-separated list as in KUBECONFIG, merged: the first file to define an entry wins whole.
struct error *kubeconfig_load_list(const char *paths, const char *context, const struct exec_policy *policy,
                                   struct endpoint **out);

// A kubeconfig's content, from a Secret for example. The content is not trusted: no files of this machine, and only
// commands that `policy` allows. `name` replaces the path in messages ("Secret wharf-system/w1").
struct error *kubeconfig_parse(const char *text, size_t len, const char *name, const char *context,
                               const struct exec_policy *policy, struct endpoint **out);

// From KUBERNETES_SERVICE_HOST and _PORT (ERROR_NOT_FOUND if unset) and the files of the service account below `root`
// ("" for the real ones).
struct error *kubeconfig_in_cluster(const char *root, struct endpoint **out);

// Checks certificates: each parses, the key matches the certificate, and all are valid at `wall_ns` (of several CAs, at
// least one). NULL: no problem.
struct error *endpoint_check(const struct endpoint *endpoint, int64_t wall_ns);

// Checks the characters of a bearer token.
struct error *endpoint_check_token(const char *token);

// The bearer token, also from a credential plugin, for which this waits; free(). NULL: the endpoint has none.
struct error *endpoint_fetch_token(const struct endpoint *endpoint, char **token);

// The current bearer token of the kubeconfig (token file first), or NULL if the endpoint has none; free().
struct error *endpoint_token(const struct endpoint *endpoint, char **token);

// The parts of an API server's URL.
struct server_url {
    bool tls;   // https
    char *host; // IPv6 addresses without brackets
    char *port; // the scheme's default if the URL has none
    bool has_port;
    char *path; // prefix of every path: "" or "/cluster-a"
};

// Only http and https, without user, query and fragment. `out` is empty on failure.
struct error *server_url_parse(const char *text, struct server_url *out);
void server_url_free(struct server_url *url);
struct error *server_url_check(const char *text); // checks only the syntax

// `text` without white space at both ends, in place.
char *trim_spaces(char *text);

// "https://host:port/prefix"; `host` NULL: the URL's own. NULL when out of memory.
char *server_url_base(const struct server_url *url, const char *host);

// "host" or "host:port" for the Host header and CONNECT_TO; IPv6 in brackets. NULL when out of memory.
char *server_url_authority(const struct server_url *url, bool with_port);

// Validates PEM certificates and private keys with libcrypto before libcurl gets them, for precise error messages. The
// caller puts the name of the field before the message ("found no PEM certificate, ...").
#define CERTS_MAX ((size_t)4 * 1024 * 1024) // bytes of a PEM text

// PEM text without NUL bytes; takes the content. The same from a file.
struct error *certs_take(struct buffer *content, char **out);
struct error *certs_read_file(const char *path, char **out);

// At least one certificate, all of them valid PEM.
struct error *certs_check_certificates(const char *pem);

// An unencrypted private key.
struct error *certs_check_key(const char *pem);

// The key belongs to the first certificate.
struct error *certs_check_pair(const char *cert_pem, const char *key_pem);

enum certs_rule {
    CERTS_ALL_VALID, // a client certificate and its chain
    CERTS_ANY_VALID  // a CA bundle, which may contain expired CAs
};

// Neither expired nor not yet valid at `wall_ns`.
struct error *certs_check_time(const char *pem, enum certs_rule rule, int64_t wall_ns);

// When the first of the certificates expires, in nanoseconds since 1970; 0: that cannot be read.
int64_t certs_expiry(const char *pem);

// Chooses the proxy for a server: the kubeconfig's proxy-url or, without one, the environment as Go's net/http reads it
// (golang.org/x/net/http/httpproxy), unlike libcurl: upper-case HTTP_PROXY is used, ALL_PROXY is not, and localhost and
// loopback addresses are never proxied.

// *out is a URL for CURLOPT_PROXY, "" for none; free(). `environment` is getenv or a test's replacement.
struct error *proxy_choose(const struct server_url *server, const char *proxy_url,
                           char *(*environment)(const char *name), char **out);

// NULL if proxy_choose accepts `proxy_url`: http, https, socks5, socks5h.
struct error *proxy_check(const char *proxy_url);
