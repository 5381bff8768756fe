// A step's schedule as a file for trace viewers.

#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

std::string path(const std::string& name) { return test::scratch() + "/" + name; }

/// Number of files whose names start with `name`: the file and any leftovers of failed attempts.
std::ptrdiff_t files_like(const std::string& name) {
  return std::count_if(std::filesystem::directory_iterator(test::scratch()), {},
                       [&](const auto& entry) { return entry.path().filename().string().starts_with(name); });
}

const std::string model = "train gpt2 --seq 512 --hardware h100 ";

struct Traced {
  json::Value events;
  double step_us = 0;  ///< the report's value
};
Traced traced(const std::string& options) {
  const json::Value report = test::ask(model + options + " --trace " + path("step.json"));
  const json::Value file = json::Value::parse(test::read_file(path("step.json")));
  return {file["traceEvents"], 1e6 * report["step"]["time_s"].get<double>()};
}

double number(const json::Value& event, const char* key) { return event[key].get<double>(); }
std::int64_t nanoseconds(const json::Value& event, const char* key) { return std::llround(1000 * number(event, key)); }

}  // namespace

TEST_CASE("events of a trace do not overlap within a row, and the last ends with the step", "[trace]") {
  for (const char* options :
       {"--global-batch 4", "--pp 4 --global-batch 12", "--pp 4 --schedule zb-h1 --global-batch 12",
        "--pp 4 --dp 2 --zero 1 --schedule interleaved --chunks 3 --global-batch 16",
        "--pp 4 --schedule zb-1p --dp 8 --zero 2 --any-software --global-batch 64",
        "--pp 4 --schedule dualpipe --tp 2 --dp 2 --zero 3 --any-software --global-batch 32",
        "--dp 8 --zero 3 --efficiency 0.5"}) {
    INFO(options);
    const Traced t = traced(options);
    std::map<std::pair<int, int>, std::int64_t> until;
    std::int64_t last = 0;
    for (const json::Value& e : t.events) {
      if (e["ph"] != "X") continue;
      std::int64_t& row = until[{e["pid"].get<int>(), e["tid"].get<int>()}];
      REQUIRE(nanoseconds(e, "ts") >= row);  // events are sorted by time
      row = nanoseconds(e, "ts") + nanoseconds(e, "dur");
      last = std::max(last, row);
    }
    CHECK(std::abs(static_cast<double>(last) / 1000 - t.step_us) <= 0.001 + 1e-12 * t.step_us);
  }
}

TEST_CASE("if stages update independently, the longest stage of a trace gives the step time", "[trace]") {
  for (const char* schedule : {"zb-h2", "zb-2p", "zb-v"}) {
    INFO(schedule);
    const Traced t = traced("--pp 4 --global-batch 24 --schedule " + std::string(schedule));
    std::map<int, std::pair<std::int64_t, std::int64_t>> parts;  // by stage, in nanoseconds
    for (const json::Value& e : t.events) {
      if (e["ph"] != "X") continue;
      const std::int64_t begin = nanoseconds(e, "ts"), end = begin + nanoseconds(e, "dur");
      const auto [at, added] = parts.insert({e["pid"].get<int>(), {begin, end}});
      at->second = {std::min(at->second.first, begin), std::max(at->second.second, end)};
    }
    std::int64_t longest = 0, last = 0;
    for (const auto& [stage, part] : parts) {
      longest = std::max(longest, part.second - part.first);
      last = std::max(last, part.second);
    }
    CHECK(std::abs(static_cast<double>(longest) / 1000 - t.step_us) <= 0.002 + 1e-12 * t.step_us);
    CHECK(static_cast<double>(last) / 1000 >= t.step_us - 0.002);
  }
}

TEST_CASE("a trace has one process per stage, a named thread per stream, and an event per slot", "[trace]") {
  const Traced t = traced("--pp 4 --dp 2 --zero 1 --global-batch 12 --schedule zb-h1");
  std::map<std::string, int> names;
  std::set<std::pair<int, int>> rows, named;
  std::set<int> stages;
  for (const json::Value& e : t.events) {
    const std::pair row{e["pid"].get<int>(), e["tid"].get<int>()};
    if (e["ph"] == "X") {
      rows.insert(row);
      ++names[e["name"]];
      if (e["cat"] == "backward_weight" && row.second == 0) CHECK(e["args"]["chunk"] == row.first + 1);
    }
    if (e["name"] == "thread_name") named.insert(row);
    if (e["name"] == "process_name") stages.insert(row.first);
  }
  CHECK(rows == named);
  CHECK(stages.size() == 4);
  for (const char* slot : {"F", "B", "W"}) {
    for (int i = 1; i <= 6; ++i) CHECK(names[slot + std::to_string(i)] == 4);  // 12 sequences over 2 replicas
    CHECK(names.count(slot + std::string("7")) == 0);
    CHECK(names.count(slot + std::string("0")) == 0);
  }
  CHECK(names["send F1"] == 3);
  CHECK(names["send B6"] == 3);
  CHECK(names["optimizer"] == 4);
}

