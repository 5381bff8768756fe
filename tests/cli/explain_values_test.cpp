/// Every formula printed by `explain`, evaluated, equals the report's number. The formulas come from the architecture
/// and the plan, the report from the engine's operators.

#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "ask/request/check/check.hpp"
#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"
#include "ask/request/settle.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "report/explain/explanation.hpp"
#include "tests/catch.hpp"
#include "tests/cli/expression.hpp"
#include "tests/cli/odd_models.hpp"
#include "text/format.hpp"

using namespace llmcalc;
using explain::Definition;
using explain::Explanation;
using test::odd_attentions;
using test::odd_blocks;
using test::odd_choices;
using test::odd_encoders;
using test::odd_recurrences;
using test::odd_repeats;
using test::odd_tables;

namespace {

/// The verdict that a number implies.
std::string verdict(const Explanation& e, long double value) {
  if (e.definition->path.ends_with("fits")) return value <= 1 ? "yes" : "no";
  if (e.definition->verdict.starts_with("the smallest")) return value >= 1 ? "reached" : "never";
  if (e.definition->path == "steady_state.limit")
    for (const auto& [name, meaning] : {std::pair{"k_t", "tokens per pass"}, std::pair{"k_s", "concurrent sequences"},
                                        std::pair{"k_b", "KV cache blocks"}})
      for (const explain::Symbol& s : e.symbols)
        if (s.name == name && std::stold(s.value) == value) return meaning;
  std::string largest;
  long double most = -1;
  for (const auto& [name, meaning] : {std::pair{"compute", "compute"}, std::pair{"memory", "memory"},
                                      std::pair{"communication", "communication"}, std::pair{"launches", "latency"}}) {
    long double t = 0;
    for (const explain::Symbol& s : e.symbols)
      if (s.name == name || (s.name == "optimizer" && std::string(name) == "memory")) t += std::stold(s.value);
    if (t > most) {
      most = t;
      largest = meaning;
    }
  }
  return largest;
}

std::string said(const Explanation& e) {
  if (e.definition->verdict.starts_with("the smallest"))
    return std::holds_alternative<Count>(e.answer.value) ? "reached" : exact_text(e.answer.value);
  return exact_text(e.answer.value);
}

/// A description of the mismatch; empty if there is none.
std::string wrong(const Explanation& e) {
  const std::string numbers = joined(e.numbers);
  if (!e.definition->verdict.empty()) {
    const std::string word = verdict(e, expression::approximate(numbers));
    return word == said(e) ? "" : fmt::format("{} where the report says {}", word, said(e));
  }
  if (const double* d = std::get_if<double>(&e.answer.value)) {
    const long double value = expression::approximate(numbers);
    return std::fabs(value - static_cast<long double>(*d)) <= 1e-12L * std::fabs(static_cast<long double>(*d))
               ? ""
               : fmt::format("{} where the report says {}", static_cast<double>(value), *d);
  }
  const expression::Fraction value = expression::exact(numbers);
  const std::string mine = value.whole() ? expression::text(value.numerator()) : "a fraction";
  const std::string report = explain::number_text(e.answer.value);
  return mine == report ? "" : fmt::format("{} where the report says {}", mine, report);
}

/// Number of formulas evaluated. Tests require a minimum, so that they cannot pass vacuously.
int evaluated = 0;

std::string failure(const explain::Setting& s, const Definition& d) {
  try {
    const auto e = explain::explanation(s, d);
    if (!e) return "";
    ++evaluated;
    const std::string problem = wrong(*e);
    return problem.empty() ? ""
                           : fmt::format("{}: {}\n  {}\n  {}", d.path, problem, e->formula.expression,
                                         joined(e->numbers).substr(0, 2000));
  } catch (const std::exception& x) {
    return fmt::format("{}: {}", d.path, x.what());
  }
}

/// A plan, specified by its options as typed.
struct Way {
  const char* options;
  bool training = true, inference = true;
  bool measured = false;  ///< on a device measured operator by operator
};

Achieved measured() {
  Achieved a;
  a.present = true;
  a.matmul.fill(0.71);
  a.memory = 0.93;
  a.links.inside = a.links.between = 0.8;
  a.launch = Seconds(4e-6);
  a.flash.fill({FlopsPerSecond(3.1e14), FlopsPerSecond(2.7e14)});
  a.naive.fill({FlopsPerSecond(1.1e14), {}});
  a.half_matmul.fill(2.7e9);
  a.unaligned.fill(0.3);
  a.launch_backward = Seconds(7e-6);
  a.recorded = Seconds(2e-6);
  a.exposed.fill(0.6);
  a.functions = 1.3e12;
  a.cache = BytesPerSecond(7e12);
  return a;
}

Request request(const ModelCard& model, const Way& way) {
  Request r;
  r.model = model;
  r.hardware = load_hardware("h100-sxm-80gb");
  if (way.measured) r.hardware->cluster.device.achieved = measured();
  const Count longest = model.arch.position == Position::learned ? model.arch.position_rows : 1 << 20;
  r.plan.prompt = std::min<Count>(longest - 64, 1500);
  r.plan.generate = 61;
  give(r, *find_option("--seq"), std::to_string(std::min<Count>(longest, 2048)));
  std::istringstream words(way.options);
  std::string flag, value;
  while (words >> flag) {
    const Option& o = *find_option(flag);
    if (!o.value.empty()) words >> value;
    give(r, o, value);
  }
  settle(r);
  return r;
}

/// Whether --lora names matrices that the model lacks, for example those of an MLP in a purely recurrent model.
bool has_nothing_to_adapt(const Request& r, Parts parts) {
  if (!r.gave("--lora")) return false;
  try {
    check(r, parts);
    return false;
  } catch (const InputError& e) {
    return std::string(e.what()).find("has no matching matrices") != std::string::npos;
  }
}

/// Whether a plan freezes single layers, which is impossible for layers whose weights other layers repeat.
bool freezes_layers(const Way& way) { return std::string_view(way.options).find("layers:") != std::string_view::npos; }

/// Checks every quantity of a request unless the command line rejects the plan for this model.
void check_all(const ModelCard& model, const Way& way) {
  if (model.arch.has_repeats() && freezes_layers(way)) return;
  const Request r = request(model, way);
  if (flaw(r.model.arch, r.layout, r.plan.seq) != LayoutFlaw::none) return;
  const Parts parts = part::time | (way.training ? part::training : 0) | (way.inference ? part::inference : 0);
  if (has_nothing_to_adapt(r, parts)) return;
  check(r, parts);
  const explain::Setting s(r, {way.training, way.inference});
  for (const Definition& d : explain::definitions()) {
    const std::string f = failure(s, d);
    if (f.empty()) continue;
    INFO(r.model.name << " " << way.options << "\n" << f);
    CHECK(f.empty());
  }
}

constexpr Way ways[] = {
    {""},
    {"--tp 8 --global-batch 4 --micro-batch 2 --batch 3"},
    {"--tp 4 --sp --overlap 0.3 --recompute selective --norm-stats off"},
    {"--tp 2 --sp --dropout --attention naive --seq 1023 --recompute full"},
    {"--attention naive --dropout --softmax-store seed --norm-stats off --precision fp32"},
    {"--attention naive --glu-store fused --recompute selective --attention-flops causal-half"},
    {"--glu-store recompute --recompute full --attention-flops causal-exact --micro-batch 3 --global-batch 9"},
    {"--tp 8 --sp --glu-store recompute --attention naive --mla absorbed --dropout"},
    {"--optimizer adam8bit --gradient-bytes 2 --logits bf16+grad --params-in-6n active"},
    {"--logits compute --micro-batch 2 --norm-stats off"},
    {"--gradient-bytes 6 --tp 2 --sp", true, false},
    {"--logits compute --precision fp32 --attention naive --tp 2 --sp --recompute full"},
    {"--lora 8"},
    {"--software torch-fsdp --fsdp --dp 8", true, false},
    {"--software megatron-lm --tp 4 --sp --pp 2 --dp 2 --global-batch 8", true, false},
    {"--software nemo --tp 2 --sp --cp 2", true, false},
    {"--software vllm --batch 3", false, true},
    {"--software llama.cpp --tp 2 --weight-precision q4_k", false, true},
    {"--software transformers --roofline op --no-kv-cache --generate 3", false, true},
    {"--documents 100,3x52 --seq 256"},
    {"--documents 64,8x24 --seq 256 --recompute selective --attention-flops causal-exact"},
    {"--lora 4:q,v,down --tp 2 --sp --optimizer adafactor --recompute full"},
    {"--recompute block:3"},
    {"--offload optimizer,activations:0.3", true, false},
    {"--offload weights:0.7,optimizer:0.1 --master none --recompute uniform:2", true, false},
    {"--offload optimizer,weights,activations --fsdp --dp 4 --overlap 0.4", true, false},
    {"--offload optimizer:0.5,activations --pp 2 --dp 2 --zero 1 --global-batch 8 --seq 512", true, false},
    {"--recompute block:2 --pp 2 --global-batch 4", true, false},
    {"--freeze embedding,layers:0-4"},
    {"--freeze attention --tp 2 --sp --recompute selective --dropout"},
    {"--freeze embedding,attention,layers:0-2,layers:5 --recompute full --attention naive --batch 2"},
    {"--freeze layers:1-3 --optimizer muon --micro-batch 2 --glu-store recompute"},
    {"--freeze embedding,layers:0-2 --recompute uniform:2 --optimizer adafactor"},
    {"--freeze layers:2-5 --pp 2 --dp 2 --zero 1 --global-batch 8 --recompute block:2", true, false},
    {"--freeze embedding,layers:0-3 --cp 2 --seq 512 --fsdp --dp 2 --efficiency 0.5", true, false},
    {"--freeze embedding,layers:0-5 --roofline step --attention naive", true, true, true},
    {"--freeze embedding,attention --tp 2 --recompute selective:norm,act --precision fp8", true, true, true},
    {"--recompute uniform:4 --tp 2"},
    {"--recompute selective:norm,act --dropout"},
    {"--optimizer adafactor --logits chunked:7 --params-in-6n non-embedding --tp 2"},
    {"--optimizer muon --global-batch 2"},
    {"--optimizer muon --ns-steps 3 --tp 2 --sp --master none --roofline step"},
    {"--optimizer muon --dp 8 --zero 1 --tp 2 --efficiency 0.5", true, false},
    {"--optimizer muon --pp 2 --dp 4 --ep 2 --zero 1 --global-batch 8 --seq 512", true, false},
    {"--optimizer muon --lora 8 --precision fp8"},
    {"--optimizer sgd --master none --params-in-6n matmul --weight-precision fp8"},
    {"--optimizer lion --master none --roofline step --tp 2"},
    {"--optimizer momentum --efficiency 0.6 --memory-efficiency 0.8 --roofline step"},
    {"--tokens 1000000007 --watts 700 --pue 1.1 --co2 0.385 --price 2.5 --gpus 16 --tp 2 --efficiency 0.41"},
    {"--tokens 3T --measured-tokens-per-s 12345.5 --gpus 8 --attention-flops causal-exact"},
    {"--software megatron-lm --measured-tokens-per-s 4321.5 --gpus 8", true, false},
    {"--target 7ms --batch 3", false, true},
    {"--software vllm --rate 2 --num-requests 60 --watts 700 --price 2 --api-price 0.5,1.5", false, true},
    {"--software vllm --users 3 --num-requests 60 --tp 2 --price 2", false, true},
    {"--software vllm --rate 100k --num-requests 60", false, true},
    {"--target 9tokens/s --efficiency 0.5 --tp 2", false, true},
    {"--mla expanded --no-kv-cache --batch 2 --precision fp8"},
    {"--mla absorbed --kv-precision fp8 --memory-utilization 0.9"},
    {"--weight-precision q4_k --kv-precision q8_0 --tp 2", false, true},
    {"--kv-precision k=q8_0,v=q4_k --batch 2", false, true},
    {"--kv-precision k=fp8,v=bf16 --mla expanded --tp 2", false, true},
    {"--weight-precision nf4 --batch 300 --attention naive", false, true},
    {"--weight-precision nf4-dq --kv-precision int4", false, true},
    {"--weight-precision gptq --tp 4 --sp --attention-flops causal-half", false, true},
    {"--weight-precision int8 --kv-precision int8 --roofline step --prompt 1", false, true},
    {"--weight-precision nvfp4 --kv-precision nvfp4 --generate 1", false, true},
    {"--weight-precision mxfp4 --kv-precision nf4-dq --mla expanded --memory-utilization 0.5", false, true},
    {"--weight-precision fp8-block --kv-precision fp8-block --tp 2", false, true},
    {"--weight-precision gptq-act --kv-precision gptq-act", false, true},
    {"--kv-precision int8 --mla expanded --tp 2 --batch 3", false, true},
    {"--weight-precision int4 --generate 2", false, true},
    {"--seq 1 --attention naive --generate 400"},
    {"--dp 4 --zero 1 --tp 2 --global-batch 8", true, false},
    {"--dp 8 --zero 2 --tp 2 --sp --optimizer adam8bit --any-software", true, false},
    {"--dp 8 --fsdp --global-batch 16 --efficiency 0.5", true, false},
    {"--dp 8 --fsdp --hsdp 4 --reshard off --optimizer lion", true, false},
    {"--pp 2 --dp 2 --zero 1 --global-batch 8 --recompute selective", true, false},
    {"--pp 2 --chunks 2 --tp 2 --sp --global-batch 4 --tokens 1T --mtbf 50000 --checkpoint-bandwidth 1e11", true,
     false},
    {"--pp 2 --schedule zb-h1 --global-batch 4 --optimizer adafactor --fsdp --dp 2 --any-software", true, false},
    {"--cp 2 --dp 2 --zero 1 --seq 512 --tokens 1T --days 20 --mfu 0.4", true, false},
    {"--cp 2 --cp-method all-gather --tp 2 --seq 512", true, false},
    {"--cp 2 --overlap 0.3 --seq 512 --recompute selective", true, false},
    {"--cp 4 --overlap 0 --efficiency 0.5 --seq 512 --roofline step --recompute full", true, false},
    {"--tp 4 --sp --collectives in-network --seq 512", true, false},
    {"--tp 8 --dcp 8 --batch 2", false, true},
    {"--software vllm --tp 8 --dcp 2 --kv-precision int4", false, true},
    {"--tp 8 --dp 2 --collectives fastest --efficiency 0.6", true, false},
    {"--pp 2 --dp 4 --ep 4 --schedule dualpipe --global-batch 16 --seq 512", true, false},
    {"--dp 16 --ep 16 --expert-nodes 2 --seq 512", true, false},
    {"--dp 4 --ep 2 --zero 1 --seq 512", true, false},
    {"--dp 4 --ep 4 --fsdp --seq 512 --roofline step", true, false},
    {"--recompute selective --precision fp32 --batch 2", true, true, true},
    {"--roofline step --tp 2", true, true, true},
    {"--precision fp8 --tp 2 --recompute full --batch 7"},
    {"--precision fp8 --roofline step --efficiency 0.5 --batch 64"},
    {"--precision fp8 --kv-precision fp8 --seq 512", true, true, true},
    {"--precision fp8-block --tp 2 --batch 3 --wide-layers first:1,last:2 --recompute full"},
    {"--precision mxfp8 --roofline step --wide-layers last:3 --efficiency 0.5", true, false},
    {"--precision fp8-row --narrow attention --wide-layers first:2 --freeze embedding,layers:0-3", true, false, true},
    {"--precision mxfp8 --lora 8 --wide-layers first:1 --pp 2 --dp 2 --global-batch 8 --seq 512", true, false},
    {"--attention naive --tp 4 --overlap 0.5 --efficiency 0.7", true, true, true},
};

ModelCard preset(const Builtin& b) { return load_model(std::string(b.name)); }

/// A different format for each component, as in mixed checkpoints.
ModelCard mixed(ModelCard m) {
  m.weights = dtypes::bf16;
  const auto set = [&](Component c, const char* name) { (*m.weights)[c] = *dtype(name); };
  set(Component::attention, "fp8-block");
  set(Component::mlp, "gptq-act");
  set(Component::experts, "mxfp4");
  set(Component::shared_experts, "nvfp4-input");
  set(Component::router, "fp32");
  set(Component::norm, "fp32");
  if (!m.arch.tied_head) set(Component::lm_head, "fp8-row");
  return m;
}

}  // namespace

