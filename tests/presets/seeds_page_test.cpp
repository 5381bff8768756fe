// docs/seeds.md: the numbers in its "correct" columns are exactly those computed here.

#include <cmath>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "calc/run.hpp"
#include "calc/scaling.hpp"
#include "calc/textbook/textbook.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "tests/calc/textbook_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::textbook;

namespace {

using Texts = std::vector<std::string>;
/// Heading of a section, and place in the seed that a row corrects. Rows that share both are merged.
using Place = std::pair<std::string, std::string>;

// ---- Number formats of the page

constexpr double gib = 1024.0 * 1024 * 1024;
double in_gib(Bytes b) { return real(b.value) / gib; }

std::string fixed(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }
/// 1.428e-2
std::string scientific(double value, int digits) {
  const auto exponent = static_cast<int>(std::floor(std::log10(value)));
  return fmt::format("{:.{}f}e{}", value / std::pow(10, exponent), digits, exponent);
}
/// 174 563 733 504
std::string grouped(Count n) {
  std::string s = std::to_string(n);
  for (std::size_t at = s.size(); at > 3;) s.insert(at -= 3, " ");
  return s;
}

// ---- Models and machines in the seeds

const Arch gpt3 = test::gpt3(), llama = test::llama3_8b();
constexpr double a100 = 312e12, fast = 2.0e12, slow = 1.6e12;  // FLOP/s, and bytes/s as printed in Goon's C.1

/// Goon §8: Falcon-40B with MHA, D 8192, L 60, on A100 of 80 GiB; 200 sequences of 2048 tokens.
struct Falcon {
  Count params = seed_parameters(60, 8192, 4).count();
  Bytes weights{2 * params}, sequence{seed_kv_cache(1, 2048, 8192, 60, 2).bytes()};
  double flops = 200 * (2 * real(params) + 4.0 * 60 * 8192 * 2048);
  Bytes read = weights + 200 * sequence;
  double computing = flops / (4 * a100), reading = real(read.value) / (4 * fast);  ///< seconds on four devices
  double printed_params = 40e9, printed_computing = 2 * 200 * printed_params / (4 * a100);

