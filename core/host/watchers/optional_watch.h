// SPDX-License-Identifier: Apache-2.0
// A watch that the host can do without: it is open only while it is wanted, and closed when the server does not let the
// host watch (401, 403) or does not serve the kind (404). A reflector by itself would ask again every half minute; this
// one asks after ten minutes, and for a kind that is absent after delays that grow to one minute. On the reflector's
// thread.
#ifndef WHARF_HOST_WATCHERS_OPTIONAL_WATCH_H
#define WHARF_HOST_WATCHERS_OPTIONAL_WATCH_H

#include "core/kube/watch/reflector.h"

struct optional_watch_options {
    struct reflector_options reflector; // not copied: what it points to outlives the watch
    struct transport *transport;
    // Its `state` is also called with STARTING when the watch is closed, but not by optional_watch_free.
    struct reflector_handler handler;
    // The watch was refused and is closed, until `open_ns`; after `handler.state`. `first`: since it was last
    // connected.
    void (*refused)(void *ctx, bool first, int64_t open_ns, const char *problem);
    // It is asked for, and a grant has to be noticed soon: while it is refused the reflector goes on trying, every few
    // seconds, and `refused` is called once, with 0.
    bool persistent;
};

struct optional_watch;
// Opens nothing before the first tick.
struct error *optional_watch_new(const struct optional_watch_options *options, struct optional_watch **out);
void optional_watch_free(struct optional_watch *watch); // NULL is allowed

// Opens and closes it as `wanted`, and does what is due. Returns the time of the next call needed.
int64_t optional_watch_tick(struct optional_watch *watch, bool wanted, struct moment now);

// Closes it, to be opened not before `open_ns`. Not from one of its own handlers other than `refused`.
void optional_watch_close(struct optional_watch *watch, int64_t open_ns);
// Opens it again with another selector of fields. Not from a handler.
void optional_watch_select(struct optional_watch *watch, const char *field_selector);
// See reflector_hurry.
void optional_watch_hurry(struct optional_watch *watch);
// Lists again, if it is open. Not from a handler.
void optional_watch_relist(struct optional_watch *watch);

#endif
