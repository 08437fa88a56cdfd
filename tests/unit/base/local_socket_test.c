// SPDX-License-Identifier: Apache-2.0
// Who can put a socket where a host or its callers expect one.
#include "core/base/trust.h"

#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <grp.h>

#define OTHER 12345 // an uid of another user

struct place {
    char folder[32], path[64], aside[64];
};

static int make_place(void **state) {
    static struct place place;
    text_copy(place.folder, sizeof place.folder, "/tmp/wharf-socket-XXXXXX");
    assert_non_null(mkdtemp(place.folder));
    snprintf(place.path, sizeof place.path, "%s/run/9440.sock", place.folder);
    snprintf(place.aside, sizeof place.aside, "%s/aside", place.folder);
    *state = &place;
    return 0;
}

static int remove_place(void **state) {
    struct place *place = *state;
    char folder[64];
    snprintf(folder, sizeof folder, "%s/run", place->folder);
    (void)unlink(place->path);
    (void)unlink(place->aside);
    (void)rmdir(folder);
    assert_int_equal(rmdir(place->folder), 0);
    return 0;
}

static void make_folder(const struct place *place, mode_t mode) {
    AUTO_TEXT folder = text_directory(place->path);
    assert_true(mkdir(folder, 0755) == 0 || access(folder, F_OK) == 0);
    assert_int_equal(chmod(folder, mode), 0);
}

static void give_folder(const struct place *place, uid_t uid) {
    AUTO_TEXT folder = text_directory(place->path);
    assert_int_equal(chown(folder, uid, (gid_t)-1), 0);
}

static int raw_listen(const char *path, bool bound) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    text_copy(name.sun_path, sizeof name.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(fchmod(fd, 0600), 0);
    if (bind(fd, (struct sockaddr *)&name, sizeof name) != 0 || (bound && listen(fd, 4) != 0))
        fail_msg("cannot bind %s", path);
    return fd;
}

static void assert_error(struct error *error, enum error_code code, const char *text) {
    assert_non_null(error);
    if (error->code != code || !strstr(error_text(error), text))
        fail_msg("found \"%s\" (%d), expected \"%s\" (%d)", error_text(error), (int)error->code, text, (int)code);
    error_free(error);
}

static void assert_refused(const struct place *place, enum error_code code, const char *text) {
    struct local_socket socket = {.path = NULL};
    int fd = -1;
    assert_error(local_socket_listen(place->path, NULL, &socket, &fd), code, text);
    assert_null(socket.path);
    assert_int_equal(fd, -1);
}

static void assert_not_trusted(const struct place *place, enum error_code code, const char *text) {
    assert_error(local_socket_verify(place->path), code, text);
}

static void assert_trusted(const struct place *place) {
    struct error *error = local_socket_verify(place->path);
    if (error)
        fail_msg("%s", error_text(error));
}

static void open_socket(const struct place *place, struct local_socket *socket, int *fd) {
    struct error *error = local_socket_listen(place->path, NULL, socket, fd);
    if (error)
        fail_msg("%s", error_text(error));
}

static void its_owner_alone_may_connect_and_it_is_removed(void **state) {
    const struct place *place = *state;
    struct local_socket socket;
    struct stat info;
    int fd = -1;
    mode_t before = umask(0);
    open_socket(place, &socket, &fd);
    umask(before);
    assert_int_equal(lstat(place->path, &info), 0);
    assert_int_equal(info.st_mode, S_IFSOCK | 0600);
    assert_trusted(place);
    local_socket_remove(&socket);
    assert_int_equal(access(place->path, F_OK), -1);
    assert_int_equal(close(fd), 0);
}

static void a_group_may_connect_if_it_is_configured(void **state) {
    const struct place *place = *state;
    const struct group *group = getgrgid(getegid());
    struct local_socket socket = {.path = NULL};
    struct stat info;
    int fd = -1;
    if (!group)
        skip();
    AUTO_TEXT name = strdup(group->gr_name);
    assert_null(local_socket_listen(place->path, name, &socket, &fd));
    assert_int_equal(lstat(place->path, &info), 0);
    assert_int_equal(info.st_mode, S_IFSOCK | 0660);
    assert_int_equal(info.st_gid, getegid());
    local_socket_remove(&socket);
    assert_int_equal(close(fd), 0);
    fd = -1;
    assert_error(local_socket_listen(place->path, "no-such-group", &socket, &fd), ERROR_INVALID, "\"no-such-group\"");
    assert_int_equal(access(place->path, F_OK), -1);
}

static void the_socket_of_a_host_that_has_ended_is_replaced(void **state) {
    const struct place *place = *state;
    struct local_socket socket;
    int fd = -1;
    make_folder(place, 0755);
    assert_int_equal(close(raw_listen(place->path, true)), 0);
    assert_not_trusted(place, ERROR_IO, "no host listens");
    open_socket(place, &socket, &fd);
    local_socket_remove(&socket);
    assert_int_equal(close(fd), 0);
}

