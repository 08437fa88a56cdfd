// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/adapter/adapters_stage.h"

#include "tests/support/built.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *built, *folder;

char *in(const char *directory, const char *name) {
    char *path = text_format("%s/%s", directory, name);
    assert_non_null(path);
    return path;
}

char *copied(const char *from, const char *name, long offset, char byte) {
    AUTO_TEXT source = in(built, from);
    char *target = in(folder, name);
    AUTO_BUFFER(content, 16 << 20);
    assert_null(text_read_file(source, content.max, &content));
    if (offset >= 0)
        content.data[offset] = byte;
    unlink(target);
    int fd = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content.data, content.len), content.len);
    close(fd);
    return target;
}

struct wanted enabled(const char *name, const char *file) {
    struct wanted adapter = {.name = strdup(name), .file = strdup(file), .file_given = true};
    adapter.settings = json_new_object();
    return adapter;
}

void drop(struct wanted *adapter) {
    free(adapter->name);
    free(adapter->file);
    free(adapter->sha256);
    free(adapter->managed_by);
    json_free(adapter->settings);
}

struct adapters *load(const struct wanted *list, size_t count, struct problems *problems) {
    struct adapter_wanted wanted[8];
    assert_in_range(count, 1, COUNT(wanted));
    for (size_t i = 0; i < count; i++)
        wanted[i] = (struct adapter_wanted){.name = list[i].name,
                                            .file = list[i].file,
                                            .file_given = list[i].file_given,
                                            .sha256 = list[i].sha256,
                                            .managed_by = list[i].managed_by,
                                            .settings = list[i].settings};
    struct adapters_options options = {
        .controller_name = "wharf.dev/host", .directory = built, .wanted = wanted, .n_wanted = count};
    struct adapters *adapters = NULL;
    assert_null(adapters_load(&options, problems, &adapters));
    assert_non_null(adapters);
    return adapters;
}

void assert_refused(struct wanted *adapter, const char *const expected[3]) {
    struct problems problems = {.count = 0};
    struct adapters *adapters = load(adapter, 1, &problems);
    assert_int_equal(adapters->count, 0);
    assert_int_equal(problems.count, 1);
    for (size_t i = 0; i < 3 && expected[i]; i++)
        if (!strstr(problems.list[0], expected[i]))
            fail_msg("\"%s\" does not say \"%s\"", problems.list[0], expected[i]);
    problems_free(&problems);
    adapters_free(adapters);
}

int adapters_set_up(void **state) {
    (void)state;
    built = built_path("bad_adapters");
    folder = built_path("adapters.XXXXXX");
    umask(022);
    return !built || !folder || !mkdtemp(folder) || chmod(folder, 0755) != 0;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *place) {
    (void)info;
    (void)type;
    (void)place;
    return remove(path);
}

int adapters_tear_down(void **state) {
    (void)state;
    int result = nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(built);
    free(folder);
    return result;
}
