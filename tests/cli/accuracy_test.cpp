// 'llmcalc accuracy': predictions compared with published measurements and with a user's own files.

#include <algorithm>
#include <cmath>
#include <csignal>
#include <set>
#include <sstream>

#include "report/render/lines.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

const json::Value& published(const std::string& kind) {
  static std::map<std::string, json::Value> reports;
  if (!reports.contains(kind)) reports[kind] = test::ask("accuracy " + kind);
  return reports[kind];
}

double error_of(const json::Value& row) { return row["predicted"].get<double>() / row["measured"].get<double>() - 1; }

/// The q-quantile by definition: the element of rank 1 + (n - 1) q in the sorted list, interpolated. Ranks start at 1.
double quantile_of(std::vector<double> all, double q) {
  std::sort(all.begin(), all.end());
  const double at = static_cast<double>(all.size() - 1) * q, below = std::floor(at);
  const auto i = static_cast<std::size_t>(below);
  return i + 1 < all.size() ? all[i] * (1 - (at - below)) + all[i + 1] * (at - below) : all[i];
}

/// Absolute errors of a group's rows. The rows are matched to the group by their own keys.
std::vector<double> errors_in(const json::Value& report, const std::string& group) {
  std::vector<double> errors;
  for (const json::Value& row : report["rows"]) {
    if (row.contains("repeats") || row.contains("doubt")) continue;
    const json::Value& in = row["inputs"];
    const std::set<std::string> groups{"all rows",
                                       "family: " + row["family"].get<std::string>(),
                                       "gpu: " + in["gpu"].get<std::string>(),
                                       "parallelism: " + in["parallelism"].get<std::string>(),
                                       "precision: " + in["precision"].get<std::string>(),
                                       "stack: " + in["software"].get<std::string>(),
                                       "engine: " + in["software"].get<std::string>(),
                                       "class: " + row["class"].get<std::string>(),
                                       "quantity: " + row["quantity"].get<std::string>()};
    if (groups.contains(group)) errors.push_back(std::fabs(error_of(row)));
  }
  return errors;
}

std::string file(const std::string& name, const std::string& text) {
  const std::string path = test::scratch() + "/" + name;
  test::write_file(path, text);
  return path;
}

/// Checks that the exit code is 2 and that the error is one sentence containing `says`.
void refused(const std::string& arguments, const std::string& says) {
  const test::Ran r = test::llmcalc("accuracy " + arguments);
  INFO("accuracy " << arguments << "\n" << r.err);
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK_THAT(r.err, Contains(says));
  CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
}

std::string training_row(const std::string& changed) {
  auto row = json::parse(R"({"id": "a", "command": "train", "model": "gpt2", "hardware": "a100",
    "inputs": {"gpus": 8, "micro_batch": 4, "global_batch": 64}, "measured": {"step_time_s": 1.5}})",
                         "row");
  row.merge_patch(json::parse(changed, "patch"));
  return "[\n" + row.dump() + "\n]";
}

/// A row in the schema that predates requests.
std::string old_row(const std::string& changed) {
  auto row = json::parse(R"({"id": "a", "model": {"layers": 2, "hidden": 64, "heads": 4, "ffn_hidden": 256,
    "seq_len": 64}, "hardware": {"gpu": "A100-SXM", "count": 8}, "measured": {"iteration_time_s": 1.5}})",
                         "row");
  row.merge_patch(json::parse(changed, "patch"));
  return "[\n" + row.dump() + "\n]";
}

const json::Value& row_called(const json::Value& report, const std::string& id) {
  return *std::find_if(report["rows"].begin(), report["rows"].end(),
                       [&](const json::Value& r) { return r["id"] == id; });
}

}  // namespace

