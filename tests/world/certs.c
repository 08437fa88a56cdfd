// SPDX-License-Identifier: Apache-2.0
#include "tests/world/certs.h"
#include "core/base/buffer.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#define DAY (24L * 60 * 60)

struct issue {
    const char *common_name, *organization, *names; // names: subjectAltName, NULL: none
    const char *usage;                              // extendedKeyUsage, NULL: a CA
    bool expired;
    X509 *issuer;
    EVP_PKEY *issuer_key;
};

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    bool added = extension && X509_add_ext(cert, extension, -1);
    X509_EXTENSION_free(extension);
    return added;
}

static bool set_name(X509_NAME *name, const struct issue *issue) {
    const unsigned char *common = (const unsigned char *)issue->common_name;
    const unsigned char *organization = (const unsigned char *)issue->organization;
    return (!organization || X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8, organization, -1, -1, 0)) &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, common, -1, -1, 0);
}

static bool set_serial(X509 *cert) {
    unsigned char bytes[8];
    BIGNUM *number = RAND_bytes(bytes, sizeof bytes) == 1 ? BN_bin2bn(bytes, sizeof bytes, NULL) : NULL;
    bool set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
    BN_free(number);
    return set;
}

static bool add_extensions(X509 *cert, const struct issue *issue) {
    X509 *issuer = issue->issuer ? issue->issuer : cert;
    if (!issue->usage)
        return add_extension(cert, issuer, NID_basic_constraints, "critical,CA:TRUE") &&
               add_extension(cert, issuer, NID_key_usage, "critical,keyCertSign,cRLSign") &&
               add_extension(cert, issuer, NID_subject_key_identifier, "hash");
    return add_extension(cert, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(cert, issuer, NID_key_usage, "critical,digitalSignature") &&
           add_extension(cert, issuer, NID_ext_key_usage, issue->usage) &&
           (!issue->names || add_extension(cert, issuer, NID_subject_alt_name, issue->names));
}

static X509 *issue_cert(const struct issue *issue, EVP_PKEY *key) {
    X509 *cert = X509_new();
    X509 *issuer = issue->issuer ? issue->issuer : cert;
    bool made =
        cert && X509_set_version(cert, 2) && set_serial(cert) && X509_gmtime_adj(X509_getm_notBefore(cert), -2 * DAY) &&
        X509_gmtime_adj(X509_getm_notAfter(cert), issue->expired ? -DAY : 30 * DAY) && X509_set_pubkey(cert, key) &&
        set_name(X509_get_subject_name(cert), issue) && X509_set_issuer_name(cert, X509_get_subject_name(issuer)) &&
        add_extensions(cert, issue) && X509_sign(cert, issue->issuer_key ? issue->issuer_key : key, EVP_sha256());
    if (made)
        return cert;
    X509_free(cert);
    return NULL;
}

static char *take_text(BIO *bio) {
    char *data;
    long len = BIO_get_mem_data(bio, &data);
    return len > 0 ? strndup(data, (size_t)len) : NULL;
}

static char *cert_text(X509 *cert) {
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = bio && PEM_write_bio_X509(bio, cert) ? take_text(bio) : NULL;
    BIO_free(bio);
    return text;
}

static char *key_text(EVP_PKEY *key) {
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = bio && PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) ? take_text(bio) : NULL;
    BIO_free(bio);
    return text;
}

// A certificate with a new key, as text.
static bool make_pair(const struct issue *issue, char **cert_out, char **key_out) {
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = key ? issue_cert(issue, key) : NULL;
    *cert_out = cert ? cert_text(cert) : NULL;
    *key_out = cert ? key_text(key) : NULL;
    X509_free(cert);
    EVP_PKEY_free(key);
    return *cert_out && *key_out;
}

struct error *certs_make(const struct certs_options *options, struct certs *out) {
    *out = (struct certs){0};
    struct issue root = {.common_name = options->name ? options->name : "world"};
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *ca = key ? issue_cert(&root, key) : NULL;
    struct issue server = {.common_name = "kube-apiserver",
                           .names = options->server_wrong_name ? "DNS:elsewhere.example" : "IP:127.0.0.1,DNS:localhost",
                           .usage = "serverAuth",
                           .expired = options->server_expired,
                           .issuer = ca,
                           .issuer_key = key};
    struct issue client = {.common_name = "admin",
                           .organization = "system:masters",
                           .usage = "clientAuth",
                           .expired = options->client_expired,
                           .issuer = ca,
                           .issuer_key = key};
    out->ca = ca ? cert_text(ca) : NULL;
    bool made = out->ca && make_pair(&server, &out->server_cert, &out->server_key) &&
                make_pair(&client, &out->client_cert, &out->client_key);
    X509_free(ca);
    EVP_PKEY_free(key);
    if (made)
        return NULL;
    certs_free(out);
    return error_new(ERROR_INTERNAL, "libcrypto cannot generate the certificates");
}

void certs_free(struct certs *certs) {
    free(certs->ca);
    free(certs->server_cert);
    free(certs->server_key);
    free(certs->client_cert);
    free(certs->client_key);
    *certs = (struct certs){0};
}

static void add_base64(struct buffer *out, const char *key, const char *text) {
    size_t len = strlen(text);
    unsigned char *encoded = malloc(4 * (len / 3 + 1) + 1);
    if (!encoded) {
        out->failed = true;
        return;
    }
    EVP_EncodeBlock(encoded, (const unsigned char *)text, (int)len);
    buffer_printf(out, "    %s: %s\n", key, (const char *)encoded);
    free(encoded);
}

char *certs_kubeconfig(const struct certs *certs, const char *name, const char *server) {
    struct buffer out;
    buffer_init(&out, 1 << 20);
    buffer_printf(&out,
                  "apiVersion: v1\nkind: Config\ncurrent-context: %s\nclusters:\n- name: %s\n  cluster:\n"
                  "    server: %s\n",
                  name, name, server);
    if (certs)
        add_base64(&out, "certificate-authority-data", certs->ca);
    buffer_printf(&out, "contexts:\n- name: %s\n  context:\n    cluster: %s\n    user: %s\nusers:\n- name: %s\n", name,
                  name, name, name);
    buffer_text(&out, certs ? "  user:\n" : "  user: {}\n");
    if (certs) {
        add_base64(&out, "client-certificate-data", certs->client_cert);
        add_base64(&out, "client-key-data", certs->client_key);
    }
    size_t len;
    return buffer_take(&out, &len);
}
