// SPDX-License-Identifier: Apache-2.0
// What a cluster_io watches besides its kinds, made from its options.
#ifndef WHARF_HOST_IO_LINK_GUESTS_H
#define WHARF_HOST_IO_LINK_GUESTS_H

#include "core/host/io/cluster_io.h"
#include "core/host/watchers/kueue_workloads.h"
#include "core/host/watchers/worker_namespaces.h"

typedef void link_post(void *ctx, struct engine_event *event);

struct error *link_watch_queued(const struct cluster_io_options *options, link_post *post, void *ctx,
                                struct kueue_workloads **out);
struct error *link_watch_spaces(const struct cluster_io_options *options, link_post *post, void *ctx,
                                struct worker_namespaces **out);

#endif
