// The verdict of a validation names the worst offender. The exit code is 1 if any value differs.

#include <fmt/format.h>

#include "cli/kernels/found.hpp"
#include "report/render/render.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "validate/calibrate.hpp"
#include "validate/predict.hpp"
#include "validate/suite.hpp"

using namespace llmcalc;
using validate::CaseVerdict;
using validate::Ledger;

namespace {

validate::Case plain() { return validate::make_case(validate::LevelChoice(validate::factors().size(), 0)); }

Ledger ledger(const validate::Case& c) { return validate::predicted_training(c.arch, c.plan); }

/// The verdict on a measurement compared with a prediction.
CaseVerdict judged(const Ledger& predicted, const Ledger& measured, const std::string& name = "tiny-llama") {
  CaseVerdict v{.name = name, .rows = {}, .beside = {}, .order = "", .operators = 0};
  compare(v, "training", predicted, measured, validate::training_names);
  return v;
}

/// A verdict on a measurement that lacks some FLOPs.
CaseVerdict wrong_flops(const std::string& name = "tiny-llama") {
  Ledger m = ledger(plain());
  m.forward["mlp.up"] -= 1000;
  return judged(ledger(plain()), m, name);
}

std::string said(const Validated& f, bool check_time = false) {
  Report r;
  conclude(r, f, check_time);
  REQUIRE(r.verdict.size() == 1);
  CHECK(r.verdict[0].bad == (exit_code(f, check_time) != 0));
  return r.verdict[0].text;
}

}  // namespace

TEST_CASE("if everything matches, the exit code is 0 and the verdict counts the comparisons", "[verdict]") {
  const Validated f{{judged(ledger(plain()), ledger(plain()))}, {}, {}};
  CHECK(exit_code(f, false) == 0);
  CHECK(said(f) == fmt::format("{} comparisons over 1 model: every byte, FLOP and operator matches the prediction",
                               f.verdicts[0].rows.size() + static_cast<std::size_t>(f.verdicts[0].operators)));
}

TEST_CASE("a mismatched number gives exit code 1, and the verdict names it", "[verdict]") {
  const Validated f{{judged(ledger(plain()), ledger(plain()), "another"), wrong_flops()}, {}, {}};
  CHECK(exit_code(f, false) == 1);
  CHECK_THAT(said(f), Catch::Matches("2 of [0-9,]+ comparisons differ, worst training, FLOPs forward of mlp.up: "
                                     "predicted 29,568, measured 28,568 \\(tiny-llama\\)"));
}

TEST_CASE("the verdict names the worst offender, however long its name", "[verdict]") {
  const std::string name =
      "latent without query rank, window: every other layer, norm: LayerNorm without bias, block: "
      "parallel with two norms, experts: shared behind a gate";
  const std::string line = said({{wrong_flops(name)}, {}, {}});
  CHECK_THAT(line, Catch::StartsWith("2 of "));
  CHECK_THAT(line, Catch::Contains("worst training, FLOPs forward of mlp.up") && Catch::EndsWith("(" + name + ")"));
}

TEST_CASE("operators out of order give exit code 1 even if every number matches", "[verdict]") {
  Ledger m = ledger(plain());
  std::swap(m.order[0], m.order[1]);
  const Validated f{{judged(ledger(plain()), m)}, {}, {}};
  CHECK(exit_code(f, false) == 1);
  CHECK_THAT(said(f), Catch::Matches("1 of [0-9,]+ comparisons differs, worst training, operator 1: embedding.tokens "
                                     "forward was predicted, but attn.norm forward ran \\(tiny-llama\\)"));
}

TEST_CASE("validate shows differences in the tables of a single model and of a suite", "[verdict]") {
  const CaseVerdict v = wrong_flops();
  Report one, suite;
  add_table(one, v, "training");
  add_suite(suite, {judged(ledger(plain()), ledger(plain()), "another"), v});
  CHECK_THAT(render(one, {.columns = 100}),
             Catch::Contains("29,568") && Catch::Contains("-1,000  ") && Catch::Contains("FLOP  DIFFERS"));
  CHECK_THAT(render(suite, {.columns = 100}), Catch::Contains("2 DIFFER") && Catch::Contains("differences"));
  const json::Value all = report_json(one);
  CHECK(all["training"].size() == v.rows.size());
  for (const json::Value& row : all["training"])
    CHECK(row["equal"] == !(row["quantity"] == "FLOPs forward" && row.value("operator", "mlp.up") == "mlp.up"));
}

namespace {

/// The step of one case, measured at a multiple of its prediction.
Validated timed(double ratio) {
  return {{judged(ledger(plain()), ledger(plain()))},
          {{{"training", "step", "", 2e-3, 2e-3 * ratio}, {"training", "forward", "attn.q", 1e-3, 9e-3}}},
          {}};
}

}  // namespace

TEST_CASE("times of whole steps and passes decide the exit code on request", "[verdict]") {
  for (const double within : {1.0, 1.24, 1 / 1.24}) CHECK(exit_code(timed(within), true) == 0);
  for (const double outside : {1.26, 1 / 1.26}) {
    CHECK(exit_code(timed(outside), true) == 1);
    CHECK(exit_code(timed(outside), false) == 0);
  }
  CHECK_THAT(said(timed(2), true),
             Catch::EndsWith("; outside the band, worst step: predicted 2 ms, measured 4 ms (tiny-llama)"));
  CHECK_THAT(said(timed(1.1), true), !Catch::Contains("outside"));
}

