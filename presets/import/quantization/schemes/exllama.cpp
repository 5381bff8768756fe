// github.com/turboderp-org/exllamav3, doc/exl3.md, and ExLlamaV2.

#include <fmt/format.h>

#include <cmath>

#include "presets/import/quantization/schemes/parts.hpp"
#include "presets/import/quantization/schemes/readers.hpp"
#include "text/names.hpp"

namespace llmcalc::import {

namespace {

using json::Object;

/// Packing of EXL3: an integer number of bits per weight, and a 16-bit sign and scale per row and per column. A
/// fractional number of bits, as in ExLlamaV2, is only an average.
Packing exl_packing(double bits, bool exact) {
  Packing p = packing(row(bits > 4 ? "int8-g128" : "int4"));
  p.bytes = groups_of("exl", 0, 256, static_cast<Count>(std::llround(bits * 256)));
  if (!exact) return p;
  p.bytes = groups_of("exl3", static_cast<Count>(bits), 0, 0);
  p.bytes.row_bits = p.bytes.column_bits = 16;
  return p;
}

double exl_bits(const Object& q, std::string_view key, double otherwise) {
  const double bits = q.number_or(key, otherwise);
  if (!(bits >= 1 && bits <= 8)) refuse_scheme(q, fmt::format("EXL with {} bits in \"{}\"", bits, key));
  return bits;
}

}  // namespace

Scheme exllama(const Object& q, const SchemeContext&) {
  const double bits = exl_bits(q, "bits", 0), head = exl_bits(q, "head_bits", bits);
  const bool third = lower(q.text_or("quant_method", "")) == "exl3";
  const auto exact = [&](double b) { return third && b == std::floor(b); };
  Scheme s{.groups = {{.packing = exl_packing(head, exact(head)), .targets = Modules({"lm_head"})}},
           .kept = modules(q, {"modules_to_not_convert"}),
           .head_as_other = true};
  s.groups.push_back({.packing = exl_packing(bits, exact(bits))});
  if (!exact(bits) || !exact(head))
    s.caveats.push_back(fmt::format(
        "the config states only an average of {} bits per weight; sizes in the checkpoint's header are exact", bits));
  return s;
}

}  // namespace llmcalc::import
