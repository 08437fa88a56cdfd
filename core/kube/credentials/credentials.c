// SPDX-License-Identifier: Apache-2.0
#include "core/kube/credentials/credentials.h"

#include "core/base/log.h"

// As client-go: a token is cached for a minute, less ten seconds of leeway (transport/token_source.go).
#define TOKEN_AGE (50 * CLOCK_SECOND)
#define TOKEN_RETRY (10 * CLOCK_SECOND)
#define FILES_AGE CLOCK_MINUTE

void pem_set_release(struct pem_set *pem_set) {
    if (!pem_set || --pem_set->users > 0)
        return;
    free(pem_set->ca);
    free(pem_set->cert);
    sensitive_free(pem_set->key);
    free(pem_set);
}

static void pem_set_cleanup(struct pem_set **pem_set) {
    pem_set_release(*pem_set);
}

#define AUTO_PEM_SET __attribute__((cleanup(pem_set_cleanup))) struct pem_set *

static struct pem_set *pem_set_new(const char *ca, const char *cert, const char *key) {
    struct pem_set *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->users = 1;
    made->expires_ns = cert ? certs_expiry(cert) : 0;
    if (text_set(&made->ca, ca) && text_set(&made->cert, cert) && text_set(&made->key, key))
        return made;
    pem_set_release(made);
    return NULL;
}

static void warn(const struct credentials *credentials, const char *message, const char *why) {
    log_fields(LOG_WARN, message, {"endpoint", credentials->endpoint->description}, {"error", why});
}

static const char *file_of(const struct endpoint *endpoint, size_t which) {
    const char *const files[CREDENTIAL_FILES] = {endpoint->ca_file, endpoint->client_cert_file,
                                                 endpoint->client_key_file};
    return files[which];
}

static bool names_files(const struct credentials *credentials) {
    const struct endpoint *endpoint = credentials->endpoint;
    return credentials->secure && (endpoint->ca_file || endpoint->client_cert_file || endpoint->client_key_file);
}

// When the kubeconfig and the files are due again, after a check now.
static int64_t next_check(const struct credentials *credentials, int64_t now_ns) {
    return credentials->endpoint->paths || names_files(credentials) ? now_ns + FILES_AGE : CLOCK_NEVER;
}

// Sets *header to the endpoint's Authorization header, NULL for none.
static struct error *read_header(const struct credentials *credentials, char **header) {
    bool plugin = credentials->endpoint->exec;
    AUTO_TEXT own = NULL;
    *header = NULL;
    if (!plugin)
        TRY(endpoint_token(credentials->endpoint, &own));
    const char *token = plugin ? credentials->exec.held.token : own;
    *header = token ? text_format(CREDENTIALS_BEARER "%s", token) : NULL;
    return token && !*header ? error_no_memory() : NULL;
}

static void update_token(struct credentials *credentials, int64_t now_ns) {
    char *header = NULL;
    struct error *error = read_header(credentials, &header);
    bool from_file = credentials->endpoint->token_file;
    credentials->token_due_ns = from_file ? now_ns + (error ? TOKEN_RETRY : TOKEN_AGE) : CLOCK_NEVER;
    error_free(credentials->problem);
    credentials->problem = NULL;
    if (!error) {
        sensitive_free(credentials->authorization);
        credentials->authorization = header;
        credentials->generation++;
    } else if (!credentials->authorization) {
        credentials->problem = error;
    } else {
        warn(credentials, "cannot reload the bearer token; keeping the old one", error_text(error));
        error_free(error);
    }
}

// The PEM texts of the endpoint, or of the credential from its plugin.
static struct pem_set *make_pem_set(const struct credentials *credentials, const struct endpoint *endpoint) {
    const struct exec_credential *held = &credentials->exec.held;
    const char *ca = endpoint->insecure ? NULL : endpoint->ca_pem;
    if (!credentials->secure)
        return pem_set_new(NULL, NULL, NULL);
    return endpoint->exec ? pem_set_new(ca, held->cert, held->key)
                          : pem_set_new(ca, endpoint->client_cert_pem, endpoint->client_key_pem);
}