TEST_CASE("each summary equals the quantiles of its group's rows", "[accuracy][cli][long]") {
  for (const std::string kind : {"training", "memory", "inference", "serving"}) {
    const json::Value& report = published(kind);
    std::size_t checked = 0;
    for (const json::Value& s : report["summary"]) {
      const std::string group = s["group"];
      if (group.starts_with("families of")) continue;
      INFO(kind << " " << group);
      const std::vector<double> errors = errors_in(report, group);
      REQUIRE(s["rows"] == errors.size());
      CHECK(s["median"].get<double>() == Approx(quantile_of(errors, 0.5)));
      CHECK(s["p90"].get<double>() == Approx(quantile_of(errors, 0.9)));
      ++checked;
    }
    CHECK(checked > 20);
  }
}

TEST_CASE("the summary over families uses the medians of families with three or more rows", "[accuracy][cli][long]") {
  const json::Value& report = published("training");
  std::vector<double> medians;
  for (const json::Value& s : report["summary"])
    if (s["group"].get<std::string>().starts_with("family: ") && s["rows"] >= 3) medians.push_back(s["median"]);
  const json::Value& families = report["summary"][1];
  CHECK(families["group"] == "families of 3 rows or more");
  CHECK(families["rows"] == medians.size());
  CHECK(families["median"].get<double>() == Approx(quantile_of(medians, 0.5)));
  CHECK(families["p90"].get<double>() == Approx(quantile_of(medians, 0.9)));
}

TEST_CASE("a row has its prediction, measurement and error, and an interval only if one is known",
          "[accuracy][cli][long]") {
  for (const std::string kind : {"training", "memory", "inference"})
    for (const json::Value& row : published(kind)["rows"]) {
      INFO(row.dump());
      for (const char* key : {"id", "family", "quantity", "predicted", "measured", "error", "class", "assumed"})
        REQUIRE(row.contains(key));
      CHECK(row["error"].get<double>() == Approx(error_of(row)).margin(1e-12));
      CHECK(row.contains("low") == row.contains("high"));
      if (row.contains("low")) CHECK((row["low"] <= row["predicted"] && row["predicted"] <= row["high"]));
    }
  const json::Value& training = published("training")["rows"];
  CHECK(std::all_of(training.begin(), training.end(), [](const auto& r) { return r["quantity"] == "step_time_s"; }));
  const std::set<std::string> memories{"peak_bytes", "peak_allocated_bytes", "peak_reserved_bytes",
                                       "peak_process_bytes"};
  for (const json::Value& row : published("memory")["rows"]) CHECK(memories.contains(row["quantity"]));
}

TEST_CASE("a dense run on an unknown GPU is predicted, and the assumptions are listed", "[accuracy][cli]") {
  const json::Value report = test::ask("accuracy training " + test::measurements("dense"));
  REQUIRE(report["rows"].size() == 2);
  const json::Value& row = row_called(report, "new-card");
  CHECK(row["inputs"]["gpu"] == "Zeta Z1");
  CHECK(row["inputs"]["layout"] == "tp 2, dp 8, ZeRO 1");
  CHECK(row["inputs"]["parallelism"] == "tp+zero");
  CHECK(row["inputs"]["measured_as"] == "tokens_per_s_per_gpu");
  CHECK(row["measured"].get<double>() == Approx(128.0 * 4096 / (9000 * 16)));  // tokens / (tokens per second)
  CHECK_THAT(row["assumed"].dump(), Contains("no preset is named"));
  CHECK(row["class"] == "assumed input");
  CHECK(row_called(report, "known-card")["inputs"]["gpu"] == "rtx-4090");
  CHECK(report["skipped"].size() == 3);
  CHECK_THAT(report["verdict"]["text"].back().get<std::string>(), Contains("skipped: 3 of 5 rows (60.0 %)"));

  const json::Value memory = test::ask("accuracy memory " + test::measurements("dense"));
  REQUIRE(memory["rows"].size() == 1);
  CHECK(memory["rows"][0]["measured"] == 70e9);
  CHECK(memory["rows"][0]["quantity"] == "peak_bytes");
}

