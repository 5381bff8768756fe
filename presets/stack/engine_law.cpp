#include "presets/stack/engine_law.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "text/error.hpp"
#include "text/json_schema.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

constexpr double mib = 1 << 20, gib = 1 << 30;

CacheGrant read_grant(const json::Object& o) {
  const std::string text = o.word("memory", choice_names<CacheGrant>);
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

/// Whether "pass_tokens" is "prompts" instead of a number.
bool has_whole_prompts(const json::Object& o) {
  o.expects("pass_tokens", [] {
    const json::Value number{{"type", "integer"}, {"minimum", 1}}, word{{"const", "prompts"}};
    return json::Expected{{{"anyOf", {number, word}}}, json::Value::array({1, "prompts"})};
  });
  const json::Value* value = o.find("pass_tokens");
  if (value == nullptr || !value->is_string()) return false;
  if (*value == "prompts") return true;
  throw InputError(fmt::format("{}, \"pass_tokens\": expected a number or \"prompts\", got {}", o.where(),
                               in_quotes(o.text("pass_tokens"))));
}

bool has_scaled_rows(const json::Object& o) {
  if (!o.has("sparse_latent_rows")) return false;
  const std::string text = o.word("sparse_latent_rows", "scaled");
  if (text == "scaled") return true;
  throw InputError(fmt::format("{}, \"sparse_latent_rows\": expected \"scaled\", got {}", o.where(), in_quotes(text)));
}

EngineLaw::BySize read_size(const json::Object& o) {
  EngineLaw::BySize s{.below = {}, .pass_tokens = o.positive("pass_tokens"), .reserved_gib = {}};
  if (o.has("below_gib")) s.below = Bytes(std::llround(positive_real(o, "below_gib", 1e6) * gib));
  if (o.has("reserved_gib")) {
    s.reserved_gib = positive_real(o, "reserved_gib", 1e3);
    s.reserved_gib_per_rank = o.number_or("reserved_gib_per_rank", 0);
  } else {
    s.graph_batch = o.positive("graph_batch");
    s.graph_batch_tp4 = o.positive("graph_batch_tp4");
  }
  o.refuse_unread();
  return s;
}

EngineLaw::ByRanks read_ranks(const json::Object& o) {
  const EngineLaw::ByRanks r{.ranks = o.positive("ranks"), .utilization = positive_real(o, "utilization", 1)};
  o.refuse_unread();
  return r;
}

/// Reads the objects of a list one by one.
template <typename Read>
auto read_list(const json::Object& o, const char* key, const Read& read) {
  o.expects(key, [&] { return json::objects_at(fmt::format("{}, \"{}\"", o.where(), key)); });
  std::vector<decltype(read(o))> all;
  if (const json::Value* list = o.find(key); list != nullptr && list->is_array())
    for (const json::Value& entry : *list)
      all.push_back(read(json::Object(entry, fmt::format("{}, \"{}\"", o.where(), key))));
  return all;
}

void read_logit_bytes(const json::Object& o, EngineLaw& law) {
  if (!o.has("logit_bytes")) return;
  const json::Object each = o.object("logit_bytes");
  law.logit_bytes_per_sequence = each.number_or("per_sequence", 0);
  law.logit_bytes_per_token = each.number_or("per_token", 0);
  each.refuse_unread();
}

/// Shares by family, whose names are free.
json::Expected window_shares_schema() {
  return {{{"type", "object"}, {"additionalProperties", {{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", 1}}}},
          json::Value::array({{{"gpt_oss", 0.8}}})};
}

std::vector<std::pair<std::string, double>> read_window_shares(const json::Object& o) {
  o.expects("window_shares", window_shares_schema);
  std::vector<std::pair<std::string, double>> all;
  if (!o.has("window_shares")) return all;
  const json::Object shares = o.object("window_shares");
  for (const auto& [family, share] : shares.value().items()) {
    if (!share.is_number() || share <= 0 || share > 1)
      throw InputError(
          fmt::format("{}, {}: expected a number above 0 and at most 1", shares.where(), in_quotes(family)));
    all.emplace_back(family, share.get<double>());
  }
  return all;
}

/// SGLang's share, computed by the formula in engine_law.hpp.
double static_share(const EngineLaw::BySize& size, Bytes memory, Count tensor_ranks, Count stages) {
  const double all = static_cast<double>(memory.value) / mib, ranks = static_cast<double>(mul(tensor_ranks, stages));
  const auto share = [&](double reserved) { return std::round(1000 * (all - reserved) / all) / 1000; };
  if (size.reserved_gib) return share(1024 * (*size.reserved_gib + size.reserved_gib_per_rank * ranks));
  const Count batch = tensor_ranks >= 4 ? size.graph_batch_tp4 : size.graph_batch;
  double reserved = 512 + 1.5 * static_cast<double>(std::max<Count>(size.pass_tokens, 2048)) +
                    2 * static_cast<double>(batch) + 1024.0 / 8 * ranks;
  if (all > 60 * 1024) reserved = std::max(reserved, 10.0 * 1024);
  return share(reserved);
}

}  // namespace

EngineLaw read_engine_law(const json::Object& o) {
  const bool whole_prompts = has_whole_prompts(o);
  EngineLaw law{.grant = read_grant(o),
                .utilization = {},
                .graphs = {},
                .pass_tokens = whole_prompts ? std::nullopt : limit(o, "pass_tokens"),
                .sequences = limit(o, "sequences"),
                .block_tokens = limit(o, "block_tokens"),
                .whole_prompts = whole_prompts,
                .scaled_sparse_rows = has_scaled_rows(o),
                .window_shares = read_window_shares(o),
                .by_ranks = {},
                .by_memory = {}};
  if (o.has("utilization")) law.utilization = positive_real(o, "utilization", 1);
  if (o.has("graphs_gib")) law.graphs = Bytes(std::llround(positive_real(o, "graphs_gib", 1e3) * gib));
  read_logit_bytes(o, law);
  law.by_ranks = read_list(o, "by_ranks", read_ranks);
  law.by_memory = read_list(o, "by_memory", read_size);
  if (law.grant == CacheGrant::static_share && !law.utilization && law.by_memory.empty() && law.by_ranks.empty())
    throw InputError(fmt::format("{}: a static share needs \"utilization\", \"by_ranks\" or \"by_memory\"", o.where()));
  o.refuse_unread();
  return law;
}

double window_share(const EngineLaw& law, std::string_view family) {
  if (law.window_shares.empty()) return 0;
  const auto found = std::find_if(law.window_shares.begin(), law.window_shares.end(),
                                  [&](const auto& share) { return family.starts_with(share.first); });
  return found == law.window_shares.end() ? 1 : found->second;
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
  double of_ranks = 0;
  for (const EngineLaw::ByRanks& r : law.by_ranks)
    if (tensor_ranks >= r.ranks) of_ranks = r.utilization;
  if (of_ranks > 0) return of_ranks;
  const EngineLaw::BySize* size = size_class(law, memory);
  return size == nullptr ? usual : static_share(*size, memory, tensor_ranks, stages);
}

}  // namespace llmcalc
