// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http/net.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/thread.h"

#include <gnutls/abstract.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <sys/stat.h>

#define CHAIN_MAX 16
#define FILE_MAX ((size_t)1 << 20)
#define CHECK_NS CLOCK_SECOND
#define HANDSHAKE_NS CLOCK_MINUTE // longer than a connection has for one
#define PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

struct certificate {
    gnutls_pcert_st chain[CHAIN_MAX];
    unsigned count;
    gnutls_privkey_t key;
    struct certificate *older;
    int64_t replaced_ns; // a handshake that began before may still use the certificate
};

struct tls {
    const char *cert_file, *key_file; // first members, see struct_copy_with_texts
    pthread_mutex_t lock;
    struct stat seen[2];
    int64_t checked_ns;
    struct certificate *current;
};

// With all older ones.
static void free_certificates(struct certificate *newest) {
    for (struct certificate *certificate = newest, *older; certificate; certificate = older) {
        older = certificate->older;
        for (unsigned i = 0; i < certificate->count; i++)
            gnutls_pcert_deinit(&certificate->chain[i]);
        if (certificate->key)
            gnutls_privkey_deinit(certificate->key);
        free(certificate);
    }
}

static struct error *file_error(const char *file, int code) {
    return error_new(ERROR_INVALID, "%s: %s", file, gnutls_strerror(code));
}

static gnutls_datum_t datum_of(const struct buffer *text) {
    return (gnutls_datum_t){.data = (unsigned char *)text->data, .size = (unsigned)text->len};
}

static struct error *read_chain(const char *file, struct certificate *out) {
    AUTO_BUFFER(text, FILE_MAX);
    TRY(text_read_regular_file(file, FILE_MAX, &text));
    gnutls_datum_t pem = datum_of(&text);
    unsigned count = CHAIN_MAX;
    int code = gnutls_pcert_list_import_x509_raw(out->chain, &count, &pem, GNUTLS_X509_FMT_PEM, 0);
    if (code != GNUTLS_E_SUCCESS)
        return file_error(file, code);
    out->count = count;
    return count > 0 ? NULL : error_new(ERROR_INVALID, "%s: found no certificate", file);
}

static struct error *read_key(const char *file, struct certificate *out) {
    AUTO_BUFFER(text, FILE_MAX);
    TRY(text_read_regular_file(file, FILE_MAX, &text));
    gnutls_datum_t pem = datum_of(&text);
    int code = gnutls_privkey_init(&out->key);
    if (code == GNUTLS_E_SUCCESS)
        code = gnutls_privkey_import_x509_raw(out->key, &pem, GNUTLS_X509_FMT_PEM, NULL, 0);
    explicit_bzero(text.data, text.len);
    return code == GNUTLS_E_SUCCESS ? NULL : file_error(file, code);
}

static bool is_pair(const struct certificate *certificate) {
    unsigned char ids[2][64];
    size_t lens[2] = {sizeof ids[0], sizeof ids[1]};
    gnutls_pubkey_t keys[2] = {NULL, certificate->chain[0].pubkey};
    if (gnutls_pubkey_init(&keys[0]) != GNUTLS_E_SUCCESS)
        return false;
    bool ok = gnutls_pubkey_import_privkey(keys[0], certificate->key, 0, 0) == GNUTLS_E_SUCCESS;
    for (size_t i = 0; i < 2; i++)
        ok = ok && gnutls_pubkey_get_key_id(keys[i], GNUTLS_KEYID_USE_SHA256, ids[i], &lens[i]) == GNUTLS_E_SUCCESS;
    gnutls_pubkey_deinit(keys[0]);
    return ok && lens[0] == lens[1] && memcmp(ids[0], ids[1], lens[0]) == 0;
}

