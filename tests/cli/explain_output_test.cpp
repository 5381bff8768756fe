/// Output of `llmcalc explain` and its layout.

#include <algorithm>
#include <sstream>

#include "ask/request/request.hpp"
#include "calc/links/collective.hpp"
#include "calc/price.hpp"
#include "calc/scaling.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "report/explain/explanation.hpp"
#include "report/explain/expr.hpp"
#include "report/explain/general.hpp"
#include "report/explain/operator_formula.hpp"
#include "report/explain/parts.hpp"
#include "report/explain/rules.hpp"
#include "report/explain/sum.hpp"
#include "report/question.hpp"
#include "tests/catch.hpp"
#include "tests/cli/expression.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

/// The only quantity in the answer.
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

TEST_CASE("an explanation has the formula, the symbols' meanings, the numbers, the result and the source",
          "[explain][cli]") {
  const std::string out = test::llmcalc("explain parameters.attention llama-3.1-405b").out;
  // 126 layers of Q and O 16384 x 128 x 128, K and V 16384 x 8 x 128.
  CHECK_THAT(out, Contains("= L*(2*D*A*d_h + 2*D*G*d_h)"));
  CHECK_THAT(out, Contains("= 126*(2*16,384*128*128 + 2*16,384*8*128)"));
  CHECK_THAT(out, Contains("= 71,873,593,344 (71.87 B parameters)"));
  CHECK_THAT(out, Contains("key/value heads  8"));
  CHECK_THAT(out, Contains("Goon (1.2)"));
}

TEST_CASE("explained activation bytes of GPT-3 match Goon (2.5) to (2.7)", "[explain][cli]") {
  // Attention (5p + 1) D + (2p + 1) A S, MLP 2Ep + p + 1 with E = 4, LayerNorm 2p: 34 D + 5 A S with p = 2.
  const std::string plan = " gpt-3-175b --seq 2048 --attention naive --dropout --softmax-store seed --norm-stats off";
  const json::Value v = explained("activations.blocks_bytes" + plan);
  CHECK(v["value"] == 96LL * 2048 * (34 * 12288 + 5LL * 96 * 2048));
  CHECK(v["formula"] == "B*S*(p*L*(4*D + 2*A*d_h + 2*G*d_h + 2*A*S + 2*F) + L*(2*D + A*S))");
}

