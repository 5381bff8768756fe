// Replaces counters.cpp if CUPTI's headers are not found.

#include "model/cuda/instruments/counters.hpp"

namespace llmcalc::model::cuda {
namespace {

constexpr const char* why = "this program was built without CUPTI's headers, which CUDA 12.6 and later include";

}  // namespace

struct Counters::Session {};

std::vector<std::vector<const char*>> metric_choices(bool) { return {}; }

std::vector<const char*> metrics_of(const std::string&, bool, const std::vector<std::string>&) {
  throw std::runtime_error(why);
}
std::vector<std::string> cupti_names() { return {}; }
int passes(const std::string&, const std::vector<const char*>&, const std::vector<std::string>&) {
  throw std::runtime_error(why);
}
std::string cupti_version(const std::vector<std::string>&) { return ""; }

Counters::Counters(bool, const std::vector<std::string>&, const std::string&) : missing_(why) {}
Counters::~Counters() = default;
void Counters::start() { throw std::runtime_error(why); }
void Counters::begin(const std::string&) { throw std::runtime_error(why); }
void Counters::end() { throw std::runtime_error(why); }
std::vector<RangeCount> Counters::stop() { throw std::runtime_error(why); }

}  // namespace llmcalc::model::cuda
