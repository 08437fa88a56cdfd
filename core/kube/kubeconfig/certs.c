// SPDX-License-Identifier: Apache-2.0
#include "core/kube/kubeconfig/kubeconfig.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <time.h>

static void bio_cleanup(BIO **bio) {
    BIO_free(*bio);
    // A stale entry in the thread's error queue would be reported as the next connection's error.
    ERR_clear_error();
}

static void chain_cleanup(STACK_OF(X509) * *chain) {
    sk_X509_pop_free(*chain, X509_free);
}

static void key_cleanup(EVP_PKEY **key) {
    EVP_PKEY_free(*key);
}

#define AUTO_BIO __attribute__((cleanup(bio_cleanup))) BIO *
#define AUTO_CHAIN __attribute__((cleanup(chain_cleanup))) STACK_OF(X509) *
#define AUTO_KEY __attribute__((cleanup(key_cleanup))) EVP_PKEY *

struct error *certs_take(struct buffer *content, char **out) {
    if (memchr(content->data, '\0', content->len))
        return error_new(ERROR_INVALID, "found a NUL byte, expected PEM text");
    *out = buffer_take(content, NULL);
    return *out ? NULL : error_no_memory();
}

struct error *certs_read_file(const char *path, char **out) {
    AUTO_BUFFER(content, CERTS_MAX);
    TRY(text_read_regular_file(path, CERTS_MAX, &content));
    return certs_take(&content, out);
}

static BIO *open_pem(const char *pem) {
    size_t len = strlen(pem);
    ERR_clear_error();
    return BIO_new_mem_buf(pem, len > INT_MAX ? INT_MAX : (int)len);
}

// All certificates of a PEM text, at least one.
static struct error *read_chain(const char *pem, STACK_OF(X509) * *out) {
    AUTO_BIO bio = open_pem(pem);
    AUTO_CHAIN chain = sk_X509_new_null();
    if (!bio || !chain)
        return error_no_memory();
    for (X509 *cert; (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL));)
        if (sk_X509_push(chain, cert) == 0) {
            X509_free(cert);
            return error_no_memory();
        }
    unsigned long code = ERR_peek_last_error();
    const char *reason = ERR_reason_error_string(code);
    if (ERR_GET_LIB(code) != ERR_LIB_PEM || ERR_GET_REASON(code) != PEM_R_NO_START_LINE)
        return error_new(ERROR_INVALID, "found a damaged PEM certificate (%s)", reason ? reason : "unknown reason");
    if (sk_X509_num(chain) == 0)
        return error_new(ERROR_INVALID, "found no PEM certificate, expected -----BEGIN CERTIFICATE-----");
    *out = TAKE(chain);
    return NULL;
}

struct error *certs_check_certificates(const char *pem) {
    AUTO_CHAIN chain = NULL;
    return read_chain(pem, &chain);
}

static int no_password(char *buffer, int size, int writing, void *asked) {
    (void)buffer, (void)size, (void)writing;
    *(bool *)asked = true;
    return -1;
}

static struct error *read_key(const char *pem, EVP_PKEY **out) {
    AUTO_BIO bio = open_pem(pem);
    if (!bio)
        return error_no_memory();
    bool asked = false;
    *out = PEM_read_bio_PrivateKey(bio, NULL, no_password, &asked);
    if (*out)
        return NULL;
    if (asked)
        return error_new(ERROR_UNSUPPORTED, "found an encrypted private key, expected one without a password");
    return error_new(ERROR_INVALID, "found no valid PEM private key, expected -----BEGIN PRIVATE "
                                    "KEY----- or its RSA or EC form");
}

struct error *certs_check_key(const char *pem) {
    AUTO_KEY key = NULL;
    return read_key(pem, &key);
}

struct error *certs_check_pair(const char *cert_pem, const char *key_pem) {
    AUTO_KEY key = NULL;
    AUTO_CHAIN chain = NULL;
    TRY(read_chain(cert_pem, &chain));
    TRY(read_key(key_pem, &key));
    return X509_check_private_key(sk_X509_value(chain, 0), key) == 1
               ? NULL
               : error_new(ERROR_INVALID, "the client key does not match the client certificate");
}

// "CN=admin,O=system:masters"; "" when out of memory.
static char *subject_of(const X509 *cert) {
    AUTO_BIO bio = BIO_new(BIO_s_mem());
    if (!bio || X509_NAME_print_ex(bio, X509_get_subject_name(cert), 0, XN_FLAG_RFC2253) < 0)
        return text_format("%s", "");
    char *data = NULL;
    long len = BIO_get_mem_data(bio, &data);
    return text_format("%.*s", (int)len, data ? data : "");
}

static void time_text(const ASN1_TIME *time, char out[CLOCK_RFC3339_MAX]) {
    struct tm parts = {0};
    if (ASN1_TIME_to_tm(time, &parts) == 1)
        clock_rfc3339((int64_t)timegm(&parts) * CLOCK_SECOND, out);
    else
        text_copy(out, CLOCK_RFC3339_MAX, "an unknown time");
}

static struct error *check_time(const X509 *cert, int64_t wall_ns) {
    time_t now = (time_t)(wall_ns / CLOCK_SECOND);
    int begin = X509_cmp_time(X509_get0_notBefore(cert), &now); // 1: later than now, 0: unreadable
    int end = X509_cmp_time(X509_get0_notAfter(cert), &now);
    if (begin < 0 && end > 0)
        return NULL;
    char when[CLOCK_RFC3339_MAX];
    AUTO_TEXT subject = subject_of(cert);
    bool early = begin >= 0;
    time_text(early ? X509_get0_notBefore(cert) : X509_get0_notAfter(cert), when);
    return error_new(ERROR_INVALID, "the certificate of \"%s\" %s %s", subject ? subject : "",
                     early ? "is not valid before" : "expired at", when);
}

int64_t certs_expiry(const char *pem) {
    AUTO_CHAIN chain = NULL;
    error_free(read_chain(pem, &chain));
    int64_t first_ns = 0;
    for (int i = 0; i < sk_X509_num(chain); i++) {
        struct tm parts = {0};
        int64_t at_ns = 0;
        if (ASN1_TIME_to_tm(X509_get0_notAfter(sk_X509_value(chain, i)), &parts) == 1)
            at_ns = clock_earlier((int64_t)timegm(&parts), CLOCK_NEVER / CLOCK_SECOND) * CLOCK_SECOND;
        first_ns = first_ns > 0 ? clock_earlier(first_ns, at_ns) : at_ns;
    }
    return first_ns;
}

struct error *certs_check_time(const char *pem, enum certs_rule rule, int64_t wall_ns) {
    AUTO_CHAIN chain = NULL;
    TRY(read_chain(pem, &chain));
    struct error *first = NULL;
    bool valid = false;
    for (int i = 0; i < sk_X509_num(chain); i++) {
        struct error *problem = check_time(sk_X509_value(chain, i), wall_ns);
        valid |= !problem;
        if (first)
            error_free(problem);
        else
            first = problem;
    }
    if (rule == CERTS_ALL_VALID || !valid)
        return first;
    error_free(first);
    return NULL;
}