TEST_CASE("an explanation's JSON has the same content as its text, and its numbers can be evaluated",
          "[explain][cli]") {
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

TEST_CASE("a quantity can be named by its path, its last part, its section or 'all'", "[explain][cli][long]") {
  CHECK(explained("activations_bytes llama-3.1-8b")["path"] == "memory.activations_bytes");
  CHECK(explained("Max-Batch llama-3.1-8b --hardware h100")["path"] == "limits.max_batch");
  CHECK(test::ask("explain parameters gpt-2-124m")["quantities"].size() == 11);
  CHECK(test::ask("explain weights_bytes llama-3.1-8b")["quantities"].size() == 2);
  CHECK(test::ask("explain all llama-3.1-8b --hardware h100 --tokens 1T")["quantities"].size() > 90);
}

TEST_CASE("a quantity can also be named by a word in its key or its meaning", "[explain][cli]") {
  const std::string server = " llama-3.1-8b --hardware h100 --rate 5";
  const std::string price = test::llmcalc("explain price" + server).out;
  CHECK(price.find("serving.usd_per_1m_input") != std::string::npos);
  CHECK(price.find("serving.usd_per_1m_output") != std::string::npos);
  CHECK(test::llmcalc("explain capacity" + server).out.find("serving.capacity_req_s") != std::string::npos);
  CHECK(test::llmcalc("explain fit" + server).code == 2);
}

TEST_CASE("the rates, percentiles and prices of a serving run can be explained", "[explain][serve][cli]") {
  const std::string server = " llama-3.1-8b --hardware h100 --rate 5 --num-requests 300 --slo-ttft 1s --price 2";
  const json::Value serving = test::ask("serve" + server)["serving"];
  const auto value = [&](const std::string& key) {
    return test::ask("explain serving." + key + server)["quantities"][0]["value"];
  };
  for (const char* key : {"throughput_in_tok_s", "throughput_out_tok_s", "goodput_req_s", "capacity_req_s",
                          "kv_occupancy", "utilization", "usd_per_1m_input", "usd_per_1m_output"}) {
    CAPTURE(key);
    CHECK(value(key) == serving[key]);
  }
  for (const char* time : {"ttft_s", "tpot_s", "itl_s", "latency_s"})
    for (const char* of : {"mean", "p50", "p90", "p95", "p99", "p999"})
      CHECK(value(std::string(time) + "." + of) == serving[time][of]);
}

TEST_CASE("explained rates of closed-loop users count the same answers as the report", "[explain][serve][cli]") {
  const std::string server =
      " llama-3.1-8b --hardware h100 --users 40 --think-time 5s --num-requests 600 --slo-ttft 50ms";
  const json::Value serving = test::ask("serve" + server)["serving"];
  REQUIRE(serving["counted_requests"] < serving["requests"]);
  for (const char* key :
       {"throughput_in_tok_s", "throughput_out_tok_s", "throughput_req_s", "goodput_req_s", "utilization"}) {
    CAPTURE(key);
    CHECK(test::ask("explain serving." + std::string(key) + server)["quantities"][0]["value"] == serving[key]);
  }
}

TEST_CASE("explain states why it cannot derive a capacity", "[explain][serve][cli]") {
  const std::string asked = "explain steady_state.growth_req_s llama-3.1-8b --hardware h100 ";
  CHECK(test::llmcalc(asked + "--rate 5 --pools 1P1D")
            .err.find("separate prefill and decode engines (--pools) are not supported") != std::string::npos);
  CHECK(test::llmcalc(asked + "--rate 5 --batching static").err.find("fixed batches are not supported") !=
        std::string::npos);
  CHECK(test::llmcalc(asked + "--rate 1").err.find("a --rate beyond capacity") != std::string::npos);
}

TEST_CASE("a formula explained without a model shows how models and plans change it", "[explain][cli]") {
  const std::string out = test::llmcalc("explain kv_cache.bytes_per_token").out;
  CHECK_THAT(out, Contains("= 2*L*p_kv*G*d_h"));
  CHECK_THAT(out, Contains("latent attention, shared experts (DeepSeek-V3)"));
  CHECK_THAT(out, Contains("--tp 8"));
  CHECK_THAT(out, Contains("L*p_kv*(r_kv + d_r)"));
}

TEST_CASE("the cheat sheet lists every quantity and every rule", "[explain][cli]") {
  const json::Value v = test::ask("explain --all");
  CHECK(v["quantities"].size() == explain::definitions().size() + explain::general_definitions().size());
  CHECK(v["rules"].size() == explain::rules().size());
  for (const json::Value& q : v["quantities"]) {
    INFO(q["path"]);
    CHECK_FALSE(q["formulas"].empty());
    CHECK_FALSE(q["source"].get<std::string>().empty());
  }
  const std::string text = test::llmcalc("explain --all").out, markdown = test::llmcalc("explain --all --markdown").out;
  CHECK_THAT(text, Contains("(4 + 2*E)*L*D^2/T") && Contains("Goon (2.2), (2.12), (E.1)"));
  CHECK_THAT(markdown, Contains("### `parameters.attention`\n\nparameters of attention [parameters]"));
  CHECK(columns(longest_line(markdown)) <= 120);
}

TEST_CASE("every number of a report has an explanation", "[explain][cli]") {
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
                        section == "layout" || section == "stages" || section == "verdict" || section == "remedies" ||
                        path == "parameters.published";
    if (stated || !value.is_number()) continue;
    const auto& all = explain::definitions();
    INFO(path);
    CHECK(std::any_of(all.begin(), all.end(), [&](const explain::Definition& d) { return d.path == path; }));
    ++held;
  }
  CHECK(held > 90);
}

