#include "ask/answer/answer.hpp"

#include "ask/request/software.hpp"

namespace llmcalc {

const TrainingAnswer& Answer::training() const {
  return training_.get([&] { return TrainingAnswer(for_training(request_)); });
}

const InferenceAnswer& Answer::inference() const {
  return inference_.get([&] {
    return InferenceAnswer(for_inference(has_traffic(request_.serving) ? request_ : of_one_engine(request_)));
  });
}

}  // namespace llmcalc