TEST_CASE("a run with experts has a separate error class", "[accuracy][cli]") {
  const json::Value report = test::ask("accuracy training " + test::measurements("experts"));
  REQUIRE(report["rows"].size() == 1);
  CHECK(report["rows"][0]["class"] == "experts");
  CHECK(report["rows"][0]["measured"] == 4.2);
  CHECK(report["rows"][0]["inputs"]["parallelism"] == "ep+pp+zero");
  CHECK(report["rows"][0]["inputs"]["software"] == "megatron-core");
  CHECK(report["skipped"].empty());
  const json::Value memory = test::ask("accuracy memory " + test::measurements("experts"));
  REQUIRE(memory["rows"].size() == 2);
  CHECK(memory["rows"][0]["measured"] == 50 * 0x1p30);
  CHECK(memory["rows"][1]["measured"] == 41.5 * 0x1p30);
  CHECK(memory["rows"][1]["quantity"] == "peak_allocated_bytes");
}

TEST_CASE("every inference quantity is predicted for static batches and for concurrent clients", "[accuracy][cli]") {
  const json::Value report = test::ask("accuracy inference " + test::measurements("inference"));
  std::map<std::string, double> measured;
  for (const json::Value& row : report["rows"])
    measured[row["id"].get<std::string>() + " " + row["quantity"].get<std::string>()] = row["measured"];
  CHECK(measured == std::map<std::string, double>{{"static e2e_latency_ms", 2500},
                                                  {"static tpot_ms", 17},
                                                  {"static output_tok_s", 410},
                                                  {"static memory_gb", 40},
                                                  {"clients ttft_ms", 120},
                                                  {"clients tpot_ms", 11},
                                                  {"clients output_tok_s_per_gpu", 1250}});
  for (const json::Value& row : report["rows"]) {
    CHECK(row["family"] == "our bench");
    CHECK((row["predicted"] > 0.1 * row["measured"].get<double>() &&
           row["predicted"] < 10 * row["measured"].get<double>()));
  }
  CHECK_THAT(row_called(report, "clients")["assumed"].dump(), Contains("an engine of ours"));
  REQUIRE(report["skipped"].size() == 1);
  CHECK(report["skipped"][0]["reason"] == "unknown kind of batch \"weekly\"");
}

TEST_CASE("several files are combined into one report", "[accuracy][cli]") {
  const json::Value both =
      test::ask("accuracy training " + test::measurements("dense") + " " + test::measurements("experts"));
  CHECK(both["rows"].size() == 3);
  CHECK(both["inputs"]["files"] == test::measurements("dense") + ", " + test::measurements("experts"));
  refused("training " + test::measurements("dense") + " " + test::measurements("dense"),
          ", row \"new-card\": " + test::measurements("dense") + " has a row with the same id");
}

TEST_CASE("the error for an invalid file is one sentence with file, line and row", "[accuracy][cli]") {
  refused("training nowhere.json", "cannot read 'nowhere.json': no such file");
  refused("training " + file("broken.json", "[\n{\"id\": \"a\",}]"), "broken.json:2:12: unexpected '}'");
  refused("training " + file("empty.json", ""), "empty.json");
  refused("training " + file("none.json", "[]"), "none.json: expected rows: a JSON array, or one object per line");
  refused("training " + file("no-model.json", training_row(R"({"model": null})")), "\"model\" is missing");
  refused("training " + file("input.json", training_row(R"({"inputs": {"batch": 8}})")),
          "input.json:2, row \"a\", \"inputs\": unknown input \"batch\", did you mean \"micro_batch\"?");
  refused("training " + file("unit.json", training_row(R"({"measured": {"step_time_s": "1.5 s"}})")),
          "unit.json:2, row \"a\", \"measured\", \"step_time_s\": expected a finite number, got \"1.5 s\"");
  refused("training " + file("key.json", training_row(R"({"measured": {"step_s": 1}})")), "step_s");
  std::string twice = training_row("{}");
  twice.replace(twice.size() - 1, 1, "," + training_row("{}").substr(1));
  refused("training " + file("twice.json", twice),
          "twice.json:4, row \"a\": line 2 has a row with the same id; ids must be unique");
}

