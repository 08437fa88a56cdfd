// SPDX-License-Identifier: Apache-2.0
#include "core/kube/transport/curl_transport.h" // moved
