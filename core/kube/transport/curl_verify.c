// SPDX-License-Identifier: Apache-2.0
// A server certificate must have a subjectAltName (RFC 9525 section 2, as in Go); without one, libcurl would fall back
// to the common name.
#include "core/kube/transport/curl_internal.h"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

static bool has_names(X509 *certificate) {
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    bool found = false;
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && !found; i++) {
        int type = sk_GENERAL_NAME_value(names, i)->type;
        found = type == GEN_DNS || type == GEN_IPADD;
    }
    GENERAL_NAMES_free(names);
    return found;
}

// Called for each certificate of the chain, the server's last.
static int on_certificate(int good, X509_STORE_CTX *context) {
    if (!good || X509_STORE_CTX_get_error_depth(context) != 0 || has_names(X509_STORE_CTX_get_current_cert(context)))
        return good;
    X509_STORE_CTX_set_error(context, X509_V_ERR_HOSTNAME_MISMATCH);
    return 0;
}

static CURLcode on_context(CURL *easy, void *context, void *unused) {
    (void)easy, (void)unused;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, on_certificate);
    return CURLE_OK;
}

const char *exchange_verdict(const struct exchange *exchange) {
    long verdict = X509_V_OK;
    (void)curl_easy_getinfo(exchange->easy, CURLINFO_SSL_VERIFYRESULT, &verdict);
    return verdict == X509_V_ERR_HOSTNAME_MISMATCH ? " (its certificate has no subjectAltName)" : "";
}

bool exchange_set_verification(struct exchange *exchange) {
    if (exchange->transport->credentials.endpoint->insecure)
        return true;
    return curl_easy_setopt(exchange->easy, CURLOPT_SSL_CTX_FUNCTION, on_context) == CURLE_OK;
}
