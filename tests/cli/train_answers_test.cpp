/// Answers of `train` about a layout and a run.

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using Catch::Contains;
using test::ask;

namespace {

bool has_line(const json::Value& lines, const std::string& part) {
  for (const json::Value& line : lines)
    if (line.get<std::string>().find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("a sequence length that Megatron-LM rejects under --sp is computed, with a note", "[cli]") {
  const std::string train = "train llama-3.1-8b --hardware h100 --tp 2 ";
  const std::string note = "Megatron-LM rejects --seq 1023 under --sp, because 2 ranks do not divide it";
  CHECK(has_line(ask(train + "--sp --seq 1023")["notes"], note));
  CHECK_FALSE(has_line(ask(train + "--seq 1023")["notes"], note));
  CHECK_FALSE(has_line(ask(train + "--sp --seq 1024")["notes"], "Megatron-LM rejects"));
}

TEST_CASE("documents that do not split evenly over context-parallel ranks cause a warning", "[cli]") {
  const std::string train = "train llama-3.1-8b --hardware h100 --cp 8 --dp 1 ", note =
                                                                                     "documents of 1000 tokens "
                                                                                     "do not";
  CHECK(has_line(ask(train + "--documents 3x1000,5192")["notes"], note));
  CHECK_FALSE(has_line(ask(train + "--documents 4x2048")["notes"], "documents of"));
  CHECK_FALSE(has_line(ask(train + "--cp-method ulysses --documents 3x1000,5192")["notes"], note));
}

// Mixtral has 46,702,792,704 parameters, of which 32 layers x 8 experts x 3 x 4096 x 14336 belong to experts. One
// replica spans 8 GPUs, each with one expert and an eighth of the rest, at 2 + 4 + 12 bytes per parameter.
TEST_CASE("under hybrid sharding, every replica of the sharded states holds all experts", "[cli][hsdp]") {
  const long experts = 32L * 8 * 3 * 4096 * 14336, rest = 46'702'792'704 - experts;
  const auto memory = [](const std::string& layout) {
    return ask("train mixtral-8x7b --hardware h100 --fsdp --ep 8 --global-batch 64 --seq 4096 " + layout)["memory"];
  };
  const json::Value copies = memory("--gpus 64 --hsdp 8"), one = memory("--gpus 8 --micro-batch 1");
  CHECK(copies["weights_bytes"].get<long>() + copies["gradients_bytes"].get<long>() +
            copies["optimizer_bytes"].get<long>() ==
        18 * (experts / 8 + rest / 8));
  CHECK(copies["fits"] == false);
  for (const char* part : {"weights_bytes", "gradients_bytes", "optimizer_bytes", "gathered_bytes", "buckets_bytes"})
    CHECK(copies[part] == one[part]);
}

TEST_CASE("train pads the vocabulary as its training stack does", "[cli]") {
  const std::string layout = "gpt-3-175b --tp 8 --seq 2048 ", train = "train --hardware a100 " + layout;
  const json::Value padded = ask(train);
  const auto logits = [](const json::Value& answer) { return answer["memory"]["logits_bytes"].get<long>(); };
  CHECK(logits(padded) == 4L * 2048 * 51200 / 8);  // Megatron-LM's padded rows of GPT-3 over 8 ranks
  CHECK(logits(ask("memory --train " + layout)) == logits(padded));
  CHECK(has_line(padded["notes"], "from 50257 to 51200 rows"));
  CHECK(logits(ask(train + "--software none")) == 4L * 2048 * 6283);
}

TEST_CASE("layers are divided by estimated time: no other split over two stages is faster", "[cli]") {
  for (const char* software : {"", " --software none"}) {
    const std::string train = "train gpt2 --hardware h100 --pp 2 --global-batch 16" + std::string(software);
    const double time = ask(train)["step"]["time_s"];
    for (int n = 1; n < 12; ++n)
      CHECK(time <= ask(fmt::format("{} --stage-layers {},{}", train, n, 12 - n))["step"]["time_s"].get<double>());
  }
}

TEST_CASE("a DualPipe rank has one chunk of each direction, and the slowest rank is as fast as possible", "[cli]") {
  const std::string train =
      "train llama-3.1-8b --hardware h100 --pp 4 --schedule dualpipe --global-batch 16 --software none";
  const double time = ask(train)["step"]["time_s"];
  CHECK(time <= 1.01 * ask(train + " --stage-layers 8,8,9,7")["step"]["time_s"].get<double>());
  CHECK(time < 0.98 * ask(train + " --stage-layers 9,9,9,5")["step"]["time_s"].get<double>());
}

TEST_CASE("the division of layers is printed as a valid command-line value", "[cli]") {
  for (const char* layout : {"--pp 8 --chunks 3", "--pp 8", "--pp 4 --schedule dualpipe", "--pp 8 --schedule zb-v"}) {
    const std::string train = std::string("train llama-3-70b --hardware h100 --global-batch 64 ") + layout;
    const json::Value one = ask(train);
    const std::string spread = one["layout"]["stage_layers"];
    INFO(layout << ": " << spread);
    CHECK(has_line(one["notes"], "--stage-layers " + spread));
    const json::Value again = ask(train + " --stage-layers " + spread);
    CHECK(again["inputs"]["stage_layers"] == spread);
    CHECK(again["step"] == one["step"]);
    CHECK(again["stages"] == one["stages"]);
    CHECK_FALSE((again.contains("notes") && has_line(again["notes"], "--stage-layers")));
  }
  CHECK_FALSE(ask("train gpt2 --hardware h100")["layout"].contains("stage_layers"));
}

TEST_CASE("micro-batches in flight only for their weight gradients are counted separately", "[cli]") {
  const std::string train =
      "train gpt-3-175b --hardware a100 --gpus 64 --tp 8 --sp --pp 8 --global-batch 64 --schedule ";
  const json::Value stages = ask(train + "zb-h1")["stages"];
  REQUIRE(stages.size() == 8);
  for (Count i = 0; i < 8; ++i) {  // later stages have later weight gradients
    const json::Value& s = stages[static_cast<std::size_t>(i)];
    CHECK(s["in_flight"] == 8);
    CHECK(s["for_weights"] == i + 1);
  }
  CHECK_FALSE(ask(train + "1f1b")["stages"][0].contains("for_weights"));
  const std::string text = test::llmcalc(train + "zb-h1 --stages").out;
  CHECK_THAT(text, Contains("flight  weights"));
  CHECK_THAT(text, Contains("only for weight gradients"));
}

TEST_CASE("the suggested GPU count finishes the run in the given days, and the next smaller one does not", "[cli]") {
  const std::string train = "train llama-3.1-8b --hardware h100 --tp 8 --sp --global-batch 512 --tokens 15T --days 30 ";
  const json::Value run = ask(train)["run"];
  const Count gpus = run["gpus_needed"];
  CHECK(ask(train + fmt::format("--gpus {}", gpus))["run"]["days"] <= 30);
  CHECK(ask(train + fmt::format("--gpus {}", gpus / 2))["run"]["days"] > 30);
  CHECK(512 % (gpus / 8) == 0);
  CHECK_FALSE(
      ask("train llama-3.1-8b --hardware h100 --tp 8 --sp --global-batch 8 --tokens 15T --days 1")["run"].contains(
          "gpus_needed"));
}

TEST_CASE("the interval of the step's time carries over to hours, energy, cost and the GPUs for a deadline", "[cli]") {
  const std::string train = "train llama-3.1-8b --hardware h100 --tp 8 --sp --tokens 1T ";
  const json::Value run = ask(train + "--gpus 64 --days 30 --co2 0.4 --price 2")["run"];
  const double days = run["days"], high = run["days_high"], low = run["days_low"];
  CHECK(low < days);
  CHECK(days < high);
  for (const char* key : {"gpu_hours", "energy_kwh", "co2_kg", "cost_usd"}) {
    CHECK(run[std::string(key) + "_high"].get<double>() / run[key].get<double>() == Approx(high / days));
    CHECK(run[std::string(key) + "_low"].get<double>() / run[key].get<double>() == Approx(low / days));
  }
  const Count gpus = run["gpus_needed_high"];
  const auto slow_days = [&](Count n) { return ask(train + fmt::format("--gpus {}", n))["run"]["days_high"]; };
  CHECK(slow_days(gpus) <= 30);
  CHECK(slow_days(gpus - 8) > 30);
  CHECK(run["gpus_needed_low"] < run["gpus_needed"]);
}

TEST_CASE("without --global-batch each replica adds its batch, and one replica fewer misses the deadline", "[cli]") {
  const std::string train = "train llama-3.1-8b --hardware h100 --tp 8 --sp --tokens 1T --days 30 ";
  const Count gpus = ask(train)["run"]["gpus_needed"];
  CHECK(ask(train + fmt::format("--gpus {}", gpus))["run"]["days"] <= 30);
  CHECK(ask(train + fmt::format("--gpus {}", gpus - 8))["run"]["days"] > 30);
}

TEST_CASE("the GPU count for a deadline in days is sufficient with failures included", "[cli]") {
  const std::string train =
      "train llama-3.1-8b --hardware h100 --tp 2 --zero 1 --tokens 1T --days 30 --mtbf 2k --checkpoint-bandwidth 1GB/s "
      "--restart 600 ";
  const Count gpus = ask(train)["run"]["gpus_needed"];
  CHECK(ask(train + fmt::format("--gpus {}", gpus))["run"]["effective_days"] <= 30);
  CHECK(ask(train + fmt::format("--gpus {}", gpus - 2))["run"]["effective_days"] > 30);
}

TEST_CASE("a run's energy uses the hardware file's power unless --watts is given", "[cli]") {
  const std::string train = "train llama-3.1-8b --hardware h100 --gpus 64 --tp 8 --tokens 1T ";
  const json::Value run = ask(train + "--co2 0.4")["run"], other = ask(train + "--watts 350 --pue 1.2")["run"];
  CHECK(run["energy_kwh"] == Approx(0.7 * run["gpu_hours"].get<double>()));
  CHECK(run["co2_kg"] == Approx(0.4 * run["energy_kwh"].get<double>()));
  CHECK(other["energy_kwh"] == Approx(0.6 * run["energy_kwh"].get<double>()));
}

TEST_CASE("every number in the headline of a run with failures accounts for the failures", "[cli]") {
  const json::Value v = ask(
      "train llama-3.1-8b --hardware h100 --gpus 64 --tp 8 --sp --tokens 1T --mtbf 1000 --checkpoint-bandwidth 1GB/s "
      "--price 2");
  const double cost = v["run"]["cost_usd"], hours = v["run"]["effective_gpu_hours"];
  CHECK(cost == Approx(2 * hours));
  CHECK(has_line(v["verdict"]["text"], fmt::format("run: {:.2f} days", v["run"]["effective_days"].get<double>())));
  CHECK(has_line(v["verdict"]["text"], "including failures"));
}

TEST_CASE("if a plan meets its target but does not fit, the verdict suggests changes that achieve both", "[cli]") {
  const json::Value v = ask(
      "train llama-3.1-8b --hardware h100 --gpus 8 --tp 2 --sp --micro-batch 8 --global-batch 64 --target '1000 s'");
  REQUIRE(v["memory"]["fits"] == false);
  CHECK(has_line(v["verdict"]["text"], "target: 1000 s is met in time, but the plan does not fit in memory"));
  CHECK(has_line(v["verdict"]["text"], "each of these changes makes it fit in that time: "));
  CHECK_FALSE(v["step_target"].contains("bandwidth_factor"));
}

TEST_CASE("compare prints MFU and step-time changes as percentages", "[cli]") {
  const std::string out =
      test::llmcalc("compare --of 'train llama-3.1-8b --hardware h100 --dp 8' --vs '--zero 1' --full").out;
  for (std::size_t at = 0, end = 0; at < out.size(); at = end + 1) {
    end = std::min(out.find('\n', at), out.size());
    const std::string line = out.substr(at, end - at);
    if (!line.starts_with("  MFU") && line.find("change in step time") == std::string::npos) continue;
    INFO(line);
    CHECK(std::count(line.begin(), line.end(), '%') >= 2);
  }
  CHECK_THAT(out, Contains("change in step time"));
}

TEST_CASE("a formula with long numbers is wrapped after operators", "[cli]") {
  const std::string out = test::llmcalc(
                              "explain run.goodput llama-3.1-8b --hardware h100 --gpus 64 --tp 8 --sp --tokens 1T "
                              "--mtbf 50k --checkpoint-bandwidth 10GB/s")
                              .out;
  for (std::size_t at = 0, end = 0; at < out.size(); at = end + 1) {
    end = std::min(out.find('\n', at), out.size());
    CHECK(end - at <= 80);
  }
}