TEST_CASE("every printed formula gives the report's number for weights in several formats", "[explain]") {
  evaluated = 0;
  for (const std::vector<ModelCard>& models :
       {odd_tables(), odd_attentions(), odd_choices(), odd_recurrences(), odd_repeats(), odd_blocks()})
    for (const ModelCard& model : models)
      for (const char* plan : {"", "--tp 2 --batch 3", "--roofline step --precision fp32"})
        check_all(mixed(model), {plan});
  for (const char* name : {"deepseek-v3", "gpt-oss-20b", "qwen1.5-moe-a2.7b"})
    check_all(mixed(load_model(name)), ways[0]);
  CHECK(evaluated > 1000);
}

// MTP modules like the model's last layer, and modules with window attention, a dense MLP and their own tables.
TEST_CASE("every printed formula gives the report's number with MTP modules", "[explain][mtp]") {
  evaluated = 0;
  ModelCard other = load_model("gpt-oss-20b");
  other.arch.mlps.push({.width = 4096, .layers = LayerSet::every(0, 24, 24)});
  other.arch.moe.layers = LayerSet::every(1, 1, 24);
  other.arch.mtp = {.modules = 3, .mixer_of = 2, .mlp_of = 0, .own_embedding = true, .own_head = true};
  for (const ModelCard& model : {load_model("deepseek-v3"), load_model("glm-4.5-air"), other})
    for (const Way& way : {Way{"--mtp 1"}, Way{"--mtp 1 --tp 2 --sp --recompute full --batch 3"},
                           Way{"--mtp 1 --recompute selective --optimizer muon --logits chunked:4 --attention naive"},
                           Way{"--mtp 1 --pp 2 --dp 2 --zero 3 --global-batch 8 --seq 512", true, false},
                           Way{"--mtp 1 --dp 4 --ep 2 --zero 1 --seq 256 --documents 100,3x52", true, false},
                           Way{"--mtp 1 --weight-precision q4_k --kv-precision q8_0 --tp 2", false, true}})
      check_all(model, way);
  CHECK(evaluated > 1000);
}