static struct error *load_certificate(const struct tls *tls, struct certificate **out) {
    struct certificate *made = *out = calloc(1, sizeof *made);
    if (!made)
        return error_no_memory();
    struct error *error = read_chain(tls->cert_file, made);
    if (!error)
        error = read_key(tls->key_file, made);
    if (!error && !is_pair(made))
        error = error_new(ERROR_INVALID, "%s: found another key than that of the certificate in %s", tls->key_file,
                          tls->cert_file);
    if (error)
        free_certificates(TAKE(*out));
    return error;
}

static bool is_same_file(const struct stat *a, const struct stat *b) {
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

// Whether a file is another one than at the last call.
static bool files_changed(struct tls *tls) {
    const char *const files[] = {tls->cert_file, tls->key_file};
    bool changed = false;
    for (size_t i = 0; i < 2; i++) {
        struct stat now = {0};
        (void)stat(files[i], &now);
        changed |= !is_same_file(&now, &tls->seen[i]);
        tls->seen[i] = now;
    }
    return changed;
}

static void free_expired(struct tls *tls, int64_t now_ns) {
    struct certificate **place = &tls->current->older;
    while (*place && now_ns - (*place)->replaced_ns < HANDSHAKE_NS)
        place = &(*place)->older;
    free_certificates(TAKE(*place));
}

static void reload_changed(struct tls *tls) {
    int64_t now_ns = clock_now().mono_ns;
    if (now_ns - tls->checked_ns < CHECK_NS)
        return;
    tls->checked_ns = now_ns;
    free_expired(tls, now_ns);
    struct certificate *fresh = NULL;
    struct error *error = files_changed(tls) ? load_certificate(tls, &fresh) : NULL;
    if (error)
        log_fields(LOG_WARN, "the served certificate was not replaced", {"error", error_text(error)});
    error_free(error);
    if (!fresh)
        return;
    log_fields(LOG_INFO, "the served certificate was replaced", {"file", tls->cert_file});
    tls->current->replaced_ns = now_ns;
    fresh->older = tls->current;
    tls->current = fresh;
}

// GnuTLS passes the session alone; libmicrohttpd has made the connection the pointer of the session.
static int give_certificate(gnutls_session_t session, const gnutls_datum_t *authorities, int n_authorities,
                            const gnutls_pk_algorithm_t *algorithms, int n_algorithms, gnutls_pcert_st **chain,
                            unsigned *count, gnutls_privkey_t *key) {
    (void)authorities, (void)n_authorities, (void)algorithms, (void)n_algorithms;
    struct MHD_Connection *connection = gnutls_session_get_ptr(session);
    const union MHD_ConnectionInfo *info =
        connection ? MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT) : NULL;
    struct tls *tls = info ? info->socket_context : NULL;
    if (!tls)
        return -1;
    AUTO_LOCK(&tls->lock);
    reload_changed(tls);
    *chain = tls->current->chain;
    *count = tls->current->count;
    *key = tls->current->key;
    return 0;
}

void tls_options(struct MHD_OptionItem options[TLS_OPTIONS]) {
    static char priorities[] = PRIORITIES;
    options[0] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)(uintptr_t)give_certificate};
    options[1] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, priorities};
    options[2] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
}

struct error *tls_new(const char *cert_file, const char *key_file, struct tls **out) {
    if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES ||
        MHD_is_feature_supported(MHD_FEATURE_HTTPS_CERT_CALLBACK) != MHD_YES)
        return error_new(ERROR_UNSUPPORTED, "found a libmicrohttpd without TLS, expected one with GnuTLS");
    const struct tls wanted = {.cert_file = cert_file, .key_file = key_file};
    struct tls *tls = *out = struct_copy_with_texts(&wanted, sizeof wanted, 2);
    if (!tls)
        return error_no_memory();
    pthread_mutex_init(&tls->lock, NULL);
    (void)files_changed(tls);
    struct error *error = load_certificate(tls, &tls->current);
    if (error)
        tls_free(TAKE(*out));
    return error;
}

void tls_free(struct tls *tls) {
    if (!tls)
        return;
    free_certificates(tls->current);
    pthread_mutex_destroy(&tls->lock);
    free(tls);
}
