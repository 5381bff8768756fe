# fish completion for llmcalc: the program says itself what may come next.

function __llmcalc_next
    set -l words (commandline -opc) (commandline -ct)
    llmcalc complete $words[2..-1] 2>/dev/null
end

complete -c llmcalc -f -a '(__llmcalc_next)'
# Files once the word looks like one.
complete -c llmcalc -n 'string match -qr "[./]" -- (commandline -ct)' -F
