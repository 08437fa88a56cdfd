// SPDX-License-Identifier: Apache-2.0
#include "core/host/folder_watcher.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

struct stage {
    char root[64];
    char *directory;
    struct folder_watcher *watcher;
    struct watched_folder *folder;
    atomic_int calls, forced;
    atomic_bool partial; // whether w.yaml was being written at the last call
};

static bool matters(void *ctx, const char *name) {
    (void)ctx;
    return text_has_suffix(name, ".yaml") || text_has_prefix(name, "..");
}

static void changed(void *ctx, bool forced) {
    struct stage *stage = ctx;
    atomic_store(&stage->partial, folder_watcher_is_partial(stage->folder, "w.yaml"));
    atomic_fetch_add(&stage->forced, forced);
    atomic_fetch_add(&stage->calls, 1);
}

static void until(struct stage *stage, int calls) {
    for (int i = 0; atomic_load(&stage->calls) < calls; i++) {
        if (i > 3000)
            fail_msg("%d calls, expected %d", atomic_load(&stage->calls), calls);
        usleep(10000);
    }
}

static void write_file(struct stage *stage, const char *name, const char *text) {
    AUTO_TEXT path = text_format("%s/%s", stage->directory, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void rename_file(struct stage *stage, const char *from, const char *to) {
    AUTO_TEXT a = text_format("%s/%s", stage->directory, from);
    AUTO_TEXT b = text_format("%s/%s", stage->directory, to);
    assert_int_equal(rename(a, b), 0);
}

static void begin(struct stage *stage, bool exists) {
    *stage = (struct stage){.root = "/tmp/watcher_test.XXXXXX"};
    log_setup(LOG_TEXT, LOG_ERROR);
    assert_non_null(mkdtemp(stage->root));
    stage->directory = text_format("%s/d", stage->root);
    if (exists)
        assert_int_equal(mkdir(stage->directory, 0700), 0);
    struct folder_watcher_options options = {
        .directory = stage->directory, .matters = matters, .partial = true, .changed = changed, .ctx = stage};
    assert_null(folder_watcher_new(&stage->watcher));
    assert_null(folder_watcher_add(stage->watcher, &options, &stage->folder));
    assert_null(folder_watcher_start(stage->watcher));
    until(stage, 1);
}

static void end(struct stage *stage) {
    folder_watcher_free(stage->watcher);
    AUTO_TEXT command = text_format("%s/d", stage->root);
    const char *const names[] = {"w.yaml", "v.yaml", "..data", "old"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        AUTO_TEXT path = text_format("%s/%s", command, names[i]);
        unlink(path);
    }
    rmdir(command);
    rmdir(stage->root);
    free(stage->directory);
}

static void what_is_written_renamed_and_removed_is_reported(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true);
    write_file(&stage, "w.yaml", "a");
    until(&stage, 2);
    assert_false(atomic_load(&stage.partial));
    write_file(&stage, "old", "b");
    rename_file(&stage, "old", "w.yaml");
    until(&stage, 3);
    AUTO_TEXT path = text_format("%s/w.yaml", stage.directory);
    assert_int_equal(unlink(path), 0);
    until(&stage, 4);
    end(&stage);
}

static void the_symlink_of_a_mount_that_is_replaced_is_reported(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true);
    AUTO_TEXT fresh = text_format("%s/old", stage.directory);
    assert_int_equal(symlink("..2", fresh), 0);
    rename_file(&stage, "old", "..data");
    until(&stage, 2);
    end(&stage);
}

static void a_file_that_is_being_written_is_known_until_it_is_closed(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true);
    AUTO_TEXT path = text_format("%s/w.yaml", stage.directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "half", 4), 4);
    write_file(&stage, "v.yaml", "other");
    until(&stage, 2);
    assert_true(atomic_load(&stage.partial));
    assert_int_equal(write(fd, "whole", 5), 5);
    close(fd);
    until(&stage, 3);
    assert_false(atomic_load(&stage.partial));
    end(&stage);
}

