#compdef wharf
# wharf completion for zsh: source <(wharf completion zsh)
_wharf() {
    local -a lines described
    lines=("${(@f)$(wharf __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ "${lines[1]}" == ":files" ]]; then
        _files
        return
    fi
    local line
    for line in $lines; do
        described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    if (( ${#lines} == 1 )) && [[ "${lines[1]%%$'\t'*}" == */ ]]; then
        _describe -V wharf described -S ''
    else
        _describe -V wharf described
    fi
}
if [[ "${funcstack[1]}" == _wharf ]]; then
    _wharf "$@"
else
    compdef _wharf wharf
fi
