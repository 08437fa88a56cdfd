// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/load/adapter_load.h"

#include "core/adapter/load/adapter_module.h"
#include "core/adapter/process/remote.h"
#include "core/adapter/services/net.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/trust.h"

#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

void adapter_free(struct adapter *adapter) {
    if (!adapter)
        return;
    adapter_forget_kinds(adapter);
    remote_free(adapter->remote);
    json_free(adapter->settings);
    free(adapter);
}

// A path relative to the directory must be inside the directory after resolving symlinks. The folders of `resolved`,
// which begin with the directory then, are checked already.
static struct error *inside_directory(const struct adapters_options *options, const struct adapter_wanted *wanted,
                                      const char *resolved) {
    if (wanted->file_given)
        return NULL;
    AUTO_TEXT directory = realpath(options->directory, NULL);
    if (!directory)
        return error_new(ERROR_IO, "%s: %s", options->directory, strerror(errno));
    size_t len = strlen(directory);
    if (strncmp(resolved, directory, len) == 0 && resolved[len] == '/')
        return NULL;
    return error_new(ERROR_REFUSED,
                     "%s: not in adapters.directory (%s), expected it there or named by an absolute path", resolved,
                     directory);
}

// By process number: in a debugger /proc/self would be the debugger. NULL: out of memory.
static char *object_name(const struct adapter_file *file) {
    char process[32] = "";
    ssize_t len = readlink("/proc/self", process, sizeof(process) - 1);
    return text_format("/proc/%s/fd/%d", len > 0 ? process : "self", file->fd);
}

static bool is_open(const struct adapter_file *file) {
    AUTO_TEXT name = object_name(file);
    void *handle = name ? dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) : NULL;
    if (handle)
        dlclose(handle); // drop the second reference
    return handle;
}

// Loads the checked content. If the system allows no file in memory, loads the checked file, which others could change
// meanwhile. The dynamic linker identifies files by inode: the same file would not be loaded a second time with
// separate variables.
static struct error *choose_file(struct loading *loading, struct adapter_file *file) {
    struct error *error = adapter_file_to_memory(file);
    if (!error)
        return NULL;
    loading->alone = is_open(file);
    if (loading->alone)
        return error_wrap(error, "cannot be loaded a second time");
    log_fields(LOG_WARN, "adapter is loaded from its file: changing that would end this process",
               {"adapter", loading->wanted->name}, {"file", file->path}, {"reason", error_text(error)});
    error_free(error);
    return NULL;
}

// Never close the descriptor of a loaded object: the dynamic linker identifies objects by their opened names, too, and
// would return the first object for a second /proc/1/fd/5.
static struct error *open_object(struct loading *loading, struct adapter_file *file, void **handle) {
    TRY(choose_file(loading, file));
    AUTO_TEXT name = object_name(file);
    if (!name)
        return error_no_memory();
    TRY(adapter_module_open(name, handle));
    file->fd = -1;
    return NULL;
}

// The adapter without kinds.
static struct error *make_adapter(const struct loading *loading, const struct adapter_file *file,
                                  const wharf_module *module, struct adapter **out) {
    const struct adapter_wanted *wanted = loading->wanted;
    struct adapter adapter = {.name = module->name,
                              .file = file->path,
                              .version = module->version,
                              .named = wanted->name,
                              .managed_by = wanted->managed_by ? wanted->managed_by : "",
                              .owned_objects = wanted->owned_objects ? wanted->owned_objects : "",
                              .abi_major = module->abi_major,
                              .abi_minor = module->abi_minor,
                              .hybrid = wanted->hybrid,
                              .starts_anew = wanted->starts_anew};
    memcpy(adapter.sha256, file->sha256, sizeof(adapter.sha256));
    *out = struct_copy_with_texts(&adapter, sizeof adapter, ADAPTER_TEXTS);
    if (!*out || !((*out)->settings = json_copy(wanted->settings)))
        return error_no_memory();
    return NULL;
}

static struct error *load_here(struct loading *loading, struct adapter_file *file, struct adapter **out) {
    wharf_module module = {0};
    void *handle = NULL;
    net_loading(loading->wanted->name);
    struct error *error = open_object(loading, file, &handle);
    error = error ? error : adapter_module_find(handle, &module);
    error = error ? error : adapter_module_check(&module);
    error = error ? error : make_adapter(loading, file, &module, out);
    if (!error) {
        (*out)->handle = handle;
        error = adapter_module_start(&module, loading, *out);
    }
    net_loading(NULL);
    return error;
}

// The process checks the module and its settings by the same functions; what it says is checked again.
static struct error *load_apart(struct loading *loading, struct adapter_file *file, struct adapter **out) {
    struct remote_adapter *remote = NULL;
    TRY(adapter_file_to_memory(file));
    TRY(remote_load(loading, file, &remote));
    const wharf_module *module = remote_module(remote);
    struct error *error = adapter_module_check(module);
    error = error ? error : make_adapter(loading, file, module, out);
    if (!*out) {
        remote_free(remote);
        return error;
    }
    (*out)->remote = remote;
    (*out)->process = remote_process(remote);
    TRY(error);
    loading->given = loading->wanted->settings;
    loading->of_settings = remote_kinds_are_of_settings(remote);
    adapter_set_scorer(module, module->kinds && module->kinds[0], *out);
    return adapter_take_kinds(loading, module->kinds, *out);
}

bool adapter_is_apart(const struct adapters_options *options, const struct adapter_wanted *wanted) {
    switch (wanted->isolation_given ? wanted->isolation : options->isolation) {
    case ISOLATION_NONE:
        return false;
    case ISOLATION_ALL:
        return true;
    case ISOLATION_AUTO:
        break;
    }
    return !adapter_is_bundled(wanted);
}

struct error *adapter_load(struct loading *loading, struct adapter **out) {
    AUTO_ADAPTER_FILE file = {.fd = -1};
    TRY(adapter_file_open(loading->wanted->file, loading->wanted->sha256, &file));
    TRY(inside_directory(loading->options, loading->wanted, file.path));
    bool apart = adapter_is_apart(loading->options, loading->wanted);
    struct error *error = apart ? load_apart(loading, &file, out) : load_here(loading, &file, out);
    if (error)
        adapter_free(TAKE(*out));
    return loading->settings ? error : error_wrap(error, "%s", file.path);
}
