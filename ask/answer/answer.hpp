#pragma once
/// Answer to a request. Computes each estimate on first use and caches it. Every consumer gets its estimates from
/// here.

#include "ask/answer/inference.hpp"
#include "ask/answer/lazy.hpp"
#include "ask/answer/training.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

class Answer {
 public:
  /// Precondition: `r` has passed settle() and check().
  explicit Answer(Request r) : request_(std::move(r)) {}

  const Request& request() const { return request_; }
  const TrainingAnswer& training() const;
  /// Inference on one engine, or on a server if the request has traffic.
  const InferenceAnswer& inference() const;

 private:
  Request request_;
  Lazy<TrainingAnswer> training_;
  Lazy<InferenceAnswer> inference_;
};

}  // namespace llmcalc
