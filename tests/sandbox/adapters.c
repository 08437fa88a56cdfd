// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/adapters.h"
#include "tests/support/wharf_child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MAX ((size_t)1 << 20)
#define PROBE "adapters.yaml"
#define SUFFIX ".so"

char *adapters_find_wharf(void) {
    char here[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", here, sizeof here - 1);
    char *slash = len > 0 ? (here[len] = '\0', strrchr(here, '/')) : NULL;
    if (slash) {
        *slash = '\0';
        char *beside = text_format("%s/wharf", here);
        if (beside && access(beside, X_OK) == 0)
            return beside;
        free(beside);
    }
    return built_path("wharf");
}

// <prefix>/lib/wharf/adapters of an installed program, or what was built with it.
static char *own_folder(const char *wharf) {
    AUTO_TEXT folder = text_directory(wharf);
    char *installed = folder ? text_format("%s/../lib/wharf/adapters", folder) : NULL;
    char *real = installed ? realpath(installed, NULL) : NULL;
    free(installed);
    return real ? real : built_path("adapters");
}

static int is_adapter(const struct dirent *entry) {
    size_t len = strlen(entry->d_name), suffix = strlen(SUFFIX);
    // generic needs settings.
    return entry->d_name[0] != '.' && len > suffix && strcmp(entry->d_name + len - suffix, SUFFIX) == 0 &&
           strcmp(entry->d_name, "generic.so") != 0;
}

static struct error *print_probe(const char *folder, struct buffer *out, size_t *found) {
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_adapter, alphasort);
    if (count < 0)
        return error_new(ERROR_IO, "%s: cannot be read as a directory: %s", folder, strerror(errno));
    buffer_text(out,
                "apiVersion: wharf.dev/v1alpha1\nkind: HostConfiguration\nmanagement: {kubeconfig: mgmt.kubeconfig}\n"
                "workers: [{name: w1, kubeconfig: w1.kubeconfig}]\nadapters:\n  directory: ");
    buffer_json_string(out, folder, strlen(folder));
    buffer_text(out, "\n  enabled:\n");
    for (int i = 0; i < count; i++) {
        buffer_printf(out, "  - name: %.*s\n", (int)(strlen(entries[i]->d_name) - strlen(SUFFIX)), entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    *found = (size_t)count;
    return out->failed ? error_no_memory() : NULL;
}

static struct error *write_file(const char *path, const struct buffer *text) {
    FILE *file = fopen(path, "we");
    bool written = file && fwrite(text->data, 1, text->len, file) == text->len;
    if (file && fclose(file) != 0)
        written = false;
    return written ? NULL : error_new(ERROR_IO, "cannot write %s: %s", path, strerror(errno));
}

// Runs `wharf adapters --config FILE`; its stderr is passed on if `loud`.
static struct error *run(const char *wharf, const char *config, bool loud, struct buffer *out) {
    char *arguments[] = {(char *)wharf, (char *)"adapters", (char *)"--config", (char *)config, NULL};
    posix_spawn_file_actions_t actions;
    int pipe_fds[2], status = 0;
    pid_t child;
    if (pipe2(pipe_fds, O_CLOEXEC) != 0)
        return error_new(ERROR_IO, "cannot make a pipe: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDOUT_FILENO);
    if (!loud)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int number = posix_spawn(&child, wharf, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_fds[1]);
    char chunk[4096];
    ssize_t got;
    while (number == 0 && (got = read(pipe_fds[0], chunk, sizeof chunk)) > 0)
        buffer_append(out, chunk, (size_t)got);
    close(pipe_fds[0]);
    if (number != 0)
        return error_new(ERROR_IO, "cannot start %s: %s", wharf, strerror(number));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    buffer_append(out, "", 0);
    // 1: some adapter cannot be loaded, which was reported.
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1 || out->failed)
        return error_new(ERROR_INTERNAL, "%s adapters: failed", wharf);
    return NULL;
}

static bool is_served(const char *resource, const struct crds *crds) {
    return strcmp(resource, "jobs.batch") == 0 || crds_find(crds, resource);
}

// A line of the table: NAME VERSION ABI KIND FIELD VALUE FILE SHA256; KIND is plural.group/versions.
static struct error *read_line(char *line, const struct crds *crds, struct adapter_list *list) {
    char *words[8], *rest = line;
    size_t count = 0;
    for (char *word; count < 8 && (word = strsep(&rest, " "));)
        if (*word)
            words[count++] = word;
    char *slash = count == 8 ? strchr(words[3], '/') : NULL;
    if (!slash || words[4][0] != '/') // the head
        return NULL;
    *slash = '\0';
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->kinds[i].resource, words[3]) == 0 || list->count == ADAPTERS_MAX)
            return NULL;
    struct adapter_kind *kind = &list->kinds[list->count++];
    *kind = (struct adapter_kind){.adapter = strdup(words[0]),
                                  .resource = strdup(words[3]),
                                  .field = strdup(words[4]),
                                  .value = strdup(words[5]),
                                  .file = strdup(words[6]),
                                  .served = is_served(words[3], crds)};
    return kind->adapter && kind->resource && kind->field && kind->value && kind->file ? NULL : error_no_memory();
}

