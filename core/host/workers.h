// SPDX-License-Identifier: Apache-2.0
// The workers that the host should have. They come from several sources and change while the host runs. A caller hands
// over the complete set; the host opens, reopens and closes connections until its workers equal the set.
#ifndef WHARF_HOST_WORKERS_H
#define WHARF_HOST_WORKERS_H

#include "core/config/worker_spec.h"
#include "core/host/host.h"

// From any thread, also before host_run; until then the set is that of the configuration. Takes the complete set, which
// replaces the former set: `specs`, from malloc, with all texts. A worker with an invalid name, or one that is there
// twice, is logged and left out. A leaving worker that is in the set again stays, with its workloads. A spec with
// another kubeconfig, context or revision gets a new connection. Applied on the engine's thread soon after.
void host_set_workers(struct host *host, struct worker_spec *specs, size_t count, enum removal removal);

#endif
