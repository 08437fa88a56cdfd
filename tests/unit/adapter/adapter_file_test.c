// SPDX-License-Identifier: Apache-2.0
// Adapters whose files are truncated or damaged, before they are loaded, meanwhile and afterwards.
#include "tests/unit/adapter/adapters_stage.h"

#include "core/adapter/load/adapter_load.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static off_t size_of(const char *path) {
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_size;
}

// In the header, the program headers, each segment, the section headers: each length is refused.
static void a_truncated_file_is_refused_wherever_it_ends(void **state) {
    (void)state;
    AUTO_TEXT whole = in(built, "good.so");
    off_t size = size_of(whole);
    assert_in_range(size, 4096, 1 << 20);
    for (off_t length = 1; length <= size; length++) {
        off_t left = size - length; // the longest ones first
        if (left > 1024 && left % 509 != 0 && left % 4096 != 0)
            continue;
        AUTO_TEXT file = copied("good.so", "truncated.so", -1, 0);
        assert_int_equal(truncate(file, left), 0);
        struct wanted wanted = enabled("x", file);
        assert_refused(&wanted, (const char *const[3]){"truncated.so", left < SELFMAG ? "not an ELF" : "truncated"});
        drop(&wanted);
    }
}

static void a_loaded_adapter_survives_the_truncation_of_its_file(void **state) {
    (void)state;
    AUTO_TEXT file = copied("good.so", "later.so", -1, 0);
    struct wanted wanted = enabled("thing", file);
    struct problems problems = {.count = 0};
    struct adapters *adapters = load(&wanted, 1, &problems);
    assert_int_equal(problems.count, 0);
    assert_int_equal(truncate(file, 0), 0);
    wharf_phase phase = {.phase = WHARF_FAILED};
    assert_int_equal(adapters->kinds[0]->abi.phase(NULL, NULL, &phase), WHARF_OK);
    assert_int_equal(phase.phase, WHARF_PENDING);
    adapters_free(adapters);
    drop(&wanted);
}

// A copy of good.so with a number of `size` bytes at `offset`.
static char *with_number(off_t offset, uint64_t number, size_t size) {
    char *file = copied("good.so", "number.so", -1, 0);
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &number, size, offset), size); // little-endian, as every machine that tests run on
    close(fd);
    return file;
}

static void headers_that_lead_beyond_the_file_are_refused(void **state) {
    (void)state;
    const size_t first = sizeof(ElfW(Ehdr)); // good.so's program headers are there: PT_LOAD is the first
#define FIELD(type, field) offsetof(type, field), sizeof(((type *)NULL)->field)
    const struct {
        size_t at, offset, size;
        uint64_t number;
        const char *expected;
    } cases[] = {
        {0, FIELD(ElfW(Ehdr), e_phoff), 1 << 20, "9 program headers in it, which begin at offset 1048576"},
        {0, FIELD(ElfW(Ehdr), e_phoff), UINT64_MAX, "program headers in it"},
        {0, FIELD(ElfW(Ehdr), e_phnum), UINT16_MAX, "65535 program headers in it"},
        {0, FIELD(ElfW(Ehdr), e_phentsize), 32, "program headers of 32 bytes"},
        {0, FIELD(ElfW(Ehdr), e_shoff), 1 << 20, "section headers in it"},
        {0, FIELD(ElfW(Ehdr), e_shoff), UINT64_MAX - 8, "section headers in it"},
        {0, FIELD(ElfW(Ehdr), e_shentsize), 1, "section headers of 1 bytes"},
        {0, FIELD(ElfW(Ehdr), e_shnum), UINT16_MAX, "65535 section headers in it"},
        {first, FIELD(ElfW(Phdr), p_offset), UINT64_MAX - 8, "expected segment 0 in it"},
        {first, FIELD(ElfW(Phdr), p_filesz), UINT64_MAX, "expected segment 0 in it"},
        {first, FIELD(ElfW(Phdr), p_memsz), 1, "more bytes in the file than in memory"},
    };
#undef FIELD
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_TEXT file = with_number((off_t)(cases[i].at + cases[i].offset), cases[i].number, cases[i].size);
        struct wanted wanted = enabled("x", file);
        assert_refused(&wanted, (const char *const[3]){"number.so: ", cases[i].expected});
        drop(&wanted);
    }
}

