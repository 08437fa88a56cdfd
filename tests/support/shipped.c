// SPDX-License-Identifier: Apache-2.0
#include "tests/support/shipped.h"

#include "core/base/text.h"
#include "core/json/yaml.h"
#include "tests/support/built.h"

#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS "tests/fixtures/generic.yaml" // of the adapter that has no kinds without settings

static void must(bool done, const char *what) {
    if (done)
        return;
    fprintf(stderr, "adapters: %s\n", what);
    exit(2);
}

static int is_adapter(const struct dirent *entry) {
    return text_has_suffix(entry->d_name, ".so");
}

static bool is_in_tree(const char *name) {
    AUTO_TEXT pattern = text_format("plugins/*/%s.c", name);
    glob_t found = {0};
    bool any = pattern && glob(pattern, 0, NULL, &found) == 0;
    globfree(&found);
    return any;
}

// An empty mapping for those that have no settings.
static struct json *settings_of(struct shipped *shipped, const char *name) {
    AUTO_BUFFER(text, 1 << 20);
    struct yaml yaml = {.value = NULL};
    if (strcmp(name, "generic") != 0)
        return json_new_object();
    struct error *error = text_read_file(SETTINGS, 1 << 20, &text);
    if (!error)
        error = yaml_parse(SETTINGS, text.data, text.len, &yaml);
    if (error)
        problems_add(&shipped->problems, "%s", error_text(error));
    error_free(error);
    return yaml.value ? yaml.value : json_new_object();
}

static void find_folder(struct shipped *shipped) {
    shipped->folder = built_path("adapters");
    shipped->program = built_path("wharf-adapter");
    must(shipped->folder && shipped->program, "the build folder");
}

// It has memory for one more.
static void want(struct shipped *shipped, const char *name) {
    shipped->wanted[shipped->n_wanted++] =
        (struct adapter_wanted){.name = strdup(name),
                                .file = text_format("%s/%s.so", shipped->folder, name),
                                .settings = settings_of(shipped, name)};
}

static void want_all(struct shipped *shipped) {
    struct dirent **entries = NULL;
    int count = scandir(shipped->folder, &entries, is_adapter, alphasort);
    must(count > 0, shipped->folder);
    shipped->wanted = calloc((size_t)count, sizeof *shipped->wanted);
    for (int i = 0; i < count; i++) {
        char *name = strndup(entries[i]->d_name, strlen(entries[i]->d_name) - 3);
        if (name && is_in_tree(name)) // and not what an earlier build left there
            want(shipped, name);
        free(name);
        free(entries[i]);
    }
    free(entries);
}

static void load(struct shipped *shipped, bool isolated) {
    struct adapters_options options = {.config_path = "test",
                                       .controller_name = "wharf.dev/host",
                                       .directory = shipped->folder,
                                       .isolation = isolated ? ISOLATION_ALL : ISOLATION_NONE,
                                       .patient = true,
                                       .program = shipped->program,
                                       .wanted = shipped->wanted,
                                       .n_wanted = shipped->n_wanted};
    must(!adapters_load(&options, &shipped->problems, &shipped->adapters), shipped->folder);
}

void shipped_load(struct shipped *shipped, bool isolated) {
    *shipped = (struct shipped){.folder = NULL};
    find_folder(shipped);
    want_all(shipped);
    load(shipped, isolated);
}

void shipped_load_one(struct shipped *shipped, const char *name, bool isolated) {
    *shipped = (struct shipped){.folder = NULL};
    find_folder(shipped);
    shipped->wanted = calloc(1, sizeof *shipped->wanted);
    want(shipped, name);
    load(shipped, isolated);
}

void shipped_free(struct shipped *shipped) {
    adapters_free(shipped->adapters);
    problems_free(&shipped->problems);
    for (size_t i = 0; i < shipped->n_wanted; i++) {
        free((char *)(uintptr_t)shipped->wanted[i].name);
        free((char *)(uintptr_t)shipped->wanted[i].file);
        json_free((struct json *)(uintptr_t)shipped->wanted[i].settings);
    }
    free(shipped->wanted);
    free(shipped->folder);
    free(shipped->program);
}

const struct kind *shipped_kind(const struct shipped *shipped, const char *plural) {
    for (size_t i = 0; i < shipped->adapters->n_kinds; i++)
        if (strcmp(shipped->adapters->kinds[i]->abi.plural, plural) == 0)
            return shipped->adapters->kinds[i];
    return NULL;
}
