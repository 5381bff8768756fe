/// What `llmcalc explain` says, and how.

#include <algorithm>
#include <sstream>

#include "calc/program.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "report/explain/explanation.hpp"
#include "report/explain/operator_formula.hpp"
#include "report/explain/rules.hpp"
#include "report/explain/sum.hpp"
#include "tests/catch.hpp"
#include "tests/cli/expression.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

/// Its only quantity.
json::Value explained(const std::string& arguments) {
  const json::Value v = test::ask("explain " + arguments);
  REQUIRE(v["quantities"].size() == 1);
  return v["quantities"][0];
}

std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::string line, longest;
  while (std::getline(lines, line))
    if (columns(line) > columns(longest)) longest = line;
  return longest;
}

std::string refused(const std::string& arguments) {
  const test::Ran r = test::llmcalc("explain " + arguments);
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  return r.err;
}

}  // namespace

TEST_CASE("a formula is explained with symbols, their meaning, the numbers put in, the result and its source",
          "[explain][cli]") {
  const std::string out = test::llmcalc("explain parameters.attention llama-3.1-405b").out;
  // 126 layers of Q and O 16384 x 128 x 128, K and V 16384 x 8 x 128.
  CHECK_THAT(out, Contains("= L*(2*D*A*d_h + 2*D*G*d_h)"));
  CHECK_THAT(out, Contains("= 126*(2*16384*128*128 + 2*16384*8*128)"));
  CHECK_THAT(out, Contains("= 71,873,593,344 (71.87 B parameters)"));
  CHECK_THAT(out, Contains("key/value heads  8"));
  CHECK_THAT(out, Contains("Goon (1.2)"));
}

TEST_CASE("the seeds' activations of GPT-3 come out as Goon (2.5) to (2.7) have them", "[explain][cli]") {
  // Attention (5p + 1) D + (2p + 1) A S, MLP 2Ep + p + 1 with E = 4, LayerNorm 2p: 34 D + 5 A S with p = 2.
  const std::string plan = " gpt-3-175b --seq 2048 --attention naive --dropout --softmax-store seed --norm-stats off";
  const json::Value v = explained("activations.blocks_bytes" + plan);
  CHECK(v["value"] == 96LL * 2048 * (34 * 12288 + 5LL * 96 * 2048));
  CHECK(v["formula"] == "B*S*(p*L*(4*D + 2*A*d_h + 2*G*d_h + 2*A*S + 2*F) + L*(2*D + A*S))");
}

TEST_CASE("JSON has what the text has, and its numbers can be evaluated", "[explain][cli]") {
  const json::Value v = explained("memory.optimizer_bytes llama-3.1-8b --optimizer adam8bit");
  CHECK(v["path"] == "memory.optimizer_bytes");
  CHECK(v["formula"] == "4*N_T + 2*N_T + 8*ceil(N_T/256)");
  CHECK(v["symbols"][0]["symbol"] == "N_T");
  CHECK(v["symbols"][0]["value"] == "8030261248");
  const expression::Fraction value = expression::exact(v["numbers"].get<std::string>());
  CHECK(expression::text(value.numerator()) == "48432513152");  // 6 x 8030261248 + 8 x 31368208
  CHECK(v["value"] == 48432513152);
}

TEST_CASE("FLOPs beyond 64 bits keep every digit", "[explain][cli]") {
  const test::Ran r = test::llmcalc("explain formulas.6nd_run deepseek-v3 --tokens 14.8T --json");
  CHECK_THAT(r.out, Contains("\"value\": 59587144706457600000000000"));  // 6 x 671026404352 x 14.8e12
}

TEST_CASE("a quantity goes by its path, its last part, its section or all", "[explain][cli]") {
  CHECK(explained("activations_bytes llama-3.1-8b")["path"] == "memory.activations_bytes");
  CHECK(explained("Max-Batch llama-3.1-8b --hardware h100")["path"] == "limits.max_batch");
  CHECK(test::ask("explain parameters gpt-2-124m")["quantities"].size() == 11);
  CHECK(test::ask("explain weights_bytes llama-3.1-8b")["quantities"].size() == 2);
  CHECK(test::ask("explain all llama-3.1-8b --hardware h100 --tokens 1T")["quantities"].size() > 90);
}

TEST_CASE("a formula without a model shows how models and plans change it", "[explain][cli]") {
  const std::string out = test::llmcalc("explain kv_cache.bytes_per_token").out;
  CHECK_THAT(out, Contains("= 2*L*p_kv*G*d_h"));
  CHECK_THAT(out, Contains("latent attention, shared experts (DeepSeek-V3)"));
  CHECK_THAT(out, Contains("--tp 8"));
  CHECK_THAT(out, Contains("L*p_kv*(r_kv + d_r)"));
}

