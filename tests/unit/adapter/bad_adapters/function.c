// SPDX-License-Identifier: Apache-2.0
// The symbol is a function.
#include <wharf/adapter.h>

__asm__(".globl wharf_module_v1\n.type wharf_module_v1, @function\n.set wharf_module_v1, not_a_module");

void not_a_module(void);
void not_a_module(void) {
}
