// SPDX-License-Identifier: Apache-2.0
// Completion of command lines by shells.
#ifndef WHARF_CMD_COMPLETE_H
#define WHARF_CMD_COMPLETE_H

#include "core/cmd/main.h"

#define COMPLETE_COMMAND "__complete" // hidden: `wharf __complete WORD... LAST`
#define COMPLETE_FILES ":files"       // its only line where a file is expected

// kubectl asks a program of this name to complete "kubectl wharf".
#define COMPLETE_KUBECTL "kubectl_complete-wharf"

// Prints what may stand instead of the last word, each on a line, a description after a tab. For kubectl, a line with
// the directive follows (github.com/spf13/cobra, ShellCompDirective).
int main_complete(const struct arguments *arguments, bool for_kubectl);

#endif
