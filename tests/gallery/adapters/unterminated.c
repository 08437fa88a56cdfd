// SPDX-License-Identifier: Apache-2.0
// Has a list of phases without an end: memory that cannot be read follows the last rule.
#define FARM "unterminated"
#define HARMLESS_CALLS
#define START *kinds = endless()
#include <wharf/adapter.h>
static const wharf_kind *const *endless(void);
#include "tests/gallery/farm.h"

#include <sys/mman.h>

#define PAGE 65536 // or several

static const wharf_kind *const *endless(void) {
    static wharf_kind kind;
    static const wharf_kind *list[] = {&kind, NULL};
    char *memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory + PAGE, PAGE, PROT_NONE);
    wharf_phase_rule *rules = (wharf_phase_rule *)(void *)(memory + PAGE - 16 * sizeof *rules);
    for (int i = 0; i < 16; i++)
        rules[i] = phases[0];
    kind = farm;
    kind.phases = rules;
    return list;
}
