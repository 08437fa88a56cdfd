// SPDX-License-Identifier: Apache-2.0
// The sources of workers in the management cluster: Secrets, ClusterProfiles, and the ConfigMap wharf-workers, which
// cordons workers of any source. A watcher on the management cluster's thread.
#pragma once

#include "core/host/host.h"
#include "core/host/sources/sources.h"

struct source_objects;
// `sources` and `host` outlive the result.
struct error *source_objects_new(struct sources *sources, struct host *host, struct source_objects **out);
// After the host has stopped. NULL is allowed.
void source_objects_free(struct source_objects *objects);

// Another configuration, which takes effect soon. From any thread, also before source_objects_attach.
void source_objects_configure(struct source_objects *objects, const struct config *config);

// Begins. ERROR_NO_MEMORY only.
struct error *source_objects_attach(struct source_objects *objects);
