// Small checkpoints of every family, written by PyTorch (scripts/torch-checkpoints).

#include "learn/model_folder.hpp"

#include <cmath>
#include <filesystem>

#include "model/cpu/make.hpp"
#include "presets/import/numerics.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

namespace {

const std::string checkpoints = LLMCALC_SOURCE_DIR "/tests/learn/checkpoints";

const char* const names[] = {"gpt2",    "gpt2-prefixed", "llama-3",    "llama-linear", "llama-dynamic",
                             "mistral", "qwen2",         "qwen2-yarn", "qwen3",        "gemma",
                             "gemma-2", "gemma-3",       "qwen3-moe",  "mixtral",      "ouro"};

/// PyTorch's logits of a checkpoint, in float64.
struct Expected {
  std::vector<std::int64_t> ids;
  std::vector<double> logits;
  Count sequences = 0;

  explicit Expected(const std::string& name) {
    const SafetensorsFile file(checkpoints + "/" + name + ".expected");
    ids.resize(file.entry("ids").bytes.value / sizeof(std::int64_t));
    logits.resize(file.entry("logits").bytes.value / sizeof(double));
    file.read(file.entry("ids"), std::as_writable_bytes(std::span(ids)));
    file.read(file.entry("logits"), std::as_writable_bytes(std::span(logits)));
    sequences = file.entry("ids").shape[0];
  }
  /// Relative distance of two sets of logits: the L2 norm of their difference over the L2 norm of the expected ones.
  double difference(const std::vector<double>& other) const {
    REQUIRE(other.size() == logits.size());
    double apart = 0, length = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      apart += (other[i] - logits[i]) * (other[i] - logits[i]);
      length += logits[i] * logits[i];
    }
    return std::sqrt(apart / length);
  }
};

/// A loaded checkpoint.
struct Loaded {
  ModelFolder folder;
  std::unique_ptr<Backend> cpu;
  Transformer t;
  Loaded(const std::string& name, Number number, const Plan& plan = {})
      : folder(checkpoints + "/" + name),
        cpu(make_cpu(number, true)),
        t(folder.model().arch, *cpu, {.plan = plan, .numerics = folder.numerics()}, std::nullopt) {
    folder.load(t);
  }
};

}  // namespace

TEST_CASE("float64 logits of every family's checkpoint match PyTorch", "[folder]") {
  for (const std::string name : names) {
    INFO(name);
    const Expected torch(name);
    Loaded ours(name, Number::f64);
    CHECK(torch.difference(ours.t.all_logits(torch.ids, torch.sequences)) <= 1e-9);
  }
}

TEST_CASE("logits with naive attention and in float32 also match PyTorch", "[folder]") {
  Plan naive;
  naive.attention = AttentionImpl::naive;
  for (const std::string name : names) {
    INFO(name);
    const Expected torch(name);
    Loaded ours(name, Number::f64, naive), narrow(name, Number::f32);
    CHECK(torch.difference(ours.t.all_logits(torch.ids, torch.sequences)) <= 1e-9);
    CHECK(torch.difference(narrow.t.all_logits(torch.ids, torch.sequences)) <= 1e-5);
  }
}

TEST_CASE("the last token's logits are the same with and without a cache", "[folder]") {
  for (const std::string name : names) {
    if (name == "llama-dynamic") continue;  // its cached keys were rotated for a shorter text
    INFO(name);
    const Expected torch(name);
    Loaded ours(name, Number::f64);
    const auto tokens = static_cast<std::ptrdiff_t>(torch.ids.size()) / torch.sequences;
    const std::vector<std::int64_t> text(torch.ids.begin(), torch.ids.begin() + tokens);
    Cache cache = ours.t.make_cache(1, tokens);
    ours.t.logits(std::span(text).first(2), 1, 0, &cache);
    std::vector<double> last;
    for (std::ptrdiff_t i = 2; i < tokens; ++i) last = ours.t.logits(std::span(text).subspan(i, 1), 1, i, &cache);
    const auto at = torch.logits.begin() + (tokens - 1) * ours.t.arch().vocabulary;
    for (std::size_t i = 0; i < last.size(); ++i)
      CHECK(last[i] == Approx(at[static_cast<std::ptrdiff_t>(i)]).epsilon(1e-9));
  }
}

TEST_CASE("every runnable family has a tensor name table", "[folder]") {
  for (const std::string& type : import::runnable_types()) CHECK(name_table(type) != nullptr);
  CHECK(name_table("bloom") == nullptr);
}
