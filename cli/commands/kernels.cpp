// Table rows of the commands that run the reference transformer. Their code is in cli/kernels/.

#include <array>

#include "cli/command.hpp"
#include "cli/kernels/run.hpp"

namespace llmcalc {
namespace {

constexpr std::array validate_words{
    Word{"MODEL", "preset, file, or folder with weights; if omitted, the suite runs", false}};
constexpr std::array validate_options{
    Option{"--suite", "small|full", "test suite of models of every shape; full adds GPT-2 124M [small]"},
    Option{"--device", "cpu|cuda|cuda:N", "device to run the reference on [cpu]"},
    Option{"--hardware", "HW", "file written by 'llmcalc calibrate'; if given, times are compared too"},
    Option{"--repeats", "N", "number of timed runs; the median is reported [5]"},
    Option{
        "--check-time", "",
        "also exit with 1 if a step, prefill or decode time differs from its prediction by more than a factor of 1.25"},
};

constexpr std::array learn_words{Word{"FILE", "UTF-8 text file"}};
constexpr std::array learn_options{
    Option{"--out", "FILE", "checkpoint to write [FILE's name with .safetensors, in the current folder]"},
    Option{"--model", "MODEL",
           "preset or file; its vocabulary is replaced by the text's [Llama with 0.9 M parameters, or with 2 M if "
           "the text has at least 1 MB]"},
    Option{"--steps", "N", "optimizer steps [8 passes over the text, 500 to 3000]"},
    Option{"--minutes", "T", "stop after T minutes [stop after --steps]"},
    Option{"--batch", "N", "sequences per step [4]"},
    Option{"--seq", "N", "tokens per sequence [128]"},
    Option{"--rate", "R", "peak learning rate [0.003]"},
    Option{"--tokenizer", "bytes|bpe", "tokenizer type [bpe for a text of at least 100 KB, otherwise bytes]"},
    Option{"--vocabulary", "N", "maximum BPE vocabulary size [one token per 320 bytes of text, 384 to 1024]"},
    Option{"--precision", "fp32|bf16",
           "format of weights and activations; bf16 keeps fp32 master weights [fp32; bf16 on a GPU]"},
    Option{"--seed", "N", "random seed of initial weights and batches [1]"},
    Option{"--device", "cpu|cuda|cuda:N", "device to train on [cpu]"},
    Option{"--resume", "", "resume training from the checkpoint"},
};

constexpr std::array generate_words{
    Word{"CHECKPOINT", "file written by 'llmcalc learn', or folder of a downloaded model"},
    Word{"PROMPT", "text to continue [standard input]", false}};
constexpr std::array generate_options{
    Option{"--tokens", "N", "maximum number of generated tokens [200]"},
    Option{"--temperature", "T", "sampling temperature; 0 is greedy, 1 samples from the unscaled distribution [0.8]"},
    Option{"--top-k", "K", "sample from the K most likely tokens; 0 means all [0]"},
    Option{"--top-p", "P", "sample from the most likely tokens with total probability P [1]"},
    Option{"--beams", "N", "beam search width; above 1 replaces sampling [1]"},
    Option{"--seed", "N", "random seed of sampling [1]"},
    Option{"--device", "cpu|cuda|cuda:N", "device to run the model on [cpu]"},
    Option{"--no-kv-cache", "", "recompute the whole text for every token; same output, slower"},
    Option{"--compare-kv-cache", "", "generate with and without the cache, and compare tokens and cost"},
};

constexpr std::array perplexity_words{
    Word{"CHECKPOINT", "file written by 'llmcalc learn', or folder of a downloaded model"},
    Word{"FILE", "UTF-8 text file"}};
constexpr std::array perplexity_options{
    Option{"--window", "N",
           "window length in tokens; each token is predicted from the preceding tokens of its window [512]"},
    Option{"--device", "cpu|cuda|cuda:N", "device to run the model on [cpu]"},
};

constexpr std::array calibrate_options{
    Option{"--out", "FILE", "hardware file to write [this-machine.json]"},
    Option{"--device", "cpu|cuda|cuda:N", "device to measure [cpu]"},
    Option{"--name", "NAME", "name of the machine [this-machine; with --bench or --server the device's name]"},
    Option{
        "--from", "DIR",
        "derive the rates from operator tables in DIR (MODEL/tpN/dense.csv, attention.csv, ...) instead of measuring"},
    Option{.flag = "--bench",
           .value = "FILE",
           .help =
               "derive the ratio of measured to estimated times from the output of vllm bench serve (text, or the JSON "
               "of --save-result), sglang.bench_serving (text, or a line of its JSONL) or llama-bench (table, JSON, "
               "JSONL); given twice, from two readings of a server's metrics",
           .repeats = true},
    Option{"--server", "URL",
           "derive the ratio from the metrics of a running vLLM, SGLang or llama.cpp server, read twice"},
    Option{"--seconds", "N", "time between the two readings of a server's metrics [30]"},
    Option{"--prompt", "N", "mean tokens of a prompt, for llama.cpp's server, which counts no requests [none]"},
    Option{"--allow-remote", "", "let --server be another machine [only this one]"},
    Option{"--hardware", "HW", "device of the tables, the benchmark or the server [as named there]"},
    Option{"--model", "MODEL", "model of all tables, of the benchmark or the server [as named there]"},
    Option{"--software", "NAME", "engine of the benchmark or server, NAME@VERSION for a version [as named there]"},
    Option{"--tp", "N", "tensor-parallel ranks of the benchmarked server [1; as SGLang's server states]"},
    Option{"--pp", "N", "pipeline stages of the benchmarked server [1; as SGLang's server states]"},
    Option{"--dp", "N", "replicas of the benchmarked server [1]"},
    Option{"--ep", "N", "expert-parallel ranks of the benchmarked server [1]"},
    Option{"--precision", "FORMAT", "format of the benchmarked model's matmuls [as in infer]"},
    Option{"--weight-precision", "FORMAT", "format of its weights [as named there, otherwise as in infer]"},
    Option{"--kv-precision", "FORMAT", "format of its KV cache [as in infer]"}};

}  // namespace

const Command validate_command{
    .name = "validate",
    .arguments = "[MODEL|--suite NAME]",
    .summary = "run a model, check bytes and FLOPs",
    .about =
        "Runs the bundled reference transformer and compares its memory and operations with the prediction: every byte "
        "by category and operator, every FLOP, and the operators' names, shapes and order. If MODEL is a folder with "
        "the "
        "safetensors of a GPT-2, Llama, Qwen or Gemma model, it runs with these weights. Exits with 1 if any exact "
        "quantity differs.",
    .examples =
        "  llmcalc validate --suite small\n  llmcalc validate gpt2 --micro-batch 2 --seq 128\n"
        "  llmcalc validate my-model.json --infer --prompt 32 --generate 8 --json",
    .words = validate_words,
    .own = validate_options,
    .parts = part::training | part::step | part::inference | part::one_batch | part::model_flops | part::halves |
             part::styles,
    .keys =
        "model hardware inputs conventions cases training inference elementwise times differences attention_core "
        "utilization tensor_work counters energy device_memory machine",
    .run = run_validate};

const Command learn_command{
    .name = "learn",
    .arguments = "FILE.txt",
    .summary = "train a small transformer on a text",
    .about =
        "Trains a small transformer on a text. The last tenth is held out for the report. The 5 % before the "
        "held-out tenth is not used for training either; it determines which weights are best. The checkpoint stores "
        "them with the state needed to resume training.",
    .examples =
        "  llmcalc learn notes.txt\n  llmcalc learn notes.txt --minutes 10 --vocabulary 4000\n"
        "  llmcalc learn notes.txt --resume --steps 2000",
    .words = learn_words,
    .own = learn_options,
    .parts = part::styles | part::exact | part::files,
    .keys = "model inputs conventions learnt_model learning held_out",
    .run = run_learn};

const Command generate_command{
    .name = "generate",
    .arguments = "CHECKPOINT [PROMPT]",
    .summary = "continue a text with a model",
    .about =
        "Continues a text with a model trained by 'llmcalc learn', or with the safetensors of a GPT-2, Llama, Qwen or "
        "Gemma model; prints prompt and continuation, or one object at the end with --json.",
    .examples =
        "  llmcalc generate notes.safetensors \"On the first day\"\n"
        "  llmcalc generate models/Qwen3-0.6B \"The capital of\" --temperature 0\n"
        "  echo \"Once\" | llmcalc generate notes.safetensors --temperature 0",
    .words = generate_words,
    .own = generate_options,
    .parts = part::json | part::help,
    .keys = "model inputs generation with_and_without_cache",
    .run = run_generate};

const Command perplexity_command{.name = "perplexity",
                                 .arguments = "CHECKPOINT FILE.txt",
                                 .summary = "perplexity of a model on a text",
                                 .about =
                                     "Runs a trained model over a text and reports its perplexity per token, and bits "
                                     "per byte, which are comparable between tokenizers.",
                                 .examples =
                                     "  llmcalc perplexity models/Qwen3-0.6B notes.txt\n  llmcalc perplexity "
                                     "notes.safetensors notes.txt --window 128",
                                 .words = perplexity_words,
                                 .own = perplexity_options,
                                 .parts = part::styles | part::exact,
                                 .keys = "model inputs conventions prediction",
                                 .run = run_perplexity};

const Command calibrate_command{
    .name = "calibrate",
    .arguments = "[--from DIR|--bench FILE|--server URL]",
    .summary = "measure this machine's rates",
    .about =
        "Measures this machine's matmul rates by size and format, copy bandwidth and operator overhead, and writes a "
        "hardware file for --hardware. --from derives the rates from operator tables (measured layer times of a served "
        "model) instead, and reports residuals. --bench compares a benchmark of a served model with its estimates, "
        "--server the requests of a running server: infer, serve, plan serve and fit with the hardware file then scale "
        "the times of the same engine's passes.",
    .examples =
        "  llmcalc calibrate --out here.json\n  llmcalc validate gpt2 --hardware here.json\n"
        "  llmcalc train gpt2 --hardware here.json --precision fp32\n"
        "  llmcalc calibrate --from operators/rtx-pro-6000 --out rtx.json\n"
        "  llmcalc calibrate --bench bench.json --hardware h100 --out here.json\n"
        "  llmcalc calibrate --server http://localhost:8000 --hardware h100",
    .own = calibrate_options,
    .parts = part::styles | part::exact | part::files,
    .keys = "inputs machine matmul rates residuals",
    .run = run_calibrate};

}  // namespace llmcalc
