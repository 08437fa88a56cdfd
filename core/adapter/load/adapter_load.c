// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/load/adapter_load.h"

#include "core/adapter/services.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/trust.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#define SYMBOL "wharf_module_v1"
#define NEWEST_MAJOR_SOUGHT 9
#define KINDS_MAX 4096 // a longer list has no terminator
#define MODULE_SIZE_1_0 (offsetof(wharf_module, start) + sizeof(((wharf_module *)NULL)->start))

static void forget_kinds(struct adapter *adapter) {
    for (size_t i = adapter->n_inherited; i < adapter->n_kinds; i++)
        kind_free((struct kind *)adapter->kinds[i]);
    free(adapter->kinds);
    adapter->kinds = NULL;
    adapter->n_kinds = 0;
}

void adapter_free(struct adapter *adapter) {
    if (!adapter)
        return;
    forget_kinds(adapter);
    json_free(adapter->settings);
    free(adapter);
}

// A path relative to the directory must be inside the directory after resolving symlinks.
static struct error *inside_directory(const struct adapters_options *options, const struct adapter_wanted *wanted,
                                      const char *resolved) {
    if (wanted->file_given)
        return NULL;
    AUTO_TEXT directory = NULL;
    TRY(trust_folders_check(options->directory, &directory));
    size_t len = strlen(directory);
    if (strncmp(resolved, directory, len) == 0 && resolved[len] == '/')
        return NULL;
    return error_new(ERROR_REFUSED,
                     "%s: not in adapters.directory (%s), expected it there or named by an absolute path", resolved,
                     directory);
}

// Explains a file that lacks the symbol.
static struct error *no_symbol(void *handle) {
    for (int major = 2; major <= NEWEST_MAJOR_SOUGHT; major++) {
        AUTO_TEXT name = text_format("wharf_module_v%d", major);
        if (!name)
            return error_no_memory();
        if (dlsym(handle, name))
            return error_new(ERROR_REFUSED,
                             "symbol " SYMBOL ": found %s instead: built for ABI major %d, expected major %d", name,
                             major, WHARF_ABI_MAJOR);
    }
    return error_new(ERROR_REFUSED,
                     "symbol " SYMBOL ": found none, expected it to be exported: this is not an adapter");
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
    *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!*handle) {
        const char *problem = dlerror();
        problem = !problem ? "no reason given" : problem;
        if (text_has_prefix(problem, name) && text_has_prefix(problem + strlen(name), ": "))
            problem += strlen(name) + 2;
        return error_new(ERROR_REFUSED, "cannot be loaded: %s", problem);
    }
    file->fd = -1;
    return NULL;
}

// Checks that the symbol is data of at least the size of a module of ABI 1.0, and so readable.
static struct error *check_symbol(const void *symbol) {
    Dl_info info;
    const ElfW(Sym) *entry = NULL;
    if (dladdr1(symbol, &info, (void **)&entry, RTLD_DL_SYMENT) == 0 || !entry)
        return NULL; // the linker does not know
    if (ELF64_ST_TYPE(entry->st_info) != STT_OBJECT)
        return error_new(ERROR_REFUSED, "symbol " SYMBOL ": found no data, expected a constant of type wharf_module");
    if (entry->st_size < MODULE_SIZE_1_0)
        return error_new(ERROR_REFUSED, "symbol " SYMBOL ": found %zu bytes, expected at least %zu (ABI 1.0)",
                         (size_t)entry->st_size, MODULE_SIZE_1_0);
    return NULL;
}

// The module in the host's layout: fields that an older struct lacks are zero.
static struct error *find_module(void *handle, wharf_module *out) {
    const void *symbol = dlsym(handle, SYMBOL);
    if (!symbol)
        return no_symbol(handle);
    TRY(check_symbol(symbol));
    const wharf_module *module = symbol;
    if (module->size < MODULE_SIZE_1_0)
        return error_new(ERROR_REFUSED, "struct wharf_module: found size %zu, expected at least %zu (ABI 1.0)",
                         module->size, MODULE_SIZE_1_0);
    memset(out, 0, sizeof(*out));
    memcpy(out, module, module->size < sizeof(*out) ? module->size : sizeof(*out));
    return NULL;
}

