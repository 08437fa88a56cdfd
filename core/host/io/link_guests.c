// SPDX-License-Identifier: Apache-2.0
#include "core/host/io/link_guests.h"

struct error *link_watch_queued(const struct cluster_io_options *options, link_post *post, void *ctx,
                                struct kueue_workloads **out) {
    return kueue_workloads_new(&(struct kueue_workloads_options){.cluster = options->cluster,
                                                                 .name = options->name,
                                                                 .transport = options->transport,
                                                                 .budget = options->budget,
                                                                 .meter = options->meter,
                                                                 .watch_list = options->watch_list,
                                                                 .seed = options->seed,
                                                                 .post = post,
                                                                 .ctx = ctx},
                               out);
}

struct error *link_watch_spaces(const struct cluster_io_options *options, link_post *post, void *ctx,
                                struct worker_namespaces **out) {
    return worker_namespaces_new(&(struct worker_namespaces_options){.name = options->name,
                                                                     .transport = options->transport,
                                                                     .budget = options->budget,
                                                                     .meter = options->meter,
                                                                     .seed = options->seed,
                                                                     .post = post,
                                                                     .ctx = ctx},
                                 out);
}
