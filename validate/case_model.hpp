#pragma once
/// A case's reference transformer, with the weights that the case loads, or random ones.

#include <memory>
#include <optional>

#include "model/transformer.hpp"
#include "validate/run.hpp"

namespace llmcalc::validate {

struct CaseModel {
  static constexpr std::uint64_t seed = 1;  ///< seed of the random weights

  /// `generates`: whether to store weights and cache in the plan's formats, as in inference. In training, only
  /// weights frozen under adapters have a separate format.
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
