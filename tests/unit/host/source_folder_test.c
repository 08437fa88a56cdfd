// SPDX-License-Identifier: Apache-2.0
#include "core/host/folder_watcher.h"
#include "core/host/sources/sources.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/text.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define KUBECONFIG                                                                                                     \
    "current-context: a\nclusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\n"                            \
    "users: [{name: a, user: {token: t}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"

struct stage {
    char directory[64];
    struct sources *sources;
    struct folder_watcher *watcher;
    struct source_folder *folder;
    pthread_mutex_t mutex;
    struct buffer names, notes;
};

static void apply(void *ctx, struct source_list *list, enum removal removal) {
    (void)removal;
    struct stage *stage = ctx;
    pthread_mutex_lock(&stage->mutex);
    buffer_reset(&stage->names);
    buffer_reset(&stage->notes);
    for (size_t i = 0; i < list->count; i++)
        buffer_printf(&stage->names, "%s;", list->specs[i].settings.name);
    for (size_t i = 0; i < list->n_notes; i++)
        buffer_printf(&stage->notes, "%s\n", list->notes[i].problem ? list->notes[i].problem : "good");
    pthread_mutex_unlock(&stage->mutex);
    source_list_clear(list);
}

static void begin(struct stage *stage) {
    log_setup(LOG_TEXT, LOG_ERROR);
    *stage = (struct stage){.directory = "/tmp/wharf-folder-XXXXXX"};
    pthread_mutex_init(&stage->mutex, NULL);
    buffer_init(&stage->names, 65536);
    buffer_init(&stage->notes, 65536);
    assert_non_null(mkdtemp(stage->directory));
    assert_null(sources_new(&(struct sources_options){.apply = apply, .ctx = stage}, &stage->sources));
    sources_override(stage->sources, NULL);
    assert_null(folder_watcher_new(&stage->watcher));
}

static void end(struct stage *stage) {
    folder_watcher_stop(stage->watcher);
    source_folder_free(stage->folder);
    folder_watcher_free(stage->watcher);
    sources_free(stage->sources);
    buffer_free(&stage->names);
    buffer_free(&stage->notes);
    pthread_mutex_destroy(&stage->mutex);
    AUTO_TEXT command = text_format("rm -rf '%s'", stage->directory);
    FILE *shell = popen(command, "r");
    assert_int_equal(pclose(shell), 0);
}

static char *path_of(const struct stage *stage, const char *name) {
    return text_format("%s/%s", stage->directory, name);
}

static void write_file(const struct stage *stage, const char *name, const char *text, size_t padding, mode_t mode) {
    AUTO_TEXT path = path_of(stage, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    for (size_t i = 0; i < padding; i++)
        fputc('#', file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void link_to(const struct stage *stage, const char *target, const char *name) {
    AUTO_TEXT path = path_of(stage, name);
    assert_int_equal(symlink(target, path), 0);
}

// A FIFO without a writer: whoever opened it would wait for ever.
static void make_fifo(const struct stage *stage, const char *name) {
    AUTO_TEXT path = path_of(stage, name);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static bool has(struct stage *stage, const struct buffer *where, const char *text) {
    pthread_mutex_lock(&stage->mutex);
    bool found = where->data && strstr(where->data, text);
    pthread_mutex_unlock(&stage->mutex);
    return found;
}

static void follow(struct stage *stage, const char *wanted) {
    int64_t until_ns = clock_now().mono_ns + 20 * CLOCK_SECOND;
    assert_null(source_folder_new(stage->sources, stage->watcher, stage->directory, NULL, &stage->folder));
    assert_null(folder_watcher_start(stage->watcher));
    while (!has(stage, &stage->names, wanted) && clock_now().mono_ns < until_ns)
        usleep(10000);
    assert_true(has(stage, &stage->names, wanted));
}

static void what_is_no_regular_file_does_not_stop_the_others(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    AUTO_TEXT inside = path_of(&stage, "inside.kubeconfig");
    make_fifo(&stage, "a-fifo.kubeconfig");
    link_to(&stage, "/dev/zero", "a-device.kubeconfig");
    link_to(&stage, "a-loop.kubeconfig", "a-loop.kubeconfig");
    assert_int_equal(mkdir(inside, 0700), 0);
    write_file(&stage, "a-huge.kubeconfig", KUBECONFIG, (size_t)5 << 20, 0600);
    write_file(&stage, "w1.kubeconfig", KUBECONFIG, 0, 0600);
    follow(&stage, "w1;");
    assert_string_equal(stage.names.data, "w1;");
    assert_true(has(&stage, &stage.notes, "a-fifo.kubeconfig is not a regular file"));
    assert_true(has(&stage, &stage.notes, "a-device.kubeconfig is not a regular file"));
    assert_true(has(&stage, &stage.notes, "inside.kubeconfig is not a regular file"));
    assert_true(has(&stage, &stage.notes, "a-huge.kubeconfig is larger than"));
    end(&stage);
}

static void a_kubeconfig_that_names_a_fifo_does_not_stop_the_others(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    make_fifo(&stage, "fifo");
    write_file(&stage, "a1.kubeconfig",
               "current-context: a\nclusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\n"
               "users: [{name: a, user: {tokenFile: fifo}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n",
               0, 0600);
    write_file(&stage, "a2.kubeconfig",
               "current-context: a\nclusters: [{name: a, cluster: {server: 'https://127.0.0.1:1', "
               "certificate-authority: fifo}}]\ncontexts: [{name: a, context: {cluster: a, user: ''}}]\n",
               0, 0600);
    write_file(&stage, "w1.kubeconfig", KUBECONFIG, 0, 0600);
    follow(&stage, "w1;");
    assert_string_equal(stage.names.data, "w1;");
    end(&stage);
}

static void a_file_that_others_may_write_is_not_used(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    write_file(&stage, "a1.kubeconfig", KUBECONFIG, 0, 0666);
    write_file(&stage, "w1.kubeconfig", KUBECONFIG, 0, 0644);
    follow(&stage, "w1;");
    assert_string_equal(stage.names.data, "w1;");
    assert_true(has(&stage, &stage.notes, "a1.kubeconfig: the file is writable by everyone (mode 0666)"));
    struct problems problems = {.count = 0};
    source_folder_check(stage.directory, NULL, "workersFrom.directory", &problems, NULL);
    assert_int_equal(problems.count, 1);
    problems_free(&problems);
    end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_regular_file_does_not_stop_the_others),
        cmocka_unit_test(a_kubeconfig_that_names_a_fifo_does_not_stop_the_others),
        cmocka_unit_test(a_file_that_others_may_write_is_not_used),
    };
    alarm(120); // a reader that hangs
    return cmocka_run_group_tests_name("the directory of workers", tests, NULL, NULL);
}