static void a_file_without_section_headers_is_loaded(void **state) {
    (void)state;
    AUTO_TEXT file = with_number(offsetof(ElfW(Ehdr), e_shoff), 0, sizeof(ElfW(Off)));
    struct wanted wanted = enabled("thing", file);
    struct problems problems = {.count = 0};
    struct adapters *adapters = load(&wanted, 1, &problems);
    assert_int_equal(problems.count, 0);
    adapters_free(adapters);
    drop(&wanted);
}

static void a_file_that_is_too_large_is_refused(void **state) {
    (void)state;
    AUTO_TEXT file = copied("good.so", "large.so", -1, 0);
    assert_int_equal(truncate(file, (off_t)ADAPTER_FILE_MAX + 1), 0);
    struct wanted wanted = enabled("x", file);
    assert_refused(&wanted, (const char *const[3]){"large.so", "found 268435457 bytes", "at most 268435456"});
    drop(&wanted);
}

static void what_was_checked_cannot_be_changed_any_more(void **state) {
    (void)state;
    AUTO_TEXT path = copied("good.so", "shrinks.so", -1, 0);
    off_t size = size_of(path);
    struct adapter_file file;
    assert_null(adapter_file_open(path, NULL, &file));
    assert_int_equal(truncate(path, 100), 0);
    assert_null(adapter_file_to_memory(&file));
    AUTO_TEXT loaded = text_format("/proc/self/fd/%d", file.fd);
    char sha256[65];
    AUTO_TEXT whole = in(built, "good.so");
    assert_null(adapter_file_check(whole, NULL, sha256));
    assert_string_equal(file.sha256, sha256);
    assert_int_equal(size_of(loaded), size);
    assert_int_equal(pwrite(file.fd, "x", 1, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(file.fd, 100), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(fcntl(file.fd, F_GETFD), FD_CLOEXEC);
    char target[64] = "";
    assert_true(readlink(loaded, target, sizeof(target) - 1) > 0);
    assert_string_equal(target, "/memfd:shrinks.so (deleted)");
    adapter_file_close(&file);
}

// Here a limit on the size of files, as RLIMIT_FSIZE is, in place of a security module.
static void without_files_in_memory_the_file_itself_is_loaded_once(void **state) {
    (void)state;
    AUTO_TEXT file = copied("good.so", "itself.so", -1, 0);
    struct wanted wanted = enabled("thing", file);
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){100, limit.rlim_max}), 0);
    struct problems problems = {.count = 0}, again = {.count = 0};
    struct adapters *first = load(&wanted, 1, &problems), *second = load(&wanted, 1, &again);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(problems.count, 0);
    assert_int_equal(first->count, 1);
    assert_int_equal(again.count, 1);
    assert_non_null(strstr(again.list[0], "cannot be loaded a second time: no sealed file in memory"));
    problems_free(&again);
    adapters_free(first);
    adapters_free(second);
    drop(&wanted);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_truncated_file_is_refused_wherever_it_ends),
        cmocka_unit_test(headers_that_lead_beyond_the_file_are_refused),
        cmocka_unit_test(a_file_without_section_headers_is_loaded),
        cmocka_unit_test(a_file_that_is_too_large_is_refused),
        cmocka_unit_test(what_was_checked_cannot_be_changed_any_more),
        cmocka_unit_test(without_files_in_memory_the_file_itself_is_loaded_once),
        cmocka_unit_test(a_loaded_adapter_survives_the_truncation_of_its_file),
    };
    return cmocka_run_group_tests(tests, adapters_set_up, adapters_tear_down);
}
