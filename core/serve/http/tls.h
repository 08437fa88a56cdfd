// SPDX-License-Identifier: Apache-2.0
// The certificate of a server over TLS, with GnuTLS as libmicrohttpd. A changed file is read again, for
// the next handshakes.
#pragma once

#include "core/base/error.h"

#include <microhttpd.h>

struct tls;
// Both files are PEM; the first one has the server's certificate first. ERROR_UNSUPPORTED if libmicrohttpd has no TLS.
struct error *tls_new(const char *cert_file, const char *key_file, struct tls **out);
void tls_free(struct tls *tls); // after the daemon; NULL is fine

// The options of a daemon, for MHD_OPTION_ARRAY. The socket context of its connections (MHD_NotifyConnectionCallback)
// is the struct tls.
#define TLS_OPTIONS 3
void tls_options(struct MHD_OptionItem options[TLS_OPTIONS]);