static struct error *check_module(const wharf_module *module) {
    if (module->abi_major != WHARF_ABI_MAJOR)
        return error_new(ERROR_REFUSED, "abi_major: found %u, expected %d", module->abi_major, WHARF_ABI_MAJOR);
    if (module->abi_minor > WHARF_ABI_MINOR)
        return error_new(ERROR_REFUSED, "abi_minor: found %u, expected at most %d: it needs a newer host",
                         module->abi_minor, WHARF_ABI_MINOR);
    if (!module->name || !text_is_dns_label(module->name))
        return error_new(ERROR_INVALID, "name: found \"%s\", expected an RFC 1123 label",
                         !module->name ? "" : module->name);
    if (!module->version || module->version[0] == '\0')
        return error_new(ERROR_INVALID, "version: found nothing, expected a value: it is required");
    if (!module->start && (!module->kinds || !module->kinds[0]))
        return error_new(ERROR_INVALID, "kinds: found none, expected at least one, or start that brings them");
    if (!module->start && module->settings && module->settings[0])
        return error_new(ERROR_INVALID, "settings: found \"%s\", expected none without start, which reads them",
                         module->settings[0]);
    return NULL;
}

// For messages about a kind that may be invalid in any way.
static const char *kind_name(const wharf_kind *kind) {
    return WHARF_HAS(wharf_kind, kind, kind) && kind->kind ? kind->kind : "no name";
}

// Attributes the error of a kind that `start` made to the setting. Takes the error.
static struct error *at_setting(struct loading *loading, const wharf_kind *kind, size_t number, struct error *error) {
    error = error_wrap(error, "kind %zu (%s)", number, kind_name(kind));
    if (error->code == ERROR_NO_MEMORY || !loading->given || !WHARF_HAS(wharf_kind, kind, kind))
        return error;
    struct error *wrong = adapter_settings_kind_wrong(loading->given, kind, error, &loading->line);
    if (!wrong)
        return error;
    loading->settings = true;
    error_free(error);
    return wrong;
}

void adapter_report(const struct loading *loading, size_t line, struct problems *problems, struct error *error) {
    error = error_wrap(error, "adapter %s", loading->wanted->name);
    if (line > 0)
        error = error_wrap(error, "%s:%zu", loading->options->config_path, line);
    problems_add_error(problems, error);
}

bool adapter_kind_is_same(const struct kind *a, const struct kind *b) {
    return strcmp(a->abi.group, b->abi.group) == 0 &&
           (strcmp(a->abi.plural, b->abi.plural) == 0 || strcmp(a->abi.kind, b->abi.kind) == 0);
}

// Turns the adapter's sentence about a setting into an error about the line in the configuration.
static struct error *start_error(struct loading *loading, const char *sentence) {
    if (sentence[0] == '\0' || text_utf8_valid(sentence, strlen(sentence)) != strlen(sentence))
        return error_new(ERROR_REFUSED, "refused to be loaded: it gave no reason");
    struct error *error = adapter_settings_wrong(loading->wanted->settings, sentence, &loading->line);
    loading->settings = error;
    return error ? error : error_new(ERROR_REFUSED, "refused to be loaded: %s", sentence);
}

// The adapter's own sentence about a kind, and the checks of each kind.
static struct error *check_kind(struct loading *loading, const struct adapter *adapter, const wharf_kind *given,
                                struct kind **out) {
    if (loading->of_settings && WHARF_HAS(wharf_kind, given, refused) && given->refused)
        return start_error(loading, given->refused);
    TRY(kind_check(given, loading->wanted->managed_by, loading->options->controller_name, out));
    for (size_t i = 0; i < adapter->n_kinds; i++)
        if (adapter_kind_is_same(adapter->kinds[i], *out))
            return error_new(ERROR_REFUSED, "found the kind or the plural of %s a second time, expected each once",
                             adapter->kinds[i]->plural_group);
    return NULL;
}

static struct error *take_kind(struct loading *loading, const wharf_kind *given, size_t number,
                               struct adapter *adapter) {
    struct kind *kind = NULL;
    struct error *error = check_kind(loading, adapter, given, &kind);
    if (error) {
        kind_free(kind);
        return loading->settings ? error : at_setting(loading, given, number, error);
    }
    kind->adapter = adapter;
    kind->hybrid = loading->wanted->hybrid;
    adapter->kinds[adapter->n_kinds++] = kind;
    return kind_set_owned(kind, adapter->owned_objects) ? NULL : error_no_memory();
}

