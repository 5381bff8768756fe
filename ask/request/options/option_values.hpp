#pragma once
/// Parsers of option values: text in, a value or one complete error sentence out. `where` is the option, which begins
/// the sentence of an InputError.

#include <span>
#include <string>
#include <string_view>

#include "calc/layout.hpp"
#include "calc/plan.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {

[[noreturn]] void refuse_value(std::string_view where, const std::string& expected, std::string_view text);

/// Reads an enum value by name.
template <Named E>
E read_choice(std::string_view text, std::string_view where) {
  if (const auto value = parse<E>(text)) return *value;
  refuse_value(where, one_of(choice_names<E>), text);
}

/// Reads several enum values, each at most once: "norm,act".
template <Named E>
SetOf<E> read_set(std::string_view text, std::string_view where) {
  SetOf<E> all;
  while (true) {
    const std::size_t comma = text.find(',');
    const E one = read_choice<E>(text.substr(0, comma), where);
    if (all.has(one))
      throw InputError(std::string(where) + ": " + std::string(name(one)) + " is specified twice; specify it once");
    all.add(one);
    if (comma == std::string_view::npos) return all;
    text.remove_prefix(comma + 1);
  }
}
template <Named E>
std::string set_text(SetOf<E> set) {
  std::string s;
  for (const auto& row : choices<E>)
    if (set.has(row.value) && name(row.value) == row.name) s += (s.empty() ? "" : ",") + std::string(row.name);
  return s;
}

/// Reads "fp32" or "on" as true, "none" or "off" as false.
bool read_master(std::string_view text, std::string_view where);
bool read_switch(std::string_view text, std::string_view where);

/// Reads a number format. read_plain: only formats without blocks. read_compute: only formats in which devices run
/// matmuls.
DType read_stored(std::string_view text, std::string_view where);
CacheFormats read_cache(std::string_view text, std::string_view where);  ///< reads "fp8", "k=q8_0,v=q4_0"
std::string cache_text(const CacheFormats& f);                           ///< inverse of read_cache
DType read_plain(std::string_view text, std::string_view where);
DType read_compute(std::string_view text, std::string_view where);

Count read_gradient_bytes(std::string_view text, std::string_view where);  ///< value 2, 4 or 6
LogitStore read_logits(std::string_view text, std::string_view where);     ///< reads "bf16+grad", "chunked:8"

/// Recomputation in the backward pass, in the syntax of --recompute.
struct Recomputation {
  Recompute what = Recompute::none;
  RecomputeMethod method = RecomputeMethod::uniform;
  Count layers = 1;
  RecomputeModules modules = RecomputeModule::core;
};
inline constexpr std::string_view recomputation_forms = "none|selective|selective:MODULES|block:N|uniform:N|full";
Recomputation read_recomputation(std::string_view text, std::string_view where);  ///< reads "selective:norm,act"
std::string recomputation_text(const Plan& plan);

/// The documents of a packed sequence: "16x512", "4096,2048,4x512".
Documents read_documents(std::string_view text, std::string_view where);
std::string documents_text(const Documents& documents);
Count tokens_in(const Documents& documents);

/// Adapters in the syntax of --lora.
struct LoraText {
  Count rank = 0;
  LoraTargets targets = LoraTargets::all();
};
LoraText read_lora(std::string_view text, std::string_view where);  ///< reads "16", "16:q,v"
std::string lora_text(Count rank, LoraTargets targets);

Frozen read_freeze(std::string_view text, std::string_view where);  ///< reads "attention,norm,layers:0-15"
std::string freeze_text(const Frozen& frozen);

double read_price(std::string_view text, std::string_view where);            ///< a price in USD per hour
double read_watts(std::string_view text, std::string_view where);            ///< a power in W
bool read_dispatcher(std::string_view text, std::string_view where);         ///< true for "flex", false for "alltoall"
double read_pue(std::string_view text, std::string_view where);              ///< value of at least 1
BytesPerSecond read_storage(std::string_view text, std::string_view where);  ///< bytes per second
Bytes read_size(std::string_view text, std::string_view where);              ///< bytes, above 0

Zero read_zero(std::string_view text, std::string_view where);        ///< value from 0 to 3
Ratio read_load(std::string_view text, std::string_view where);       ///< reads "1.25", at least 1, into thousandths
AxisOrder read_order(std::string_view text, std::string_view where);  ///< reads "tp-cp-ep-dp-pp", each once
StageLayers read_stage_layers(std::string_view text, std::string_view where);  ///< reads "8,8,7,9", "2x8,7,9"
std::string stage_layers_text(std::span<const Count> layers);
std::string order_text(const AxisOrder& order);

}  // namespace llmcalc
