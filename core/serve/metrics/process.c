// SPDX-License-Identifier: Apache-2.0
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/serve/metrics/metrics.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define PROC_FILE_MAX ((size_t)4096)
#define START_TIME_FIELD 22 // of /proc/pid/stat: "starttime", in clock ticks since boot (proc(5))
#define RESIDENT_FIELD 2    // of /proc/self/statm, in pages

// Field `number` (from 1) of white-space separated `text`, as a number; 0 if there is none.
static uint64_t field(const char *text, int number) {
    for (int i = 1; i < number; i++) {
        text += strcspn(text, " \n");
        text += strspn(text, " \n");
    }
    return strtoull(text, NULL, 10);
}

static uint64_t resident_bytes(void) {
    AUTO_BUFFER(statm, PROC_FILE_MAX);
    struct error *error = text_read_file("/proc/self/statm", PROC_FILE_MAX, &statm);
    if (error) {
        error_free(error);
        return 0;
    }
    return field(statm.data, RESIDENT_FIELD) * (uint64_t)sysconf(_SC_PAGESIZE);
}

// The name in field 2 may contain spaces and parentheses: counting begins after the last parenthesis, at field 3.
static double start_seconds(void) {
    AUTO_BUFFER(stat, PROC_FILE_MAX);
    struct error *error = text_read_file("/proc/self/stat", PROC_FILE_MAX, &stat);
    if (error) {
        error_free(error);
        return 0;
    }
    const char *rest = strrchr(stat.data, ')');
    if (!rest || rest[1] != ' ')
        return 0;
    double since_boot = (double)field(rest + 2, START_TIME_FIELD - 2) / (double)sysconf(_SC_CLK_TCK);
    struct moment now = clock_now(); // the monotonic clock counts from boot
    return (double)(now.wall_ns - now.mono_ns) / 1e9 + since_boot;
}

static double seconds(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

void metrics_process_read(struct metrics_process *out) {
    struct rusage usage;
    *out = (struct metrics_process){
        .resident_bytes = resident_bytes(), .start_seconds = start_seconds(), .log_lines_lost = log_lost()};
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        out->cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
}
