// SPDX-License-Identifier: Apache-2.0
// The terminal of a session: raw while it lasts, and its size.
#ifndef WHARF_CMD_EXEC_TERMINAL_H
#define WHARF_CMD_EXEC_TERMINAL_H

#include "core/base/error.h"

#include <stdbool.h>

// Makes the terminal of stdin raw, until terminal_restore or the process ends by a signal.
struct error *terminal_raw(void);
void terminal_restore(void); // also if it is not raw

bool terminal_size(unsigned short *columns, unsigned short *rows);
// A descriptor that is readable after the size has changed; read it with terminal_resized. -1: none.
int terminal_watch_size(void);
void terminal_resized(int fd);

#endif
