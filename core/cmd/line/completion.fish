# wharf completion for fish: wharf completion fish | source
function __wharf_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines (wharf __complete $words[2..-1] 2>/dev/null)
    if test "$lines[1]" = ':files'
        __fish_complete_path (commandline -ct)
    else
        printf '%s\n' $lines
    end
end
complete -c wharf -f -a '(__wharf_complete)'
