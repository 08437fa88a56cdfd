// SPDX-License-Identifier: Apache-2.0
// Chooses the proxy for a server: the kubeconfig's proxy-url or, without one, the environment as Go's net/http reads it
// (golang.org/x/net/http/httpproxy), unlike libcurl: upper-case HTTP_PROXY is used, ALL_PROXY is not, and localhost and
// loopback addresses are never proxied.
#pragma once

#include "core/base/error.h"
#include "core/kube/kubeconfig/kubeconfig.h"

// *out is a URL for CURLOPT_PROXY, "" for none; free(). `environment` is getenv or a test's replacement.
struct error *proxy_choose(const struct server_url *server, const char *proxy_url,
                           char *(*environment)(const char *name), char **out);

// NULL if proxy_choose accepts `proxy_url`: http, https, socks5, socks5h.
struct error *proxy_check(const char *proxy_url);
