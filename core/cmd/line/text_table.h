// SPDX-License-Identifier: Apache-2.0
// A table as in kubectl's output: each column is as wide as the widest cell.
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct text_table {
    size_t n_columns;
    char **cells; // row by row
    size_t count, cap;
    size_t limit; // columns of the terminal: the texts of the last column end between words there; 0: none
    bool failed;  // out of memory
};

// Appends a cell, a copy of the text; NULL and "" are printed as <none>. A row is complete with n_columns cells.
void text_table_add(struct text_table *table, const char *text);
// Prints the complete rows, from `first_row` on, without control characters; nothing when out of memory. Frees the
// table.
struct error *text_table_end(struct text_table *table, size_t first_row, FILE *out);