struct error *credentials_open(struct credentials *credentials, const struct endpoint *endpoint, bool secure,
                               int wake_fd, struct moment now) {
    *credentials = (struct credentials){.endpoint = endpoint, .secure = secure, .token_due_ns = CLOCK_NEVER};
    credentials->pem_set = make_pem_set(credentials, endpoint);
    if (!credentials->pem_set)
        return error_no_memory();
    credentials->files_due_ns = endpoint_is_outdated(endpoint) ? now.mono_ns : next_check(credentials, now.mono_ns);
    exec_source_open(&credentials->exec, secure ? endpoint->exec : NULL, wake_fd, now);
    if (secure)
        update_token(credentials, now.mono_ns);
    return NULL;
}

void credentials_close(struct credentials *credentials) {
    exec_source_close(&credentials->exec);
    pem_set_release(credentials->pem_set);
    sensitive_free(credentials->authorization);
    error_free(credentials->problem);
    endpoint_free(credentials->own);
    *credentials = (struct credentials){0};
}

bool credentials_are_pending(const struct credentials *credentials, int64_t now_ns) {
    return exec_source_is_waiting(&credentials->exec, now_ns);
}

const struct error *credentials_problem(const struct credentials *credentials, int64_t now_ns) {
    const struct error *problem = exec_source_problem(&credentials->exec, now_ns);
    return problem ? problem : credentials->problem;
}

int64_t credentials_due(const struct credentials *credentials) {
    if (credentials->exec.running) // the end of the run wakes the transport
        return CLOCK_NEVER;
    return clock_earlier(credentials->files_due_ns, credentials->exec.due_ns);
}

void credentials_recheck(struct credentials *credentials) {
    if (credentials->token_due_ns != CLOCK_NEVER)
        credentials->token_due_ns = 0;
    if (credentials->files_due_ns != CLOCK_NEVER)
        credentials->files_due_ns = 0;
}

bool credentials_expire(struct credentials *credentials, int64_t now_ns) {
    bool token = credentials->token_due_ns != CLOCK_NEVER;
    bool renewed = exec_source_renew(&credentials->exec, now_ns);
    credentials_recheck(credentials);
    if (names_files(credentials))
        memset(credentials->stamps, 0, sizeof credentials->stamps);
    return renewed || token || names_files(credentials) || endpoint_is_outdated(credentials->endpoint);
}

static struct error *read_files(const struct credentials *credentials, struct pem_set *pem_set) {
    char **const texts[CREDENTIAL_FILES] = {&pem_set->ca, &pem_set->cert, &pem_set->key};
    for (size_t i = 0; i < CREDENTIAL_FILES; i++) {
        const char *path = file_of(credentials->endpoint, i);
        char *content = NULL;
        if (!path)
            continue;
        TRY(certs_read_file(path, &content));
        sensitive_free(*texts[i]);
        *texts[i] = content;
    }
    const char *ca_file = credentials->endpoint->ca_file;
    if (pem_set->ca)
        TRY(error_wrap(certs_check_certificates(pem_set->ca), "%s", ca_file ? ca_file : "certificate authority"));
    return pem_set->cert && pem_set->key ? certs_check_pair(pem_set->cert, pem_set->key) : NULL;
}

// Uses the texts from now on. True if the client certificate or its key has changed.
static bool adopt(struct credentials *credentials, struct pem_set *fresh) {
    const struct pem_set *old = credentials->pem_set;
    bool identity = !text_equal(old->cert, fresh->cert) || !text_equal(old->key, fresh->key);
    if (!identity && text_equal(old->ca, fresh->ca))
        return false;
    pem_set_release(credentials->pem_set);
    fresh->expires_ns = fresh->cert ? certs_expiry(fresh->cert) : 0;
    credentials->pem_set = fresh;
    fresh->users++; // the second reference is the caller's, until it returns
    return identity;
}