  Count held(Count devices) const {
    return max_batch({.memory = Count{80} << 30, .devices = devices, .weights = weights.value}, sequence.value / 2048,
                     2048);
  }
  Count devices() const {
    Count n = 1;
    while (held(n) < 200) ++n;
    return n;
  }
};
const Falcon falcon;

std::pair<Count, Count> vocabularies() {
  std::set<Count> all;
  for (const Builtin& b : builtin_models()) all.insert(load_model(b.name).arch.vocabulary);
  return {*all.begin(), *all.rbegin()};
}
/// TB/s in a datasheet.
std::string bandwidth(const char* device) {
  return fixed(load_hardware(device).cluster.device.bandwidth.value / 1e12, 3);
}

// ---- Expected numbers by place

using Expected = std::map<Place, Texts>;

void add_memory(Expected& e) {
  const StatePreset fp32 = *state_preset("adam_fp32"), mixed = *state_preset("adam_mixed_fp32_grads");
  const Texts both{std::to_string(mixed.weights + mixed.optimizer), std::to_string(fp32.weights + fp32.optimizer)};
  const std::string single = std::to_string(fp32.total());
  const double llama_short = 1 - seed_parameters(32, 4096, {Exact(7), 2}).value() / real(parameters(llama).total());
  const double gpt3_short = real(parameters(gpt3).total()) / seed_parameters(96, 12288, 4).value() - 1;
  const double logits = logits_activations(1, 8192, 128256, 4).value() / (34.0 * 8192 * 4096 * 32);
  const auto pays = [](Count d, Count a, Count s) { return mixed_precision_break_even_batch(d, a, s).value(); };
  e[{"What matters most", "mixed precision more than doubles the states"}] = both;
  e[{"Architecture", "§1.1"}] = {grouped(parameters(gpt3).embedding + parameters(gpt3).position)};
  e[{"Memory", "(2.1), (2.4)"}] = {single};
  e[{"Memory", "(2.2)"}] = {fixed(100 * gpt3_short, 2), fixed(100 * llama_short, 0), fixed(128256.0 / (4096 * 32), 2)};
  e[{"Memory", "§2.1.3"}] = {fixed(100 * logits, 1)};
  e[{"Memory", "after (2.9)"}] = {fixed(pays(12288, 96, 2048), 1), "2048", fixed(pays(8192, 128, 2048), 1),
                                  fixed(pays(4096, 32, 512), 0) + " around"};
  e[{"Memory", "(2.12)"}] = {grouped(seed_parameters(96, 12288, 4, 0, 8).count())};
  e[{"Goon, first stage", "§2.1"}] = {single};
  e[{"Goon, first stage", "(2.2)"}] = {grouped(seed_parameters(96, 12288, 4, 50257).count())};
  e[{"Goon, second stage", "after them"}] = both;
}

void add_case_study(Expected& e) {
  const Gpt3CaseStudy right = gpt3_case_study(Gpt3States::corrected), printed = gpt3_case_study(Gpt3States::printed);
  const char* const here = "The GPT-3 case study";
  const double printed_ratio = 3e-2 * 2048 * (1 + 2.048) / 1463;  // (2.18) and (2.16) as printed
  e[{"What matters most", "GPT-3's training states are 1463 TiB"}] = {fixed(in_gib(right.states()), 0)};
  e[{here, "(2.16)"}] = {fixed(in_gib(right.states()), 1)};
  e[{here, "(2.17)"}] = {fixed(in_gib(right.weights), 1), fixed(in_gib(right.gradients), 1),
                         fixed(in_gib(right.optimizer), 1)};
  e[{here, "§2.6"}] = {fixed(100 * real(parameters(gpt3).embedding) / real(right.params), 3)};
  e[{here, "(2.18)"}] = {scientific(in_gib(right.linear_per_token), 3),
                         fixed(activation_crossover_seq(12288, 96).value(), 1)};
  e[{here, "(2.19)"}] = {fixed(right.activation_ratio(2048), 3), fixed(printed.activation_ratio(2048), 3),
                         fixed(printed_ratio, 3)};
  e[{here, "(2.20)"}] = {fixed(in_gib(right.states()) / 8, 1), fixed(in_gib(right.sharded_states), 1),
                         scientific(right.sharded_linear.value() / gib, 3),
                         scientific(right.sharded_quadratic.value() / gib, 3)};
}

void add_flops(Expected& e) {
  const Count blocks = seed_parameters(96, 12288, 4).count();
  const Flops total = seed_train_flops(1, 96, 2048, 12288, 4);
  const double beyond = static_cast<double>(total.value) / static_cast<double>(six_nd(blocks, 2048).value) - 1;
  const auto rule = scaling::optimum_for_params(scaling::rule_of_thumb(), 1e9);
  e[{"FLOPs", "(3.2)"}] = {grouped(static_cast<Count>(total.value)), "2048"};
  e[{"FLOPs", "(3.3)"}] = {fixed(100 * beyond, 2)};
  e[{"FLOPs", "(3.4)"}] = {scientific(static_cast<double>(six_nd(blocks, 300'000'000'000).value), 3), "300e9"};
  e[{"FLOPs", "§4"}] = {fixed(rule.tokens_per_parameter(), 0)};
}

void add_inference(Expected& e) {
  Arch real_falcon;
  real_falcon.layers = 60;
  real_falcon.heads = 128;
  real_falcon.kv_heads = 8;
  real_falcon.head_dim = 64;
  const double checkpoint = 2 * real(*load_model("falcon-40b").stored) / gib;
  const std::string devices = std::to_string(falcon.devices());
  const std::string computing = fixed(1e3 * falcon.computing, 0), reading = fixed(1e3 * falcon.reading, 0);
  e[{"What matters most", "Falcon-40B needs 4 devices for 200 sequences and is compute-bound"}] = {
      devices, reading, computing, fixed(falcon.reading / falcon.computing, 0) + " times"};
  e[{"Inference", "fn. 31"}] = {"64", fixed(in_gib(kv_cache_bytes(real_falcon, 1, 2048, 2)), 3)};
  e[{"Inference", "(8.1)"}] = {fixed(in_gib(falcon.weights), 0), fixed(checkpoint, 1),
                               fixed(in_gib(falcon.sequence), 2)};
  e[{"Inference", "§8"}] = {devices,
                            std::to_string(falcon.held(4)),
                            computing,
                            reading,
                            fixed(1e3 * falcon.printed_computing, 1),
                            fixed(falcon.printed_params / 1e9, 0),
                            fixed(falcon.flops / real(falcon.read.value), 1),
                            fixed(ridge_point(a100, fast), 0),
                            fixed(1 / falcon.printed_computing, 1),
                            fixed(1 / falcon.reading, 1)};
  e[{"Inference", "fn. 32"}] = {fixed(reading_tokens_per_second(), 3)};
  // The third number is the V100S's, from NVIDIA's datasheet; that card has no preset.
  e[{"Appendices", "C.1"}] = {bandwidth("a100-pcie-40gb"), bandwidth("a100-sxm-80gb"), "1.134"};
  e[{"Appendices", "D.1"}] = {fixed(seed_matmul_intensity(1, 2048, 12288, 2), 0),
                              fixed(seed_matmul_intensity(1, 1, 8192, 2), 4)};
  e[{"Appendices", "D.2"}] = {fixed(critical_batch(ridge_point(a100, fast), 2), 0),
                              fixed(critical_batch(ridge_point(a100, slow), 2), 0)};
}

void add_wolfe(Expected& e) {
  const auto [least, most] = vocabularies();
  e[{"Wolfe", "vocabulary"}] = {grouped(least), grouped(most)};
  e[{"Wolfe", "head"}] = {grouped(wolfe_parameters(12, 768, 50257, 1024, true)),
                          grouped(wolfe_parameters(12, 768, 50257, 1024, false)),
                          grouped(gpt2_parameters(12, 768, 3072, 50257, 1024))};
  e[{"Wolfe", "RMSNorm"}] = {"64"};                                                  // arXiv:1910.07467, abstract
  e[{"Wolfe", "takeaways"}] = {fixed(11008.0 / 4096, 1), fixed(14336.0 / 4096, 1)};  // LLaMA-7B, Llama-3-8B
}

void add_jia(Expected& e) {
  const double deviation = std::sqrt((0.0 + 100 * 100 + 0 + 100 * 100) / 4);  // for 100, 200, 100, 0
  const double rms = std::sqrt((100.0 * 100 + 200 * 200 + 100 * 100) / 4);
  const ParameterSums round = parameters(load_model(LLMCALC_SOURCE_DIR "/docs/cases/jia-llama-3-405b.json").arch);
  const Arch exact = load_model("llama-3.1-405b").arch;
  const double head = real(head_matmul_parameters(llama)) / real(matmul_parameters(llama));
  e[{"Jia", "§2.2.1"}] = {fixed(deviation, 3), fixed(100 / deviation, 5)};
  e[{"Jia", "§2.2.4"}] = {fixed(rms, 3), fixed(100 / rms, 6), fixed(200 / rms, 6)};
  e[{"Jia", "§2.5.2"}] = {fixed(14336.0 / 4096, 1)};
  e[{"Jia", "§2.6.1"}] = {fixed(100 * head, 0) + "%", std::to_string(llama.hidden), "8192"};
  e[{"Jia", "§2.7"}] = {grouped(exact.vocabulary), grouped(parameters(exact).total()),
                        fixed(real(round.total() + round.mlp / 3) / 1e9, 1), grouped(round.total()),
                        fixed(100 * real(round.mlp) / real(round.total()), 3)};
}

Expected expected() {
  Expected e;
  add_memory(e);
  add_case_study(e);
  add_flops(e);
  add_inference(e);
  add_wolfe(e);
  add_jia(e);
  return e;
}

// ---- The page

Texts cells(std::string line) {
  line = std::regex_replace(line, std::regex(R"(\\\|)"), "/");
  Texts all;
  std::stringstream in(line.substr(1));
  for (std::string cell; std::getline(in, cell, '|');)
    all.push_back(std::regex_replace(cell, std::regex("^ +| +$"), ""));
  return all;
}

/// The corrections in all rows, by place.
std::map<Place, std::string> corrections() {
  std::ifstream page(LLMCALC_SOURCE_DIR "/docs/seeds.md");
  std::map<Place, std::string> all;
  std::string heading;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("#")) heading = line.substr(line.find(' ') + 1);
    if (!line.starts_with("| ") || heading == "Features that change no number") continue;
    const Texts row = cells(line);
    const bool short_row = heading == "What matters most";
    all[{heading, row.at(0)}] += " " + (short_row ? row.at(1) + " " + row.at(2) : row.at(2));
  }
  return all;
}

/// Standalone numbers of two or more digits: no coefficients, equations or parts of names.
Texts numbers(std::string text) {
  text = std::regex_replace(text, std::regex(R"((Llama|LLaMA|GPT|Gemma|Falcon|seed)[- ]\d[\w.-]*)"), "");
  const std::regex number(R"((^|[^\w.^(/-])(\d+( \d{3})*(\.\d+)?(e-?\d+)?)(?![\w(^]))");
  Texts all;
  for (std::sregex_iterator at(text.begin(), text.end(), number), end; at != end; ++at)
    if ((*at)[2].length() > 1) all.push_back((*at)[2]);
  return all;
}

}  // namespace

TEST_CASE("every computed correction is on the seeds page", "[seed][page]") {
  const auto page = corrections();
  for (const auto& [place, texts] : expected()) {
    CAPTURE(place.first, place.second);
    REQUIRE(page.count(place) == 1);
    for (const std::string& text : texts) CHECK_THAT(page.at(place), Catch::Contains(text));
  }
}

TEST_CASE("every corrected number on the seeds page is computed", "[seed][page]") {
  const Expected computed = expected();
  std::size_t found = 0;
  for (const auto& [place, text] : corrections())
    for (const std::string& number : numbers(text)) {
      CAPTURE(place.first, place.second, number);
      const auto at = computed.find(place);
      REQUIRE(at != computed.end());
      CHECK(std::count(at->second.begin(), at->second.end(), number) == 1);
      ++found;
    }
  CHECK(found > 70);
}
