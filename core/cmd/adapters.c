// SPDX-License-Identifier: Apache-2.0
// `wharf adapters`: a table of the loaded adapters, a line for each kind.
#include "core/base/text.h"
#include "core/cmd/line/text_table.h"
#include "core/cmd/main.h"
#include "core/cmd/setup.h"

#include <stdlib.h>
#include <string.h>

enum { CONFIG, ADAPTERS };

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
    for (size_t i = 0; i < COUNT(cells); i++)
        text_table_add(table, cells[i]);
}

static struct error *print_table(struct call *call, struct setup *setup) {
    (void)call;
    static const char *const titles[] = {"NAME", "VERSION", "ABI", "KIND", "FIELD", "VALUE", "FILE", "SHA256"};
    struct text_table table = {.n_columns = COUNT(titles)};
    for (size_t i = 0; i < table.n_columns; i++)
        text_table_add(&table, titles[i]);
    for (size_t i = 0; i < setup->adapters->n_kinds; i++)
        add_kind(&table, setup->adapters->kinds[i]);
    return text_table_end(&table, 0, stdout);
}

static struct error *run_adapters(struct call *call) {
    return setup_use(call, print_table);
}

SUBCOMMAND(adapters, run_adapters, "list the adapters and their kinds",
           "Loads the adapters that the configuration enables and prints a line for each kind: the adapter's name,\n"
           "version and ABI, the kind with its versions, the field that delegates a workload and the value of it\n"
           "that this host manages, the adapter's file and its SHA-256. Exits with 1 if an adapter cannot be\n"
           "loaded.\n",
           FLAGS(flags));
