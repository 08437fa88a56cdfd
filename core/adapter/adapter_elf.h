// SPDX-License-Identifier: Apache-2.0
// Whether a file is a shared object that the dynamic linker can map here, complete to its last byte.
#ifndef WHARF_ADAPTER_ADAPTER_ELF_H
#define WHARF_ADAPTER_ADAPTER_ELF_H

#include "core/base/error.h"

#include <stddef.h>

// An ELF shared object for this machine, all segments and sections of which are within its `len` bytes. The linker maps
// a segment without looking at the file's size: touching a page behind its end is SIGBUS. `path` is for the message.
struct error *adapter_elf_check(const char *path, const void *content, size_t len);

#endif