TEST_CASE("a suite's times are listed by case name, with the tolerance band and a verdict for each case", "[verdict]") {
  const validate::Timing prefill{"inference", "prefill", "", 1e-3, 3e-3};
  const validate::Timing decode{"inference", "decode", "", 1e-3, 1.1e-3};
  Report r;
  add_suite_times(r, {"good", "bad"}, {{decode}, {decode, prefill}});
  const Grid& g = r.grids.at(0);
  CHECK_THAT(g.title, Catch::Contains("the band is a factor of 1.25 either way"));
  CHECK(g.rows == std::vector<std::vector<std::string>>{{"good", "", "", "", "", "1.1", "1.10", "within"},
                                                        {"bad", "", "", "3", "3.00", "1.1", "1.10", "outside"}});
  CHECK(g.rows[0].size() == g.columns.size());
  CHECK(g.json[1] == json::Value{{"case", "bad"},
                                 {"what", "prefill"},
                                 {"predicted_s", 1e-3},
                                 {"measured_s", 3e-3},
                                 {"band", 1.25},
                                 {"within", false}});
}

TEST_CASE("a suite case without times fails the time check", "[verdict]") {
  Validated none = timed(1);
  for (const Times& times : {Times{}, Times{{}}, Times{{{"training", "forward", "attn.q", 1e-3, 1e-3}}}}) {
    none.times = times;
    CHECK(exit_code(none, true) == 1);
    CHECK_THAT(said(none, true), Catch::EndsWith("; outside the band, no time was measured"));
    CHECK(exit_code(none, false) == 0);
  }
}

TEST_CASE("validate runs all micro-batches of a step, and also runs without a master copy", "[verdict][cli]") {
  const std::string tiny = "validate docs/examples/tiny-llama.json --train --seq 8 ";
  const json::Value r = test::ask(tiny + "--micro-batch 2 --global-batch 8");
  CHECK(r["notes"][0] ==
        "a step has 4 micro-batches: bytes are the peak over all of them, FLOPs and operators are per micro-batch");
  CHECK_FALSE(test::ask(tiny).contains("notes"));
  CHECK(test::llmcalc(tiny + "--precision bf16 --master none --state-precision fp32").code == 0);
}

TEST_CASE("a note names the FLOPs that are not counted individually, and why", "[verdict][cli]") {
  test::write_file(test::scratch() + "/wide.json",
                   R"({"model_type": "llama", "hidden_size": 72, "intermediate_size": 8, "num_hidden_layers": 1,
                       "num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": 16,
                       "max_position_embeddings": 64, "hidden_act": "silu", "tie_word_embeddings": false})");
  const json::Value r = test::ask("validate " + test::scratch() + "/wide.json --train --seq 8");
  REQUIRE(r["notes"].size() == 1);
  CHECK_THAT(r["notes"][0].get<std::string>(),
             Catch::StartsWith("FLOPs of ") && Catch::EndsWith(" are not counted individually, because counting "
                                                               "arithmetic is slow: it runs models up to width 64, "
                                                               "and this model has width 72"));
  for (const json::Value& row : r["training"]) CHECK_FALSE(row["quantity"].get<std::string>().ends_with("counted"));
}

TEST_CASE("times predicted for another machine have a note; times for this machine have none", "[verdict][cli]") {
  const validate::Where here;
  HardwareCard card;
  card.title = machine_title(here);
  CHECK_FALSE(calibrated_here(card, here));  // a card without measured rates
  card.cluster.device.achieved.present = true;
  CHECK(calibrated_here(card, here));
  card.title = "another, 2 threads";
  CHECK_FALSE(calibrated_here(card, here));

  const std::string tiny = "validate docs/examples/tiny-llama.json --train --seq 8 --repeats 1 --hardware ";
  CHECK(test::ask(tiny + "h100")["notes"] == json::Value{"times are predicted for H100 SXM 80GB, a hardware file that "
                                                         "'llmcalc calibrate' did not write on this machine (" +
                                                         machine_title(here) + ")"});
  json::Value file{{"name", "here"},
                   {"title", machine_title(here)},
                   {"memory", {{"capacity", "8 GiB"}, {"bandwidth", "20 GB/s"}}},
                   {"matmul", {{"fp32", "100 GFLOP/s"}}},
                   {"achieved", {{"matmul", 0.9}, {"how", "measured"}}},
                   {"source", "measured"}};
  test::write_file(test::scratch() + "/here.json", file.dump());
  CHECK_FALSE(test::ask(tiny + test::scratch() + "/here.json").contains("notes"));
}

TEST_CASE("--check-time fails with another machine's description, but the report is complete", "[verdict][cli]") {
  const std::string command = "validate docs/examples/tiny-llama.json --train --seq 8 --hardware h100 --repeats 1";
  CHECK(test::llmcalc(command).code == 0);
  const test::Ran r = test::llmcalc(command + " --check-time --json");
  CHECK(r.code == 1);
  CHECK_THAT(json::parse(r.out, "the report")["verdict"]["text"][0].get<std::string>(),
             Catch::Contains("outside the band, worst step: predicted "));
}
