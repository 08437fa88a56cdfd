// SPDX-License-Identifier: Apache-2.0
#include "core/base/usage.h"

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FILE_MAX ((size_t)4096)

int64_t usage_cpu_ns(pid_t pid) {
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return -1;
    return (int64_t)used.tv_sec * CLOCK_SECOND + used.tv_nsec;
}

static void read_file(pid_t pid, const char *name, struct buffer *out) {
    AUTO_TEXT path = text_format("/proc/%d/%s", (int)pid, name);
    error_free(path ? text_read_file(path, FILE_MAX, out) : error_no_memory());
}

size_t usage_memory(pid_t pid) {
    AUTO_BUFFER(counts, FILE_MAX); // pages: size, resident, ...
    read_file(pid, "statm", &counts);
    const char *resident = counts.data ? strchr(counts.data, ' ') : NULL;
    size_t pages = resident ? strtoull(resident, NULL, 10) : 0;
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

char usage_state(pid_t pid) {
    AUTO_BUFFER(stat, FILE_MAX); // pid (name) state ...
    read_file(pid, "stat", &stat);
    const char *end = stat.data ? strrchr(stat.data, ')') : NULL;
    return end && end[1] == ' ' ? end[2] : '\0';
}
