// SPDX-License-Identifier: Apache-2.0
// Commands to a program that serves clusters, by a Unix socket in its folder: one line in, a text out. The first byte
// of an answer says how it went, see control_ask.
#ifndef WHARF_SUPPORT_CONTROL_H
#define WHARF_SUPPORT_CONTROL_H

#include "tests/support/scene.h"

struct control; // opaque

// Listens in the folder; ERROR_REFUSED if a program answers there already. What one that was killed left is removed.
struct error *control_open(const char *directory, struct control **out);
void control_close(struct control *control);   // removes the socket; NULL is fine
int control_fd(const struct control *control); // readable: control_serve has something to do

// Answers one client with what the clusters of the scene are and how they change: "list", "cut NAME", "back NAME",
// "stop". True if it was told to stop.
bool control_serve(struct control *control, struct scene *scene);

// Asks the program of a folder. ERROR_NOT_FOUND: none runs there; ERROR_REFUSED: its own words.
struct error *control_ask(const char *directory, const char *command, struct buffer *answer);

#endif