TEST_CASE("explanations are at most 80 columns wide", "[explain][cli][every]") {
  for (const char* arguments :
       {"", "parameters", "memory", "step", "end_to_end", "scaling", "collective", "hardware", "ridge h100",
        "attn.core gemma-3-27b", "all llama-3.1-405b --hardware h100 --tp 8 --tokens 15T",
        "all deepseek-v3 --hardware h200 --tp 8 --attention naive", "all falcon-40b --hardware a100-80gb --tp 4 --sp",
        "all gemma-3-27b --hardware h100 --recompute full --generate 3000",
        "inference_memory gpt-oss-20b --weight-precision gptq --tp 8",
        "target llama-3.1-8b --hardware h100 --target '20 ms'"}) {
    const test::Ran r = test::llmcalc(std::string("explain ") + arguments);
    INFO("explain " << arguments << "\n" << longest_line(r.out) << r.err);
    CHECK(r.code == 0);
    CHECK(columns(longest_line(r.out)) <= 80);
  }
}

TEST_CASE("a quantity without an explanation is rejected with a one-sentence error", "[explain][cli]") {
  CHECK_THAT(refused("activation_bytes llama-3.1-8b"), Contains("did you mean activations_bytes"));
  CHECK_THAT(refused("llama-3.1-8b"), Contains("'llmcalc explain all llama-3.1-8b'"));
  CHECK_THAT(refused("step.mfu llama-3.1-8b"), Contains("needs a device: add --hardware HW"));
  CHECK_THAT(refused("run.days llama-3.1-8b --hardware h100"), Contains("run.days needs --tokens D"));
  CHECK_THAT(refused("run.co2_kg llama-3.1-8b --hardware h100 --tokens 1T"), Contains("--co2 KG/KWH"));
  CHECK_THAT(refused("flops.formulas.megatron llama-3.1-8b"), Contains("a GPT"));
  CHECK_THAT(refused("memory.peak_bytes llama-3.1-8b --weight-precision q4_k"), Contains("is for inference"));
  CHECK_THAT(refused("parameters lama-3.1-8b"), Contains("did you mean"));
}

TEST_CASE("'explain all' skips quantities that a model lacks, with a note", "[explain][cli]") {
  const test::Ran r = test::llmcalc("explain all gpt-2-124m --prompt 1000");  // 1000 + 256 tokens exceed 1024 positions
  CHECK(r.code == 0);
  CHECK_THAT(r.out, Contains("note: ") && Contains("1024 learned positions"));
  CHECK_THAT(r.out, Contains("more quantities need a device"));
}

TEST_CASE("substituted numbers replace only whole symbols and keep function names", "[explain]") {
  const explain::Formula f{"L*max(D, d) + L_w*ceil(D/T)"};
  const std::vector<explain::Symbol> values{{"L", "", "2"}, {"L_w", "", "3"}, {"D", "", "5"}, {"d", "", "7"}};
  CHECK(joined(substituted(f, values)) == "2*max(5, 7) + 3*ceil(5/T)");
  CHECK(explain::identifiers(f.expression) == std::vector<std::string>{"L", "D", "d", "L_w", "T"});
}

TEST_CASE("a sum is expanded term by term", "[explain]") {
  const explain::Terms t{{{"n_i", "", ""}, {"F_i", "", ""}}, {{"a", {"2", "10"}}, {"b", {"3", "20"}}}};
  const explain::Formula f{"m*sum(n_i*max(F_i/pi, 1)) + m", {}, {t}};
  const auto pieces = substituted(f, {{"m", "", "4"}, {"pi", "", "5"}});
  CHECK(joined(pieces) == "4*(2*max(10/5, 1) + 3*max(20/5, 1)) + 4");
  CHECK(expression::exact(joined(pieces)).numerator() == 4 * (2 * 2 + 3 * 4) + 4);
  CHECK(pieces[2].name == "a");
}

