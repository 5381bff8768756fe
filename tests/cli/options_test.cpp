#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>

#include "ask/request/check/check.hpp"
#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"
#include "cli/command.hpp"
#include "presets/load.hpp"
#include "report/question.hpp"
#include "report/render/render.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

// No option is ignored: an option that a command accepts changes a number in its answer for some model or is rejected,
// and any other option is rejected.

namespace {

using Words = std::vector<std::string>;

const Command& command(std::string_view name) {
  for (const Command& c : commands())
    if (c.name == name) return c;
  FAIL("no command " << name);
  return commands()[0];
}

Words split(const std::string& text, char at = ' ') {
  Words out{""};
  for (const char c : text)
    if (c == at)
      out.emplace_back();
    else
      out.back() += c;
  std::erase(out, "");
  return out;
}

/// The computed part of an answer, without inputs and notes. Empty if the request is rejected.
std::optional<std::string> numbers(const Question& q, const Words& words) {
  try {
    const Arguments typed(command(q.name), words);
    Request r;
    static std::map<std::string, ModelCard> models;
    const std::string model = typed.word("MODEL");
    if (!models.contains(model)) models[model] = load_model(model);
    r.model = models[model];
    typed.apply(r);
    check(r);
    json::Value v = report_json(answer(q, r));
    for (const char* part : {"inputs", "conventions", "notes", "verdict", "hardware"}) v.erase(part);
    return dump(v);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// Values that differ from every default, chosen by the option's value placeholder.
Words values(const Option& o) {
  if (o.value.empty()) return {""};
  if (o.value == "N") return {"2", "4", "64"};
  if (o.value == "D") return {"1T"};
  if (o.value == "LENGTHS") return {"64,8x120"};
  if (o.value == "F") return {"fp32", "fp16", "q8_0"};
  if (o.value == "X") return {"0.5", "0.1", "1.5", "100"};
  if (o.value == "HW") return {"a100"};
  if (o.value == "SIZE") return {"30GiB", "2x"};
  if (o.value == "FACTOR") return {"2x"};
  if (o.value == "0..3") return {"1"};
  if (o.value == "PARTS") return {"attention", "embedding,layers:0-3"};
  if (o.value == "NAME") return {"zb-h1"};
  if (o.value == "ORDER") return {"dp-tp-cp-ep-pp"};
  if (o.value == "N,N,...") return {"9,7,8,8"};
  if (o.value.starts_with("WHAT")) return {"activations"};
  if (o.value == "SPEED") return {"50 tokens/s"};
  if (o.value == "KINDS") return {"mlp"};
  if (o.value == "first:N,last:M") return {"first:2,last:1"};
  if (o.value.find('|') == std::string_view::npos) return {"3"};
  Words all = split(std::string(o.value), '|');
  for (std::string& v : all)
    if (v == "chunked:N" || v == "bytes:N") v.replace(v.size() - 1, 1, "8");
  return all;
}

/// Plans under which an option may have an effect.
Words surroundings(const Question& q, const Option& o) {
  const std::string device = q.needs_hardware && o.flag != "--hardware" ? "--hardware h100 " : "";
  Words all;
  for (const char* plan : {"", "--hardware h100", "--tp 2", "--tp 4", "--attention naive", "--tokens 1T",
                           "--tokens 1T --watts 700", "--tp 2 --sp --dp 8", "--pp 4 --global-batch 16", "--dp 8 --fsdp",
                           "--cp 2", "--tp 16", "--dp 2 --ep 2", "--dp 16 --ep 16", "--optimizer muon",
                           "--precision fp8", "--offload weights", "--hardware h100 --offload weights"})
    all.push_back(device + plan);
  return all;
}

enum class Effect { none, refused, changes };

/// The strongest effect of an option over all tested models, plans and values.
Effect effect(const Question& q, const Option& o) {
  bool answered = false;
  for (const char* model : {"llama-3.1-8b", "gpt-2-124m", "deepseek-v2-lite"})
    for (const std::string& around : surroundings(q, o)) {
      Words words = split(model + (" " + around));
      const std::optional<std::string> without = numbers(q, words);
      for (const std::string& value : values(o)) {
        Words with = words;
        with.emplace_back(o.flag);
        if (!o.value.empty()) with.push_back(value);
        const std::optional<std::string> now = numbers(q, with);
        if (now && without && *now != *without) return Effect::changes;
        answered = answered || now;
      }
    }
  return answered ? Effect::none : Effect::refused;
}

constexpr Parts how_it_is_printed = part::styles | part::pictures | part::exact | part::full | part::files;

}  // namespace

TEST_CASE("every option of a command changes a number in its answer or is rejected", "[options][long]") {
  for (const Question* q : questions())
    for (const Option& o : options()) {
      if ((o.parts & q->parts & ~how_it_is_printed) == 0) continue;
      if (q->needs_hardware && o.flag == "--hardware") continue;  // required for an answer
      if (o.flag == "--stages") continue;                         // always in JSON
      if (o.flag == "--require-fit") continue;                    // changes the exit code
      if (o.flag == "--any-software") continue;  // permits more plans without changing the numbers of any plan
      INFO("llmcalc " << q->name << " " << o.flag);
      CHECK(effect(*q, o) != Effect::none);
    }
}

TEST_CASE("every command that accepts a device gives different answers for two devices", "[options]") {
  for (const Question* q : questions())
    if ((q->parts & part::hardware) != 0)
      CHECK(numbers(*q, split("gpt2 --hardware h100")) != numbers(*q, split("gpt2 --hardware rtx-4090")));
}

TEST_CASE("an option that a command does not accept is rejected, but not as unknown", "[options]") {
  for (const Command& c : commands())
    for (const Option& o : options()) {
      const auto own = [&](const Option& other) { return other.flag == o.flag; };
      if ((o.parts & c.parts) != 0 || std::any_of(c.own.begin(), c.own.end(), own)) continue;
      Words words{std::string(o.flag)};
      if (!o.value.empty()) words.push_back(values(o)[0]);
      INFO("llmcalc " << c.name << " " << o.flag);
      try {
        const Arguments typed(c, words);
        FAIL_CHECK("taken");
      } catch (const InputError& e) {
        CHECK(std::string(e.what()).starts_with(o.flag));
        CHECK(std::string(e.what()).find("unknown") == std::string::npos);
      }
    }
}

TEST_CASE("the error for an option without its prerequisite names the prerequisite", "[options]") {
  const auto sentence = [](const std::string& arguments) {
    const test::Ran r = test::llmcalc(arguments);
    CHECK(r.code == 2);
    return r.err;
  };
  const std::string train = "train llama-3.1-8b --hardware h100 ", memory = "memory llama-3.1-8b ";
  CHECK(sentence(memory + "--train --batch 16") ==
        "llmcalc: --batch applies to inference; for training use --micro-batch\n");
  CHECK(sentence(memory + "--infer --seq 32k") == "llmcalc: --seq applies to training; for inference use --prompt\n");
  CHECK(sentence(memory + "--infer --micro-batch 16") ==
        "llmcalc: --micro-batch applies to training; for inference use --batch\n");
  CHECK(sentence(memory + "--infer --dropout") ==
        "llmcalc: --dropout applies to training, but this result is for inference; omit it\n");
  CHECK(sentence("infer llama-3.1-8b --hardware h100 --micro-batch 2") ==
        "llmcalc: --micro-batch applies to training; for inference use --batch\n");
  CHECK(sentence(memory + "--gpus 8") ==
        "llmcalc: --gpus is not an option of 'llmcalc memory', only of train, report, plan, explain or sweep; 'llmcalc "
        "memory "
        "--help-all' lists all options\n");
  CHECK(sentence(train + "--co2 0.4") ==
        "llmcalc: --co2 has no effect without --tokens; add --tokens, or omit --co2\n");
  CHECK(sentence(train + "--sp") == "llmcalc: --sp requires several tensor-parallel ranks; add --tp, or omit it\n");
  CHECK(sentence(train + "--mla absorbed") ==
        "llmcalc: --mla applies to latent attention, which this model does not have; omit it\n");
  CHECK(sentence("explain memory.peak_bytes llama-3.1-8b --batch 4") ==
        "llmcalc: --batch applies to inference; for training use --micro-batch\n");
  CHECK(sentence("explain memory.peak_bytes --seq 4") ==
        "llmcalc: --seq affects only numbers, which need a model: 'llmcalc explain QUANTITY MODEL'\n");
  CHECK(sentence("explain ridge --hardware h100 --batch 4") ==
        "llmcalc: --batch affects only numbers, which need a model: 'llmcalc explain QUANTITY MODEL'\n");
  // 1e9 tokens/s x 6 x 8e9 FLOPs are 4.8e19 FLOP/s, about 50,000 times the peak of one H100.
  CHECK(sentence(train + "--tokens 1T --measured-tokens-per-s 1e9").find("% of the peak of 1 h100-sxm-80gb in bf16") !=
        std::string::npos);
}

TEST_CASE("collective and scaling commands use every option or reject it", "[options]") {
  const auto differ = [](const std::string& a, const std::string& b) {
    INFO(a << " | " << b);
    json::Value x = test::ask(a), y = test::ask(b);
    x.erase("inputs");
    y.erase("inputs");
    CHECK(x != y);
  };
  const std::string reduce = "collective all-reduce --bytes 1GiB --ranks 8 ";
  differ(reduce, "collective all-reduce --bytes 2GiB --ranks 8");
  differ(reduce, "collective all-reduce --bytes 1GiB --ranks 4");
  differ(reduce, reduce + "--hardware h100");
  differ(reduce, reduce + "--bandwidth 25GB/s");
  differ(reduce + "--bandwidth 25GB/s", reduce + "--bandwidth 25GB/s --latency 5us");
  CHECK(test::llmcalc(reduce + "--latency 5us").code == 2);
  CHECK(test::llmcalc(reduce + "--hardware h100 --bandwidth 25GB/s --latency 5us").code == 2);
  differ("scaling --compute 5e23", "scaling --compute 6e23");
  differ("scaling --params 7B", "scaling --tokens 7B");
  differ("scaling --compute 5e23", "scaling --compute 5e23 --fit besiroglu");
  CHECK(test::llmcalc("scaling --compute 5e23 --params 7B").code == 2);
}

TEST_CASE("accuracy shows its rows in text on request, and always in JSON", "[options]") {
  const std::string memory = "accuracy memory " + test::measurements("experts");
  CHECK(test::llmcalc(memory).out != test::llmcalc(memory + " --rows").out);
  CHECK(test::ask(memory) == test::ask(memory + " --rows"));
}
