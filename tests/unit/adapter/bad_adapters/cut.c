// SPDX-License-Identifier: Apache-2.0
// The symbol is data that is too short for a module.
__attribute__((visibility("default"))) extern const unsigned long wharf_module_v1[3];
const unsigned long wharf_module_v1[3] = {4096, 1, 0};