// While a process replaces files one by one, the files may not match; matching ones only are used.
static bool update_files(struct credentials *credentials) {
    uint64_t stamps[CREDENTIAL_FILES] = {0};
    for (size_t i = 0; i < CREDENTIAL_FILES; i++) {
        const char *path = file_of(credentials->endpoint, i);
        if (path)
            stamps[i] = endpoint_file_stamp(path); // the read reports a missing file
    }
    if (memcmp(stamps, credentials->stamps, sizeof stamps) == 0)
        return false;
    const struct pem_set *old = credentials->pem_set;
    AUTO_PEM_SET fresh = pem_set_new(old->ca, old->cert, old->key);
    struct error *error = fresh ? read_files(credentials, fresh) : error_no_memory();
    if (error) {
        warn(credentials, "cannot reload the certificates; keeping the old ones", error_text(error));
        error_free(error);
        return false;
    }
    memcpy(credentials->stamps, stamps, sizeof stamps);
    return adopt(credentials, fresh);
}

// A kubeconfig that stays unusable is reported once.
static void warn_once(struct credentials *credentials, const char *message, const char *why) {
    uint64_t hash = text_hash(text_hash(TEXT_HASH, message), why);
    if (hash != credentials->warned)
        warn(credentials, message, why);
    credentials->warned = hash;
}

// The credential of a plugin is valid only while the kubeconfig names that plugin.
static void replace_plugin(struct credentials *credentials, const struct endpoint *fresh, struct moment now) {
    struct exec_source *source = &credentials->exec;
    if (!credentials->secure || exec_plugin_equal(source->plugin, fresh->exec)) {
        source->plugin = credentials->secure ? fresh->exec : NULL;
        return;
    }
    int wake_fd = source->wake_fd;
    exec_source_close(source);
    exec_source_open(source, fresh->exec, wake_fd, now);
}

bool credentials_replace(struct credentials *credentials, struct endpoint *fresh, struct moment now) {
    replace_plugin(credentials, fresh, now);
    AUTO_PEM_SET pem_set = make_pem_set(credentials, fresh);
    endpoint_free(credentials->own);
    credentials->endpoint = credentials->own = fresh;
    credentials->moved = false;
    credentials->files_due_ns = next_check(credentials, now.mono_ns);
    memset(credentials->stamps, 0, sizeof credentials->stamps);
    if (credentials->secure)
        update_token(credentials, now.mono_ns);
    return pem_set && adopt(credentials, pem_set);
}

// A token must not go to another server, so a changed address changes nothing here.
static bool reload(struct credentials *credentials, struct moment now) {
    struct endpoint *fresh = NULL;
    struct error *error = endpoint_reload(credentials->endpoint, &fresh);
    if (!error)
        error = endpoint_check(fresh, now.wall_ns);
    if (!error)
        credentials->moved = !endpoint_same_address(credentials->endpoint, fresh);
    if (!error && !credentials->moved) {
        log_fields(LOG_INFO, "the kubeconfig changed: its credentials are used from now on",
                   {"endpoint", fresh->description});
        credentials->warned = 0;
        return credentials_replace(credentials, fresh, now);
    }
    if (error)
        warn_once(credentials, "cannot reload the kubeconfig; keeping the old credentials", error_text(error));
    else
        warn_once(credentials, "the kubeconfig names another address, which needs a new connection", fresh->server);
    error_free(error);
    endpoint_free(fresh);
    return false;
}

bool credentials_update(struct credentials *credentials, struct moment now) {
    bool identity = false;
    if (exec_source_update(&credentials->exec, now)) {
        const struct exec_credential *held = &credentials->exec.held;
        AUTO_PEM_SET fresh = pem_set_new(credentials->pem_set->ca, held->cert, held->key);
        update_token(credentials, now.mono_ns);
        identity = fresh && adopt(credentials, fresh);
    }
    if (now.mono_ns >= credentials->token_due_ns)
        update_token(credentials, now.mono_ns);
    // A run in progress uses the endpoint's plugin: read the kubeconfig again afterwards.
    if (now.mono_ns < credentials->files_due_ns || credentials->exec.running)
        return identity;
    credentials->files_due_ns = now.mono_ns + FILES_AGE;
    if (endpoint_is_outdated(credentials->endpoint))
        identity |= reload(credentials, now);
    return update_files(credentials) || identity;
}