TEST_CASE("a trace names every layer's work, collectives, gathers and reductions", "[trace]") {
  const Traced t = traced("--pp 2 --tp 2 --sp --dp 2 --zero 1 --global-batch 12 --overlap 0.5");
  std::map<std::string, int> names, threads;
  for (const json::Value& e : t.events) {
    if (e["ph"] == "X") ++names[e["name"]];
    if (e["name"] == "thread_name") ++threads[e["args"]["name"]];
  }
  for (const char* layer : {"layer 1", "layer 5", "layer 12"}) {  // three of 12 layers, in 6 micro-batches
    for (const char* work : {"F1 ", "B1 ", "W1 ", "F6 ", "W6 "}) CHECK(names[std::string(work) + layer] == 1);
    CHECK(names[std::string("F3 ") + layer + " tp"] == 1);
    CHECK(names[std::string("B3 ") + layer + " tp"] == 1);
  }
  CHECK(names.count("F1 layer 0") + names.count("F1 layer 13") + names.count("F7 layer 1") == 0);
  for (const char* unit : {"embedding", "layer 1", "layer 12", "head"}) {  // once per step
    CHECK(names[std::string("gather ") + unit] == 1);
    CHECK(names[std::string("reduce ") + unit] == 1);
  }
  CHECK(names["F1 embedding"] == 1);
  CHECK(names["F1 head"] == 1);
  for (const char* row : {"slots", "compute", "layer collectives, inside a node", "data parallel, inside a node"})
    CHECK(threads[row] == 2);
}

TEST_CASE("a trace of sharded weights has every layer's gathers and reductions in every micro-batch", "[trace]") {
  std::map<std::string, int> names;
  for (const json::Value& e : traced("--dp 8 --zero 3 --global-batch 16").events)
    if (e["ph"] == "X") ++names[e["name"]];
  for (const char* i : {"1", "2"}) {
    CHECK(names["F" + std::string(i) + " gather layer 3"] == 1);
    CHECK(names["B" + std::string(i) + " gather layer 3"] == 1);
    CHECK(names["F" + std::string(i) + " gather head"] == 1);
    CHECK(names["B" + std::string(i) + " gather head"] == 0);
  }
  CHECK(names["F1"] == 1);
}

TEST_CASE("a trace that cannot be written gives a one-sentence error and leaves no partial file", "[trace]") {
  const auto refused = [](const std::string& file, const test::Shell& shell = {}) {
    const test::Ran r = test::llmcalc(model + "--pp 4 --global-batch 64 --trace " + file, shell);
    INFO(r.err);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK(r.err.find("llmcalc: cannot ") == 0);
    CHECK(r.err.find('\n') == r.err.size() - 1);
  };
  refused(path("no/such/folder.json"));
  refused(test::scratch());
  const std::string earlier =
      "{\"otherData\":{\"generator\":\"llmcalc\"},\"traceEvents\":[\n],\n\"displayTimeUnit\":\"ms\"}\n";
  test::write_file(path("kept.json"), earlier);
  refused(path("kept.json"), {.before = "trap '' XFSZ; ulimit -f 1;"});  // a disk with space for one block
  CHECK(test::read_file(path("kept.json")) == earlier);
  CHECK(files_like("kept.json") == 1);
}

TEST_CASE("--trace replaces a trace written by the program and rejects any other file", "[trace]") {
  test::write_file(path("thesis.tex"), "\\documentclass");
  for (const char* command : {"train gpt2 --hardware h100", "serve gpt2 --hardware h100 --rate 1 --num-requests 2"}) {
    test::refused(command + (" --trace " + path("thesis.tex")),
                  "'" + path("thesis.tex") +
                      "' exists and is not a trace written by llmcalc; pass another --trace, or --force to replace it");
    CHECK(test::read_file(path("thesis.tex")) == "\\documentclass");
    test::write_file(path("new.json"), "");  // as created by mktemp
    for (int i = 0; i < 2; ++i) CHECK(test::llmcalc(command + (" --trace " + path("new.json"))).code == 0);
    std::filesystem::remove(path("new.json"));
  }
}

TEST_CASE("Ctrl-C ends a step's trace with a message and code 130, and leaves no file", "[trace]") {
  const test::Ran r =
      test::interrupted("train llama-3.1-405b --hardware h100 --gpus 2048 --tp 8 --pp 16 --global-batch 1024 --trace " +
                        path("ended.json"));
  CHECK(r.code == 130);
  CHECK(r.err == "stopped\n");
  CHECK(files_like("ended.json") == 0);
}

TEST_CASE("a trace too large for viewers is rejected", "[trace]") {
  const std::string traced_to = " --dp 2 --pp 4 --trace " + path("step.json");
  test::refused(model + "--global-batch 1e7" + traced_to,
                "--trace writes every layer of every micro-batch, but 5000000 micro-batches of 12 layers exceed "
                "the limits of trace viewers; use --global-batch 333328 or less");
}

TEST_CASE("a trace shows each gather and reduction at the network level that it uses", "[trace]") {
  const auto levels = [](const std::string& options, const char* category) {
    const Traced t = traced("--global-batch 16 --dp 16 --zero 3 " + options);
    std::map<std::pair<int, int>, std::string> threads;
    std::set<std::string> shown;
    for (const json::Value& e : t.events)
      if (e["name"] == "thread_name") threads[{e["pid"].get<int>(), e["tid"].get<int>()}] = e["args"]["name"];
    for (const json::Value& e : t.events)
      if (e["ph"] == "X" && e["cat"] == category) shown.insert(threads[{e["pid"].get<int>(), e["tid"].get<int>()}]);
    return shown;
  };
  using Names = std::set<std::string>;
  const Names inside{"data parallel, inside a node"}, between{"data parallel, between nodes"};
  CHECK(levels("--hsdp 8", "gather_weights") == inside);  // a replica lies within a node of 8
  CHECK(levels("--hsdp 8", "reduce_gradients") == between);
  CHECK(levels("", "gather_weights") == between);
  CHECK(levels("--hsdp 16", "gather_weights") == between);
}