TEST_CASE("simplification groups like terms, factors out common factors and keeps the value", "[explain]") {
  using explain::Expr;
  const Expr d("D", 5), a("A", 7), g("G", 3), t("T", 2), one("L", 1);
  CHECK((Expr(2) * d * a + a * d + (g + 1) * d).text() == "3*D*A + (G + 1)*D");
  CHECK((Expr(2) * d * a + a * d + (g + 1) * d).value() == textbook::Fraction(3 * 35 + 20));
  CHECK((d - Expr(2) * (a - g)).text() == "D - 2*(A - G)");
  CHECK((Expr(4) * (d * d / Expr(2))).text() == "2*D^2");
  CHECK((d * (d + 1) / Expr(2) * one).text() == "D*(D + 1)*L/2");
  CHECK((Expr(0) * d + Expr(1) * a - a).text() == "0");
  CHECK(quotient_up(Expr("F", 8), t).text() == "F/T");
  CHECK(quotient_up(d, t).text() == "ceil(D/T)");
  CHECK(quotient_up(d, t).value() == textbook::Fraction(3));
  CHECK((d / (Expr(6) * a)).text() == "D/(6*A)");
  CHECK(min(d, a).text() == "min(D, A)");
}

TEST_CASE("products and quotients of expressions have exactly the necessary parentheses", "[explain]") {
  CHECK(explain::product({"p", "2*D", "a + b"}) == "2*p*D*(a + b)");
  CHECK(explain::ratio("a + b", "2*c") == "(a + b)/(2*c)");
}

TEST_CASE("the expression evaluator of these tests is exact", "[explain]") {
  CHECK(expression::text(expression::exact("2^10*(3 + 4)/7 - 1").numerator()) == "1023");
  CHECK(expression::exact("ceil(7/2) + floor(-7/2) + min(3, 1.5)*2").numerator() == 4 - 4 + 3);
  CHECK(expression::exact("0.1 + 0.2 - 0.3").numerator() == 0);
  CHECK(expression::exact("3.35e3").numerator() == 3350);
  CHECK(expression::approximate("1e-05*2") == Approx(2e-5));
  CHECK_THROWS(expression::exact("2*L"));
  CHECK_THROWS(expression::exact("(1"));
}

TEST_CASE("the rules of thumb reproduce the seeds' numbers for GPT-3", "[explain]") {
  const Builtin* gpt = find_builtin(builtin_models(), "gpt-3-175b");
  REQUIRE(gpt != nullptr);
  Request r;
  r.model = load_model("gpt-3-175b");
  r.hardware = load_hardware("a100-sxm-80gb");
  r.plan.seq = 2048;
  r.plan.global_batch = 1;
  r.run.tokens = 300'000'000'000;
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
  CHECK(value("total activations, naive attention and dropout") == 96.0 * 2048 * (34.0 * 12288 + 5.0 * 96 * 2048));
  CHECK(value("FLOPs of a run") == Approx(6 * n * 3e11));
  CHECK(value("KV cache on each of T ranks") == 2.0 * 2 * 12288 * 96 * 2048);
  CHECK(value("batch size above which mixed precision saves memory") ==
        Approx(6.0 * 12288 * 12288 / (8.0 * 12288 * 2048 + 96.0 * 2048 * 2048)));
}

TEST_CASE("every operator's formula with numbers substituted equals the engine's count", "[explain]") {
  int held = 0;
  for (const char* model : {"gpt-3-175b", "gemma-3-27b", "deepseek-v3", "qwen1.5-moe-a2.7b"}) {
    const Arch a = load_model(model).arch;
    for (const auto& [step, phase] :
         {std::pair{Step{.sequences = 2, .queries = 37, .training = true, .dropout = true}, Phase::training},
          std::pair{Step{.sequences = 3, .queries = 1, .past = 2000}, Phase::decode}}) {
      const Pricing p{.phase = phase, .convention = AttentionFlops::causal_exact, .dropout = phase == Phase::training};
      for_each_operator(a, {}, {.tp = 2}, step, [&, which = p](const OperatorRow& row) {
        const OperatorFormula f = operator_formula(row.op, which);
        INFO(model << " " << row.op.name << ": " << f.formula.expression);
        const auto number = expression::exact(joined(substituted(f.formula, f.formula.own)));
        CHECK(expression::text(number.numerator()) == explain::number_text(f.value));
        ++held;
      });
    }
  }
  CHECK(held > 150);
}

