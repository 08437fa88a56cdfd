// SPDX-License-Identifier: Apache-2.0
#include "core/host/startup/folder_state.h"

#include "core/base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t file_state(int directory, const char *name, int flags) {
    struct stat st;
    if (fstatat(directory, name, &st, flags) != 0)
        return 0;
    AUTO_TEXT text =
        text_format("%s/%llu/%llu/%lld/%lld.%09ld", name, (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
                    (long long)st.st_size, (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
    return text ? text_hash(TEXT_HASH, text) : 0;
}

uint64_t folder_state(const char *directory, bool (*matters)(void *ctx, const char *name), void *ctx) {
    DIR *handle = opendir(directory);
    if (!handle)
        return 0;
    uint64_t sum = 1; // of all files, since their order is any
    const struct dirent *entry;
    while ((entry = readdir(handle)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && matters(ctx, entry->d_name))
            sum += file_state(dirfd(handle), entry->d_name, AT_SYMLINK_NOFOLLOW) +
                   3 * file_state(dirfd(handle), entry->d_name, 0);
    closedir(handle);
    return sum;
}