// Takes the error: a kind that `start` made of settings is refused alone. Later settings may have it again, corrected.
static struct error *refuse_kind(struct loading *loading, struct json *items, struct json *item, struct error *error) {
    if (!error || !loading->of_settings || error->code == ERROR_NO_MEMORY)
        return error;
    if (!loading->settings)
        error = error_wrap(error, "%s", loading->wanted->file);
    adapter_report(loading, loading->line, loading->refused, error);
    loading->line = loading->wanted->line;
    loading->settings = false;
    if (item)
        json_remove_child(items, item);
    return NULL;
}

static struct error *take_kinds(struct loading *loading, const wharf_kind *const *kinds, struct adapter *adapter) {
    size_t count = 0;
    while (kinds && kinds[count])
        if (++count > KINDS_MAX)
            return error_new(ERROR_INVALID, "kinds: found more than %d, expected a list that ends with NULL",
                             KINDS_MAX);
    adapter->kinds = calloc(count + 1, sizeof(struct kind *));
    if (!adapter->kinds)
        return error_no_memory();
    // By convention, `start` makes one kind of each item of the setting `kinds`.
    struct json *items = json_get(adapter->settings, "kinds");
    struct json *item = json_is(items, JSON_ARRAY) && json_size(items) == count ? json_first(items) : NULL;
    for (size_t i = 0; i < count; i++) {
        struct json *next = item ? json_next(item) : NULL;
        TRY(refuse_kind(loading, items, item, take_kind(loading, kinds[i], i + 1, adapter)));
        item = next;
    }
    return NULL;
}

// The first call into the shared object, which may replace `kinds`.
static struct error *start(const wharf_module *module, struct loading *loading, const wharf_kind *const **kinds) {
    if (!module->start)
        return NULL;
    struct json *settings = json_copy(loading->wanted->settings);
    if (!settings || !services_keep(settings))
        return error_no_memory();
    loading->given = settings;
    services_loading(loading->wanted->name);
    const char *sentence = module->start(services_table(), (const wharf_value *)settings, kinds);
    services_loading(NULL);
    TRY(services_loading_failed());
    return sentence ? start_error(loading, sentence) : NULL;
}

// Check all data before passing anything to the adapter or calling a function.
static struct error *load_module(const wharf_module *module, struct loading *loading, struct adapter *adapter) {
    const wharf_kind *const *kinds = module->kinds;
    loading->settings = true;
    TRY(adapter_settings_check(module, loading->wanted->settings, &loading->line));
    loading->settings = false;
    TRY(take_kinds(loading, kinds, adapter));
    if (module->host)
        *module->host = services_table();
    TRY(start(module, loading, &kinds));
    loading->of_settings = kinds != module->kinds;
    if (loading->of_settings) {
        forget_kinds(adapter);
        TRY(take_kinds(loading, kinds, adapter));
    }
    return kinds && kinds[0] ? NULL : error_new(ERROR_INVALID, "kinds: found none after start, expected at least one");
}

static struct error *load_file(struct loading *loading, struct adapter_file *file, struct adapter **out) {
    const struct adapter_wanted *wanted = loading->wanted;
    wharf_module module = {0};
    void *handle = NULL;
    TRY(open_object(loading, file, &handle));
    TRY(find_module(handle, &module));
    TRY(check_module(&module));
    struct adapter adapter = {.name = module.name,
                              .file = file->path,
                              .version = module.version,
                              .named = wanted->name,
                              .managed_by = wanted->managed_by ? wanted->managed_by : "",
                              .owned_objects = wanted->owned_objects ? wanted->owned_objects : "",
                              .abi_major = module.abi_major,
                              .abi_minor = module.abi_minor,
                              .handle = handle,
                              .hybrid = wanted->hybrid};
    memcpy(adapter.sha256, file->sha256, sizeof(adapter.sha256));
    *out = struct_copy_with_texts(&adapter, sizeof adapter, ADAPTER_TEXTS);
    if (!*out || !((*out)->settings = json_copy(wanted->settings)))
        return error_no_memory();
    return load_module(&module, loading, *out);
}

struct error *adapter_load(struct loading *loading, struct adapter **out) {
    AUTO_ADAPTER_FILE file = {.fd = -1};
    TRY(adapter_file_open(loading->wanted->file, loading->wanted->sha256, &file));
    TRY(inside_directory(loading->options, loading->wanted, file.path));
    struct error *error = load_file(loading, &file, out);
    if (error)
        adapter_free(TAKE(*out));
    return loading->settings ? error : error_wrap(error, "%s", file.path);
}