static struct error *probe_folder(const char *wharf, const char *folder, bool loud, const char *scratch,
                                  const struct crds *crds, struct adapter_list *list) {
    AUTO_BUFFER(text, OUTPUT_MAX);
    AUTO_BUFFER(output, OUTPUT_MAX);
    AUTO_TEXT config = text_format("%s/%s", scratch, PROBE);
    size_t found = 0;
    struct error *error = config ? print_probe(folder, &text, &found) : error_no_memory();
    if (!error && found == 0)
        return loud ? error_new(ERROR_NOT_FOUND, "%s: found no adapter, expected files *.so", folder) : NULL;
    if (!error)
        error = write_file(config, &text);
    if (!error)
        error = run(wharf, config, loud, &output);
    if (config)
        unlink(config);
    char *rest = output.data;
    for (char *line; !error && rest && (line = strsep(&rest, "\n"));)
        error = read_line(line, crds, list);
    return error;
}

struct error *adapters_probe(const char *wharf, const char *folder, const char *scratch, const struct crds *crds,
                             struct adapter_list *list) {
    AUTO_TEXT own = own_folder(wharf);
    AUTO_TEXT given = folder ? realpath(folder, NULL) : NULL;
    if (folder && !given)
        return error_new(ERROR_NOT_FOUND, "--adapters %s: %s", folder, strerror(errno));
    if (!own)
        return error_new(ERROR_NOT_FOUND, "the adapters that belong to %s are not there", wharf);
    struct error *error = given ? probe_folder(wharf, given, true, scratch, crds, list) : NULL;
    return error ? error : probe_folder(wharf, own, false, scratch, crds, list);
}

void adapters_free(struct adapter_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->kinds[i].adapter);
        free(list->kinds[i].resource);
        free(list->kinds[i].field);
        free(list->kinds[i].value);
        free(list->kinds[i].file);
    }
    list->count = 0;
}

const struct adapter_kind *adapters_for(const struct adapter_list *list, const char *plural, const char *group) {
    AUTO_TEXT resource = text_format("%s.%s", plural, group);
    for (size_t i = 0; resource && i < list->count; i++)
        if (strcmp(list->kinds[i].resource, resource) == 0)
            return &list->kinds[i];
    return NULL;
}

static bool is_printed(const struct adapter_list *list, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (list->kinds[i].served && strcmp(list->kinds[i].adapter, list->kinds[index].adapter) == 0)
            return true;
    return false;
}

void adapters_print(const struct adapter_list *list, struct buffer *out) {
    for (size_t i = 0; i < list->count; i++) {
        const struct adapter_kind *kind = &list->kinds[i];
        if (!kind->served || is_printed(list, i))
            continue;
        buffer_printf(out, "  - name: %s\n    file: ", kind->adapter);
        buffer_json_string(out, kind->file, strlen(kind->file));
        buffer_char(out, '\n');
    }
}
