// SPDX-License-Identifier: Apache-2.0
#include "core/kube/kubeconfig/certs.h"

#include "core/base/clock.h"
#include "core/base/text.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

static void bio_cleanup(BIO **bio) {
    BIO_free(*bio);
    // A stale entry in the thread's error queue would be reported as the next connection's error.
    ERR_clear_error();
}

static void x509_cleanup(X509 **cert) {
    X509_free(*cert);
}

static void key_cleanup(EVP_PKEY **key) {
    EVP_PKEY_free(*key);
}

#define AUTO_BIO __attribute__((cleanup(bio_cleanup))) BIO *
#define AUTO_X509 __attribute__((cleanup(x509_cleanup))) X509 *
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

// The next certificate, or NULL: at the end with *error NULL, or unreadable.
static X509 *next_certificate(BIO *bio, struct error **error) {
    X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    if (cert)
        return cert;
    unsigned long code = ERR_peek_last_error();
    if (ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE)
        return NULL;
    const char *reason = ERR_reason_error_string(code);
    *error = error_new(ERROR_INVALID, "found a damaged PEM certificate (%s)", reason ? reason : "unknown reason");
    return NULL;
}

struct error *certs_check_certificates(const char *pem) {
    AUTO_BIO bio = open_pem(pem);
    if (!bio)
        return error_no_memory();
    struct error *error = NULL;
    size_t count = 0;
    X509 *cert;
    while ((cert = next_certificate(bio, &error))) {
        X509_free(cert);
        count++;
    }
    if (!error && count == 0)
        error = error_new(ERROR_INVALID, "found no PEM certificate, expected -----BEGIN CERTIFICATE-----");
    return error;
}

static int no_password(char *buffer, int size, int writing, void *asked) {
    (void)buffer, (void)size, (void)writing;
    *(bool *)asked = true;
    return -1;
}

static EVP_PKEY *read_key(const char *pem, struct error **error) {
    AUTO_BIO bio = open_pem(pem);
    if (!bio) {
        *error = error_no_memory();
        return NULL;
    }
    bool asked = false;
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_password, &asked);
    if (!key && asked)
        *error = error_new(ERROR_UNSUPPORTED, "found an encrypted private key, expected one without a password");
    else if (!key)
        *error = error_new(ERROR_INVALID, "found no valid PEM private key, expected -----BEGIN PRIVATE "
                                          "KEY----- or its RSA or EC form");
    return key;
}

struct error *certs_check_key(const char *pem) {
    struct error *error = NULL;
    EVP_PKEY_free(read_key(pem, &error));
    return error;
}

struct error *certs_check_pair(const char *cert_pem, const char *key_pem) {
    struct error *error = NULL;
    AUTO_KEY key = read_key(key_pem, &error);
    if (!key)
        return error;
    AUTO_BIO bio = open_pem(cert_pem);
    if (!bio)
        return error_no_memory();
    AUTO_X509 cert = next_certificate(bio, &error);
    if (error)
        return error;
    if (!cert)
        return error_new(ERROR_INVALID, "found no PEM certificate, expected -----BEGIN CERTIFICATE-----");
    if (X509_check_private_key(cert, key) != 1)
        return error_new(ERROR_INVALID, "the client key does not match the client certificate");
    return NULL;
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
    AUTO_BIO bio = open_pem(pem);
    struct error *error = NULL;
    int64_t first_ns = 0;
    X509 *cert;
    while (bio && (cert = next_certificate(bio, &error))) {
        struct tm parts = {0};
        int64_t at_ns = 0;
        if (ASN1_TIME_to_tm(X509_get0_notAfter(cert), &parts) == 1)
            at_ns = clock_earlier((int64_t)timegm(&parts), CLOCK_NEVER / CLOCK_SECOND) * CLOCK_SECOND;
        X509_free(cert);
        first_ns = first_ns > 0 ? clock_earlier(first_ns, at_ns) : at_ns;
    }
    error_free(error);
    return first_ns;
}

struct error *certs_check_time(const char *pem, enum certs_rule rule, int64_t wall_ns) {
    AUTO_BIO bio = open_pem(pem);
    if (!bio)
        return error_no_memory();
    struct error *first = NULL;
    struct error *error = NULL;
    size_t valid = 0;
    X509 *cert;
    while ((cert = next_certificate(bio, &error))) {
        struct error *problem = check_time(cert, wall_ns);
        X509_free(cert);
        valid += !problem;
        if (first)
            error_free(problem);
        else
            first = problem;
    }
    if (error || (rule == CERTS_ANY_VALID && valid > 0)) {
        error_free(first);
        return error;
    }
    return first;
}