TEST_CASE("every printed formula gives the report's number for every model under selected plans", "[explain][every]") {
  evaluated = 0;
  std::size_t n = 0;
  for (const Builtin& b : builtin_models()) {
    const ModelCard model = preset(b);
    const bool encodes = model.arch.is_encoder() || model.arch.is_encoder_decoder();
    check_all(model, {"", true, !model.arch.is_encoder()});
    for (std::size_t w = 1; w < std::size(ways) && !encodes; ++w)
      if ((n + w) % 5 == 0) check_all(model, ways[w]);
    ++n;
  }
  CHECK(evaluated > 30000);
}

TEST_CASE("every printed formula gives the report's number for selected models under every plan", "[explain][every]") {
  evaluated = 0;
  for (const char* name : {"gpt-3-175b", "llama-3.1-8b", "falcon-7b", "falcon-40b", "gemma-3-27b", "mixtral-8x7b",
                           "deepseek-v3", "deepseek-v2-lite", "gpt-oss-20b", "olmo-2-7b", "qwen1.5-moe-a2.7b"})
    for (const Way& way : ways) check_all(load_model(name), way);
  CHECK(evaluated > 20000);
}

TEST_CASE("every printed formula gives the report's number for shapes without a preset", "[explain][every]") {
  evaluated = 0;
  for (const std::vector<ModelCard>& models :
       {odd_tables(), odd_attentions(), odd_choices(), odd_recurrences(), odd_repeats(), odd_blocks()})
    for (const ModelCard& model : models)
      for (const Way& way : ways) check_all(model, way);
  CHECK(evaluated > 15000);
}

TEST_CASE("every printed formula gives the report's number for encoders and encoder-decoders", "[explain]") {
  evaluated = 0;
  for (const ModelCard& model : odd_encoders())
    for (const char* options : {"", "--tp 2 --sp --micro-batch 2 --global-batch 2",
                                "--attention naive --recompute full --dropout", "--optimizer muon --logits compute",
                                "--attention-flops causal-exact --recompute selective --optimizer adafactor"})
      check_all(model, {options, true, model.arch.is_encoder_decoder()});
  CHECK(evaluated > 700);
}
