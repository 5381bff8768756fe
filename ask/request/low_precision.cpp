#include "ask/request/low_precision.hpp"

#include <fmt/format.h>

#include "ask/request/options/option_values.hpp"
#include "calc/price.hpp"
#include "presets/formats/held_formats.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

void add_wide(WideLayers& all, std::string_view one, std::string_view where) {
  const std::size_t colon = one.find(':');
  const std::string_view end = one.substr(0, colon);
  const bool first = same_spelling(end, "first");
  if (colon == std::string_view::npos || !(first || same_spelling(end, "last")))
    refuse_value(where, "first:N, last:M, or both separated by ','", one);
  Count& blocks = first ? all.first : all.last;
  if (blocks > 0) throw InputError(fmt::format("{}: {} is specified twice; omit one", where, end));
  blocks = parse_positive(one.substr(colon + 1), where);
}

bool is_narrow(const Plan& p) { return working_format(p) != p.precision; }

/// Number of the model's low-precision matmuls.
Count narrow_products(const Arch& arch, const LowPrecision& low_precision) {
  Count all = 0;
  const Step step{.training = true, .low_precision = low_precision};
  for_each_operator(arch, {}, {}, step, [&](const OperatorRow& row) { all += row.op.narrow ? 1 : 0; });
  return all;
}

void check_part_is_there(const Request& r, NarrowPart part) {
  if (narrow_products(r.model.arch, {.parts = part}) > 0) return;
  throw InputError(fmt::format("--narrow {}: {} has no matmuls of this kind; omit it", name(part), r.model.name));
}

}  // namespace

WideLayers read_wide_layers(std::string_view text, std::string_view where) {
  WideLayers all;
  while (true) {
    const std::size_t comma = text.find(',');
    add_wide(all, text.substr(0, comma), where);
    if (comma == std::string_view::npos) return all;
    text.remove_prefix(comma + 1);
  }
}

std::string wide_layers_text(const LowPrecision& n) {
  std::string s;
  if (n.first_wide > 0) s = fmt::format("first:{}", n.first_wide);
  if (n.last_wide > 0) s += fmt::format("{}last:{}", s.empty() ? "" : ",", n.last_wide);
  return s;
}

/// Whether this component's matmuls run in the checkpoint's own format, or would on hardware that supports it.
bool is_multiplied_as_stored(const Request& r, Component c) {
  if (is_narrow(r.plan)) return LowPrecision{.parts = r.plan.multiplied}.has(c);
  return r.model.products && !r.hardware && !r.gave("--precision") &&
         LowPrecision{.parts = r.model.product_parts}.has(c);
}

/// Note about weights stored in fewer bits than their matmuls use.
std::string dequantized_note(const Request& r) {
  const Plan& p = r.plan;
  const DType product = working_format(p);
  const ComponentBytes numbers = component_numbers(r.model.arch);
  std::string names;
  for (const Component c : {Component::attention, Component::mlp, Component::experts, Component::shared_experts}) {
    const DType t = p.weight_precision[c];
    if (whole_bits(t.format()) >= whole_bits(product.format()) || is_multiplied_as_stored(r, c)) continue;
    if (numbers[c] == Bytes() || names.find(t.name()) != std::string::npos) continue;
    names += fmt::format("{}{}", names.empty() ? "" : " and ", t.name());
  }
  return names.empty() ? "" : fmt::format("weights in {} are dequantized and multiplied in {}", names, product.name());
}

/// Note listing the matmuls that are low-precision in inference; empty if all are.
std::string inference_parts_note(const Request& r) {
  const Plan& p = r.plan;
  if (!r.has(part::inference) || p.multiplied == NarrowParts::all()) return "";
  const std::string widened = dequantized_note(r);
  return fmt::format("; in inference only matmuls of {} are low-precision{}{}", set_text(p.multiplied),
                     widened.empty() ? "" : "; ", widened);
}

std::string formats_note(const Request& r) {
  const Plan& p = r.plan;
  if (!is_narrow(p)) return r.has(part::inference) ? dequantized_note(r) : "";
  std::string wide = inference_parts_note(r);
  if (p.low_precision.parts != NarrowParts::all())
    wide += fmt::format("; in training, only matmuls of {} are low-precision", set_text(p.low_precision.parts));
  if (const std::string layers = wide_layers_text(p.low_precision); !layers.empty())
    wide += fmt::format("; in training, blocks {} run their matmuls in {}", layers, working_format(p).name());
  return fmt::format(
      "matmuls of the blocks are in {}; activations, core attention, routers, norms, embedding and head are in {}{}",
      p.precision.name(), working_format(p).name(), wide);
}

void check_peak(const Request& r) {
  const HardwareCard& h = *r.hardware;
  const Device& d = h.cluster.device;
  if (d.peak(r.plan.precision).value > 0) return;
  std::string known;
  for (std::size_t i = 0; i < formats.size(); ++i)
    if (is_operand_format(formats[i]) && d.peak(DType(i)).value > 0)
      known += (known.empty() ? "" : ", ") + std::string(formats[i].name);
  throw InputError(
      fmt::format("{} has no {} matmul peak; set --precision to one of: {}", h.name, r.plan.precision.name(), known));
}

void check_low_precision(const Request& r) {
  const LowPrecision& n = r.plan.low_precision;
  for (const char* option : {"--narrow", "--wide-layers"})
    if (r.gave(option) && !is_narrow(r.plan))
      throw InputError(
          fmt::format("{0} applies only to matmuls below 16 bits, but all matmuls are in {1}; set --precision to fp8, "
                      "fp8-block, mxfp8, mxfp4 or nvfp4, or omit {0}",
                      option, r.plan.precision.name()));
  if (r.gave("--narrow"))
    for (const auto& row : choices<NarrowPart>)
      if (n.parts.has(row.value)) check_part_is_there(r, row.value);
  if (r.gave("--wide-layers") && narrow_products(r.model.arch, n) == 0)
    throw InputError(
        fmt::format("--wide-layers {}: {} has {} blocks, which leaves no matmuls for --precision {}; lower it",
                    wide_layers_text(n), r.model.name, r.model.arch.layers, r.plan.precision.name()));
}

}  // namespace llmcalc
