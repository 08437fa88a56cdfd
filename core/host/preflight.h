// SPDX-License-Identifier: Apache-2.0
// Checks the clusters of a configuration without changing them: that they answer, serve the kinds, and grant the
// permissions the host needs (SelfSubjectAccessReview).
#ifndef WHARF_HOST_PREFLIGHT_H
#define WHARF_HOST_PREFLIGHT_H

#include "core/adapter/adapters.h"
#include "core/base/problems.h"
#include "core/config/config.h"
#include "core/host/connect.h"

// `connections`: the management cluster's, then each worker's in the order of the config; they are opened here, and
// those without an endpoint are skipped. All clusters are checked in parallel; one that accepts connections and never
// answers takes 40 s. Needs curl_transport_setup. An error is returned only if nothing could be checked.
struct error *preflight_check(const struct config *config, const struct adapters *adapters,
                              struct connection *connections, struct problems *problems);

#endif
