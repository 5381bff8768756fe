#include "report/explain/examples.hpp"

#include <algorithm>
#include <memory>

#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"
#include "ask/request/settle.hpp"
#include "presets/load.hpp"
#include "report/explain/general.hpp"

namespace llmcalc::explain {
namespace {

struct Chosen {
  std::string_view flag, value;
};

struct Example {
  std::string_view when, model;
  std::vector<Chosen> options = {};
  Count zero_experts = 0;          ///< experts that return their input, added to the model; not in any preset
  MediaEncoders media_encoders{};  ///< encoders added to the model; not in any preset
};

constexpr std::string_view llama = "llama-3.1-8b";

/// Examples of architectures, without options.
std::vector<Example> examples_of_models() {
  return {
      {"", llama},
      {"multi-head, plain MLP, biases, learned positions (GPT-3)", "gpt-3-175b"},
      {"parallel block, one norm, multi-query (Falcon-7B)", "falcon-7b"},
      {"sliding windows, four norms, QK norm (Gemma 3)", "gemma-3-27b"},
      {"chunked attention, experts in every layer (Llama 4)", "llama-4-scout"},
      {"experts (Mixtral)", "mixtral-8x7b"},
      {"experts including identity experts (LongCat-Flash)", "mixtral-8x7b", {}, 4},
      {"audio encoder (Qwen2-Audio)", llama, {}, 0, {.audio = 636968960}},
      {"cross-attention layers for images (Llama 3.2 11B Vision)",
       llama,
       {},
       0,
       {.projector = 31461376, .cross = 1744930832}},
      {"latent attention, shared experts (DeepSeek-V3)", "deepseek-v3"},
      {"gated DeltaNet in three of four layers, gated attention (Qwen3-Next)", "qwen3-next-80b-a3b"},
      {"Mamba-2 in parallel with attention (Falcon-H1)", "falcon-h1-0.5b"},
  };
}

/// Examples with options for training or for a single batch.
std::vector<Example> examples_of_plans() {
  return {
      {"measured throughput", llama, {{"--measured-tokens-per-s", "1e4"}}},
      {"--attention naive --dropout", llama, {{"--attention", "naive"}, {"--dropout", ""}}},
      {"--tp 8", llama, {{"--tp", "8"}}},
      {"--tp 8 --sp", llama, {{"--tp", "8"}, {"--sp", ""}}},
      {"--dp 8 --zero 1", llama, {{"--dp", "8"}, {"--zero", "1"}}},
      {"--dp 8 --zero 3", llama, {{"--dp", "8"}, {"--zero", "3"}}},
      {"--pp 4", llama, {{"--pp", "4"}}},
      {"--pp 4 --schedule zb-h1", llama, {{"--pp", "4"}, {"--schedule", "zb-h1"}}},
      {"--cp 2", llama, {{"--cp", "2"}}},
      {"--dp 8 --ep 8", "mixtral-8x7b", {{"--dp", "8"}, {"--ep", "8"}}},
      {"--mtbf H --checkpoint-bandwidth B/S",
       llama,
       {{"--mtbf", "50000"}, {"--checkpoint-bandwidth", "100 GB/s"}, {"--restart", "600"}}},
      {"--days X", llama, {{"--days", "365"}}},
      {"--offload WHAT", llama, {{"--offload", "optimizer,activations:0.5"}}},
      {"--lora RANK", llama, {{"--lora", "16"}}},
      {"--mtp N", "deepseek-v3", {{"--mtp", "1"}}},
      {"--freeze PARTS", llama, {{"--freeze", "embedding,layers:0-15"}}},
      {"--recompute selective", llama, {{"--recompute", "selective"}}},
      {"--recompute full", llama, {{"--recompute", "full"}}},
      {"--glu-store recompute", llama, {{"--glu-store", "recompute"}}},
      {"--attention-flops causal-half", llama, {{"--attention-flops", "causal-half"}}},
      {"--attention-flops causal-exact", llama, {{"--attention-flops", "causal-exact"}}},
      {"--params-in-6n active", llama, {{"--params-in-6n", "active"}}},
      {"--optimizer adam --master none", llama, {{"--master", "none"}}},
      {"--optimizer adam8bit", llama, {{"--optimizer", "adam8bit"}}},
      {"--optimizer adafactor", llama, {{"--optimizer", "adafactor"}}},
      {"--optimizer muon", llama, {{"--optimizer", "muon"}}},
      {"--optimizer sgd", llama, {{"--optimizer", "sgd"}}},
      {"--optimizer momentum, lion", llama, {{"--optimizer", "lion"}}},
      {"--logits compute", llama, {{"--logits", "compute"}}},
      {"--logits bf16+grad", llama, {{"--logits", "bf16+grad"}}},
      {"--logits chunked:8", llama, {{"--logits", "chunked:8"}}},
      {"--weight-precision q4_k", llama, {{"--weight-precision", "q4_k"}}},
      {"--weight-precision nf4", llama, {{"--weight-precision", "nf4"}}},
      {"--no-kv-cache", llama, {{"--no-kv-cache", ""}}},
      {"--roofline step", llama, {{"--roofline", "step"}}},
      {"--efficiency 0.5", llama, {{"--efficiency", "0.5"}}},
  };
}

/// Examples of estimates with a software stack, and of targets.
std::vector<Example> examples_of_software() {
  return {
      {"--software NAME", llama, {{"--software", "megatron-lm"}, {"--dp", "16"}, {"--global-batch", "16"}}},
      {"--software NAME --days X --mtbf H",
       llama,
       {{"--software", "megatron-lm"},
        {"--days", "365"},
        {"--mtbf", "50000"},
        {"--checkpoint-bandwidth", "100 GB/s"},
        {"--restart", "600"}}},
      {"--software megatron-lm-legacy --precision fp16",
       "gpt-3-175b",
       {{"--software", "megatron-lm-legacy"}, {"--precision", "fp16"}}},
      {"--software megatron-deepspeed, --dp 8", "gpt-3-175b", {{"--software", "megatron-deepspeed"}, {"--dp", "8"}}},
      {"--target \"1 s\", training on several nodes", llama, {{"--target", "1 s"}, {"--tp", "8"}, {"--dp", "2"}}},
      {"--measured-tokens-per-s X", llama, {{"--software", "megatron-lm"}, {"--measured-tokens-per-s", "1e4"}}},
      {"--software vllm on several nodes", llama, {{"--software", "vllm"}, {"--tp", "16"}}},
      {"--target \"50 tokens/s\"", llama, {{"--target", "50 tokens/s"}}},
      {"--target \"TTFT 0.5 s\"", llama, {{"--target", "TTFT 0.5 s"}}},
      {"--software NAME, inference", llama, {{"--software", "vllm"}}},
      {"--watts W", llama, {{"--watts", "700"}}},
      {"--software NAME, inference, --tp 8", llama, {{"--software", "vllm"}, {"--tp", "8"}}},
  };
}

/// Examples of servers under load.
std::vector<Example> examples_of_servers() {
  return {
      {"--rate R", llama, {{"--rate", "2"}, {"--api-price", "0.5,1.5"}, {"--slo-ttft", "1 s"}}},
      {"--rate R --turns N, beyond capacity",
       llama,
       {{"--rate", "200"}, {"--num-requests", "50"}, {"--generate", "32"}, {"--turns", "2"}}},
      {"--rate R --offload experts",
       "mixtral-8x7b",
       {{"--software", "vllm"}, {"--rate", "1"}, {"--offload", "experts:0.7"}}},
      {"--rate R --adapters N:RANK", llama, {{"--software", "vllm"}, {"--rate", "2"}, {"--adapters", "8:16"}}},
      {"--rate R, vision encoder (Gemma 3)", "gemma-3-27b", {{"--software", "vllm"}, {"--rate", "1"}}},
      {"--rate R --tp 2, experts in MXFP4",
       "gpt-oss-20b",
       {{"--software", "vllm"},
        {"--rate", "2"},
        {"--num-requests", "50"},
        {"--tp", "2"},
        {"--weight-precision", "experts=mxfp4"}}},
  };
}

const std::vector<Example>& examples() {
  static const std::vector<Example> all = [] {
    std::vector<Example> v = examples_of_models();
    for (const std::vector<Example>& more : {examples_of_plans(), examples_of_software(), examples_of_servers()})
      v.insert(v.end(), more.begin(), more.end());
    return v;
  }();
  return all;
}

/// A request with all optional inputs, so that every quantity has a formula.
Request request(const Example& e) {
  Request r;
  r.model = load_model(e.model);
  r.model.arch.moe.zero_experts = e.zero_experts;
  if (e.media_encoders != MediaEncoders()) r.model.media_encoders = e.media_encoders;
  r.model.weights.reset();  // formulas assume 16 bits unless an option changes that
  r.model.products.reset();
  static const HardwareCard hardware = load_hardware("h100-sxm-80gb");
  r.hardware = hardware;
  const auto choose = [&](const Chosen& c) { give(r, *find_option(c.flag), c.value); };
  for (const Chosen& c :
       {Chosen{"--tokens", "1T"}, {"--price", "2"}, {"--co2", "0.4"}, {"--global-batch", "8"}, {"--prompt", "1024"}})
    choose(c);
  const auto is_rate = [](const Chosen& c) { return c.flag == "--rate"; };
  if (std::any_of(e.options.begin(), e.options.end(), is_rate))  // a short run: formulas do not depend on its length
    for (const Chosen& c : {Chosen{"--num-requests", "12"}, {"--generate", "4"}}) choose(c);
  for (const Chosen& c : e.options) choose(c);
  if (e.model == "gpt-3-175b" && e.when.starts_with("multi-head")) choose({"--seq", "2048"});
  settle(r);
  return r;
}

/// An example, computed on first use.
class ExampleCase {
 public:
  explicit ExampleCase(const Example& e) : example_(e) {}
  const Example& example() const { return example_; }
  bool is_plan() const { return !example_.options.empty(); }
  const Setting& setting() const {
    if (!setting_) {
      request_ = std::make_unique<Request>(request(example_));
      setting_ = std::make_unique<Setting>(*request_, SettingParts{!request_->engine, true, false});
    }
    return *setting_;
  }

