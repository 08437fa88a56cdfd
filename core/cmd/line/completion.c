// SPDX-License-Identifier: Apache-2.0
// `wharf completion`: scripts that run `wharf __complete`.
#include "core/cmd/main.h"

#include <stdlib.h>
#include <string.h>

static const char bash[] = "# wharf completion for bash: source <(wharf completion bash)\n"
                           "_wharf() {\n"
                           "    local cur words lines\n"
                           "    cur=\"${COMP_LINE:0:COMP_POINT}\"\n"
                           "    read -ra words <<< \"$cur\"\n"
                           "    [[ \"$cur\" == *[[:space:]] ]] && words+=(\"\")\n"
                           "    cur=\"${words[${#words[@]}-1]}\"\n"
                           "    mapfile -t lines < <(wharf __complete \"${words[@]:1}\" 2>/dev/null)\n"
                           "    lines=(\"${lines[@]%%$'\\t'*}\")\n"
                           "    if [[ \"${lines[0]}\" == \":files\" ]]; then\n"
                           "        compopt -o filenames\n"
                           "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
                           "        return\n"
                           "    fi\n"
                           "    [[ ${#lines[@]} -eq 1 && \"${lines[0]}\" == */ ]] && compopt -o nospace\n"
                           "    # What is before a '=' or ':' was completed already.\n"
                           "    local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"\"\n"
                           "    [[ \"$cur\" == *\"$word\" ]] && before=\"${cur%\"$word\"}\"\n"
                           "    COMPREPLY=(\"${lines[@]#\"$before\"}\")\n"
                           "}\n"
                           "complete -F _wharf wharf\n";

static const char zsh[] = "#compdef wharf\n"
                          "# wharf completion for zsh: source <(wharf completion zsh)\n"
                          "_wharf() {\n"
                          "    local -a lines described\n"
                          "    lines=(\"${(@f)$(wharf __complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
                          "    if [[ \"${lines[1]}\" == \":files\" ]]; then\n"
                          "        _files\n"
                          "        return\n"
                          "    fi\n"
                          "    local line\n"
                          "    for line in $lines; do\n"
                          "        described+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\")\n"
                          "    done\n"
                          "    if (( ${#lines} == 1 )) && [[ \"${lines[1]%%$'\\t'*}\" == */ ]]; then\n"
                          "        _describe -V wharf described -S ''\n"
                          "    else\n"
                          "        _describe -V wharf described\n"
                          "    fi\n"
                          "}\n"
                          "if [[ \"${funcstack[1]}\" == _wharf ]]; then\n"
                          "    _wharf \"$@\"\n"
                          "else\n"
                          "    compdef _wharf wharf\n"
                          "fi\n";

static const char fish[] = "# wharf completion for fish: wharf completion fish | source\n"
                           "function __wharf_complete\n"
                           "    set -l words (commandline -opc) (commandline -ct)\n"
                           "    set -l lines (wharf __complete $words[2..-1] 2>/dev/null)\n"
                           "    if test \"$lines[1]\" = ':files'\n"
                           "        __fish_complete_path (commandline -ct)\n"
                           "    else\n"
                           "        printf '%s\\n' $lines\n"
                           "    end\n"
                           "end\n"
                           "complete -c wharf -f -a '(__wharf_complete)'\n";

static struct error *run_completion(struct call *call) {
    const char *const scripts[] = {bash, zsh, fish};
    for (size_t i = 0; i < COUNT(scripts); i++)
        if (strcmp(call->operand[0], subcommand_completion.operand_words[i]) == 0)
            fputs(scripts[i], stdout);
    return NULL;
}

SUBCOMMAND(
    completion, run_completion, "print a script for the shell's completion",
    "The script completes commands, flags and their values, and from the running host workers, kinds, namespaces\n"
    "and names of workloads:\n"
    "  source <(wharf completion bash)          in ~/.bashrc\n"
    "  source <(wharf completion zsh)           in ~/.zshrc, after compinit\n"
    "  wharf completion fish | source           in ~/.config/fish/config.fish\n"
    "kubectl completes \"kubectl wharf\" by itself where kubectl_complete-wharf is in PATH (make install puts it\n"
    "beside wharf).\n",
    .operand = "bash|zsh|fish", .operand_words = WORDS("bash", "zsh", "fish"));
