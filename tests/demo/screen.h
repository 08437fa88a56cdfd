// SPDX-License-Identifier: Apache-2.0
// Where the demo shows itself: a table that is drawn again in its place on a terminal, lines anywhere else. Text is
// ASCII, so that a byte is a column; what is cut off ends with SCREEN_CUT, which is one column too.
#pragma once

#include "core/base/buffer.h"

#include <stdbool.h>
#include <stddef.h>

enum color { COLOR_NONE, COLOR_BOLD, COLOR_DIM, COLOR_RED, COLOR_GREEN, COLOR_YELLOW, COLOR_BLUE, COLOR_CYAN };

#define SCREEN_CUT "\xe2\x80\xa6" // U+2026, an ellipsis

struct screen {
    bool is_terminal; // standard output is one that can be drawn on
    bool has_color;   // and NO_COLOR is not set (https://no-color.org)
    size_t columns, rows;
    size_t drawn;  // lines of the last frame
    size_t lines;  // of this one, so far
    size_t column; // of this line, so far
    struct buffer frame;
};

void screen_open(struct screen *screen);
void screen_close(struct screen *screen); // the cursor is shown again

void screen_begin(struct screen *screen); // a new frame; reads the terminal's size again
// Appends to the line; what does not fit is cut off, and marked.
void screen_put(struct screen *screen, enum color color, const char *format, ...) __attribute__((format(printf, 3, 4)));
// Appends text in exactly so many columns: padded, or cut off and marked. `right`: padded before it.
void screen_fit(struct screen *screen, enum color color, size_t columns, bool right, const char *text);
size_t screen_left(const struct screen *screen); // columns of this line
void screen_end_line(struct screen *screen);
#define SCREEN_END_LINE "\033[K\n"               // in a frame
size_t screen_room(const struct screen *screen); // lines that still fit
void screen_draw(struct screen *screen);

// A piece of text for what is printed below the last frame.
const char *screen_on(const struct screen *screen, enum color color);
const char *screen_off(const struct screen *screen);
