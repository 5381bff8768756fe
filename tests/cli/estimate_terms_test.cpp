/// Parameters that `explain` lists for an estimated time.

#include <algorithm>

#include "calc/train.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

const std::string on_h100 = "llama-3.1-8b --hardware h100 --tp 8 --sp --global-batch 16 ";

json::Value explained(const std::string& path, const std::string& arguments) {
  return test::ask("explain " + path + " " + arguments)["quantities"][0];
}
const json::Value* parameter(const json::Value& explanation, const std::string& name) {
  for (const json::Value& p : explanation["estimate"]["parameters"])
    if (p["name"] == name) return &p;
  return nullptr;
}

/// Seconds of the same step with one parameter changed.
double seconds_with(std::size_t index, double value) {
  TrainingParameters p = training_estimator().parameters;
  p.values()[index] = value;
  HardwareCard card = load_hardware("h100");
  Plan plan;
  plan.seq = 8192;
  plan.global_batch = 16;
  plan.weight_precision = plan.precision = plan.working = dtypes::bf16;
  Layout layout;
  layout.tp = 8;
  layout.sp = true;
  layout.vocabulary_multiple = 128;  // Megatron-LM's
  const Arch arch = load_model("llama-3.1-8b").arch;
  card.cluster.device.achieved = training_rates(p, card, stack_of(load_software("megatron-lm"), arch, plan));
  return train(arch, plan, layout, card.cluster).estimate.total().value;
}

}  // namespace

TEST_CASE("a step's explanation lists exactly the parameters that change its time, with default and effect",
          "[explain][long]") {
  const json::Value e = explained("step.time_s", on_h100);
  CHECK(parameter(e, "matmul.ampere") == nullptr);
  CHECK(parameter(e, "network") == nullptr);  // eight GPUs form one link domain
  for (const char* name : {"matmul.hopper", "link", "flash.vendor"}) {
    INFO(name);
    const auto card = std::find_if(training_parameter_cards.begin(), training_parameter_cards.end(),
                                   [&](const ParameterCard& c) { return c.name == name; });
    const auto i = static_cast<std::size_t>(card - training_parameter_cards.begin());
    const double fitted = training_estimator().parameters.values()[i];
    const json::Value* p = parameter(e, name);
    REQUIRE(p != nullptr);
    CHECK((*p)["value"] == fitted);
    CHECK((*p)["default"] == card->standard);
    CHECK((*p)["source"] == std::string(card->source));
    CHECK((*p)["change_with_a_tenth_more"].get<double>() ==
          Approx(seconds_with(i, 1.1 * fitted) / seconds_with(i, fitted) - 1).epsilon(1e-9));
    CHECK((*p)["meaning"].get<std::string>().find("the same") == std::string::npos);
  }
  const json::Value& all = e["estimate"]["parameters"];
  for (std::size_t i = 1; i < all.size(); ++i)
    CHECK(std::abs(all[i - 1]["change_with_a_tenth_more"].get<double>()) >=
          std::abs(all[i]["change_with_a_tenth_more"].get<double>()));
}

TEST_CASE("the explanation of part of a step lists only the parameters of that part", "[explain][long]") {
  const json::Value e = explained("step.breakdown_s.tp", on_h100);
  CHECK(parameter(e, "link") != nullptr);
  CHECK(parameter(e, "elementwise.tuned") == nullptr);
}

TEST_CASE("an explained interval states the number of sources in its error class and names them", "[explain][long]") {
  const json::Value report = test::ask("train " + on_h100);
  const std::string sentence = explained("step.time_s", on_h100)["estimate"]["interval"];
  const Count families = report["estimate"]["families"];
  CHECK_THAT(sentence, Contains("for class dense, from the errors of " + std::to_string(families) + " sources"));
  const std::string names = sentence.substr(sentence.rfind("rows: "));
  CHECK(std::count(names.begin(), names.end(), ';') + 1 == families);
  CHECK_THAT(
      explained("decode.time_per_token_s", "llama-3.1-8b --hardware h100")["estimate"]["interval"].get<std::string>(),
      Contains("for class decode"));
}

TEST_CASE("without software, an explanation lists no estimator parameters", "[explain]") {
  CHECK_FALSE(explained("step.time_s", on_h100 + "--efficiency 0.5").contains("estimate"));
  CHECK_FALSE(explained("memory.peak_bytes", on_h100).contains("estimate"));
}