TEST_CASE("an invalid file in the old schema is rejected with a one-sentence error", "[accuracy][cli]") {
  const std::string out = " " + test::scratch() + "/wrong.jsonl";
  const auto says = [&](const std::string& name, const std::string& changed, const std::string& part) {
    refused("convert " + file(name, old_row(changed)) + out, part);
  };
  says("no-layers.json", R"({"model": {"layers": null}})",
       "no-layers.json:2, row \"a\", \"model\": \"layers\" is missing");
  says("unit.json", R"({"measured": {"iteration_time_s": "1.5 s"}})",
       "unit.json:2, row \"a\", \"measured\", \"iteration_time_s\": expected a finite number, got \"1.5 s\"");
  says("mfu.json", R"({"measured": {"mfu": 41}})", "expected a fraction of the peak, above 0 and at most 1, got 41");
  says("soon.json", R"({"measured": {"iteration_time_s": 1e-300}})", "expected a number from 1e-9 to 1e15, got 1e-300");
  says("large.json", R"({"hardware": {"gpu_memory_gb": 1e9}})",
       "\"gpu_memory_gb\": expected at most 1e6 GB per device, got");
  refused("convert " + file("no-run-model.json", R"({"name": "x", "requests": []})") + out, "\"model\" is missing");
  refused("convert " + test::measurements("dense") + out,
          "so it already has the current schema and needs no conversion");
  refused("convert " + test::measurements("dense"), "'llmcalc accuracy convert' takes two files, OLD and NEW");
  refused("convert tests/cli/measurements/dense.json README.md", "pass another NEW, or --force to replace it");
  refused("training tests/cli/measurements/dense.json",
          "this file has the schema of earlier versions; 'llmcalc accuracy convert tests/cli/measurements/dense.json "
          "NEW' converts it");
}

TEST_CASE("conversion keeps every row, and reports rows without a request and unknown keys", "[accuracy][cli]") {
  const std::string out = test::scratch() + "/converted.jsonl";
  const test::Ran r = test::llmcalc("accuracy convert tests/cli/measurements/dense.json " + out);
  CHECK(r.code == 0);
  CHECK_THAT(r.err, Contains("row \"no-width\": the MLP width is not stated") &&
                        Contains("kept under \"stated\": measured.joules, model.colour, mood") &&
                        Catch::EndsWith("5 rows, 3 without a request\n"));
  std::istringstream lines(test::read_file(out));
  const json::Value old =
      json::parse(test::read_file(LLMCALC_SOURCE_DIR "/tests/cli/measurements/dense.json"), "dense.json");
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    const json::Value row = json::parse(line, "row");
    CHECK(row["id"] == old[rows]["id"]);
    CHECK(row["stated"]["measured"] == old[rows]["measured"]);
  }
  CHECK(rows == old.size());
}

TEST_CASE("accuracy without an argument compares every row with the prediction of the row's own command",
          "[accuracy][cli]") {
  const json::Value all = test::ask("accuracy " + test::measurements("dense") + " " + test::measurements("inference"));
  std::size_t rows = 0;
  for (const std::string kind : {"training", "memory", "inference"}) {
    const json::Value of_kind =
        test::ask("accuracy " + kind + " " +
                  (kind == "inference" ? test::measurements("inference") : test::measurements("dense")));
    for (const json::Value& row : of_kind["rows"])
      CHECK(std::find(all["rows"].begin(), all["rows"].end(), row) != all["rows"].end());
    rows += of_kind["rows"].size();
  }
  CHECK(all["rows"].size() == rows);
}

TEST_CASE("a file without rows of the requested kind is rejected", "[accuracy][cli]") {
  refused("inference " + test::measurements("dense"), test::measurements("dense") + ": no rows of inference");
  refused("training " + test::measurements("inference"), test::measurements("inference") + ": no rows of training");
  refused("serving " + test::measurements("inference"),
          test::measurements("inference") + ": no rows of recorded serving runs");
  refused("speed", "accuracy: expected training, memory, inference, serving, convert or a file, got \"speed\"");
  refused("", "'llmcalc accuracy' needs a KIND (training, memory, inference or serving) or a FILE");
}

