# fish completion for llmcalc. Commands and options come from the program's own help, names from its own lists; only the
# choices of an option are said here.

function __llmcalc_names
    llmcalc list $argv[1] --json 2>/dev/null | string match -rg '^ *"name": "(.*)",?$'
end

function __llmcalc_commands
    llmcalc --help 2>/dev/null | awk 'NR > 2 && NF == 0 { exit } NR > 2 { print $1 "\t" substr($0, 39) }'
end

function __llmcalc_command
    set -l words (commandline -opc)
    set -q words[2]; and echo $words[2]
end

function __llmcalc_options
    llmcalc (__llmcalc_command) --help 2>/dev/null | awk '
        /^ +(-h,)?--/ { sub(/^ +(-h,)?/, ""); help = substr($0, index($0, "  ")); sub(/^ +/, "", help); print $1 "\t" help }'
end

function __llmcalc_subjects
    switch (__llmcalc_command)
        case params memory flops train infer report
            __llmcalc_names models
        case show
            __llmcalc_names models
            __llmcalc_names hardware
        case list
            printf '%s\n' models hardware dtypes
        case collective
            printf '%s\n' broadcast gather reduce all-gather all-reduce reduce-scatter all-to-all p2p
    end
end

# After an option with choices, those; else options and what the command works on.
function __llmcalc_choices
    set -l words (commandline -opc)
    switch $words[-1]
        case --hardware
            __llmcalc_names hardware
        case --precision --weight-precision --kv-precision --state-precision
            __llmcalc_names dtypes
        case --optimizer
            printf '%s\n' adam adam8bit sgd momentum adafactor lion
        case --master
            printf '%s\n' fp32 none
        case --gradient-bytes
            printf '%s\n' 2 4
        case --recompute
            printf '%s\n' none selective full
        case --attention
            printf '%s\n' naive flash
        case --softmax-store
            printf '%s\n' seed minimal
        case --glu-store
            printf '%s\n' all fused recompute
        case --norm-stats
            printf '%s\n' on off
        case --logits
            printf '%s\n' fp32 compute bf16+grad chunked:
        case --attention-flops
            printf '%s\n' full causal-half causal-exact
        case --params-in-6n
            printf '%s\n' total non-embedding active matmul
        case --roofline
            printf '%s\n' op step
        case --mla
            printf '%s\n' auto absorbed expanded
        case --model
            __llmcalc_names models
        case --tokenizer
            printf '%s\n' bytes bpe
        case --device
            printf '%s\n' cpu cuda
        case '*'
            __llmcalc_options
            __llmcalc_subjects
    end
end

complete -c llmcalc -f
complete -c llmcalc -n 'not __llmcalc_command' -a '(__llmcalc_commands)'
complete -c llmcalc -n __llmcalc_command -a '(__llmcalc_choices)'
# Files once the word looks like one.
complete -c llmcalc -n 'string match -qr "[./]" -- (commandline -ct)' -F
