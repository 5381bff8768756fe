# bash completion for llmcalc. Commands and options come from the program's own help, names from its own lists; only the
# choices of an option are said here.

_llmcalc_names() { llmcalc list "$1" --json 2>/dev/null | sed -n 's/^ *"name": "\(.*\)",*$/\1/p'; }
_llmcalc_commands() { llmcalc --help 2>/dev/null | awk 'NR > 2 && NF == 0 { exit } NR > 2 { print $1 }'; }
_llmcalc_options() { llmcalc "$1" --help 2>/dev/null | grep -oE '^ +(-h,)?--[a-z0-9-]+' | grep -oE -- '--.*'; }

# What follows an option: one line each.
_llmcalc_choices() {
  case $1 in
    --hardware) _llmcalc_names hardware ;;
    --precision | --weight-precision | --kv-precision | --state-precision) _llmcalc_names dtypes ;;
    --optimizer) echo adam adam8bit sgd momentum adafactor lion ;;
    --master) echo fp32 none ;;
    --gradient-bytes) echo 2 4 ;;
    --recompute) echo none selective full ;;
    --attention) echo naive flash ;;
    --softmax-store) echo seed minimal ;;
    --glu-store) echo all fused recompute ;;
    --norm-stats) echo on off ;;
    --logits) echo fp32 compute bf16+grad chunked: ;;
    --attention-flops) echo full causal-half causal-exact ;;
    --params-in-6n) echo total non-embedding active matmul ;;
    --roofline) echo op step ;;
    --mla) echo auto absorbed expanded ;;
    --model) _llmcalc_names models ;;
    --tokenizer) echo bytes bpe ;;
    --device) echo cpu cuda ;;
  esac
}

# What a command works on.
_llmcalc_subjects() {
  case $1 in
    params | memory | flops | train | infer | report) _llmcalc_names models ;;
    show) _llmcalc_names models && _llmcalc_names hardware ;;
    list) echo models hardware dtypes ;;
    collective) echo broadcast gather reduce all-gather all-reduce reduce-scatter all-to-all p2p ;;
  esac
}

_llmcalc() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words
  if [ "$COMP_CWORD" = 1 ]; then
    words=$(_llmcalc_commands)
  elif [[ $current == -* ]]; then
    words=$(_llmcalc_options "${COMP_WORDS[1]}")
  else
    words=$(_llmcalc_choices "$previous")
    [[ $words || $previous == --* ]] || words=$(_llmcalc_subjects "${COMP_WORDS[1]}")
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _llmcalc llmcalc
