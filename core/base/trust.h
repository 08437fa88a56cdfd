// SPDX-License-Identifier: Apache-2.0
// Trust by owner and mode: whether another user could change or replace a file that decides which code runs with this
// process's rights, and whether a Unix socket is that of a host.
#pragma once

#include "core/base/error.h"

#include <sys/stat.h>

// Owned by root or the current user and not writable by others (except symlinks: their mode is meaningless). `what` is
// the file's name in the message.
struct error *trust_owner_check(const char *path, const char *what, const struct stat *info);

// Checks every folder and every symlink in `path` (absolute). `resolved` is the path without symlinks.
struct error *trust_folders_check(const char *path, char **resolved);

// A data file, which may be directly in a sticky folder. Trusts a file system mounted read-only (a ConfigMap's in a
// pod, with a folder of mode 0777) and an anonymous pipe.
struct error *trust_file_check(const char *path);

// The Unix socket of a host, for callers on its machine: the mode of the file decides who may connect, and its owner
// and the credentials of the listening process prove to a caller that the host answers.

#define LOCAL_SOCKET_PATH_MAX ((size_t)107) // sun_path of unix(7)

// Where a host that serves `port` has its socket unless the configuration names another path: PORT.sock in
// $RUNTIME_DIRECTORY (of a systemd unit), for root in /run/wharf, for a user in $XDG_RUNTIME_DIR/wharf. free(). *out is
// NULL where there is no such folder.
struct error *local_socket_default(uint16_t port, char **out);
// The first default path at which a host of this port listens, for a caller: a host that was killed leaves its file.
// If none listens, the first file; *out is NULL if there is none.
struct error *local_socket_find(uint16_t port, char **out);

struct local_socket {
    char *path; // NULL: none
    dev_t device;
    ino_t inode;
};

// Listens at an absolute path: mode 0600, or 0660 with a group (NULL: none). Creates a missing folder; the folder, and
// all folders above, must be writable only by root and this user. Replaces the socket of a host that has ended.
// ERROR_IO if a process listens there; ERROR_REFUSED for a file of another user, or one that is no socket.
struct error *local_socket_listen(const char *path, const char *group, struct local_socket *out, int *fd);
// Removes the file, unless it has been replaced. The zero value is fine.
void local_socket_remove(struct local_socket *socket);

// NULL: a host listens there, and only root, this user, or the user to whom root gave the folder can have made the
// socket, or replace it. ERROR_NOT_FOUND without such a file, ERROR_REFUSED if another user can.
struct error *local_socket_verify(const char *path);
