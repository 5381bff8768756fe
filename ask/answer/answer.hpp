#pragma once
/// The answer to a request, computed lazily and once: every consumer reads estimates here.

#include "ask/answer/inference.hpp"
#include "ask/answer/lazy.hpp"
#include "ask/answer/training.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

class Answer {
 public:
  /// `r` is settled and checked.
  explicit Answer(Request r) : request_(std::move(r)) {}

  const Request& request() const { return request_; }
  const TrainingAnswer& training() const;
  /// Of one engine, or of a server where the request has traffic.
  const InferenceAnswer& inference() const;

 private:
  Request request_;
  Lazy<TrainingAnswer> training_;
  Lazy<InferenceAnswer> inference_;
};

}  // namespace llmcalc