TEST_CASE("the text leads with the errors, and --rows shows every row", "[accuracy][cli][long]") {
  const test::Ran r = test::llmcalc("accuracy inference " + test::measurements("inference"));
  CHECK(r.code == 0);
  CHECK_THAT(r.out, Catch::StartsWith("inference: predictions compared with " + test::measurements("inference") +
                                      "\n\nerror "));
  CHECK_THAT(r.out, Contains("unknown kind of batch \"weekly\"") && !Contains("ours-8B"));
  const std::string all = test::llmcalc("accuracy inference " + test::measurements("inference") + " --rows").out;
  CHECK_THAT(all, Contains("static: ours-8B on 1 Nova N5: one device; static batch 8, 512 + 128 tokens"));
  CHECK_THAT(all, Contains("clients: ours-8B on 2 h100-sxm-80gb: tp 2;"));
  CHECK_THAT(all, Contains("weekly"));
  const std::string training = test::llmcalc("accuracy training --rows").out;
  for (const json::Value& row : published("training")["skipped"])
    CHECK_THAT(training, Contains(row["id"].get<std::string>()));
  CHECK_THAT(test::llmcalc("accuracy memory --markdown").out, Contains("| by family |"));
}

TEST_CASE("a recorded run is compared in thirteen quantities and over time", "[accuracy][cli]") {
  const json::Value report = test::ask("accuracy serving");
  CHECK(report["rows"].size() == 26);  // rows of two runs
  for (const char* key : {"ttft_mean_ms", "ttft_p50_ms", "tpot_p90_ms", "latency_p99_ms", "throughput_tok_s"}) {
    const auto is = [&](const json::Value& r) {
      return r["quantity"] == key && r["id"] == "rtx-pro-6000-llama-3.1-8b";
    };
    const auto row = std::find_if(report["rows"].begin(), report["rows"].end(), is);
    REQUIRE(row != report["rows"].end());
    CHECK((*row)["error"].get<double>() == Approx(error_of(*row)));
  }
  // The run's mean: 300 requests, first_token_s - queued_s
  CHECK(report["rows"][0]["measured"].get<double>() == Approx(7097).margin(1));
  double tokens = 0;
  for (const json::Value& t : report["throughput"])
    if (t["id"] == "rtx-pro-6000-llama-3.1-8b")
      tokens += t["predicted_tok_s"].get<double>() * (t["end_s"].get<double>() - t["begin_s"].get<double>());
  CHECK(tokens ==
        Approx(195753).epsilon(0.1));  // tokens that the run generated; the tolerance covers the end of a slower replay
}

TEST_CASE(
    "with operator tables, replayed token times are within 7 % of the measured ones, and TTFT and latency within 12 %",
    "[accuracy][cli]") {
  const json::Value report = test::ask("accuracy serving --tables evidence/operators/rtx-pro-6000");
  REQUIRE(report["rows"].size() == 26);
  for (const json::Value& row : report["rows"]) {
    const std::string key = row["quantity"];
    if (!key.ends_with("mean_ms") && !key.ends_with("p90_ms")) continue;
    INFO(row["id"] << " " << key);
    // The engine's time per sequence, which the tables do not contain, is fitted to all machines.
    CHECK(std::fabs(error_of(row)) <= (key.starts_with("tpot") ? 0.07 : 0.12));
  }
}

TEST_CASE("replay options are rejected outside serving, and so are tables that lack the run's model",
          "[accuracy][cli]") {
  refused("inference --tables evidence/operators", "accuracy: --tables applies only to serving, which replays runs");
  refused("memory --hardware h100", "accuracy: --hardware applies only to serving");
  refused("serving --tables evidence/operators/rtx-pro-6000/qwen3-32b",
          "--tables: no tables for llama-3.1-8b in 'evidence/operators/rtx-pro-6000/qwen3-32b/tp2'");
}