TEST_CASE("the cheat sheet has every quantity and every rule", "[explain][cli]") {
  const json::Value v = test::ask("explain");
  CHECK(v["quantities"].size() == explain::definitions().size());
  CHECK(v["rules"].size() == explain::rules().size());
  for (const json::Value& q : v["quantities"]) {
    INFO(q["path"]);
    CHECK_FALSE(q["formulas"].empty());
    CHECK_FALSE(q["source"].get<std::string>().empty());
  }
  const std::string text = test::llmcalc("explain").out, markdown = test::llmcalc("explain --markdown").out;
  CHECK_THAT(text, Contains("(4 + 2*E)*L*D^2/T") && Contains("Goon (2.2), (2.12), (E.1)"));
  CHECK_THAT(markdown, Contains("| `attention` | parameters of attention |"));
}

TEST_CASE("every number of a report is explained", "[explain][cli]") {
  const json::Value report = test::ask(
      "report gpt-3-175b --hardware a100-sxm-80gb --seq 2048 --prompt 1024 --tp 8 "
      "--attention naive --tokens 300B --watts 400 --co2 0.4 --price 1");
  const json::Value flat = report.flatten();
  std::size_t held = 0;
  for (const auto& [pointer, value] : flat.items()) {
    std::string path = pointer.substr(1);
    std::replace(path.begin(), path.end(), '/', '.');
    const std::string section = path.substr(0, path.find('.'));
    const bool stated = section == "llmcalc" || section == "model" || section == "hardware" || section == "inputs" ||
                        path == "parameters.published";
    if (stated || !value.is_number()) continue;
    const auto& all = explain::definitions();
    INFO(path);
    CHECK(std::any_of(all.begin(), all.end(), [&](const explain::Definition& d) { return d.path == path; }));
    ++held;
  }
  CHECK(held > 90);
}

TEST_CASE("explanations fit 100 columns", "[explain][cli]") {
  for (const char* arguments :
       {"", "parameters", "memory", "step", "end_to_end", "all llama-3.1-405b --hardware h100 --tp 8 --tokens 15T",
        "all deepseek-v3 --hardware h200 --tp 8 --attention naive", "all falcon-40b --hardware a100-80gb --tp 4 --sp",
        "all gemma-3-27b --hardware h100 --recompute full --generate 3000",
        "inference_memory gpt-oss-20b --weight-precision gptq --tp 8"}) {
    const test::Ran r = test::llmcalc(std::string("explain ") + arguments);
    INFO("explain " << arguments << "\n" << longest_line(r.out) << r.err);
    CHECK(r.code == 0);
    CHECK(columns(longest_line(r.out)) <= 100);
  }
}

TEST_CASE("what cannot be explained is told in one sentence", "[explain][cli]") {
  CHECK_THAT(refused("activation_bytes llama-3.1-8b"), Contains("did you mean activations_bytes"));
  CHECK_THAT(refused("llama-3.1-8b"), Contains("'llmcalc explain all llama-3.1-8b'"));
  CHECK_THAT(refused("step.mfu llama-3.1-8b"), Contains("needs a device: add --hardware HW"));
  CHECK_THAT(refused("run.days llama-3.1-8b --hardware h100"), Contains("run.days needs --tokens D"));
  CHECK_THAT(refused("run.co2_kg llama-3.1-8b --hardware h100 --tokens 1T"), Contains("--co2 KG/KWH"));
  CHECK_THAT(refused("flops.formulas.megatron llama-3.1-8b"), Contains("a GPT"));
  CHECK_THAT(refused("memory.peak_bytes llama-3.1-8b --weight-precision q4_k"), Contains("is for inference"));
  CHECK_THAT(refused("parameters lama-3.1-8b"), Contains("did you mean"));
}

TEST_CASE("all leaves out what a model cannot do, and says so", "[explain][cli]") {
  const test::Ran r = test::llmcalc("explain all gpt-2-124m --prompt 1000");  // 1000 + 256 tokens pass 1024
  CHECK(r.code == 0);
  CHECK_THAT(r.out, Contains("note: ") && Contains("1024 learned positions"));
  CHECK_THAT(r.out, Contains("more quantities need a device"));
}

TEST_CASE("numbers are put in for whole symbols only, and functions stay", "[explain]") {
  const explain::Formula f{"L*max(D, d) + L_w*ceil(D/T)"};
  const std::vector<explain::Symbol> values{{"L", "", "2"}, {"L_w", "", "3"}, {"D", "", "5"}, {"d", "", "7"}};
  CHECK(joined(substituted(f, values)) == "2*max(5, 7) + 3*ceil(5/T)");
  CHECK(explain::identifiers(f.expression) == std::vector<std::string>{"L", "D", "d", "L_w", "T"});
}

