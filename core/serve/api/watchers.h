// SPDX-License-Identifier: Apache-2.0
// The readers of GET /api/v1/watch: one thread looks for changes for all of them, once a second, while there are any.
#ifndef WHARF_SERVE_WATCHERS_H
#define WHARF_SERVE_WATCHERS_H

#include "core/serve/access/grants.h"
#include "core/serve/api/api.h"
#include "core/serve/http/stream.h"

struct watchers;
struct error *watchers_new(const struct api_source *api, struct watchers **out);
void watchers_free(struct watchers *watchers); // ends all of their streams; NULL is fine

// Takes the producer's reference of the stream, and the grant, which may be NULL. `sequence`: what the reader knows
// already, 0: nothing. False: too many, or no thread; neither is taken.
bool watchers_add(struct watchers *watchers, struct stream *stream, struct grant *grant, uint64_t sequence);

#endif
