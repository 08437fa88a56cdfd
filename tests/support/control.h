// SPDX-License-Identifier: Apache-2.0
// Commands to a program that serves clusters, through a Unix socket in its directory: one line in, text out. The first
// byte of a response is its result, see control_ask.
#pragma once

#include "tests/support/scene.h"

struct control; // opaque

// Listens in the directory; ERROR_REFUSED if a program answers there already. A socket left by a program that was
// killed is removed.
struct error *control_open(const char *directory, struct control **out);
void control_close(struct control *control);   // removes the socket; NULL is fine
int control_fd(const struct control *control); // readable: control_serve has something to do

// Serves one client: "list", "cut NAME", "back NAME", "stop". True after "stop".
bool control_serve(struct control *control, struct scene *scene);

// Sends a command to the program of a directory. ERROR_NOT_FOUND: none runs there; ERROR_REFUSED: with its message.
struct error *control_ask(const char *directory, const char *command, struct buffer *answer);
