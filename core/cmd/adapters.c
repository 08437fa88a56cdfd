// SPDX-License-Identifier: Apache-2.0
// `wharf adapters`: a table of the loaded adapters, a line for each kind.
#include "core/base/text.h"
#include "core/cmd/line/text_table.h"
#include "core/cmd/main.h"
#include "core/cmd/setup.h"

#include <stdlib.h>
#include <string.h>

enum { CONFIG, ADAPTERS, N_FLAGS };

static const struct flag flags[] = {[CONFIG] = FLAG_CONFIG, [ADAPTERS] = FLAG_ADAPTERS};

// "jobs.batch/v1"; further versions after commas. NULL when out of memory.
static char *kind_text(const struct kind *kind) {
    AUTO_BUFFER(text, 65536);
    buffer_printf(&text, "%s/", kind->plural_group);
    for (size_t i = 0; kind->abi.versions[i]; i++)
        buffer_printf(&text, "%s%s", i == 0 ? "" : ",", kind->abi.versions[i]);
    return buffer_take(&text, NULL);
}

static void add_kind(struct text_table *table, const struct kind *kind) {
    const struct adapter *adapter = kind->adapter;
    AUTO_TEXT abi = text_format("%u.%u", adapter->abi_major, adapter->abi_minor);
    AUTO_TEXT resource = kind_text(kind);
    table->failed |= !abi || !resource;
    const char *const cells[] = {adapter->name,        adapter->version, abi,           resource,
                                 kind->abi.managed_by, kind->managed_by, adapter->file, adapter->sha256};
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++)
        text_table_add(table, cells[i]);
}

static struct error *print_table(void *ctx, const struct config *config, const struct adapters *adapters,
                                 struct problems *problems) {
    (void)ctx, (void)config, (void)problems;
    static const char *const titles[] = {"NAME", "VERSION", "ABI", "KIND", "FIELD", "VALUE", "FILE", "SHA256"};
    struct text_table table = {.n_columns = sizeof titles / sizeof titles[0]};
    for (size_t i = 0; i < table.n_columns; i++)
        text_table_add(&table, titles[i]);
    for (size_t i = 0; i < adapters->n_kinds; i++)
        add_kind(&table, adapters->kinds[i]);
    bool printed = text_table_print(&table, 0, stdout);
    text_table_free(&table);
    return printed ? NULL : error_no_memory();
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
