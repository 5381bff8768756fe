#pragma once
/// The reference transformer of a case, with the weights that the case loads, or drawn ones.

#include <memory>
#include <optional>

#include "model/transformer.hpp"
#include "validate/run.hpp"

namespace llmcalc::validate {

struct CaseModel {
  static constexpr std::uint64_t seed = 1;  ///< of drawn weights

  /// generates: it holds weights and cache as inference does, in the plan's formats. In training only what is frozen
  /// beside adapters has a format of its own.
  CaseModel(const Case& c, model::Number number, const Where& where, bool generates)
      : backend(where.make(number)),
        t(c.arch, *backend,
          {.plan = generates ? as_generated(c).plan : c.plan,
           .numerics = c.numerics,
           .coded = generates || trains_adapters(c.plan)},
          c.load ? std::nullopt : std::optional(seed)) {
    if (c.load) c.load(t);
  }

  std::unique_ptr<model::Backend> backend;
  model::Transformer t;
};

}  // namespace llmcalc::validate