static void a_directory_that_comes_later_and_again_is_found(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, false);
    assert_int_equal(mkdir(stage.directory, 0700), 0);
    until(&stage, 2); // after five seconds
    assert_int_equal(rmdir(stage.directory), 0);
    until(&stage, 3);
    assert_int_equal(mkdir(stage.directory, 0700), 0);
    folder_watcher_call(stage.watcher); // does not wait
    until(&stage, 4);
    assert_int_equal(atomic_load(&stage.forced), 1);
    write_file(&stage, "w.yaml", "a");
    until(&stage, 5);
    end(&stage);
}

static void other_files_and_idle_time_cost_nothing(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true);
    write_file(&stage, "old", "b");
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    usleep(500000);
    getrusage(RUSAGE_SELF, &after);
    assert_int_equal(atomic_load(&stage.calls), 1);
    assert_in_range(after.ru_nvcsw - before.ru_nvcsw, 0, 3);
    end(&stage);
}

// As where all instances of inotify are used up, or all of its watches.
static bool no_instances, no_watches;

int inotify_init1(int flags) {
    if (!no_instances)
        return (int)syscall(SYS_inotify_init1, flags);
    errno = EMFILE;
    return -1;
}

int inotify_add_watch(int fd, const char *name, uint32_t mask) {
    if (fd >= 0 && !no_watches)
        return (int)syscall(SYS_inotify_add_watch, fd, name, mask);
    errno = fd < 0 ? EBADF : ENOSPC;
    return -1;
}

static void without_inotify_files_are_read_every_few_seconds(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct stage stage;
        no_instances = i == 0;
        no_watches = i == 1;
        begin(&stage, true);
        write_file(&stage, "w.yaml", "a");
        until(&stage, 2);
        write_file(&stage, "old", "does not matter");
        AUTO_TEXT link = text_format("%s/..data", stage.directory);
        assert_int_equal(symlink("old", link), 0);
        until(&stage, 3);
        write_file(&stage, "old", "behind a symlink that does");
        until(&stage, 4);
        write_file(&stage, "v.yaml", "a");
        rename_file(&stage, "v.yaml", "w.yaml");
        until(&stage, 5);
        assert_int_equal(atomic_load(&stage.forced), 0);
        no_instances = no_watches = false; // some are free again
        folder_watcher_call(stage.watcher);
        until(&stage, 6);
        assert_int_equal(atomic_load(&stage.forced), 1);
        // A file that is being written is known again.
        AUTO_TEXT path = text_format("%s/w.yaml", stage.directory);
        int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, "half", 4), 4);
        write_file(&stage, "v.yaml", "b");
        until(&stage, 7);
        assert_true(atomic_load(&stage.partial));
        close(fd);
        until(&stage, 8);
        end(&stage);
    }
}

// Its parent is one of its names.
static void files_beside_a_directory_do_not_change_its_state(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true);
    write_file(&stage, "w.yaml", "1");
    uint64_t before = folder_state(stage.directory, matters, NULL);
    assert_int_not_equal(before, 0);
    write_file(&stage, "../beside.yaml", "1");
    assert_int_equal(folder_state(stage.directory, matters, NULL), before);
    write_file(&stage, "w.yaml", "22");
    assert_int_not_equal(folder_state(stage.directory, matters, NULL), before);
    AUTO_TEXT beside = text_format("%s/beside.yaml", stage.root);
    unlink(beside);
    end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_renamed_and_removed_is_reported),
        cmocka_unit_test(the_symlink_of_a_mount_that_is_replaced_is_reported),
        cmocka_unit_test(a_file_that_is_being_written_is_known_until_it_is_closed),
        cmocka_unit_test(a_directory_that_comes_later_and_again_is_found),
        cmocka_unit_test(other_files_and_idle_time_cost_nothing),
        cmocka_unit_test(without_inotify_files_are_read_every_few_seconds),
        cmocka_unit_test(files_beside_a_directory_do_not_change_its_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
