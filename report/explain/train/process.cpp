// Memory of a training process other than its tensors.

#include "report/explain/train/process.hpp"

#include <fmt/format.h>

#include "presets/estimators/process_memory.hpp"
#include "report/explain/interval.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

constexpr std::string_view prefix = "memory.process.";

std::string path_of(std::string_view term) { return fmt::format("{}{}_bytes", prefix, term); }

/// A term derived from the software's code.
template <std::size_t i>
Formula held_beside(S s) {
  constexpr const ProcessTerm& t = memory_terms[i];
  return from_engine(s, "M_term", t.meaning.data(), path_of(t.name));
}

/// The tensors and every term in the report except those in `without`.
Formula sum_without(S s, std::initializer_list<std::string_view> without) {
  Formula f{"M_t", {as_symbol(s, "M_t", "tensors as the software stores them, bytes", path_of("tensors"))}};
  for (const ProcessTerm& t : memory_terms) {
    if (std::find(without.begin(), without.end(), t.name) != without.end() || s.row(path_of(t.name)) == nullptr)
      continue;
    const std::string symbol = fmt::format("M_{}", t.name);
    f.expression += " + " + symbol;
    f.own.push_back({symbol, fmt::format("{}, bytes", t.meaning), s.number(path_of(t.name))});
  }
  return f;
}

Formula slack(S s) {
  Formula f = sum_without(s, {"slack", "process"});
  f.expression = "floor(f_s*(" + f.expression + ") + 0.5)";
  f.own.push_back(
      {"f_s", "fraction reserved but unused, fitted", number_text(memory_estimate().parameters.fragmented)});
  return f;
}

/// One end of the interval for the whole process.
Formula end_of_process(S s, const char* expression) {
  Formula f = within(memory_estimate().interval(MemoryClass::process), expression);
  f.own.insert(f.own.begin(), as_symbol(s, "x", "the estimate, bytes", path_of("needed")));
  return f;
}

constexpr std::string_view fullest_rank = "per GPU, on the stage with the largest process";
constexpr std::string_view known_process = "--hardware of NVIDIA, and software with a known process";
constexpr std::string_view some_software = "software with this term: see docs/clusters.md, \"Memory of a process\"";
constexpr std::string_view code = "the software's source code";
constexpr std::string_view fitted = "presets/estimates/memory.json; llmcalc accuracy memory";

template <std::size_t i>
constexpr Definition term_definition(std::string_view path) {
  constexpr const ProcessTerm& t = memory_terms[i];
  return {path, t.meaning, "bytes", held_beside<i>, fullest_rank, t.source, some_software};
}

constexpr Definition process_table[] = {
    {"memory.process.tensors_bytes", "tensors as the software stores them", "bytes",
     [](S s) {
       return from_engine(s, "M_t", "states and activations live at the peak, in the software's formats, bytes",
                          path_of("tensors"));
     },
     "formats not set by an option are the software's defaults", code, known_process},
    term_definition<1>("memory.process.loss_bytes"),
    term_definition<2>("memory.process.weight_gradients_bytes"),
    term_definition<3>("memory.process.update_bytes"),
    term_definition<4>("memory.process.buckets_bytes"),
    term_definition<5>("memory.process.workspaces_bytes"),
    term_definition<6>("memory.process.process_bytes"),
    {"memory.process.slack_bytes", memory_terms[7].meaning, "bytes", slack, fullest_rank, fitted, known_process},
    {"memory.process.needed_bytes", "estimated memory requirement of the training process", "bytes",
     [](S s) { return sum_without(s, {"slack"}); },
     "per GPU, on the stage with the largest process; excludes slack, which the allocator can release", fitted,
     known_process},
    {"memory.process.needed_low_bytes", "memory requirement, low end of the 90 % interval", "bytes",
     [](S s) { return end_of_process(s, "floor(x/w)"); }, interval_law, fitted, known_process},
    {"memory.process.needed_high_bytes", "memory requirement, high end of the 90 % interval", "bytes",
     [](S s) { return end_of_process(s, "floor(x*w)"); }, interval_law, fitted, known_process},
    {"memory.process.total_bytes", "whole training process, as reported by nvidia-smi", "bytes",
     [](S s) { return sum_without(s, {}); }, fullest_rank, fitted, known_process},
    {"memory.process.fits", "does the process fit?", "",
     [](S s) {
       return Formula{"M_p/M_d", process_symbols(*s.training().process())};
     },
     fullest_rank, "the hardware file", known_process, "yes if this is at most 1"},
};

}  // namespace

std::vector<Symbol> process_symbols(const ProcessEstimate& p) {
  return {{"M_p", "memory requirement of the process, bytes", number_text(p.needed().value)},
          {"M_d", "device memory that the driver reports, bytes", number_text(p.capacity.value)}};
}

std::span<const Definition> process_definitions() { return process_table; }

}  // namespace llmcalc::explain
