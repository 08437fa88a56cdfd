// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/fuzz.h"

#include "core/base/log.h"
#include "core/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void fuzz_fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "fuzz: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    abort();
}

struct fuzz_part fuzz_next_part(const uint8_t **data, size_t *size) {
    const uint8_t *end = *size > 0 ? memchr(*data, 0xFF, *size) : NULL;
    struct fuzz_part part = {(const char *)*data, end ? (size_t)(end - *data) : *size};
    size_t used = part.len + (end ? 1 : 0);
    *data += used;
    *size -= used;
    return part;
}

const char *fuzz_file(const char *text, size_t len) {
    static int fd = -1;
    static char path[64];
    if (fd >= 0)
        close(fd);
    fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0)
        fuzz_fail("no file for the input");
    for (size_t at = 0; at < len;) {
        ssize_t written = write(fd, text + at, len - at);
        if (written <= 0)
            fuzz_fail("the input cannot be written to its file");
        at += (size_t)written;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

static int64_t run_once(const uint8_t *data, size_t size) {
    struct timespec from, to;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    fuzz_one(data, size);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    return (to.tv_sec - from.tv_sec) * CLOCK_SECOND + to.tv_nsec - from.tv_nsec;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool ready;
    if (!ready)
        log_setup(LOG_TEXT, LOG_ERROR);
    ready = true;
    int64_t spent_ns = run_once(data, size);
    // What was slow once may have been the machine.
    for (int i = 0; i < 2 && spent_ns > FUZZ_SLOW_NS; i++) {
        int64_t again_ns = run_once(data, size);
        spent_ns = again_ns < spent_ns ? again_ns : spent_ns;
    }
    if (spent_ns > FUZZ_SLOW_NS)
        fuzz_fail("slow: %zu bytes take %lld ms", size, (long long)(spent_ns / CLOCK_MS));
    return 0;
}

#ifndef WHARF_LIBFUZZER
#define CHANGED_COPIES 200

// Each file as it is and in changed copies, the same ones every time.
static void replay(struct random *random, uint8_t *data, size_t len) {
    static const char interesting[] = "{}[]\",:\\u0e-.\xC3\xED\xFF\n 1";
    LLVMFuzzerTestOneInput(data, len);
    for (int i = 0; i < CHANGED_COPIES && len > 0; i++) {
        size_t at = random_below(random, len);
        uint8_t before = data[at];
        data[at] = (uint8_t)interesting[random_below(random, sizeof interesting)];
        LLVMFuzzerTestOneInput(data, len - random_below(random, 2) * random_below(random, len));
        if (random_below(random, 4) > 0)
            data[at] = before;
    }
}

int main(int argc, char **argv) {
    struct random random = {1};
    for (int i = 1; i < argc; i++) {
        AUTO_BUFFER(file, 1 << 26);
        struct error *error = text_read_file(argv[i], file.max, &file);
        if (error) {
            fprintf(stderr, "%s\n", error_text(error));
            error_free(error);
            return 1;
        }
        replay(&random, (uint8_t *)file.data, file.len);
    }
    return 0;
}
#endif
