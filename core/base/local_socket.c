// SPDX-License-Identifier: Apache-2.0
// The socket of a host (trust.h), IP addresses (text.h).
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/trust.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define SYSTEM_FOLDER "/run/wharf"
#define BACKLOG 16
#define CONNECT_S 5 // while the backlog is full
#define GROUP_RECORD_MAX 65536

static struct error *failed(const char *path, const char *what, int number) {
    enum error_code code = number == ENOENT || number == ENOTDIR ? ERROR_NOT_FOUND : ERROR_IO;
    return error_new(code, "%s: %s: %s", path, what, strerror(number));
}

// An absolute path in the environment, the first one of several; free(). NULL: none.
static char *folder_of(const char *variable) {
    const char *value = getenv(variable);
    return value && *value == '/' ? strndup(value, strcspn(value, ":")) : NULL;
}

static char *user_folder(void) {
    AUTO_TEXT folder = folder_of("XDG_RUNTIME_DIR");
    return folder ? text_format("%s/wharf", folder) : NULL;
}

static struct error *name_socket(const char *folder, uint16_t port, char **out) {
    *out = folder ? text_format("%s/%u.sock", folder, port) : NULL;
    return folder && !*out ? error_no_memory() : NULL;
}

struct error *local_socket_default(uint16_t port, char **out) {
    AUTO_TEXT unit = folder_of("RUNTIME_DIRECTORY");
    AUTO_TEXT user = user_folder();
    return name_socket(unit ? unit : geteuid() == 0 ? SYSTEM_FOLDER : user, port, out);
}

static struct error *make_address(const char *path, struct sockaddr_un *out) {
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (*path != '/' || strlen(path) > LOCAL_SOCKET_PATH_MAX)
        return error_new(ERROR_INVALID, "%s: expected an absolute path of at most %zu bytes", path,
                         LOCAL_SOCKET_PATH_MAX);
    text_copy(out->sun_path, sizeof out->sun_path, path);
    return NULL;
}

static struct error *check_folders(const char *folder) {
    AUTO_TEXT resolved = NULL;
    AUTO_TEXT inside = text_format("%s/.", folder); // the last segment counts as a file
    return inside ? trust_folders_check(inside, &resolved) : error_no_memory();
}

// 0, or the error number; *fd is -1 then.
static int open_connection(const struct sockaddr_un *address, int *fd) {
    const struct timeval timeout = {.tv_sec = CONNECT_S};
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd >= 0 && setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) == 0 &&
        connect(*fd, (const struct sockaddr *)address, sizeof *address) == 0)
        return 0;
    int number = errno;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    return number;
}

// Whether a process listens there; also if the caller may not know.
static bool is_live(const struct sockaddr_un *address) {
    int fd = -1, number = open_connection(address, &fd);
    if (fd >= 0)
        close(fd);
    return number != ECONNREFUSED;
}

struct error *local_socket_find(uint16_t port, char **out) {
    AUTO_TEXT user = user_folder();
    const char *const folders[] = {SYSTEM_FOLDER, user};
    *out = NULL;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        AUTO_TEXT path = NULL;
        TRY(name_socket(folders[i], port, &path));
        struct sockaddr_un address;
        struct stat info;
        if (!path || lstat(path, &info) != 0)
            continue;
        AUTO_ERROR unusable = make_address(path, &address);
        bool live = unusable || is_live(&address);
        if (live || !*out) {
            free(*out);
            *out = TAKE(path);
        }
        if (live)
            break;
    }
    return NULL;
}

// Removes the socket of a host that has ended.
static struct error *clear_path(const struct sockaddr_un *address) {
    const char *path = address->sun_path;
    struct stat info;
    if (lstat(path, &info) != 0)
        return errno == ENOENT ? NULL : failed(path, "cannot be read", errno);
    if (!S_ISSOCK(info.st_mode))
        return error_new(ERROR_REFUSED, "%s: found a %s, expected a socket or nothing: remove it", path,
                         S_ISLNK(info.st_mode) ? "symlink" : "file");
    if (info.st_uid != geteuid())
        return error_new(ERROR_REFUSED, "%s: the socket belongs to uid %lu, expected uid %lu: remove it", path,
                         (unsigned long)info.st_uid, (unsigned long)geteuid());
    if (is_live(address))
        return error_new(ERROR_IO, "%s: another process listens there already: configure another serve.socket", path);
    return unlink(path) == 0 || errno == ENOENT ? NULL : failed(path, "cannot be removed", errno);
}

static struct error *give_to_group(const char *path, const char *name) {
    struct group record, *group = NULL;
    char *text = malloc(GROUP_RECORD_MAX);
    if (!text)
        return error_no_memory();
    int number = getgrnam_r(name, &record, text, GROUP_RECORD_MAX, &group);
    gid_t gid = group ? group->gr_gid : 0;
    free(text);
    if (!group)
        return error_new(ERROR_INVALID, "found the group \"%s\", expected one of this machine%s%s", name,
                         number ? ": " : "", number ? strerror(number) : "");
    struct stat info;
    if (lstat(path, &info) != 0 || (info.st_gid != gid && lchown(path, (uid_t)-1, gid) != 0))
        return failed(path, "cannot be given to the group", errno);
    return chmod(path, 0660) == 0 ? NULL : failed(path, "cannot be opened to the group", errno);
}

// The mode of an unbound socket is that of its file (fchmod, then bind): at no time may others connect.
static struct error *bind_socket(const struct sockaddr_un *address, const char *group, int fd) {
    const char *path = address->sun_path;
    if (fchmod(fd, 0600) != 0 || bind(fd, (const struct sockaddr *)address, sizeof *address) != 0)
        return failed(path, "cannot be created", errno);
    struct error *error = group ? give_to_group(path, group) : NULL;
    if (!error && listen(fd, BACKLOG) != 0)
        error = failed(path, "cannot be listened at", errno);
    if (error)
        (void)unlink(path);
    return error;
}

