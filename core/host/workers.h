// SPDX-License-Identifier: Apache-2.0
// The wanted workers of the host. Workers come from several sources and change while the host runs. A caller hands over
// the complete set; the host opens, reopens and closes connections until its workers equal the set.
#pragma once

#include "core/config/worker_spec.h"
#include "core/host/host.h"

// From any thread, also before host_run; until then the configuration's set applies. Takes the complete set, which
// replaces the former set: `specs`, from malloc, with all texts. Workers with an invalid or a duplicate name are logged
// and left out. A leaving worker that returns to the set stays, with its workloads. A spec with another kubeconfig,
// context or revision gets a new connection. Applied on the engine's thread soon after.
void host_set_workers(struct host *host, struct worker_spec *specs, size_t count, enum removal removal);
