// SPDX-License-Identifier: Apache-2.0
// `wharf adapters`: a table of the loaded adapters, a line for each kind.
#include "core/base/text.h"
#include "core/cmd/main.h"
#include "core/cmd/setup.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS 8
#define GAP 3

enum { CONFIG, ADAPTERS, N_FLAGS };

static const struct flag flags[] = {[CONFIG] = FLAG_CONFIG, [ADAPTERS] = FLAG_ADAPTERS};

struct row {
    char *cells[COLUMNS];
};

static void rows_free(struct row *rows, size_t count) {
    for (size_t i = 0; rows && i < count; i++)
        for (size_t column = 0; column < COLUMNS; column++)
            free(rows[i].cells[column]);
    free(rows);
}

// "jobs.batch/v1"; further versions after commas. NULL when out of memory.
static char *kind_text(const struct kind *kind) {
    AUTO_BUFFER(text, 65536);
    buffer_printf(&text, "%s/", kind->plural_group);
    for (size_t i = 0; kind->abi.versions[i]; i++)
        buffer_printf(&text, "%s%s", i == 0 ? "" : ",", kind->abi.versions[i]);
    return buffer_take(&text, NULL);
}

static bool fill_header(struct row *row) {
    static const char *const names[COLUMNS] = {"NAME", "VERSION", "ABI", "KIND", "FIELD", "VALUE", "FILE", "SHA256"};
    for (size_t i = 0; i < COLUMNS; i++)
        row->cells[i] = strdup(names[i]);
    return row->cells[COLUMNS - 1];
}

static bool fill_row(struct row *row, const struct kind *kind) {
    const struct adapter *adapter = kind->adapter;
    *row = (struct row){.cells = {
                            strdup(adapter->name),
                            strdup(adapter->version),
                            text_format("%u.%u", adapter->abi_major, adapter->abi_minor),
                            kind_text(kind),
                            strdup(kind->abi.managed_by),
                            strdup(kind->managed_by),
                            strdup(adapter->file),
                            strdup(adapter->sha256),
                        }};
    for (size_t i = 0; i < COLUMNS; i++)
        if (!row->cells[i])
            return false;
    return true;
}

static void print_rows(const struct row *rows, size_t count) {
    int widths[COLUMNS] = {0};
    for (size_t i = 0; i < count; i++)
        for (size_t column = 0; column < COLUMNS; column++) {
            int len = (int)strlen(rows[i].cells[column]);
            widths[column] = len > widths[column] ? len : widths[column];
        }
    for (size_t i = 0; i < count; i++) {
        AUTO_BUFFER(line, (size_t)1 << 20);
        for (size_t column = 0; column + 1 < COLUMNS; column++)
            buffer_printf(&line, "%-*s", widths[column] + GAP, rows[i].cells[column]);
        buffer_text(&line, rows[i].cells[COLUMNS - 1]);
        text_print_line(stdout, line.failed ? "(too long to print)" : line.data);
    }
}

static struct error *print_table(void *ctx, const struct config *config, const struct adapters *adapters,
                                 struct problems *problems) {
    (void)ctx, (void)config, (void)problems;
    size_t count = adapters->n_kinds + 1;
    struct row *rows = calloc(count, sizeof(*rows));
    bool filled = rows && fill_header(&rows[0]);
    for (size_t i = 0; filled && i < adapters->n_kinds; i++)
        filled = fill_row(&rows[i + 1], adapters->kinds[i]);
    if (filled)
        print_rows(rows, count);
    rows_free(rows, count);
    return filled ? NULL : error_no_memory();
}

static int run(const struct arguments *arguments) {
    const char *values[N_FLAGS + 1];
    int code = EXIT_SUCCESS;
    if (!flags_read(&subcommand_adapters, arguments, values, &code))
        return code;
    return setup_use(values[CONFIG], values[ADAPTERS], print_table, NULL);
}

const struct subcommand subcommand_adapters = {
    .name = "adapters",
    .run = run,
    .flags = flags,
    .n_flags = N_FLAGS,
    .summary = "list the adapters and their kinds",
    .text = "Loads the adapters that the configuration enables and prints a line for each kind: the adapter's name,\n"
            "version and ABI, the kind with its versions, the field that delegates a workload and the value of it\n"
            "that this host manages, the adapter's file and its SHA-256. Exits with 1 if an adapter cannot be\n"
            "loaded.\n",
};
