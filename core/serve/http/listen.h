// SPDX-License-Identifier: Apache-2.0
// A listening socket for an address as the configuration writes it.
#ifndef WHARF_SERVE_LISTEN_H
#define WHARF_SERVE_LISTEN_H

#include "core/base/error.h"

#include <stdint.h>

// See http_server_start. *port is the one that it got.
struct error *listen_open(const char *address, int *fd, uint16_t *port);

#endif
