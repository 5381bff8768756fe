#pragma once
/// Times and rates of a row of inference, at the rates that a cluster's device reaches.

#include <optional>

#include "evidence/inference_case.hpp"
#include "serve/steady_state.hpp"

namespace llmcalc {

class InferenceTimes {
 public:
  /// Both outlive it.
  InferenceTimes(const InferenceCase& c, const Cluster& cluster) : c_(c), cluster_(cluster) {}

  /// In the base unit of its kind; nothing where the figure is no time or rate.
  std::optional<double> figure(const Figure& f) const;

 private:
  double prefill_seconds() const;
  double decode_seconds(const Figure& f) const;
  double decode_seconds(Count sequences, double context) const;
  double whole_seconds() const;
  double decoding_seconds() const;
  double per_token_seconds(const Figure& f) const;
  double first_token_seconds() const;
  bool serves() const;
  ClosedLoop loop() const;

  const InferenceCase& c_;
  const Cluster& cluster_;
};

/// Tokens for which weights and the largest pass leave room, on all replicas.
double cache_tokens(const InferenceCase& c);

}  // namespace llmcalc
