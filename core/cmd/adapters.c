// SPDX-License-Identifier: Apache-2.0
// `wharf adapters`: a table of the loaded adapters, a line for each kind. `wharf adapter test`: runs the conformance
// kit (core/conform), a separate program that parses the flags.
#include "core/cmd/setup.h"

#include <errno.h>
#include <unistd.h>

static const struct flag flags[] = {FLAG_CONFIG, FLAG_ADAPTERS};

// "jobs.batch/v1"; further versions after commas. NULL when out of memory.
static char *kind_text(const struct kind *kind) {
    AUTO_BUFFER(text, 65536);
    buffer_printf(&text, "%s/", kind->plural_group);
    for (size_t i = 0; kind->abi.versions[i]; i++)
        buffer_printf(&text, "%s%s", i == 0 ? "" : ",", kind->abi.versions[i]);
    return buffer_take(&text, NULL);
}

static void add_row(struct text_table *table, const char *const *cells) {
    for (size_t i = 0; i < table->n_columns; i++)
        text_table_add(table, cells[i]);
}

// `kind` NULL: of an adapter that has none, and rates workers.
static void add_adapter(struct text_table *table, const struct adapter *adapter, const struct kind *kind) {
    AUTO_TEXT abi = text_format("%u.%u", adapter->abi_major, adapter->abi_minor);
    AUTO_TEXT resource = kind ? kind_text(kind) : strdup("scores of all kinds");
    const char *field = kind ? kind->abi.managed_by : "-", *value = kind ? kind->managed_by : "-";
    const char *const cells[] = {adapter->name, adapter->version, abi, resource, field, value,
                                 adapter->file, adapter->sha256};
    table->failed |= !abi || !resource;
    add_row(table, cells);
}

static struct error *print_table(struct call *call, struct setup *setup) {
    static const char *const titles[] = {"NAME", "VERSION", "ABI", "KIND", "FIELD", "VALUE", "FILE", "SHA256"};
    struct text_table table = {.n_columns = COUNT(titles)};
    (void)call;
    add_row(&table, titles);
    for (size_t i = 0; i < setup->adapters->n_kinds; i++)
        add_adapter(&table, setup->adapters->kinds[i]->adapter, setup->adapters->kinds[i]);
    for (size_t i = 0; i < setup->adapters->n_scorers; i++)
        if (setup->adapters->scorers[i]->every_kind)
            add_adapter(&table, setup->adapters->scorers[i]->owner, NULL);
    return text_table_end(&table, 0, stdout);
}

static struct error *run_adapters(struct call *call) {
    return setup_use(call, print_table);
}

SUBCOMMAND(adapters, run_adapters, "list the adapters and their kinds",
           "Loads the adapters that the configuration enables and prints a line for each kind, and for each adapter\n"
           "that only rates workers: the adapter's name,\n"
           "version and ABI, the kind with its versions, the field that delegates a workload and the value of it\n"
           "that this host manages, the adapter's file and its SHA-256. Exits with 1 if an adapter cannot be\n"
           "loaded.\n",
           FLAGS(flags));

static const struct flag test_flags[] = {
    FLAG("objects", 0, "DIR",
         "a folder with objects of its kinds, YAML or JSON; documents beside an object\n"
         "without a kind are steps of its life: a status of its mirror, a patch by a user"),
    FLAG("settings", 0, "FILE", "the adapter's settings, YAML"),
    FLAG("crd", 0, "FILE", "the CustomResourceDefinitions of its kinds, YAML: compares names, versions and pointers"),
    FLAG("save", 0, "DIR", "write an object that reproduces each finding into this folder"),
    FLAG("timeout", 0, "DURATION", "the time of the whole test, 10m by default; what is not tried then is a failure"),
    SWITCH("strict", 0, "exit with 1 after warnings, too"),
    SWITCH("quiet", 'q', "print only findings, warnings and the summary"),
    SWITCH("verbose", 'v', "print messages and all fields in the lives of the objects"),
};

// Where the kit is, relative to the folder of this program: as built, and as installed.
static const char *const places[] = {"wharf-conformance", "../libexec/wharf/wharf-conformance"};

// Returns only if the kit cannot be run.
static struct error *run_kit(struct call *call) {
    char **argv = call->rest - 1; // the word before, which becomes the program's name
    AUTO_TEXT folder = text_own_folder();
    if (!folder)
        return error_new(ERROR_IO, "/proc/self/exe: %s; the conformance kit is expected beside it", strerror(errno));
    for (size_t i = 0; i < COUNT(places); i++) {
        AUTO_TEXT path = text_format("%s/%s", folder, places[i]);
        if (!path)
            return error_no_memory();
        argv[0] = path;
        execv(path, argv);
        if (errno != ENOENT && errno != ENOTDIR)
            return error_new(ERROR_IO, "%s: %s", path, strerror(errno));
    }
    return error_new(ERROR_NOT_FOUND,
                     "the conformance kit is missing: found neither %s/%s nor %s/%s; `make` builds it, "
                     "`make install` installs it",
                     folder, places[0], folder, places[1]);
}

static const struct subcommand adapter_test = {
    .name = "adapter test",
    .run = run_kit,
    .own_flags = true,
    .operand = "FILE.so",
    .summary = "test an adapter",
    .text = "Loads an adapter in a separate process and calls its functions on the objects of a folder, on objects\n"
            "generated from the declarations of its kinds, and on damaged variants of both. Reports which rules of\n"
            "<wharf/adapter.h> the adapter violates, and where the header states them. A second pass has the sandbox\n"
            "of an adapter in a process of its own. With objects, also shows the phase after each step of\n"
            "their lives and which changes were carried, and warns of rules and pointers that match nothing.\n"
            "Exits with 0 if there are no findings, else with 1.\n",
    FLAGS(test_flags),
};

static const struct subcommand *const below[] = {&subcommand_adapter_new, &adapter_test, NULL};

SUBCOMMAND(adapter, NULL, "start or test an adapter (for its author)",
           "For authors of adapters; docs/adapters.md leads through both commands.\n", .operand = "new or test",
           .below = below);
