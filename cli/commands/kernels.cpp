// Rows of the commands that run the reference transformer. Their code is in cli/kernels/.

#include <array>

#include "cli/command.hpp"
#include "cli/kernels/run.hpp"

namespace llmcalc {
namespace {

constexpr std::array validate_words{
    Word{"MODEL", "a preset, a file, or a folder with weights; without one the suite runs", false}};
constexpr std::array validate_options{
    Option{"--suite", "small|full", "models of every shape; full adds GPT-2 124M [small]"},
    Option{"--device", "cpu|cuda|cuda:N", "where the reference runs [cpu]"},
    Option{"--hardware", "HW", "a file of 'llmcalc calibrate': compares times too"},
    Option{"--repeats", "N", "timed runs, of which the median counts [5]"},
    Option{"--check-time", "", "a step, prefill or decode outside the band is exit 1 too"},
};

constexpr std::array learn_words{Word{"FILE", "a text, UTF-8"}};
constexpr std::array learn_options{
    Option{"--out", "FILE", "the checkpoint [FILE's name with .safetensors, here]"},
    Option{"--model", "MODEL",
           "a preset or a file, with the text's vocabulary [a Llama of 0.9 M parameters, from 1 MB of text on 2 M]"},
    Option{"--steps", "N", "updates of the weights [8 times through the text, 500 to 3000]"},
    Option{"--minutes", "T", "ends the run after T minutes [the steps end it]"},
    Option{"--batch", "N", "sequences per step [4]"},
    Option{"--seq", "N", "tokens per sequence [128]"},
    Option{"--rate", "R", "learning rate at its highest [0.003]"},
    Option{"--tokenizer", "bytes|bpe", "what a token is [bpe from 100 KB on, else bytes]"},
    Option{"--vocabulary", "N", "tokens of bpe, at most [one for 320 bytes of text, 384 to 1024]"},
    Option{"--precision", "fp32|bf16", "weights and activations; bf16 keeps fp32 master weights [fp32; bf16 on a GPU]"},
    Option{"--seed", "N", "of the first weights and the batches [1]"},
    Option{"--device", "cpu|cuda|cuda:N", "where it learns [cpu]"},
    Option{"--resume", "", "continue from the checkpoint where it stopped"},
};

constexpr std::array generate_words{Word{"CHECKPOINT", "a file of 'llmcalc learn', or a downloaded model's folder"},
                                    Word{"PROMPT", "the text to continue [standard input]", false}};
constexpr std::array generate_options{
    Option{"--tokens", "N", "how many more, at most [200]"},
    Option{"--temperature", "T", "0 takes the likeliest token, 1 the model's own distribution [0.8]"},
    Option{"--top-k", "K", "only the K likeliest tokens; 0 is all [0]"},
    Option{"--top-p", "P", "only the likeliest tokens that together have probability P [1]"},
    Option{"--beams", "N", "beam search of this width instead of sampling [1]"},
    Option{"--seed", "N", "of the draws [1]"},
    Option{"--device", "cpu|cuda|cuda:N", "where the model runs [cpu]"},
    Option{"--no-kv-cache", "", "run the whole text again for every token: the same text, slower"},
    Option{"--compare-kv-cache", "", "generate with the cache, then without: the same tokens, and the cost of both"},
};

constexpr std::array perplexity_words{Word{"CHECKPOINT", "a file of 'llmcalc learn', or a downloaded model's folder"},
                                      Word{"FILE", "a text, UTF-8"}};
constexpr std::array perplexity_options{
    Option{"--window", "N", "tokens run at once: each is predicted from those before it in its window [512]"},
    Option{"--device", "cpu|cuda|cuda:N", "where the model runs [cpu]"},
};

constexpr std::array calibrate_options{Option{"--out", "FILE", "where the hardware file goes [this-machine.json]"},
                                       Option{"--device", "cpu|cuda|cuda:N", "what is measured [cpu]"},
                                       Option{"--name", "NAME", "name of the machine [this-machine]"},
                                       Option{"--from", "DIR",
                                              "derive the rates from tables of operators in DIR (MODEL/tpN/dense.csv, "
                                              "attention.csv, ...) and measure nothing"},
                                       Option{"--hardware", "HW", "whose tables they are [what they say]"},
                                       Option{"--model", "MODEL", "the model of all tables [what each says]"}};

}  // namespace

const Command validate_command{
    .name = "validate",
    .arguments = "[MODEL|--suite NAME]",
    .summary = "the transformer run, bytes and FLOPs",
    .about =
        "Runs the bundled reference transformer and compares its memory and operations with the prediction: every "
        "byte by category and operator, every FLOP, the operators' names, shapes and order. A folder with the "
        "safetensors "
        "of a GPT-2, Llama, Qwen or Gemma is run with its own weights. Exit 1 if anything that is exact is not.",
    .examples =
        "  llmcalc validate --suite small\n  llmcalc validate gpt2 --micro-batch 2 --seq 128\n"
        "  llmcalc validate my-model.json --infer --prompt 32 --generate 8 --json",
    .words = validate_words,
    .own = validate_options,
    .parts = part::training | part::step | part::inference | part::one_batch | part::model_flops | part::halves |
             part::styles,
    .run = run_validate};

const Command learn_command{
    .name = "learn",
    .arguments = "FILE.txt",
    .summary = "train a small transformer on a text",
    .about =
        "Trains a small transformer on a text. The last tenth is held out for the report, the twentieth before it "
        "chooses the best weights: a checkpoint keeps them, with what learning needs to go on.",
    .examples =
        "  llmcalc learn notes.txt\n  llmcalc learn notes.txt --minutes 10 --vocabulary 4000\n"
        "  llmcalc learn notes.txt --resume --steps 2000",
    .words = learn_words,
    .own = learn_options,
    .parts = part::styles | part::exact,
    .run = run_learn};

const Command generate_command{
    .name = "generate",
    .arguments = "CHECKPOINT [PROMPT]",
    .summary = "continue a text with it",
    .about =
        "Continues a text with a model that 'llmcalc learn' trained, or with the safetensors of a GPT-2, Llama, Qwen "
        "or "
        "Gemma; prints both, or with --json one object at the end.",
    .examples =
        "  llmcalc generate notes.safetensors \"On the first day\"\n"
        "  llmcalc generate models/Qwen3-0.6B \"The capital of\" --temperature 0\n"
        "  echo \"Once\" | llmcalc generate notes.safetensors --temperature 0",
    .words = generate_words,
    .own = generate_options,
    .parts = part::json | part::help,
    .run = run_generate};

const Command perplexity_command{.name = "perplexity",
                                 .arguments = "CHECKPOINT FILE.txt",
                                 .summary = "how well it predicts a text",
                                 .about =
                                     "Runs a trained model over a text and tells the perplexity, per token and, "
                                     "comparable between tokenizers, as bits "
                                     "per byte.",
                                 .examples =
                                     "  llmcalc perplexity models/Qwen3-0.6B notes.txt\n  llmcalc perplexity "
                                     "notes.safetensors notes.txt --window 128",
                                 .words = perplexity_words,
                                 .own = perplexity_options,
                                 .parts = part::styles | part::exact,
                                 .run = run_perplexity};

const Command calibrate_command{
    .name = "calibrate",
    .arguments = "[--out FILE] [--from DIR]",
    .summary = "what this machine delivers",
    .about =
        "Measures this machine: matmul rates by size and format, copy bandwidth, the time of an operator; and "
        "writes them as a hardware file, which --hardware takes. --from derives them from tables of operators instead, "
        "measured times of a served model's layers, with their residuals.",
    .examples =
        "  llmcalc calibrate --out here.json\n  llmcalc validate gpt2 --hardware here.json\n"
        "  llmcalc train gpt2 --hardware here.json --precision fp32\n"
        "  llmcalc calibrate --from operators/rtx-pro-6000 --out rtx.json",
    .own = calibrate_options,
    .parts = part::styles | part::exact,
    .run = run_calibrate};

}  // namespace llmcalc
