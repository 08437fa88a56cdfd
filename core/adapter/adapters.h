// SPDX-License-Identifier: Apache-2.0
// Loading of adapters: the checks before any code of a shared object runs, the ABI checks after, and the resulting
// kinds. An error names the file, the field, the found and the expected value; the other adapters still load.
#pragma once

#include "core/adapter/services.h"
#include "core/base/buffer.h"
#include "core/base/problems.h"
#include "core/json/json.h"

#include <wharf/adapter.h>

#define KIND_LISTS 9
#define ADAPTER_FILE_MAX ((size_t)256 << 20)

// While a controller of the management cluster also runs delegated workloads of the kind: new ones wait, or not; and
// HYBRID_SUSPEND: new ones wait, and the controller keeps those placed already (core/engine/status/yield.c).
enum hybrid { HYBRID_REFUSE, HYBRID_ALLOW, HYBRID_SUSPEND };

// Which adapters run in processes of their own. "auto": those that do not come with wharf (adapter_is_bundled).
enum isolation { ISOLATION_NONE, ISOLATION_AUTO, ISOLATION_ALL };

struct adapter_limits { // of an adapter in a process of its own; 0: the default (core/adapter/process/process.h)
    int64_t cpu_ns;     // processor time of one call
    size_t memory;      // bytes
    size_t answer;      // bytes of the answer of one call
};

// One kind, ready for use. Lives as long as the process.
struct kind {
    wharf_kind abi;          // the adapter's data, with zero for fields that are newer than the adapter; lists have
                             // elements of the host's own sizes
    const wharf_kind *given; // the adapter's own struct, which wharf_call.kind points to
    const struct adapter *adapter; // NULL for a kind made by kind_check alone
    char *managed_by;              // the value of managedBy that this host manages
    enum hybrid hybrid;
    bool starts_anew; // no attempt gets the progress of earlier ones, as in the configuration
    // Some versions of the kind's controller ignore managedBy. A field (see schema_find) that the API has only in later
    // versions; "": none has; NULL: no such version is known.
    const char *doubted_until;
    struct owned_objects { // made by the kind's controller, as in the configuration; `plural` NULL: none
        const char *group, *version, *plural;
        char *memory;
    } owned;
    char *plural_group;      // "jobs.batch" ("pods" for the core group): label wharf.dev/kind, metrics
    void *lists[KIND_LISTS]; // copies that abi points to
};

#define ADAPTER_TEXTS 6

struct adapter {      // begins with ADAPTER_TEXTS texts, in the same block
    const char *name; // from the module
    const char *file; // absolute, symlinks resolved
    const char *version;
    const char *named;         // as in the configuration, see adapter_wanted
    const char *managed_by;    // the same; "": the adapter's default
    const char *owned_objects; // the same; "": none
    char sha256[65];
    uint32_t abi_major, abi_minor;
    void *handle;                    // of dlopen; never closed. NULL: in `process`
    struct adapter_process *process; // see core/adapter/process/process.h; NULL: the adapter is in this process
    struct remote_adapter *remote;   // with `process`: its kinds
    const struct kind **kinds;
    size_t n_kinds;
    size_t n_inherited; // the first ones belong to the adapter that this one replaced in a newer table
    struct scorer scorer;
    enum hybrid hybrid;    // as in the configuration
    bool starts_anew;      // the same
    struct json *settings; // the same
};

// An adapter of the configuration that could not be loaded at the start.
struct adapter_refused {
    char *name, *file, *problem;
};

struct adapters {
    struct adapter **list;
    size_t count;
    struct adapter_refused *refused;
    size_t n_refused;
    struct kind **kinds; // of all, in the order of loading
    size_t n_kinds;
    const struct scorer **scorers; // of all adapters that rate workers, in the order of loading
    size_t n_scorers;
    struct adapters *former; // the table that this one extends, owned; NULL: none
};

// An adapter to load.
struct adapter_wanted {
    const char *name;
    const char *file;          // absolute
    bool file_given;           // named by an absolute path; else it must be in the directory
    const char *sha256;        // 64 hex digits; NULL: any
    const char *managed_by;    // NULL: the adapter's default
    const char *owned_objects; // NULL: none
    enum hybrid hybrid;
    bool starts_anew;     // `continue: false`
    bool isolation_given; // else that of the options
    enum isolation isolation;
    const struct json *settings; // an object
    size_t line;                 // of the configuration, for messages; 0: none
};

struct adapters_options {
    const char *directory;
    const char *controller_name;
    const char *config_path; // for messages with a line
    const struct adapter_wanted *wanted;
    size_t n_wanted;
    enum isolation isolation;
    struct adapter_limits limits;
    bool patient; // calls into a process wait for their answer, up to its limit: for commands, not for the engine
    const char *program; // of the processes, wharf-adapter; NULL: the one that was built or installed with this program
};

// Whether the adapter comes with wharf: by its name, and its place in adapters.directory.
bool adapter_is_bundled(const struct adapter_wanted *wanted);

// Loads all wanted adapters. Rejected adapters, and rejected kinds made of settings, go to `problems`; the only error
// is out of memory.
struct error *adapters_load(const struct adapters_options *options, struct problems *problems, struct adapters **out);

struct adapter_reports {
    struct problems *problems;
    struct problems *refused; // kinds made of settings that are rejected alone
    struct buffer *later;     // "adapter job (removed), adapter acme (other settings)"
};

// The same while `former`, an earlier table, is in use: loads the wanted adapters that are not loaded yet. `options`
// are complete: an adapter that is removed or changed there continues unchanged, and `later` gets the difference. If
// only the list `kinds` of an adapter's settings grew, a second instance from a copy of the file starts for the added
// items. *out is NULL without new adapters and kinds, or with any problem; else *out begins with the kinds of `former`,
// and owns `former`. Rejected instances stay in memory.
struct error *adapters_extend(struct adapters *former, const struct adapters_options *options,
                              struct adapter_reports *reports, struct adapters **out);

// Frees the lists and the kinds; shared objects stay loaded. Frees the extended tables, too, all or until `kept`.
void adapters_free(struct adapters *adapters);
void adapters_free_newer(struct adapters *adapters, const struct adapters *kept);

// A copy in the host's own layout, without checks.
struct error *kind_copy(const wharf_kind *given, struct kind **out);
// The checks of an adapter's kind (required fields, pointers, sets) without a file: for tests and for kinds built into
// a program. `managed_by` NULL: the default; `controller_name` as in the config.
struct error *kind_check(const wharf_kind *given, const char *managed_by, const char *controller_name,
                         struct kind **out);
void kind_free(struct kind *kind);
const char *kind_doubted_until(const struct kind *kind);       // see kind
bool kind_set_owned(struct kind *kind, const char *objects);   // "v1/pods", "batch/v1/jobs", ""; false: out of memory
bool kind_list_has(const char *const *list, const char *text); // of a list that ends with NULL; NULL: no

// The checks of a file that come before dlopen: absolute, a regular file and no symlink; the file and every folder
// above owned by root or the current user and not writable by others (a sticky folder like /tmp may be further above,
// but not the folder of the file); a complete ELF shared object for this machine; the hash, if given. Fills `sha256`
// (65 bytes).
struct error *adapter_file_check(const char *path, const char *expected_sha256, char sha256[65]);
