// SPDX-License-Identifier: Apache-2.0
#include "tests/demo/screen.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FRAME_MAX ((size_t)1 << 20)
#define WIDTH_MAX 110 // a wider table is not more readable

// ECMA-48: SGR, CUU (cursor up), EL (erase to the end of the line), ED (erase below); DEC private mode 25: the cursor.
static const char *const codes[] = {"",         "\033[1m",  "\033[2m",  "\033[31m",
                                    "\033[32m", "\033[33m", "\033[34m", "\033[36m"};
#define OFF "\033[0m"

const char *screen_on(const struct screen *screen, enum color color) {
    return screen->has_color ? codes[color] : "";
}

const char *screen_off(const struct screen *screen) {
    return screen->has_color ? OFF : "";
}

void screen_open(struct screen *screen) {
    const char *terminal = getenv("TERM"), *no_color = getenv("NO_COLOR");
    *screen = (struct screen){.columns = 80, .rows = 24};
    screen->is_terminal = isatty(STDOUT_FILENO) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
    screen->has_color = screen->is_terminal && !(no_color && *no_color);
    buffer_init(&screen->frame, FRAME_MAX);
    if (screen->is_terminal)
        fputs("\033[?25l", stdout);
}

void screen_close(struct screen *screen) {
    if (screen->is_terminal)
        fputs("\033[?25h", stdout);
    fflush(stdout);
    buffer_free(&screen->frame);
}

// One column stays free: some terminals wrap once the last one is written.
static void read_size(struct screen *screen) {
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
        return;
    screen->columns = size.ws_col > WIDTH_MAX ? WIDTH_MAX : size.ws_col - 1U;
    screen->rows = size.ws_row;
}

void screen_begin(struct screen *screen) {
    if (screen->is_terminal)
        read_size(screen);
    buffer_reset(&screen->frame);
    screen->lines = screen->column = 0;
}

size_t screen_left(const struct screen *screen) {
    return screen->columns - screen->column;
}

static void put(struct screen *screen, enum color color, const char *text, size_t columns) {
    size_t len = strlen(text), room = screen_left(screen);
    bool cut = len > columns || columns > room;
    columns = columns < room ? columns : room;
    if (columns == 0)
        return;
    buffer_text(&screen->frame, screen_on(screen, color));
    buffer_append(&screen->frame, text, cut ? columns - 1 : columns);
    if (cut)
        buffer_text(&screen->frame, SCREEN_CUT);
    if (color != COLOR_NONE)
        buffer_text(&screen->frame, screen_off(screen));
    screen->column += columns;
}

static void pad(struct screen *screen, size_t columns) {
    for (size_t i = 0; i < columns && screen_left(screen) > 0; i++) {
        buffer_char(&screen->frame, ' ');
        screen->column++;
    }
}

void screen_fit(struct screen *screen, enum color color, size_t columns, bool right, const char *text) {
    size_t len = strlen(text), blank = len < columns ? columns - len : 0;
    pad(screen, right ? blank : 0);
    put(screen, color, text, len < columns ? len : columns);
    pad(screen, right ? 0 : blank);
}

void screen_put(struct screen *screen, enum color color, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put(screen, color, text, strlen(text));
}

void screen_end_line(struct screen *screen) {
    buffer_text(&screen->frame, SCREEN_END_LINE);
    screen->lines++;
    screen->column = 0;
}

// The line that the cursor stands on after the last one counts too.
size_t screen_room(const struct screen *screen) {
    return screen->lines + 1 < screen->rows ? screen->rows - 1 - screen->lines : 0;
}

void screen_draw(struct screen *screen) {
    if (screen->drawn > 0) {
        size_t up = screen->drawn < screen->rows ? screen->drawn : screen->rows - 1;
        printf("\033[%zuA\r", up);
    }
    if (screen->frame.data)
        fwrite(screen->frame.data, 1, screen->frame.len, stdout);
    fputs("\033[J", stdout);
    fflush(stdout);
    screen->drawn = screen->lines;
}
