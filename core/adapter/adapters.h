// SPDX-License-Identifier: Apache-2.0
// Loading of adapters: the checks before any code of a shared object runs, the ABI checks after, and the kinds that
// result. A refusal names the file, the field, what was found and what was expected, and does not stop the others.
#ifndef WHARF_ADAPTER_ADAPTERS_H
#define WHARF_ADAPTER_ADAPTERS_H

#include "core/base/problems.h"
#include "core/config/config.h"

#include <wharf/adapter.h>

// One kind, ready for use. Lives as long as the process.
struct kind {
    wharf_kind abi;                // what the adapter gave, with zero for what its version of the struct did not have
    const wharf_kind *given;       // where the adapter has it: what wharf_call.kind points to
    const struct adapter *adapter; // NULL for a kind made by kind_check alone
    char *managed_by;              // the value that we answer to
    char *plural_group;            // "jobs.batch" ("pods" for the core group): label wharf.dev/kind, metrics
};

struct adapter {
    char *name; // from the module
    char *file; // absolute, symlinks resolved
    char *version;
    char sha256[65];
    uint32_t abi_major, abi_minor;
    void *handle; // of dlopen; never closed
    const struct kind **kinds;
    size_t n_kinds;
};

struct adapters {
    struct adapter **list;
    size_t count;
    struct kind **kinds; // of all, in the order of loading
    size_t n_kinds;
};

// Loads all that the configuration enables. Refusals go to `problems`; an error is returned only for out of memory.
struct error *adapters_load(const struct config *config, struct problems *problems, struct adapters **out);

// Frees the lists and the kinds; shared objects stay loaded.
void adapters_free(struct adapters *adapters);

// The checks of a kind as an adapter gave it (required fields, pointers, sets), without any file: for tests and for
// kinds built into a program. `managed_by` NULL: the default; `controller_name` as in the config.
struct error *kind_check(const wharf_kind *given, const char *managed_by, const char *controller_name,
                         struct kind **out);
void kind_free(struct kind *kind);

// The checks of a file that come before dlopen: absolute, a regular file and no symlink, it and every folder above
// owned by root or the present user and not writable by others (a sticky folder like /tmp is safe on the way, but not
// as the folder of the file), an ELF shared object for this machine, the hash if one is given. `sha256` (65 bytes) is
// filled.
struct error *adapter_file_check(const char *path, const char *expected_sha256, char sha256[65]);

#endif
