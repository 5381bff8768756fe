# bash completion for llmcalc: the program says itself what may come next; files where it names nothing.

_llmcalc() {
  local IFS=$'\n' current=${COMP_WORDS[COMP_CWORD]}
  mapfile -t COMPREPLY < <(compgen -W "$(llmcalc complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1)" -- "$current")
}
complete -o default -F _llmcalc llmcalc
