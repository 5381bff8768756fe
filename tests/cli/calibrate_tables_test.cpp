// 'llmcalc calibrate --from DIR': a hardware file from operator tables.

#include <array>
#include <filesystem>
#include <stdexcept>

#include "presets/builtin.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

const std::string tables = "evidence/operators/rtx-pro-6000";

std::string path(const std::string& name) { return test::scratch() + "/" + name; }

json::Value file(const std::string& name) { return json::parse(test::read_file(path(name)), name); }

void refused(const std::string& arguments, const std::string& sentence) {
  const test::Ran r = test::llmcalc("calibrate " + arguments + " --out " + path("refused.json"));
  CHECK(r.code == 2);
  CHECK(r.err == "llmcalc: " + sentence + "\n");
  CHECK(r.out.empty());
  CHECK_FALSE(std::filesystem::exists(path("refused.json")));
}

const json::Value& row(const json::Value& list, const std::string& key, const std::string& name) {
  for (const json::Value& v : list)
    if (v[key] == name) return v;
  throw std::runtime_error("no " + name);
}

bool notes_say(const json::Value& report, const std::string& part) {
  for (const json::Value& note : report["notes"])
    if (note.get<std::string>().find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("every command with a hardware option accepts a file made from operator tables", "[calibrate][long]") {
  const json::Value report = test::ask("calibrate --from " + tables + " --name rtx --out " + path("rtx.json"));
  CHECK(report["inputs"]["from"] == tables);
  const json::Value rtx = file("rtx.json");
  CHECK(rtx["name"] == "rtx");
  CHECK(rtx["memory"]["bandwidth"] == "1.792 TB/s");  // from the datasheet
  CHECK_FALSE(rtx.contains("aliases"));
  CHECK(rtx["achieved"]["engine"] == "vllm");
  CHECK(rtx["achieved"]["memory"].get<double>() ==
        Approx(row(report["rates"], "number", "memory")["value"].get<double>()).epsilon(1e-3));
  CHECK(rtx["achieved"]["how"].get<std::string>().starts_with(
      "llmcalc calibrate on RTX PRO 6000 Blackwell Server: from tables of operators of vLLM 0.19.0 (llama-3.1-8b, tp "
      "1; qwen3-30b-a3b, tp 1; qwen3-32b, tp 2), "));
  CHECK_FALSE(rtx["achieved"].contains("recorded"));  // meta.yaml: enforce_eager: true

  // A token reads all weights except the token embedding, and 128 KiB of cache for each of 2176 tokens, at the
  // fraction of 1.792 TB/s that the file states. Each of 32 layers launches 14 operators; 3 more are outside the
  // layers.
  const double share = rtx["achieved"]["memory"].get<double>(),
               launch = 1e-6 * std::stod(rtx["achieved"]["launch"].get<std::string>());
  const double bytes = 2 * (8030261248.0 - 128256.0 * 4096) + 2176 * 131072.0;
  const json::Value with = test::ask("infer llama-3.1-8b --software none --hardware " + path("rtx.json"));
  CHECK(with["decode"]["time_per_token_s"].get<double>() ==
        Approx(bytes / (share * 1.792e12) + (32 * 14 + 3) * launch).epsilon(0.02));
  // The engine's loop overhead is added to the time at these rates. The device class provides the rest of the estimate.
  const json::Value under = test::ask("infer llama-3.1-8b --hardware " + path("rtx.json"));
  CHECK(under["inference_estimate"]["software"] == "vllm");
  CHECK(under["inputs"]["memory_efficiency"] == rtx["achieved"]["memory"]);
  CHECK(under["decode"].contains("time_per_token_low_s"));
  CHECK(notes_say(under, "measured on the device: matmuls in bf16, attention, memory, kernel launches; the rest"));
  // Server replays from operator tables narrow the interval of a server's times. The note gives the factors.
  const std::string server = "serve llama-3.1-8b --rate 0.2 --num-requests 60 --hardware ";
  const json::Value known = test::ask(server + path("rtx.json")),
                    unknown = test::ask(server + "rtx-pro-6000-blackwell-server");
  for (const char* time : {"tpot_s", "ttft_s"}) {
    const auto width = [&](const json::Value& r) {
      return r["serving"][time]["mean_high"].get<double>() / r["serving"][time]["mean"].get<double>();
    };
    CHECK(width(known) < width(unknown));
  }
  CHECK(notes_say(known, "narrowed to the error of server replays from such tables (decode under load "));
  const json::Value timed =
      test::ask("validate docs/examples/tiny-llama.json --seq 8 --train --repeats 2 --hardware " + path("rtx.json"));
  CHECK(
      notes_say(timed, "tables of operators, a hardware file that 'llmcalc calibrate' did not write on this machine"));
}

TEST_CASE("each rate lists the table rows it comes from, and each layer its prediction error", "[calibrate][long]") {
  const json::Value report = test::ask("calibrate --from " + tables + "/llama-3.1-8b --out " + path("llama.json"));
  const json::Value& memory = row(report["rates"], "number", "memory");
  CHECK(memory["tables"] == 1);
  CHECK(memory["rows"] == 32);  // gate_up_proj and lm_head, both above 128 MiB, on 1 to 16 tokens
  CHECK(memory["lowest"] == memory["highest"]);
  CHECK(memory["in_file"] == true);
  CHECK(row(report["rates"], "number", "cache_reads")["in_file"] == false);
  const json::Value& down = row(report["residuals"], "layer", "down_proj");
  CHECK(down["table"] == "llama-3.1-8b, tp 1");
  CHECK(down["rows"] == 152);
  for (const char* key : {"to_16", "to_256", "above", "median"})
    CHECK(down[key].get<double>() == Approx(1).margin(0.1));
  CHECK(notes_say(report, "sampler: omitted, since no operator corresponds to it"));
  CHECK(notes_say(report, "only gpu, hardware, model"));
  CHECK(notes_say(report, "the tables do not state that kernels ran in captured graphs"));
}

TEST_CASE("a calibration report from operator tables fits on the screen", "[calibrate][long]") {
  for (const unsigned short columns : std::array<unsigned short, 2>{80, 120}) {
    const std::string text = test::on_terminal("calibrate --from " + tables + " --out " + path("screen.json"), columns);
    CHECK_THAT(text, Contains("predicted / measured") && Contains("gate_up_proj") && Contains("KV cache reads *"));
    CHECK(text.find("written to ") < text.find("rates derived from the tables"));
  }
}

TEST_CASE("operator tables can be combined with the datasheet and model of another preset", "[calibrate][long]") {
  const std::string one = path("box/dev/some/tp1");
  std::filesystem::create_directories(one);
  for (const char* name : {"dense.csv", "attention.csv", "per_sequence.csv"})
    std::filesystem::copy_file(std::string(LLMCALC_SOURCE_DIR) + "/" + tables + "/llama-3.1-8b/tp1/" + name,
                               one + "/" + name);
  const std::string from = "--from " + path("box/dev");
  refused(from, "the tables in '" + one + "': unknown hardware \"dev\" ('llmcalc list hardware' shows all " +
                    std::to_string(builtin_hardware().size()) + "); alternatively, pass --hardware HW");
  const test::Ran no_model = test::llmcalc("calibrate " + from + " --hardware rtx-pro-6000 --out " + path("x.json"));
  CHECK(no_model.code == 2);
  CHECK_THAT(no_model.err, Contains("unknown model \"some\"") && Contains("; alternatively, pass --model MODEL"));
  const json::Value report =
      test::ask("calibrate " + from + " --hardware rtx-pro-6000 --model llama-3.1-8b --out " + path("given.json"));
  CHECK(notes_say(report, "weights in bf16, since no meta.yaml states their format"));
  CHECK(notes_say(report, "missing: meta.yaml"));
  test::ask("calibrate --from " + tables + "/llama-3.1-8b --out " + path("named.json"));
  json::Value given = file("given.json"), named = file("named.json");
  given["achieved"].erase("how");
  named["achieved"].erase("how");
  CHECK(given == named);
  // The tables replace the achieved rates of a hardware file. The title names their source only once.
  const json::Value again = test::ask("calibrate " + from + " --hardware " + path("named.json") +
                                      " --model llama-3.1-8b --out " + path("again.json"));
  CHECK(notes_say(again, "the achieved rates of the hardware file are replaced"));
  CHECK(file("again.json")["title"] == named["title"]);
  const json::Value other =
      test::ask("calibrate --from " + tables + "/llama-3.1-8b --hardware b200 --out " + path("other-tables.json"));
  CHECK(notes_say(other, "the tables name NVIDIA RTX PRO 6000 Blackwell Server Edition"));
  CHECK(file("other-tables.json")["memory"]["bandwidth"] ==
        json::parse(test::read_file(LLMCALC_SOURCE_DIR "/presets/hardware/b200-sxm-180gb.json"),
                    "b200")["memory"]["bandwidth"]);
  refused("--from " + tables + " --model llama-3.1-8b",
          "--model names one model, but '" + tables +
              "' contains tables of 3 models (llama-3.1-8b, qwen3-30b-a3b, qwen3-32b); pass the folder of one model");
}

TEST_CASE("calibrate cannot both read tables and measure a device", "[calibrate]") {
  refused("--from " + tables + " --device cpu",
          "--from reads a device's tables and --device measures a device; omit one of them");
  for (const std::string option : {"--hardware", "--model"})
    refused(option + " gpt2", option +
                                  " describes the data of --from DIR, --bench FILE or --server URL; add one of "
                                  "these, or omit " +
                                  option);
  refused("--from /nowhere", "cannot read '/nowhere': no such folder");
}

TEST_CASE("calibrate overwrites only files that it wrote", "[calibrate]") {
  const std::string call = "calibrate --from " + tables + "/qwen3-32b --out " + path("out.json");
  CHECK(test::llmcalc(call).code == 0);
  CHECK(test::llmcalc(call).code == 0);
  test::write_file(path("out.json"), "dear diary");
  CHECK(test::llmcalc(call).err ==
        "llmcalc: '" + path("out.json") +
            "' exists and is not a hardware file written by llmcalc; pass another --out, or --force to replace it\n");
  CHECK(test::read_file(path("out.json")) == "dear diary");
}
