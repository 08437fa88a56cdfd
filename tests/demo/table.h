// SPDX-License-Identifier: Apache-2.0
// The live table, and the lines printed instead without a terminal.
#pragma once

#include "tests/demo/demo.h"
#include "tests/demo/screen.h"

void table_draw(struct screen *screen, const struct demo *demo);
// The frame alone, of the size that the screen has.
void table_render(struct screen *screen, const struct demo *demo);

struct table_lines {
    char last[DEMO_JOBS][240]; // what was printed about each Job
    size_t notes;              // how many were printed
};
void table_print(struct table_lines *lines, const struct demo *demo);
