// SPDX-License-Identifier: Apache-2.0
// Notices when clients go away: libmicrohttpd does not look at a connection that is suspended. One thread for all,
// while there are any.
#ifndef WHARF_SERVE_DEPARTURES_H
#define WHARF_SERVE_DEPARTURES_H

#include "core/base/error.h"
#include "core/serve/http/stream.h"

struct departures;
struct error *departures_new(struct departures **out);
void departures_free(struct departures *departures); // ends the thread; NULL is fine

// Abandons the stream once the peer of `fd` has closed its side or the connection is broken. False: out of memory, or
// no thread.
bool departures_add(struct departures *departures, int fd, struct stream *stream);
// Before `fd` is closed and the reader's reference is given up. Unknown ones are ignored.
void departures_remove(struct departures *departures, const struct stream *stream);
// Abandons all; no more are taken.
void departures_abandon_all(struct departures *departures);

#endif
