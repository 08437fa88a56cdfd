// SPDX-License-Identifier: Apache-2.0
#include "core/host/memory_trim.h"

#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static int release_object(struct dl_phdr_info *info, size_t size, void *ctx) {
    (void)size;
    (void)ctx;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W))
            continue; // dirty pages have no copy in the file
        uintptr_t start = info->dlpi_addr + segment->p_vaddr, end = start + segment->p_memsz;
        start &= ~(page - 1);
        end = (end + page - 1) & ~(page - 1);
        madvise((void *)start, end - start, MADV_DONTNEED); // fails for the vdso, which is fine
    }
    return 0;
}

void memory_trim_all(void) {
    malloc_trim(0);
    dl_iterate_phdr(release_object, NULL);
}
