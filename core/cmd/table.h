// SPDX-License-Identifier: Apache-2.0
// A table as kubectl prints it: each column is as wide as its widest cell.
#ifndef WHARF_CMD_TABLE_H
#define WHARF_CMD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct table {
    size_t n_columns;
    char **cells; // row by row
    size_t count, cap;
    bool failed; // out of memory
};

// Appends a cell, a copy of the text; NULL and "" are printed as <none>. A row is complete with n_columns cells.
void table_add(struct table *table, const char *text);
void table_add_number(struct table *table, long long number);
// Prints the complete rows, from `first_row` on, without control characters. False: out of memory; nothing is printed.
bool table_print(const struct table *table, size_t first_row, FILE *out);
void table_free(struct table *table);

#endif
