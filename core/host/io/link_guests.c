// SPDX-License-Identifier: Apache-2.0
#include "core/host/io/link_guests.h"

struct error *link_watch_queued(const struct link_options *options, link_post *post, void *ctx,
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

struct error *link_watch_spaces(const struct link_options *options, link_post *post, void *ctx,
                                struct space_watch **out) {
    return space_watch_new(&(struct space_watch_options){.name = options->name,
                                                         .transport = options->transport,
                                                         .budget = options->budget,
                                                         .meter = options->meter,
                                                         .seed = options->seed,
                                                         .post = post,
                                                         .ctx = ctx},
                           out);
}
