// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/main.h"

#include "core/base/buffer.h"

#define GAP 3
#define LINE_MAX_BYTES ((size_t)1 << 20)
#define LAST_LEAST 16 // columns of the last one; a terminal that has fewer wraps the lines

void text_table_add(struct text_table *table, const char *text) {
    if (!array_reserve(&table->cells, &table->cap, table->count + 1, sizeof *table->cells) ||
        !(table->cells[table->count] = strdup(text && *text ? text : "<none>")))
        table->failed = true;
    else
        table->count++;
}

static int width_of(const struct text_table *table, size_t column) {
    size_t width = 0;
    for (size_t i = column; i < table->count; i += table->n_columns)
        if (strlen(table->cells[i]) > width)
            width = strlen(table->cells[i]);
    return (int)width;
}

// The ellipsis has three bytes and one column.
static void put_last(const struct text_table *table, const char *text, struct buffer *line) {
    size_t left = table->limit > line->len ? table->limit - line->len : 0, len = strlen(text);
    char *cut = left >= LAST_LEAST && len > left ? malloc(left + 3) : NULL;
    if (cut)
        text_shorten(cut, left + 3, text);
    buffer_text(line, cut ? cut : text);
    free(cut);
}

static void print_row(const struct text_table *table, char *const *cells, const int *widths, FILE *out) {
    AUTO_BUFFER(line, LINE_MAX_BYTES);
    for (size_t c = 0; c + 1 < table->n_columns; c++)
        buffer_printf(&line, "%-*s", widths[c] + GAP, cells[c]);
    put_last(table, cells[table->n_columns - 1], &line);
    text_print_line(out, line.failed ? "(too long to print)" : line.data);
}

struct error *text_table_end(struct text_table *table, size_t first_row, FILE *out) {
    int *widths = calloc(table->n_columns + 1, sizeof *widths);
    bool good = widths && !table->failed;
    for (size_t c = 0; good && c < table->n_columns; c++)
        widths[c] = width_of(table, c);
    for (size_t i = first_row * table->n_columns; good && i + table->n_columns <= table->count; i += table->n_columns)
        print_row(table, table->cells + i, widths, out);
    free(widths);
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    *table = (struct text_table){.n_columns = table->n_columns};
    return good ? NULL : error_no_memory();
}
