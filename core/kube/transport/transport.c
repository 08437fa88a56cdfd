// SPDX-License-Identifier: Apache-2.0
#include "core/kube/transport/transport.h"

const char *http_method_name(enum http_method method) {
    switch (method) {
    case HTTP_GET:
        return "GET";
    case HTTP_POST:
        return "POST";
    case HTTP_PUT:
        return "PUT";
    case HTTP_PATCH:
        return "PATCH";
    case HTTP_DELETE:
        return "DELETE";
    }
    return "GET";
}
