#include "ask/answer/serving/inference_remedy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ask/request/check/check.hpp"
#include "ask/request/options/options.hpp"
#include "ask/request/settle.hpp"
#include "ask/request/software.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

/// An option and a value to try. `family`: prefix of the names of models whose checkpoints come in this format;
/// empty: all models.
struct Change {
  std::string_view flag, value, family = {};
};
constexpr std::array layout_changes{Change{"--tp", "2"},
                                    Change{"--tp", "4"},
                                    Change{"--tp", "8"},
                                    Change{"--tp", "16"},
                                    Change{"--pp", "2"},
                                    Change{"--pp", "4"},
                                    Change{"--pp", "8"},
                                    Change{"--offload", "experts"},
                                    Change{"--offload", "weights:0.5"}};
constexpr std::array engine_changes{Change{"--weight-precision", "experts=mxfp4", "gpt-oss"},
                                    Change{"--weight-precision", "fp8"},
                                    Change{"--weight-precision", "awq"},
                                    Change{"--kv-precision", "fp8"},
                                    Change{"--max-seqs", "64"},
                                    Change{"--memory-utilization", "0.95"}};
constexpr std::array gguf_changes{Change{"--weight-precision", "q8_0"},   Change{"--weight-precision", "q6_k"},
                                  Change{"--weight-precision", "q5_k_m"}, Change{"--weight-precision", "q4_k_m"},
                                  Change{"--weight-precision", "q3_k_m"}, Change{"--weight-precision", "q2_k"},
                                  Change{"--weight-precision", "iq2_xs"}, Change{"--kv-precision", "q8_0"}};

/// The request with the option added as if typed; absent if the result is rejected.
std::optional<Request> typed(const Request& r, std::string_view flag, std::string_view value) {
  try {
    Request one = r;
    give(one, *find_option(flag), value);
    settle(one);
    check(one);
    return for_inference(has_traffic(one.serving) ? one : of_one_engine(one));
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// The remedy that sets this option; absent if the change is rejected or the plan still does not fit.
std::optional<InferenceRemedy> remedy(const InferenceAnswer& now, std::string_view flag, std::string_view value) {
  const Request& r = now.request();
  std::optional<Request> changed = typed(r, flag, value);
  if (!changed) return std::nullopt;
  const InferenceAnswer a(std::move(*changed));
  if (!a.fits()) return std::nullopt;
  const Request& one = a.request();
  const Plan& p = one.plan;
  const Count context = p.prompt + std::max<Count>(1, p.generate / 2);
  const bool same_engine = !one.engine || (r.engine && one.engine->name == r.engine->name);
  return InferenceRemedy{.key = find_option(flag)->key(),
                         .option = fmt::format("{} {}", flag, value),
                         .engine = same_engine ? "" : one.engine->name,
                         .gpus = devices(one.layout),
                         .peak = a.memory().peak,
                         .token = decode(one.model.arch, p, one.layout, a.pass_stages(), context).estimate.total()};
}

/// Adds the first sufficient value of each option.
void add_changes(const InferenceAnswer& a, std::span<const Change> changes, std::vector<InferenceRemedy>& all) {
  std::string_view last;
  for (const Change& change : changes) {
    if (change.flag == last || !a.request().model.name.starts_with(change.family)) continue;
    if (std::optional<InferenceRemedy> found = remedy(a, change.flag, change.value)) {
      all.push_back(std::move(*found));
      last = change.flag;
    }
  }
}

/// For a request with a fixed batch, adds the largest batch and the longest prompt that fit.
void add_smaller(const InferenceAnswer& a, std::vector<InferenceRemedy>& all) {
  const Request& r = a.request();
  if (has_traffic(r.serving)) return;
  const auto add_value = [&](std::string_view flag, Count value) {
    if (auto found = remedy(a, flag, fmt::format("{}", value))) all.push_back(std::move(*found));
  };
  const Limits& most = a.limits();
  if (most.max_batch && *most.max_batch > 0 && *most.max_batch < r.plan.batch) add_value("--batch", *most.max_batch);
  if (most.max_context && *most.max_context > r.plan.generate)
    add_value("--prompt", *most.max_context - r.plan.generate);
}

double gpu_seconds(const InferenceRemedy& m) { return static_cast<double>(m.gpus) * m.token.value; }

}  // namespace

std::vector<InferenceRemedy> inference_remedies(const InferenceAnswer& a) {
  std::vector<InferenceRemedy> all;
  if (a.fits()) return all;
  const Request& r = a.request();
  const bool gguf = r.engine && r.engine->gguf_weights;
  add_changes(a, layout_changes, all);
  if (gguf)
    add_changes(a, gguf_changes, all);
  else
    add_changes(a, engine_changes, all);
  std::stable_sort(all.begin(), all.end(),
                   [](const InferenceRemedy& x, const InferenceRemedy& y) { return gpu_seconds(x) < gpu_seconds(y); });
  add_smaller(a, all);
  return all;
}

}  // namespace llmcalc
