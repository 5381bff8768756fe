#pragma once
/// Times and rates of an inference row, at the rates that the cluster's devices achieve.

#include <optional>

#include "evidence/served_case.hpp"

namespace llmcalc {

class InferenceTimes {
 public:
  /// The case must outlive the object.
  InferenceTimes(const InferenceCase& c, const InferenceStack& stack, const Cluster& cluster,
                 const ServedOverhead& overhead = {})
      : c_(c), stack_(stack), cluster_(cluster), overhead_(overhead) {}

  /// Value in the base unit of its kind. Empty if the figure is not a time or rate.
  std::optional<double> figure(const Figure& f) const;
  /// Model FLOP/s over the peak of all devices at the plan's precision, prompts included.
  double utilization() const;

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
  ServedOverhead overhead_;
  mutable std::optional<ServedTimes> served_;  ///< shared by all figures of a row, since they describe the same run
};

}  // namespace llmcalc