static void close_socket(const int *fd) {
    if (*fd >= 0)
        close(*fd);
}

struct error *local_socket_listen(const char *path, const char *group, struct local_socket *out, int *fd) {
    struct sockaddr_un address;
    struct stat info;
    AUTO_TEXT folder = text_directory(path);
    TRY(folder ? make_address(path, &address) : error_no_memory());
    if (mkdir(folder, 0755) != 0 && errno != EEXIST)
        return failed(folder, "cannot be created", errno);
    TRY(check_folders(folder));
    TRY(clear_path(&address));
    __attribute__((cleanup(close_socket))) int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    TRY(made < 0 ? failed(path, "no socket", errno) : bind_socket(&address, group, made));
    AUTO_TEXT copy = strdup(path);
    if (!copy || lstat(path, &info) != 0) {
        (void)unlink(path);
        return error_no_memory();
    }
    *out = (struct local_socket){.path = TAKE(copy), .device = info.st_dev, .inode = info.st_ino};
    *fd = made;
    made = -1;
    return NULL;
}

void local_socket_remove(struct local_socket *socket) {
    struct stat info;
    if (!socket->path)
        return;
    if (lstat(socket->path, &info) == 0 && info.st_dev == socket->device && info.st_ino == socket->inode)
        (void)unlink(socket->path);
    free(TAKE(socket->path));
}

// A folder of the socket's owner, in one where only root, or this user, could have made it: as systemd makes those of
// services.
static struct error *check_given_folder(const char *path, const char *folder, uid_t owner) {
    struct stat info;
    AUTO_TEXT parent = text_directory(folder);
    if (!parent)
        return error_no_memory();
    if (lstat(folder, &info) != 0)
        return failed(folder, "cannot be read", errno);
    if (!S_ISDIR(info.st_mode) || info.st_uid != owner || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return error_new(ERROR_REFUSED,
                         "%s: the socket belongs to uid %lu, expected root, uid %lu, or the owner of the folder, which "
                         "nobody else may write",
                         path, (unsigned long)owner, (unsigned long)geteuid());
    return check_folders(parent);
}

static struct error *check_file(const char *path, uid_t *owner) {
    struct stat info;
    AUTO_TEXT folder = text_directory(path);
    if (!folder)
        return error_no_memory();
    if (lstat(path, &info) != 0)
        return failed(path, "no host's socket", errno);
    *owner = info.st_uid;
    if (!S_ISSOCK(info.st_mode))
        return error_new(ERROR_REFUSED, "%s: expected a socket", path);
    if ((info.st_mode & S_IWOTH) != 0)
        return error_new(ERROR_REFUSED, "%s: everyone may connect (mode %04o), expected mode 0600 or 0660", path,
                         (unsigned)info.st_mode & 07777);
    return *owner == 0 || *owner == geteuid() ? check_folders(folder) : check_given_folder(path, folder, *owner);
}

// The process that listens, which may not be the owner of the file.
static struct error *check_peer(const char *path, int fd, uid_t owner) {
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t len = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && (peer.uid == 0 || peer.uid == owner))
        return NULL;
    return error_new(ERROR_REFUSED, "%s: a process of uid %lu listens, expected root or uid %lu, the socket's owner",
                     path, (unsigned long)peer.uid, (unsigned long)owner);
}

struct error *local_socket_verify(const char *path) {
    struct sockaddr_un address;
    uid_t owner = 0;
    int fd = -1;
    TRY(make_address(path, &address));
    TRY(check_file(path, &owner));
    int number = open_connection(&address, &fd);
    if (number == EACCES)
        return error_new(ERROR_IO, "%s: its owner, uid %lu, and its group alone may connect", path,
                         (unsigned long)owner);
    if (number != 0)
        return failed(path, number == ECONNREFUSED ? "no host listens" : "cannot connect", number);
    struct error *error = check_peer(path, fd, owner);
    close(fd);
    return error;
}

// -- IP addresses --

static bool parse_as(int family, const char *text, struct address *out) {
    *out = (struct address){0};
    if (inet_pton(family, text, out->bytes) != 1)
        return false;
    out->family = family;
    return true;
}

bool address_parse(const char *text, struct address *out) {
    return parse_as(AF_INET, text, out) || parse_as(AF_INET6, text, out);
}

bool address_parse_port(const char *text, struct address *out) {
    char host[INET6_ADDRSTRLEN];
    int64_t port = 0;
    const char *colon = strrchr(text, ':');
    *out = (struct address){0};
    if (!colon || !text_to_int64(colon + 1, &port) || port > UINT16_MAX)
        return false;
    size_t len = (size_t)(colon - text);
    bool brackets = len > 2 && text[0] == '[' && text[len - 1] == ']';
    size_t skipped = brackets ? 1 : 0;
    len -= 2 * skipped;
    if (len >= sizeof host)
        return false;
    text_copy(host, len + 1, text + skipped);
    if (!parse_as(brackets ? AF_INET6 : AF_INET, host, out))
        return false;
    out->port = (uint16_t)port;
    return true;
}

bool address_is_local(const char *host) {
    struct address address;
    static const unsigned char six[16] = {[15] = 1};
    if (!address_parse(host, &address))
        return strcasecmp(host, "localhost") == 0;
    return address.family == AF_INET ? address.bytes[0] == 127 : memcmp(address.bytes, six, sizeof six) == 0;
}
