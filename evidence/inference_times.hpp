#pragma once
/// Times and rates of a row of inference, at the rates that a cluster's device reaches.

#include <optional>

#include "evidence/served_case.hpp"

namespace llmcalc {

class InferenceTimes {
 public:
  /// The case outlives it. `request`: seconds of a request besides passes.
  InferenceTimes(const InferenceCase& c, const InferenceStack& stack, const Cluster& cluster, Seconds request = {})
      : c_(c), stack_(stack), cluster_(cluster), request_(request) {}

  /// In the base unit of its kind; nothing where the figure is no time or rate.
  std::optional<double> figure(const Figure& f) const;

 private:
  double prefill_seconds() const;
  double served_seconds(const Figure& f) const;
  double decode_seconds(const Figure& f) const;
  double whole_seconds() const;
  double decoding_seconds() const;
  double output_rate() const;
  bool serves() const;
  const ServedTimes& served() const;
  Plan behind_cached() const;

  const InferenceCase& c_;
  InferenceStack stack_;
  Cluster cluster_;
  Seconds request_;
  mutable std::optional<ServedTimes> served_;  ///< the figures of a row are of one run
};

}  // namespace llmcalc
