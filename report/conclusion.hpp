#pragma once
/// The last line of a report: what its numbers come to.

#include <string>

#include "calc/infer.hpp"
#include "calc/train.hpp"
#include "report/request.hpp"

namespace llmcalc {

std::string training_memory_conclusion(const Request& r);
std::string inference_memory_conclusion(const Request& r);
std::string train_conclusion(const Request& r, const TrainEstimate& e);
std::string infer_conclusion(const Request& r, const InferEstimate& e);

}  // namespace llmcalc
