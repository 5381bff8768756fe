#include "presets/stack/engine_law.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

constexpr double mib = 1 << 20, gib = 1 << 30;

CacheGrant read_grant(const json::Object& o) {
  const std::string text = o.text("memory");
  if (const auto grant = parse<CacheGrant>(text)) return *grant;
  throw InputError(
      fmt::format("{}, \"memory\": expected \"share\", \"static share\", \"share of free\" or \"whole\", got {}",
                  o.where(), in_quotes(text)));
}

double positive_real(const json::Object& o, std::string_view key, double most) {
  const double x = o.number_or(key, 0);
  if (!(x > 0) || x > most)
    throw InputError(fmt::format("{}, \"{}\": expected a number above 0 and at most {}", o.where(), key, most));
  return x;
}

std::optional<Count> limit(const json::Object& o, std::string_view key) {
  return o.has(key) ? std::optional(o.positive(key)) : std::nullopt;
}

PromptPass read_prompt_pass(const json::Object& o) {
  const json::Value* value = o.find("pass_tokens");
  if (value == nullptr || !value->is_string()) return PromptPass::chunks;
  if (*value == "prompt") return PromptPass::one;
  if (*value == "prompts") return PromptPass::batch;
  throw InputError(fmt::format("{}, \"pass_tokens\": expected a number, \"prompt\" or \"prompts\", got {}", o.where(),
                               in_quotes(o.text("pass_tokens"))));
}

EngineLaw::BySize read_size(const json::Object& o) {
  EngineLaw::BySize s{.below = {},
                      .pass_tokens = o.positive("pass_tokens"),
                      .graph_batch = o.positive("graph_batch"),
                      .graph_batch_tp4 = o.positive("graph_batch_tp4")};
  if (o.has("below_gib")) s.below = Bytes(std::llround(positive_real(o, "below_gib", 1e6) * gib));
  o.refuse_unread();
  return s;
}

/// SGLang's share, by the formula above.
double static_share(const EngineLaw::BySize& size, Bytes memory, Count tensor_ranks, Count stages) {
  const double all = static_cast<double>(memory.value) / mib;
  const Count batch = tensor_ranks >= 4 ? size.graph_batch_tp4 : size.graph_batch;
  double reserved = 512 + 1.5 * static_cast<double>(std::max<Count>(size.pass_tokens, 2048)) +
                    2 * static_cast<double>(batch) + 1024.0 / 8 * static_cast<double>(mul(tensor_ranks, stages));
  if (all > 60 * 1024) reserved = std::max(reserved, 10.0 * 1024);
  return std::round(1000 * (all - reserved) / all) / 1000;
}

}  // namespace

EngineLaw read_engine_law(const json::Object& o) {
  const PromptPass prompts = read_prompt_pass(o);
  EngineLaw law{.grant = read_grant(o),
                .utilization = {},
                .graphs = {},
                .pass_tokens = prompts == PromptPass::chunks ? limit(o, "pass_tokens") : std::nullopt,
                .sequences = limit(o, "sequences"),
                .block_tokens = limit(o, "block_tokens"),
                .prompts = prompts,
                .by_memory = {}};
  if (o.has("utilization")) law.utilization = positive_real(o, "utilization", 1);
  if (o.has("graphs_gib")) law.graphs = Bytes(std::llround(positive_real(o, "graphs_gib", 1e3) * gib));
  if (const json::Value* list = o.find("by_memory"); list != nullptr && list->is_array())
    for (const json::Value& entry : *list)
      law.by_memory.push_back(read_size(json::Object(entry, o.where() + ", \"by_memory\"")));
  if (law.grant == CacheGrant::static_share && !law.utilization && law.by_memory.empty())
    throw InputError(fmt::format("{}: a static share needs \"utilization\" or \"by_memory\"", o.where()));
  o.refuse_unread();
  return law;
}

const EngineLaw::BySize* size_class(const EngineLaw& law, Bytes memory) {
  const auto found = std::find_if(law.by_memory.begin(), law.by_memory.end(),
                                  [&](const EngineLaw::BySize& s) { return !s.below || memory < *s.below; });
  return found == law.by_memory.end() ? nullptr : &*found;
}

double default_utilization(const EngineLaw& law, Bytes memory, Count tensor_ranks, Count stages) {
  constexpr double usual = 0.9;
  if (law.utilization) return *law.utilization;
  if (law.grant == CacheGrant::whole) return 1;
  const EngineLaw::BySize* size = size_class(law, memory);
  return size == nullptr ? usual : static_share(*size, memory, tensor_ranks, stages);
}

}  // namespace llmcalc
