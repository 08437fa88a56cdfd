// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/setup.h"

#include "core/base/text.h"
#include "core/host/check/dependencies.h"
#include "core/host/check/rights.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_MAX 1000 // of adapters in a directory
#define NAMES_SHOWN 20
#define SUFFIX ".so"

struct names {
    char *list[NAMES_MAX];
    size_t count;
};

static void free_names(struct names *names) {
    for (size_t i = 0; i < names->count; i++)
        free(names->list[i]);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// The names of a directory's shared objects, without suffix, in alphabetical order; none if unreadable.
static void read_names(const char *directory, struct names *names) {
    DIR *handle = opendir(directory);
    const struct dirent *found;
    while (handle && names->count < NAMES_MAX && (found = readdir(handle))) {
        size_t len = strlen(found->d_name);
        if (len <= strlen(SUFFIX) || strcmp(found->d_name + len - strlen(SUFFIX), SUFFIX) != 0)
            continue;
        char *name = strndup(found->d_name, len - strlen(SUFFIX));
        if (name)
            names->list[names->count++] = name;
    }
    if (handle)
        closedir(handle);
    qsort(names->list, names->count, sizeof(names->list[0]), by_text);
}

// "did you mean "job"? /usr/lib/wharf/adapters has generic, job".
static void append_candidates(struct buffer *out, const struct config *config, const char *wanted) {
    __attribute__((cleanup(free_names))) struct names names = {.count = 0};
    read_names(config->adapter_directory, &names);
    const char *meant = suggest(wanted, (const char *const *)names.list, names.count);
    if (meant)
        buffer_printf(out, "did you mean \"%s\"? ", meant);
    if (names.count == 0)
        buffer_printf(out, "%s has no adapters", config->adapter_directory);
    for (size_t i = 0; i < names.count && i < NAMES_SHOWN; i++)
        buffer_printf(out, "%s%s%s", i > 0 ? ", " : config->adapter_directory, i > 0 ? "" : " has ", names.list[i]);
    if (names.count > NAMES_SHOWN)
        buffer_printf(out, " and %zu more", names.count - NAMES_SHOWN);
}

static void add_problem(const struct config *config, size_t line, struct problems *problems, const char *text) {
    if (line > 0)
        problems_add(problems, "%s:%zu: %s", config->path, line, text);
    else
        problems_add(problems, "%s: %s", config->path, text);
}

// NULL: it is a directory.
static const char *directory_problem(const char *path) {
    struct stat found;
    if (stat(path, &found) != 0)
        return strerror(errno);
    return S_ISDIR(found.st_mode) ? NULL : strerror(ENOTDIR);
}

static const char how_to_change[] = "set adapters.directory, or use --adapters DIR";

static bool is_missing(const struct adapter_wanted *adapter) {
    struct stat found;
    return !adapter->file_given && lstat(adapter->file, &found) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

static void report_directory(const struct config *config, const char *problem, struct problems *problems) {
    AUTO_BUFFER(text, 65536);
    AUTO_BUFFER(names, 65536);
    size_t count = 0;
    for (size_t i = 0; i < config->n_adapters; i++)
        if (is_missing(&config->adapters[i]))
            buffer_printf(&names, "%s%s", count++ > 0 ? ", " : "", config->adapters[i].name);
    buffer_printf(&text, "%s: %s: %s, needed for adapter%s %s",
                  config->adapter_directory_from == DIRECTORY_FLAG ? "--adapters" : "adapters.directory",
                  config->adapter_directory, problem, count > 1 ? "s" : "", names.data ? names.data : "");
    if (config->adapter_directory_from == DIRECTORY_DEFAULT)
        buffer_printf(&text, "; this is the default that wharf was built with (PREFIX): %s", how_to_change);
    const char *sentence = text.data ? text.data : problem;
    if (config->adapter_directory_from == DIRECTORY_FLAG)
        problems_add(problems, "%s", sentence);
    else
        add_problem(config, config->adapter_directory_line, problems, sentence);
}

static void report_missing(const struct config *config, const struct adapter_wanted *adapter,
                           struct problems *problems) {
    AUTO_BUFFER(text, 65536);
    buffer_printf(&text, "adapter %s: %s: %s; ", adapter->name, adapter->file, strerror(ENOENT));
    append_candidates(&text, config, adapter->name);
    if (config->adapter_directory_from == DIRECTORY_DEFAULT)
        buffer_printf(&text, " (the default directory that wharf was built with: to use another one, %s)",
                      how_to_change);
    add_problem(config, adapter->line, problems, text.data ? text.data : adapter->file);
}

void setup_find_adapters(struct config *config, struct problems *problems) {
    const char *problem = directory_problem(config->adapter_directory);
    bool reported = false;
    for (size_t i = 0; i < config->n_adapters;) {
        bool missing = is_missing(&config->adapters[i]);
        if (missing && !problem)
            report_missing(config, &config->adapters[i], problems);
        else if (missing && !reported)
            report_directory(config, problem, problems);
        reported |= missing;
        if (missing)
            config_drop_adapter(config, i);
        else
            i++;
    }
}

// Makes a relative directory absolute; NULL stays NULL.
static struct error *resolve_directory(const char *directory, char **out) {
    if (!directory)
        return NULL;
    AUTO_TEXT here = directory[0] == '/' ? strdup("/") : getcwd(NULL, 0);
    if (!here && errno != ENOMEM)
        return error_new(ERROR_IO, "cannot read the current directory: %s", strerror(errno));
    *out = here ? text_resolve_path(here, directory) : NULL;
    return *out ? NULL : error_no_memory();
}

struct error *setup_config(const char *path, const char *adapter_directory, struct problems *problems,
                           struct config **out) {
    AUTO_TEXT directory = NULL;
    *out = NULL;
    if (path[0] == '~' || (adapter_directory && adapter_directory[0] == '~'))
        return error_new(ERROR_USAGE, "%s: found %s, expected an absolute path: ~ is not expanded",
                         path[0] == '~' ? "--config" : "--adapters", path[0] == '~' ? path : adapter_directory);
    TRY(resolve_directory(adapter_directory, &directory));
    return config_load_with(path, directory, problems, out);
}

struct error *setup_adapters(struct config *config, bool patient, struct problems *problems, struct adapters **out) {
    size_t known = problems->count;
    setup_find_adapters(config, problems);
    struct adapters_options options = config_adapters_of(config, config->controller_name);
    options.patient = patient;
    TRY(adapters_load(&options, problems, out));
    if (patient && problems->count == known)
        dependencies_check(config, *out, problems);
    return NULL;
}

void setup_free(struct setup *setup) {
    adapters_free(setup->adapters);
    config_free(setup->config);
    problems_free(&setup->problems);
    *setup = (struct setup){0};
}

struct error *setup_use(struct call *call, struct error *(*use)(struct call *call, struct setup *setup)) {
    __attribute__((cleanup(setup_free))) struct setup setup = {.config = NULL};
    struct error *error =
        setup_config(flags_value(call, "config"), flags_value(call, "adapters"), &setup.problems, &setup.config);
    if (!error && setup.config)
        error = setup_adapters(setup.config, true, &setup.problems, &setup.adapters);
    if (!error && setup.adapters)
        error = use(call, &setup);
    if (main_print_problems("", &setup.problems) > 0 || !setup.adapters)
        call->code = EXIT_FAILURE;
    return error;
}

// The defaults without a file; `from` replaces its path in messages. The directory may be relative, or NULL.
static struct error *setup_without_file(const char *from, const char *adapter_directory, struct config **out) {
    AUTO_TEXT directory = NULL;
    TRY(resolve_directory(adapter_directory, &directory));
    return config_without_file(from, directory, out);
}

static struct error *enable_names(struct config *config, const char *names) {
    AUTO_WORDS words = text_words(names, ',');
    for (char **name = words; name && *name; name++) {
        if (!text_is_dns_label(*name))
            return error_new(ERROR_USAGE, "--adapters-enabled: found \"%s\", expected names like job,jobset", names);
        TRY(config_enable(config, *name));
    }
    return words ? NULL : error_no_memory();
}

struct error *setup_report(const struct setup *setup) {
    bool complete = main_print_problems("", &setup->problems) == 0 && setup->adapters;
    return complete ? NULL : error_new(ERROR_INVALID, "the configuration or an adapter cannot be used");
}

struct error *setup_all(const char *adapter_directory, struct setup *out, bool *has_generic) {
    __attribute__((cleanup(free_names))) struct names names = {.count = 0};
    TRY(setup_without_file("--adapters", adapter_directory, &out->config));
    read_names(out->config->adapter_directory, &names);
    for (size_t i = 0; i < names.count; i++) {
        bool generic = strcmp(names.list[i], "generic") == 0;
        *has_generic |= generic;
        TRY(generic ? NULL : config_enable(out->config, names.list[i]));
    }
    return setup_adapters(out->config, true, &out->problems, &out->adapters);
}

bool setup_here_is_foreign(void) {
    struct stat found;
    return stat(SETUP_FILE_HERE, &found) == 0 && found.st_uid != geteuid() && found.st_uid != 0;
}

// NULL: there is none.
static const char *find_file(void) {
    const char *named = getenv("WHARF_CONFIG");
    if (named && *named)
        return named;
    if (access(SETUP_FILE_HERE, R_OK) == 0) {
        if (!setup_here_is_foreign())
            return SETUP_FILE_HERE;
        fputs("warning: " SETUP_FILE_HERE " is not used: it belongs to another user: --config names it\n", stderr);
    }
    return access(SETUP_FILE_INSTALLED, F_OK) == 0 ? SETUP_FILE_INSTALLED : NULL;
}

struct error *setup_enabled(const struct call *call, struct setup *out) {
    const char *file = flags_value(call, "config"), *directory = flags_value(call, "adapters");
    const char *names = flags_value(call, "adapters-enabled");
    *out = (struct setup){.named = file};
    if (file && names)
        return error_new(ERROR_USAGE, "found --config and --adapters-enabled, expected one of them");
    if (!file && !names)
        file = find_file();
    out->from_file = file;
    out->assumed = !file && !names;
    struct error *error = file ? setup_config(file, directory, &out->problems, &out->config)
                               : setup_without_file("--adapters-enabled", directory, &out->config);
    if (!error && !file)
        error = enable_names(out->config, names ? names : "job");
    if (!error && out->config)
        error = setup_adapters(out->config, true, &out->problems, &out->adapters);
    if (!error)
        return setup_report(out);
    main_print_problems("", &out->problems);
    return error;
}

const char *setup_namespace(const struct setup *setup, const struct call *call) {
    const char *given = flags_value(call, "namespace"), *own = setup->config->namespace_;
    return given ? given : own ? own : RIGHTS_NAMESPACE;
}
