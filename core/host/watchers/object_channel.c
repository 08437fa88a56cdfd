// SPDX-License-Identifier: Apache-2.0
#include "core/host/watchers/object_channel.h"

#include "core/base/text.h"

#include <stdlib.h>

struct channel {
    struct channel_handler handler;
    struct reflector *reflector;
    bool listing, restored;
};

static char *key_of(const struct object *object) {
    return text_format("%s/%s", object_namespace(object->value), object_name(object->value));
}

static void on_listing(void *ctx, const char *version) {
    struct channel *channel = ctx;
    (void)version;
    channel->listing = true;
    channel->handler.listing(channel->handler.ctx);
}

static void on_seen(void *ctx, struct object *object) {
    struct channel *channel = ctx;
    AUTO_TEXT key = key_of(object);
    if (key)
        channel->handler.seen(channel->handler.ctx, key, object);
    object_free(object);
}

static void on_gone(void *ctx, struct object *object) {
    struct channel *channel = ctx;
    AUTO_TEXT key = key_of(object);
    if (key)
        channel->handler.gone(channel->handler.ctx, key);
    object_free(object);
}

static void on_listed(void *ctx, const char *version) {
    struct channel *channel = ctx;
    (void)version;
    channel->listing = false;
    bool restored = channel->restored;
    channel->restored = false;
    channel->handler.listed(channel->handler.ctx, restored);
}

static void on_state(void *ctx, enum reflector_state state, const char *problem) {
    struct channel *channel = ctx;
    if (state == REFLECTOR_LOST || state == REFLECTOR_ABSENT)
        channel->handler.trouble(channel->handler.ctx, state == REFLECTOR_ABSENT, problem);
    else if (state == REFLECTOR_CONNECTED)
        channel->handler.trouble(channel->handler.ctx, false, NULL);
}

static void on_rewound(void *ctx, const char *problem) {
    struct channel *channel = ctx;
    (void)problem;
    channel->restored = true;
}

struct error *channel_new(const struct reflector_options *options, struct transport *transport,
                          const struct channel_handler *handler, struct channel **out) {
    struct channel *channel = calloc(1, sizeof *channel);
    if (!channel)
        return error_no_memory();
    channel->handler = *handler;
    struct reflector_handler own = {.listing = on_listing,
                                    .seen = on_seen,
                                    .gone = on_gone,
                                    .listed = on_listed,
                                    .state = on_state,
                                    .rewound = on_rewound,
                                    .ctx = channel};
    struct error *error = reflector_new(options, transport, &own, &channel->reflector);
    if (error)
        free(channel);
    else
        *out = channel;
    return error;
}

void channel_free(struct channel *channel) {
    if (channel)
        reflector_free(channel->reflector);
    free(channel);
}

int64_t channel_tick(struct channel *channel, struct moment now) {
    return reflector_tick(channel->reflector, now);
}

bool channel_is_listing(const struct channel *channel) {
    return channel->listing;
}
