// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kube/pki.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(bool ok, const char *what) {
    if (ok)
        return;
    fprintf(stderr, "cannot make test certificates: %s\n", what);
    abort();
}

static char *take_pem(BIO *bio) {
    char *data = NULL;
    long len = BIO_get_mem_data(bio, &data);
    char *text = strndup(data, (size_t)len);
    BIO_free(bio);
    need(text, "memory");
    return text;
}

static void add_extension(X509 *cert, X509 *issuer, int nid, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    need(extension && X509_add_ext(cert, extension, -1) == 1, value);
    X509_EXTENSION_free(extension);
}

static void set_serial(X509 *cert) {
    unsigned number = 0;
    need(RAND_bytes((unsigned char *)&number, sizeof number) == 1, "serial number");
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert), (uint64_t)number + 1);
}

static void fill(X509 *cert, const struct pki_request *request, EVP_PKEY *key, X509 *issuer) {
    X509_set_version(cert, X509_VERSION_3);
    set_serial(cert);
    bool by_default = request->begin_s == 0 && request->end_s == 0;
    X509_gmtime_adj(X509_getm_notBefore(cert), by_default ? -3600 : request->begin_s);
    X509_gmtime_adj(X509_getm_notAfter(cert), by_default ? 86400 : request->end_s);
    X509_set_pubkey(cert, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_UTF8, (const unsigned char *)request->name,
                               -1, -1, 0);
    X509_set_issuer_name(cert, X509_get_subject_name(issuer));
    add_extension(cert, issuer, NID_basic_constraints, request->ca ? "critical,CA:TRUE" : "critical,CA:FALSE");
    if (request->names)
        add_extension(cert, issuer, NID_subject_alt_name, request->names);
}

struct pki_pair pki_make(const struct pki_request *request) {
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    need(key && cert, "key");
    EVP_PKEY *signer = key;
    X509 *issuer = cert;
    if (request->issuer) {
        BIO *bio = BIO_new_mem_buf(request->issuer->key, -1);
        signer = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
        BIO_free(bio);
        bio = BIO_new_mem_buf(request->issuer->cert, -1);
        issuer = PEM_read_bio_X509(bio, NULL, NULL, NULL);
        BIO_free(bio);
        need(signer && issuer, "issuer");
    }
    fill(cert, request, key, issuer);
    need(X509_sign(cert, signer, EVP_sha256()) > 0, "signature");
    BIO *cert_bio = BIO_new(BIO_s_mem());
    BIO *key_bio = BIO_new(BIO_s_mem());
    need(PEM_write_bio_X509(cert_bio, cert) == 1, "certificate");
    need(PEM_write_bio_PrivateKey(key_bio, key, request->password ? EVP_aes_128_cbc() : NULL, NULL, 0, NULL,
                                  (void *)(uintptr_t)request->password) == 1,
         "private key");
    if (request->issuer) {
        EVP_PKEY_free(signer);
        X509_free(issuer);
    }
    EVP_PKEY_free(key);
    X509_free(cert);
    return (struct pki_pair){.cert = take_pem(cert_bio), .key = take_pem(key_bio)};
}

void pki_free(struct pki_pair *pair) {
    free(pair->cert);
    free(pair->key);
    *pair = (struct pki_pair){0};
}
