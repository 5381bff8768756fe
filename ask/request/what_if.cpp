#include "ask/request/what_if.hpp"

#include <fmt/format.h>

#include <cmath>

#include "ask/request/request.hpp"
#include "presets/load.hpp"
#include "text/error.hpp"
#include "text/names.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

Bytes scaled(Bytes b, double scale) { return Bytes(std::llround(static_cast<double>(b.value) * scale)); }

void apply_memory(HardwareCard& card, const MemoryGiven& given) {
  Device& device = card.cluster.device;
  const double scale = given.size ? real(given.size->value) / real(device.memory.value) : given.scale;
  device.memory = given.size.value_or(scaled(device.memory, scale));
  card.driver = scaled(card.driver, scale);
  card.visible = scaled(card.visible, scale);
}

void apply_network(HardwareCard& card, double scale) {
  if (card.cluster.levels.size() < 2)
    throw InputError(
        fmt::format("--network {}: {} has no network between nodes; omit it", scale_text(scale), card.name));
  for (std::size_t i = 1; i < card.cluster.levels.size(); ++i)
    card.cluster.levels[i].bandwidth = BytesPerSecond(card.cluster.levels[i].bandwidth.value * scale);
}

void apply_prices(HardwareCard& card, const WhatIf& w) {
  for (const auto& [name, usd_per_hour] : w.prices)
    if (name == card.name) card.prices.insert(card.prices.begin(), {.usd_per_hour = usd_per_hour, .source = "--price"});
}

std::pair<std::string, double> price_of_one(std::string_view text, std::string_view where) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    throw InputError(fmt::format("{}: expected a price for each device, for example h100=2.1,mi300x=1.9; got {}", where,
                                 in_quotes(text)));
  return {load_hardware(std::string(text.substr(0, equals))).name,
          parse_price(text.substr(equals + 1), where, Bare::allowed)};
}

}  // namespace

MemoryGiven read_memory_given(std::string_view text, std::string_view where) {
  if (text.ends_with('x')) return {.scale = read_scale(text, where)};
  const Bytes size = parse_bytes(text, where, Bare::allowed);
  if (size == Bytes())
    throw InputError(fmt::format("{}: expected a size above 0, for example 24GiB, or a factor such as 1.5x", where));
  return {.size = size};
}

double read_scale(std::string_view text, std::string_view where) {
  if (!text.ends_with('x'))
    throw InputError(fmt::format("{}: expected a factor, for example 2x, got {}", where, in_quotes(text)));
  return parse_positive_real(text.substr(0, text.size() - 1), where);
}

std::vector<std::pair<std::string, double>> read_prices(std::string_view text, std::string_view where) {
  std::vector<std::pair<std::string, double>> all;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    all.push_back(price_of_one(text.substr(0, comma), where));
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  return all;
}

json::Value memory_given_json(const MemoryGiven& m) {
  return m.size ? json::Value(m.size->value) : json::Value(scale_text(m.scale));
}

std::string scale_text(double scale) { return fmt::format("{}x", scale); }

std::string prices_text(const WhatIf& w) {
  std::string text;
  for (const auto& [name, usd_per_hour] : w.prices)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, usd_per_hour);
  return text;
}

void apply_what_if(Request& r) {
  WhatIf& w = r.what_if;
  if (!r.hardware || w.is_applied) return;
  w.is_applied = true;
  if (w.memory) apply_memory(*r.hardware, *w.memory);
  if (w.network) apply_network(*r.hardware, *w.network);
  apply_prices(*r.hardware, w);
}

}  // namespace llmcalc
