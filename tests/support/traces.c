// SPDX-License-Identifier: Apache-2.0
#include "tests/support/traces.h"

#include "core/base/text.h"

#include <fcntl.h>
#include <unistd.h>

#define MASK 0x55
#define CHUNK ((size_t)1 << 20)

void trace_make(struct trace *trace) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct random random = {random_system()};
    for (size_t i = 0; i < TRACE_PLAIN; i += 3) {
        uint32_t three = 0;
        for (size_t b = 0; b < 3; b++) {
            unsigned char c = (unsigned char)letters[random_below(&random, 52)];
            trace->plain[i + b] = c ^ MASK;
            three = three << 8 | c;
        }
        for (size_t b = 0; b < 4; b++)
            trace->encoded[i / 3 * 4 + b] = (unsigned char)letters[three >> (6 * (3 - b)) & 63] ^ MASK;
    }
}

static void put(struct buffer *out, const unsigned char *masked, size_t len) {
    for (size_t i = 0; i < len; i++)
        buffer_char(out, (char)(masked[i] ^ MASK));
}

void trace_put_plain(struct buffer *out, const struct trace *trace) {
    put(out, trace->plain, TRACE_PLAIN);
}

void trace_put_encoded(struct buffer *out, const struct trace *trace) {
    put(out, trace->encoded, TRACE_ENCODED);
}

static bool is_at(const char *at, const unsigned char *masked, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)at[i] ^ MASK) != masked[i])
            return false;
    return true;
}

static size_t count(const char *bytes, size_t len, const unsigned char *masked, size_t masked_len) {
    size_t found = 0;
    const char *end = bytes + len, *at = bytes;
    while ((size_t)(end - at) >= masked_len && (at = memchr(at, masked[0] ^ MASK, (size_t)(end - at) - masked_len + 1)))
        found += is_at(at++, masked, masked_len);
    return found;
}

size_t trace_count(const struct trace *trace, const char *bytes, size_t len) {
    return count(bytes, len, trace->plain, TRACE_PLAIN) + count(bytes, len, trace->encoded, TRACE_ENCODED);
}

// Parts overlap by less than a trace. The chunk is overwritten, so that nothing is found in it later.
static size_t count_in_region(const struct trace *trace, int memory, uint64_t begin, uint64_t end, char *chunk) {
    size_t found = 0;
    for (uint64_t at = begin; at + TRACE_PLAIN <= end; at += CHUNK - TRACE_ENCODED + 1) {
        size_t wanted = end - at < CHUNK ? (size_t)(end - at) : CHUNK;
        ssize_t len = pread(memory, chunk, wanted, (off_t)at);
        if (len <= 0)
            break;
        found += trace_count(trace, chunk, (size_t)len);
        explicit_bzero(chunk, CHUNK);
    }
    return found;
}

static long count_in_regions(const struct trace *trace, FILE *maps, int memory, char *chunk, bool verbose) {
    char line[512];
    long found = 0;
    while (fgets(line, sizeof line, maps)) {
        char *rest = NULL;
        uint64_t begin = strtoull(line, &rest, 16), end = *rest == '-' ? strtoull(rest + 1, &rest, 16) : 0;
        if (!text_has_prefix(rest, " rw"))
            continue;
        size_t here = count_in_region(trace, memory, begin, end, chunk);
        if (here > 0 && verbose)
            printf("%zu times in %s", here, line);
        found += (long)here;
    }
    return found;
}

long trace_count_in_process(const struct trace *trace, pid_t process, bool verbose) {
    AUTO_TEXT memory_path = text_format("/proc/%d/mem", (int)process);
    AUTO_TEXT maps_path = text_format("/proc/%d/maps", (int)process);
    char *chunk = malloc(CHUNK);
    int memory = memory_path ? open(memory_path, O_RDONLY | O_CLOEXEC) : -1;
    FILE *maps = maps_path ? fopen(maps_path, "re") : NULL;
    long found = memory >= 0 && maps && chunk ? count_in_regions(trace, maps, memory, chunk, verbose) : -1;
    if (maps)
        fclose(maps);
    if (memory >= 0)
        close(memory);
    free(chunk);
    return found;
}