 private:
  const Example& example_;
  mutable std::unique_ptr<Request> request_;
  mutable std::unique_ptr<Setting> setting_;
};

const std::vector<ExampleCase>& cases() {
  static const std::vector<ExampleCase> all(examples().begin(), examples().end());
  return all;
}

/// An example's formula for a cheat-sheet table, with symbols but without values.
Variant variant(const Definition& d, const ExampleCase& c, Formula f) {
  std::vector<Symbol> names = symbols(c.setting(), d.about(), f);
  for (Symbol& s : names) s.value.clear();
  for (Terms& t : f.terms) t.rows.clear();
  return {std::string(c.example().when), std::move(f), std::move(names)};
}

/// Each distinct formula once. `first`: only the first formula.
std::vector<Variant> collected(const Definition& d, bool plans, bool first) {
  std::vector<Variant> all;
  for (const ExampleCase& c : cases()) {
    if ((c.is_plan() && !plans) || (first && !all.empty())) continue;
    if (!d.wants.empty() && c.setting().row(d.path) == nullptr) continue;
    Formula f = d.formula(c.setting());
    const auto same = [&](const Variant& v) { return v.formula.expression == f.expression; };
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(variant(d, c, std::move(f)));
  }
  return all;
}

}  // namespace

std::vector<Variant> variants(const Definition& d, bool plans) {
  if (d.formula == nullptr) return general_variants(d);
  std::vector<Variant> all = collected(d, plans, false);
  return all.empty() && !plans ? collected(d, true, true) : all;
}

}  // namespace llmcalc::explain