static void the_socket_of_another_host_is_left_alone(void **state) {
    const struct place *place = *state;
    struct local_socket socket;
    int fd = -1;
    open_socket(place, &socket, &fd);
    assert_refused(place, ERROR_IO, "another process listens there");
    // Not even if it took the path of this one.
    assert_int_equal(unlink(place->path), 0);
    int other = raw_listen(place->path, true);
    local_socket_remove(&socket);
    assert_int_equal(access(place->path, F_OK), 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(close(other), 0);
}

static void what_is_no_socket_is_left_alone(void **state) {
    const struct place *place = *state;
    make_folder(place, 0755);
    FILE *file = fopen(place->path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_refused(place, ERROR_REFUSED, "found a file");
    assert_not_trusted(place, ERROR_REFUSED, "expected a socket");
    assert_int_equal(unlink(place->path), 0);
    int fd = raw_listen(place->aside, true);
    assert_int_equal(symlink(place->aside, place->path), 0);
    assert_refused(place, ERROR_REFUSED, "found a symlink");
    assert_not_trusted(place, ERROR_REFUSED, "expected a socket");
    assert_int_equal(close(fd), 0);
}

static void a_folder_that_others_may_write_is_refused(void **state) {
    const struct place *place = *state;
    make_folder(place, 0777);
    assert_refused(place, ERROR_REFUSED, "writable by everyone");
    int fd = raw_listen(place->path, true);
    assert_not_trusted(place, ERROR_REFUSED, "writable by everyone");
    make_folder(place, 0755);
    assert_int_equal(chmod(place->path, 0666), 0);
    assert_not_trusted(place, ERROR_REFUSED, "everyone may connect (mode 0666)");
    assert_int_equal(close(fd), 0);
}

static void the_socket_of_another_user_is_refused(void **state) {
    const struct place *place = *state;
    if (geteuid() != 0)
        skip();
    make_folder(place, 0755);
    assert_int_equal(chmod(place->folder, 0755), 0);
    int fd = raw_listen(place->path, true);
    assert_int_equal(chown(place->path, OTHER, OTHER), 0);
    assert_refused(place, ERROR_REFUSED, "belongs to uid 12345");
    assert_not_trusted(place, ERROR_REFUSED, "the socket belongs to uid 12345, expected root");
    // Root gave the folder to that user: it is a service's.
    give_folder(place, OTHER);
    assert_trusted(place);
    assert_int_equal(close(fd), 0);
}

// The file is root's, and another user's process listens.
static void listen_as_other(const struct place *place, int ready, int over) {
    char byte = 0;
    if (setuid(OTHER) != 0)
        _exit(1);
    (void)raw_listen(place->path, true);
    if (write(ready, &byte, 1) != 1 || read(over, &byte, 1) < 0)
        _exit(1);
    _exit(0);
}

static void a_listener_that_is_not_the_owner_is_refused(void **state) {
    const struct place *place = *state;
    int ready[2], over[2], status = 0;
    char byte;
    if (geteuid() != 0)
        skip();
    make_folder(place, 0755);
    assert_int_equal(chmod(place->folder, 0755), 0);
    give_folder(place, OTHER);
    assert_true(pipe(ready) == 0 && pipe(over) == 0);
    pid_t child = fork();
    if (child == 0)
        listen_as_other(place, ready[1], over[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    give_folder(place, 0);
    assert_int_equal(chown(place->path, 0, 0), 0);
    assert_not_trusted(place, ERROR_REFUSED, "a process of uid 12345 listens");
    assert_int_equal(write(over[1], &byte, 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(over[i]);
    }
}

static void defaults_follow_the_port_and_the_environment(void **state) {
    const struct place *place = *state;
    AUTO_TEXT unit = NULL;
    AUTO_TEXT user = NULL;
    AUTO_TEXT found = NULL;
    AUTO_TEXT folder = text_format("%s/wharf", place->folder);
    AUTO_TEXT expected = text_format("%s/wharf/9440.sock", place->folder);
    setenv("RUNTIME_DIRECTORY", "/run/blue:/run/green", 1);
    assert_null(local_socket_default(9440, &unit));
    assert_string_equal(unit, "/run/blue/9440.sock");
    unsetenv("RUNTIME_DIRECTORY");
    setenv("XDG_RUNTIME_DIR", place->folder, 1);
    assert_null(local_socket_default(9440, &user));
    assert_string_equal(user, geteuid() == 0 ? "/run/wharf/9440.sock" : expected);
    assert_null(local_socket_find(1, &found));
    assert_null(found);
    assert_int_equal(mkdir(folder, 0700), 0);
    AUTO_TEXT path = text_format("%s/1.sock", folder);
    int fd = raw_listen(path, true);
    assert_null(local_socket_find(1, &found));
    assert_string_equal(found, path);
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    unsetenv("XDG_RUNTIME_DIR");
}

static void a_path_that_is_too_long_or_relative_is_refused(void **state) {
    (void)state;
    char longest[200] = "/tmp/";
    struct local_socket socket = {.path = NULL};
    int fd = -1;
    memset(longest + 5, 'x', 150);
    const char *const paths[] = {longest, "run/9440.sock"};
    for (size_t i = 0; i < 2; i++) {
        assert_error(local_socket_listen(paths[i], NULL, &socket, &fd), ERROR_INVALID, "107 bytes");
        assert_error(local_socket_verify(paths[i]), ERROR_INVALID, "107 bytes");
    }
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_PLACE(its_owner_alone_may_connect_and_it_is_removed),
        IN_PLACE(a_group_may_connect_if_it_is_configured),
        IN_PLACE(the_socket_of_a_host_that_has_ended_is_replaced),
        IN_PLACE(the_socket_of_another_host_is_left_alone),
        IN_PLACE(what_is_no_socket_is_left_alone),
        IN_PLACE(a_folder_that_others_may_write_is_refused),
        IN_PLACE(the_socket_of_another_user_is_refused),
        IN_PLACE(a_listener_that_is_not_the_owner_is_refused),
        IN_PLACE(defaults_follow_the_port_and_the_environment),
        cmocka_unit_test(a_path_that_is_too_long_or_relative_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