TEST_CASE("llmcalc-fit rejects quantities without an estimator, unknown terms and files it did not write",
          "[accuracy][cli]") {
  const auto says = [](const std::string& arguments, const std::string& part) {
    const test::Ran r = test::llmcalc_fit(arguments);
    CHECK(r.code == 2);
    CHECK_THAT(r.err, Contains(part));
  };
  const std::string thesis = test::scratch() + "/thesis.tex";
  test::write_file(thesis, "mine");
  says("training --out " + thesis, "exists and is not an estimator of training");
  CHECK(test::read_file(thesis) == "mine");
  says("serving", "serving has no estimator with fitted parameters");
  says("training nowhere.json --without hst", "--without: expected a term of the estimator (");
}

TEST_CASE("a report states if no row could be compared", "[accuracy][cli]") {
  const test::Ran r = test::llmcalc("accuracy memory " + file("times.json", training_row("{}")));
  CHECK(r.code == 0);
  CHECK_THAT(r.out, Contains("error  no row could be compared"));
}

TEST_CASE("Ctrl-C ends a long comparison cleanly, and progress is shown", "[accuracy][cli]") {
  // Each row's schedule is simulated: 65,536 micro-batches on 256 ranks of 4 chunks take 0.1 to 1 s.
  std::string rows;
  for (int i = 0; i < 600; ++i) {
    auto row = json::parse(old_row(R"({"model": {"layers": 1024, "ffn_hidden": 256}, "parallelism":
      {"pp": 256, "vp": 4}, "hardware": {"count": 256}, "batch": {"micro": 1, "global": 65536}})"),
                           "row")[0];
    row["id"] = "row-" + std::to_string(i);
    rows += (rows.empty() ? "[" : ",\n") + row.dump();
  }
  const std::string path = test::scratch() + "/long.jsonl";
  REQUIRE(test::llmcalc("accuracy convert " + file("long.json", rows + "]") + " " + path).code == 0);
  const test::Ran r = test::signaled("accuracy training " + path, {SIGINT}, std::chrono::milliseconds(3000));
  CHECK(r.code == 130);
  CHECK(r.out.empty());
  CHECK_THAT(r.err, Contains("row ") && Contains(" of 600") && Catch::EndsWith("stopped\n"));
}

TEST_CASE("--since keeps runs from a date on, and reports rows without a date", "[accuracy][cli]") {
  const std::string row = R"({"command": "infer", "model": "llama-3.1-8b", "hardware": "h100-sxm-80gb",
      "inputs": {"batch": 1, "prompt": 128, "generate": 128}, "engine": {"name": "vllm"}, "measured": {"tpot_ms": 7})";
  const auto dated = [&](const char* id, const char* date) {
    std::string one = row + R"(, "id": ")" + id + "\"";
    if (*date != 0) one += R"(, "date": ")" + std::string(date) + "\"";
    return one + "}";
  };
  const std::string path = file("dated.json", "[" + dated("old", "2025-12") + "," + dated("month", "2026-03") + "," +
                                                  dated("day", "2026-04-02") + "," + dated("none", "") + "]");
  const auto kept = [&](const std::string& since) { return test::ask("accuracy " + path + since)["rows"].size(); };
  CHECK(kept("") == 4);
  CHECK(kept(" --since 2026") == 2);
  CHECK(kept(" --since 2026-03-01") == 2);
  CHECK(kept(" --since 2026-03-02") == 1);
  CHECK_THAT(test::llmcalc("accuracy " + path + " --since 2026").err, Contains("row without a date omitted"));
  test::refused("accuracy inference " + path + " --since fit",
                path + ": no row has a date of " +
                    test::ask("show inference")["fitted"].get<std::string>().substr(0, 10) +
                    " or later (1 without a date); pass newer measurements or an earlier --since");
  test::refused("accuracy " + path + " --since yesterday",
                "--since: expected a date such as 2026-03-28 or 2026-03, or fit, got \"yesterday\"");
  test::refused("accuracy " + path + " --since fit",
                "--since fit: only training, memory and inference have a fit; name one of them, or pass a date");
}
