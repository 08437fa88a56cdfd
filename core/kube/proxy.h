// SPDX-License-Identifier: Apache-2.0
// Which proxy leads to a server: the kubeconfig's proxy-url or, without one, the environment as Go's net/http reads it
// (golang.org/x/net/http/httpproxy), which is not how libcurl does: HTTP_PROXY counts in capitals too, ALL_PROXY does
// not, and localhost and loopback addresses are never proxied.
#ifndef WHARF_KUBE_PROXY_H
#define WHARF_KUBE_PROXY_H

#include "core/base/error.h"
#include "core/kube/server_url.h"

// *out is a URL for CURLOPT_PROXY, "" for none; free(). `environment` is getenv or what a test has instead.
struct error *proxy_choose(const struct server_url *server, const char *proxy_url,
                           char *(*environment)(const char *name), char **out);

// NULL if `proxy_url` is one that proxy_choose takes: http, https, socks5, socks5h.
struct error *proxy_check(const char *proxy_url);

#endif
