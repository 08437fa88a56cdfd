// SPDX-License-Identifier: Apache-2.0
// The shared object of an adapter, in the process that loads it: the host, or the adapter's own.
#include "core/adapter/load/adapter_module.h"

#include "core/adapter/services.h"
#include "core/base/text.h"

#include <dlfcn.h>
#include <link.h>

#define SYMBOL "wharf_module_v1"
#define NEWEST_MAJOR_SOUGHT 9
#define KINDS_MAX 4096 // a longer list has no terminator
#define MODULE_SIZE_1_0 (offsetof(wharf_module, start) + sizeof(((wharf_module *)NULL)->start))

struct error *adapter_module_open(const char *name, void **handle) {
    *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (*handle)
        return NULL;
    const char *problem = dlerror();
    problem = !problem ? "no reason given" : problem;
    if (text_has_prefix(problem, name) && text_has_prefix(problem + strlen(name), ": "))
        problem += strlen(name) + 2;
    return error_new(ERROR_REFUSED, "cannot be loaded: %s", problem);
}

void adapter_forget_kinds(struct adapter *adapter) {
    for (size_t i = adapter->n_inherited; i < adapter->n_kinds; i++)
        kind_free((struct kind *)adapter->kinds[i]);
    free(adapter->kinds);
    adapter->kinds = NULL;
    adapter->n_kinds = 0;
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
struct error *adapter_module_find(void *handle, wharf_module *out) {
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

struct error *adapter_module_check(const wharf_module *module) {
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
    if (!module->start && !module->score && (!module->kinds || !module->kinds[0]))
        return error_new(ERROR_INVALID, "kinds: found none, expected at least one, start that brings them, or score");
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
    struct error *wrong = adapter_settings_kind_wrong(loading->given, kind, number, error, &loading->line);
    if (!wrong)
        return error;
    loading->settings = true;
    error_free(error);
    return wrong;
}

void adapter_report(const struct loading *loading, struct problems *problems, struct error *error) {
    error = error_wrap(error, "adapter %s", loading->wanted->name);
    if (loading->line > 0)
        error = error_wrap(error, "%s:%zu", loading->options->config_path, loading->line);
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

static struct error *check_kind(struct loading *loading, const struct adapter *adapter, const wharf_kind *given,
                                struct kind **out) {
    if (loading->of_settings && loading->apart)
        return kind_copy(given, out);
    TRY(kind_check(given, loading->wanted->managed_by, loading->options->controller_name, out));
    const struct kind *const *earlier = adapter->kinds;
    while (*earlier && !adapter_kind_is_same(*earlier, *out))
        earlier++;
    return *earlier ? error_new(ERROR_REFUSED, "found the kind or the plural of %s a second time, expected each once",
                                (*earlier)->plural_group)
                    : NULL;
}

static struct error *take_kind(struct loading *loading, const wharf_kind *given, size_t number,
                               struct adapter *adapter) {
    struct kind *kind = NULL;
    bool refused = loading->of_settings && !loading->apart && WHARF_HAS(wharf_kind, given, refused) && given->refused;
    struct error *error = refused ? start_error(loading, given->refused) : check_kind(loading, adapter, given, &kind);
    if (refused || error) {
        kind_free(kind);
        return loading->settings ? error : at_setting(loading, given, number, error);
    }
    kind->adapter = adapter;
    kind->hybrid = loading->wanted->hybrid;
    kind->starts_anew = loading->wanted->starts_anew;
    adapter->kinds[adapter->n_kinds++] = kind;
    return kind_set_owned(kind, adapter->owned_objects) ? NULL : error_no_memory();
}

// Takes the error: a kind that `start` made of settings is refused alone. Later settings may have it again, corrected.
static struct error *refuse_kind(struct loading *loading, struct json *items, struct json *item, struct error *error) {
    if (!error || !loading->of_settings || loading->apart || error->code == ERROR_NO_MEMORY)
        return error;
    if (!loading->settings)
        error = error_wrap(error, "%s", loading->wanted->file);
    adapter_report(loading, loading->refused, error);
    loading->line = loading->wanted->line;
    loading->settings = false;
    if (item)
        json_remove_child(items, item);
    return NULL;
}

struct error *adapter_take_kinds(struct loading *loading, const wharf_kind *const *kinds, struct adapter *adapter) {
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

void adapter_set_scorer(const wharf_module *module, bool has_kinds, struct adapter *adapter) {
    adapter->scorer = (struct scorer){module->score, adapter->name, adapter, !has_kinds};
}

// Check all data before passing anything to the adapter or calling a function.
struct error *adapter_module_start(const wharf_module *module, struct loading *loading, struct adapter *adapter) {
    const wharf_kind *const *kinds = module->kinds;
    loading->settings = true;
    TRY(adapter_settings_check(module, loading->wanted->settings, &loading->line));
    loading->settings = false;
    TRY(adapter_take_kinds(loading, kinds, adapter));
    if (module->host)
        *module->host = services_table();
    TRY(start(module, loading, &kinds));
    loading->of_settings = kinds != module->kinds;
    if (loading->of_settings) {
        adapter_forget_kinds(adapter);
        TRY(adapter_take_kinds(loading, kinds, adapter));
    }
    bool has_kinds = kinds && kinds[0];
    adapter_set_scorer(module, has_kinds, adapter);
    return has_kinds || module->score
               ? NULL
               : error_new(ERROR_INVALID, "kinds: found none after start, expected at least one");
}