TEST_CASE("operator formulas are written in the dimensions of the operator's shape", "[explain][cli]") {
  const std::string q = test::llmcalc("explain attn.q llama-3.1-8b --seq 8192").out;
  CHECK_THAT(q, Contains("= 2*rows*in*out") && Contains("= 2*8192*4096*4096") && Contains("274,877,906,944"));
  CHECK_THAT(test::llmcalc("explain attn.core gemma-3-27b").out, Contains("min(S, W)"));
  CHECK_THAT(refused("attn.q"), Contains("specify a model, 'llmcalc explain attn.q MODEL'"));
  CHECK_THAT(refused("moe.router llama-3.1-8b") + refused("head.nothing llama-3.1-8b"), Contains("llmcalc"));
}

TEST_CASE("a collective's formulas reproduce the times of the schedules", "[explain]") {
  const Link link{.ranks = 1024, .bandwidth = BytesPerSecond(2.5e10), .latency = Seconds(3e-6)};
  const Bytes message(Count{1} << 30);
  int held = 0;
  for (const explain::Definition& d : explain::general_definitions()) {
    if (!d.path.starts_with("collective.")) continue;
    const CollectiveOp op = parse<CollectiveOp>(d.path.substr(11)).value();
    CHECK(explain::general_variants(d).size() == algorithms(op).size() + 1);
    for (const explain::Variant& v : explain::general_variants(d))
      for (const auto& [ranks, levels] : {std::pair{2, 1}, {6, 3}, {64, 6}, {100, 7}}) {
        const std::vector<explain::Symbol> values{{"n", "", std::to_string(ranks)},
                                                  {"h", "", std::to_string(levels)},
                                                  {"M", "", "1073741824"},
                                                  {"alpha", "", "3e-6"},
                                                  {"beta_l", "", "2.5e10"}};
        if (v.when == "torus") continue;
        const Seconds t = collective_time(op, parse<CollectiveAlgorithm>(v.when).value(), message, ranks, link);
        INFO(d.path << " " << v.when << " over " << ranks << ": " << v.formula.expression);
        CHECK(static_cast<double>(expression::approximate(joined(substituted(v.formula, values)))) ==
              Approx(t.value).epsilon(1e-12));
        ++held;
      }
  }
  CHECK(held == 96);  // 24 algorithms over switches, 4 rank counts
}

TEST_CASE("the scaling laws' formulas reproduce the optima and the losses", "[explain]") {
  const std::vector<explain::Symbol> values{{"C", "", "5.76e23"}, {"N", "", "7e10"}, {"D", "", "1.4e12"}};
  int held = 0;
  for (const explain::Definition& d : explain::general_definitions()) {
    if (!d.path.starts_with("scaling.")) continue;
    for (const explain::Variant& v : explain::general_variants(d)) {
      const scaling::Fit fit = scaling::fit(v.when).value();
      const scaling::Optimum o = scaling::optimum_for_compute(fit, 5.76e23);
      const double loss = std::holds_alternative<scaling::LossFit>(fit)
                              ? scaling::loss(std::get<scaling::LossFit>(fit), 7e10, 1.4e12)
                              : 0;
      const double optimum = d.path == "scaling.params" ? o.params : o.tokens;
      INFO(d.path << " " << v.when << ": " << v.formula.expression);
      CHECK(static_cast<double>(expression::approximate(joined(substituted(v.formula, values)))) ==
            Approx(d.path == "scaling.loss" ? loss : optimum).epsilon(1e-9));
      ++held;
    }
  }
  CHECK(held == 7 + 7 + 3);
}