TEST_CASE("a sum is written out term by term", "[explain]") {
  const explain::Terms t{{{"n_i", "", ""}, {"F_i", "", ""}}, {{"a", {"2", "10"}}, {"b", {"3", "20"}}}};
  const explain::Formula f{"m*sum(n_i*max(F_i/pi, 1)) + m", {}, {t}};
  const auto pieces = substituted(f, {{"m", "", "4"}, {"pi", "", "5"}});
  CHECK(joined(pieces) == "4*(2*max(10/5, 1) + 3*max(20/5, 1)) + 4");
  CHECK(expression::exact(joined(pieces)).numerator() == 4 * (2 * 2 + 3 * 4) + 4);
  CHECK(pieces[2].name == "a");
}

TEST_CASE("like terms are added and factors stand outside", "[explain]") {
  explain::Sum s;
  s.add(2, {"D", "A"}), s.add(1, {"A", "D"}), s.add(1, {"G + 1", "D"});
  CHECK(s.text() == "3*D*A + (G + 1)*D");
  explain::GroupedSum g;
  g.of("L").add(4, {"D"}), g.of("").add(2, {"D"}), g.of("L").add(1, {"F"});
  CHECK(g.text() == "L*(4*D + F) + 2*D");
  CHECK(explain::product({"p", "2*D", "a + b"}) == "2*p*D*(a + b)");
  CHECK(explain::ratio("a + b", "2*c") == "(a + b)/(2*c)");
}

TEST_CASE("the evaluator of these tests is exact", "[explain]") {
  CHECK(expression::text(expression::exact("2^10*(3 + 4)/7 - 1").numerator()) == "1023");
  CHECK(expression::exact("ceil(7/2) + floor(-7/2) + min(3, 1.5)*2").numerator() == 4 - 4 + 3);
  CHECK(expression::exact("0.1 + 0.2 - 0.3").numerator() == 0);
  CHECK(expression::exact("3.35e3").numerator() == 3350);
  CHECK(expression::approximate("1e-05*2") == Approx(2e-5));
  CHECK_THROWS(expression::exact("2*L"));
  CHECK_THROWS(expression::exact("(1"));
}

TEST_CASE("the rules of thumb give GPT-3's numbers as the seeds print them", "[explain]") {
  const Builtin* gpt = find_builtin(builtin_models(), "gpt-3-175b");
  REQUIRE(gpt != nullptr);
  Request r;
  r.model = load_model("gpt-3-175b"), r.hardware = load_hardware("a100-sxm-80gb");
  r.plan.seq = 2048, r.plan.global_batch = 1, r.run.tokens = 300'000'000'000;
  r.plan.prompt = 1024;
  const explain::Setting s(r, {true, true});
  const auto value = [&](std::string_view title) {
    for (const explain::Rule& rule : explain::rules()) {
      if (rule.title != title) continue;
      explain::Formula f{std::string(rule.expression)};
      f.own = {{"E", "", "4"}, {"b", "", "1e9"}};
      return static_cast<double>(
          expression::approximate(joined(substituted(f, symbols(s, explain::Subject::training, f)))));
    }
    return -1.0;
  };
  CHECK(value("parameters of a GPT on each of T ranks") == 12.0 * 96 * 12288 * 12288);
  // 12 L D^2 + 13 L D + (V + K) D + 2 D with E = 4, V = 50257, K = 2048.
  const double n = 12.0 * 96 * 12288 * 12288 + 13.0 * 96 * 12288 + (50257.0 + 2048) * 12288 + 2.0 * 12288;
  CHECK(value("a GPT's parameters with biases, norms, tied table") == n);
  CHECK(value("activations in all, naive attention and dropout") == 96.0 * 2048 * (34.0 * 12288 + 5.0 * 96 * 2048));
  CHECK(value("FLOPs of a run") == Approx(6 * n * 3e11));
  CHECK(value("KV cache on each of T ranks") == 2.0 * 2 * 12288 * 96 * 2048);
  CHECK(value("batch from which mixed precision saves memory") ==
        Approx(6.0 * 12288 * 12288 / (8.0 * 12288 * 2048 + 96.0 * 2048 * 2048)));
}

TEST_CASE("operators have formulas by the dimensions of their shapes", "[explain]") {
  const Arch a = load_model("gemma-3-27b").arch;
  std::vector<std::string> seen;
  for_each_segment(a, Step{.queries = 8, .training = true}, {2, false}, [&](const Segment& s) {
    for (const Op& op : s.ops) seen.push_back(std::string(op.name) + " " + operator_formula(op, Phase::training));
  });
  const auto has = [&](const char* line) { return std::find(seen.begin(), seen.end(), line) != seen.end(); };
  CHECK(has("attn.q 2*rows*in*out"));
  CHECK(has("attn.core 2*A*(d_qk + d_v)*B*pairs"));
  CHECK(has("mlp.mul bytes: 3*p*rows*width"));
  CHECK(has("attn.out s: 2*(T - 1)*(alpha + M/(T*beta_l))"));
}
