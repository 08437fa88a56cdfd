// SPDX-License-Identifier: Apache-2.0
// The objects of one kind that are watched as a source of workers: keeps a list of items in step with a reflector. On
// the reflector's thread.
#ifndef WHARF_HOST_WATCHERS_OBJECT_CHANNEL_H
#define WHARF_HOST_WATCHERS_OBJECT_CHANNEL_H

#include "core/kube/watch/reflector.h"

struct channel_handler {
    // An object as it is now; freed by the channel.
    void (*seen)(void *ctx, const char *key, const struct object *object);
    void (*gone)(void *ctx, const char *key);
    void (*listing)(void *ctx);
    // `restored`: the list is that of a cluster that was restored or wiped: what it lacks was not necessarily deleted.
    void (*listed)(void *ctx, bool restored);
    // It cannot be read, for the reason in `problem` (absent: the kind is not served), or can again: NULL.
    void (*trouble)(void *ctx, bool absent, const char *problem);
    void *ctx;
};

struct channel;
struct error *channel_new(const struct reflector_options *options, struct transport *transport,
                          const struct channel_handler *handler, struct channel **out);
void channel_free(struct channel *channel); // NULL is allowed
int64_t channel_tick(struct channel *channel, struct moment now);
bool channel_is_listing(const struct channel *channel); // what has been seen is not complete

#endif
