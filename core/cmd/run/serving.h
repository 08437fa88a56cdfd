// SPDX-License-Identifier: Apache-2.0
// The HTTP servers of a host: one at its address, one at its Unix socket. Each has its own connections and bounds, so
// whoever floods the port takes no place from callers on the machine.
#ifndef WHARF_CMD_SERVING_H
#define WHARF_CMD_SERVING_H

#include "core/config/config.h"
#include "core/serve/http/http.h"

struct serving;
// Both listen when this returns. A default socket that cannot be made is logged, a configured one is an error.
struct error *serving_start(const struct config_serve *config, const struct http_source *source, struct serving **out);
void serving_stop(struct serving *serving); // NULL is fine
// The path of the socket; NULL: there is none.
const char *serving_socket(const struct serving *serving);

#endif
