// SPDX-License-Identifier: Apache-2.0
// What a configuration needs of its clusters, asked of them: that they answer, serve the kinds, and allow what the host
// does (SelfSubjectAccessReview). Changes nothing in them.
#ifndef WHARF_HOST_PREFLIGHT_H
#define WHARF_HOST_PREFLIGHT_H

#include "core/adapter/adapters.h"
#include "core/base/problems.h"
#include "core/config/config.h"
#include "core/host/connect.h"

// `connections` are the management cluster's and then each worker's, in the order of the config; they are opened here,
// and those without an endpoint are left out.
// All clusters are asked at the same time; one that accepts connections and never answers takes 40 s. Needs
// curl_transport_setup. An error is returned only if nothing could be asked.
struct error *preflight_check(const struct config *config, const struct adapters *adapters,
                              struct connection *connections, struct problems *problems);

#endif