TEST_CASE("a device's ridge point is its peak over its bandwidth", "[explain][cli]") {
  const json::Value v = explained("ridge h100");
  CHECK(v["value"].get<double>() ==
        Approx(989.4e12 / 3.35e12).epsilon(1e-4));  // bf16 peak and HBM3 bandwidth from the datasheet
  CHECK(v["formula"] == "pi/beta");
  CHECK(test::ask("explain hardware --hardware h100")["quantities"].size() == 4);
}

TEST_CASE("long formulas name their parts, and long numbers have separators", "[explain]") {
  const std::string sum = "(AAAAAAAAAA + BBBBBBBBBB)";
  const auto short_one = explain::with_parts("L*" + sum, 80);
  CHECK(short_one.named.empty());
  const auto parts = explain::with_parts("L*" + sum + " + M*" + sum + " + max(CCCCCCCCCCCCCCCCCCCC, D)", 60);
  CHECK(parts.expression == "L*P_1 + M*P_1 + max(CCCCCCCCCCCCCCCCCCCC, D)");
  REQUIRE(parts.named.size() == 1);
  CHECK(parts.named[0].second == "AAAAAAAAAA + BBBBBBBBBB");
  CHECK(explain::with_separators("4096*16384 + 3.1415926535 + 1e12345 + d_12345 + max(100000, 7)") ==
        "4096*16,384 + 3.1415926535 + 1e12345 + d_12345 + max(100,000, 7)");
}

TEST_CASE("explain without arguments prints an index of quantities and terms", "[explain][cli]") {
  const test::Ran ran = test::llmcalc("explain");
  CHECK(ran.code == 0);
  CHECK_THAT(ran.out, Contains("weights_bytes") && Contains("KV cache") && Contains("--tp") && Contains("nvfp4"));
  const json::Value index = test::ask("explain")["index"];
  for (const explain::Definition& d : explain::definitions())
    CHECK(std::find(index.begin(), index.end(), json::Value(d.path)) != index.end());
}

TEST_CASE("explain accepts options, formats, schedules, terms and presets", "[explain][cli]") {
  for (const char* word : {"zb-v", "1f1b", "fp8", "q4_k_m", "SLO", "qlora", "kv cache", "--tp", "--batch-size", "vllm",
                           "h100", "serve", "gqa"}) {
    CAPTURE(word);
    const test::Ran ran = test::llmcalc("explain '" + std::string(word) + "'");
    CHECK(ran.code == 0);
    CHECK(ran.out.find('(') != std::string::npos);
  }
  const json::Value v = test::ask("explain zb-v")["meanings"][0];
  CHECK(v["kind"] == "term");
  CHECK_THAT(v["meaning"].get<std::string>(), Contains("in a V"));
  const test::Ran wrong = test::llmcalc("explain bubbel");
  CHECK(wrong.code == 2);
  CHECK_THAT(wrong.err, Contains("did you mean"));
  CHECK(test::llmcalc("explain --all zb-v").code == 2);
}

TEST_CASE("docs/glossary.md has the terms that the program explains", "[golden][cli]") {
  CHECK(test::llmcalc("explain glossary --markdown").out == test::read_file(LLMCALC_SOURCE_DIR "/docs/glossary.md"));
}

TEST_CASE("every quantity that a short answer suggests can be explained", "[explain][cli]") {
  for (const char* command :
       {"params gpt2", "memory gpt2", "flops gpt2", "train gpt2 --hardware h100", "infer gpt2 --hardware h100",
        "serve gpt2 --hardware h100 --rate 1 --num-requests 20", "plan train gpt2 --hardware h100 --gpus 2"}) {
    CAPTURE(command);
    const std::string out = test::llmcalc(command).out;
    const std::string why = "why: llmcalc ";
    const std::size_t at = out.find(why);
    REQUIRE(at != std::string::npos);
    CHECK(test::llmcalc(out.substr(at + why.size(), out.find('\n', at) - at - why.size())).code == 0);
  }
}
