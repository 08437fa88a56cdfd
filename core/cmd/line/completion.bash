# wharf completion for bash: source <(wharf completion bash)
_wharf() {
    local cur words lines
    cur="${COMP_LINE:0:COMP_POINT}"
    read -ra words <<< "$cur"
    [[ "$cur" == *[[:space:]] ]] && words+=("")
    cur="${words[${#words[@]}-1]}"
    mapfile -t lines < <(wharf __complete "${words[@]:1}" 2>/dev/null)
    lines=("${lines[@]%%$'\t'*}")
    if [[ "${lines[0]}" == ":files" ]]; then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
    fi
    [[ ${#lines[@]} -eq 1 && "${lines[0]}" == */ ]] && compopt -o nospace
    # What is before a '=' or ':' was completed already.
    local word="${COMP_WORDS[COMP_CWORD]}" before=""
    [[ "$cur" == *"$word" ]] && before="${cur%"$word"}"
    COMPREPLY=("${lines[@]#"$before"}")
}
complete -F _wharf wharf
