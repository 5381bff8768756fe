// 'llmcalc serve': rejected input, one sentence each.

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using test::refused;

namespace {

const std::string llama = "serve llama-3.1-8b --hardware h100 ";

std::string log_file(const std::string& name, const std::string& text) {
  const std::string path = test::scratch() + "/" + name;
  test::write_file(path, text);
  return path;
}

/// Checks that the log is rejected with its path followed by this text.
void refused_log(const std::string& name, const std::string& text, const std::string& says) {
  const std::string path = log_file(name, text);
  refused(llama + "--requests " + path, path + says);
}

const std::string columns = "arrival,prompt,generated\n";

}  // namespace

TEST_CASE("a server needs exactly one kind of traffic", "[serve][cli]") {
  refused(llama, "a server requires traffic: set --rate R (requests per second), --users N or --requests FILE");
  refused(llama + "--rate 3 --users 4",
          "--rate and --users are mutually exclusive; set one of --rate, --users and --requests");
  refused(llama + "--users 0", "--users: expected a positive whole number (8192, 8k, 8Ki, 300B, 3e11), got \"0\"");
  refused(llama + "--rate 0", "--rate: expected a number above 0 (0.5, 1200), got \"0\"");
  refused("serve llama-3.1-8b --rate 3",
          "'llmcalc serve' needs --hardware HW; 'llmcalc list hardware' lists the presets");
  refused(llama + "--rate 3 --num-requests 9 --duration 5s",
          "--num-requests and --duration both set the length of the run; set one of them");
  refused(llama + "--rate 3 --think-time 2s", "--think-time has no effect without --users or --turns; add one of them");
}

TEST_CASE("serve rejects options without an effect", "[serve][cli]") {
  refused(llama + "--rate 3 --policy priority",
          "--policy priority has no effect without different priorities; pass --requests FILE with a \"priority\" for "
          "each request, or omit it");
  refused(llama + "--rate 3 --percentile 90",
          "--percentile has no effect without --slo-ttft or --slo-tpot; add one, or omit --percentile");
}

TEST_CASE("serve rejects times and counts beyond the simulation's limits", "[serve][cli]") {
  for (const char* rate : {"1e-300", "1e300"})
    refused(llama + "--rate " + rate,
            std::string("--rate: expected a rate from 1e-6 to 1e9 requests per second, got \"") + rate + "\"");
  refused(llama + "--rate 3 --num-requests 1e12",
          "--num-requests 1000000000000 exceeds the maximum of 100000000 simulated requests; lower it");
  refused(llama + "--rate 1000 --duration 1e6s",
          "--duration at --rate 1000 results in 1e+09 requests, more than the maximum of 100000000 simulated requests; "
          "shorten it");
  refused(llama + "--rate 3 --slo-ttft 0", "--slo-ttft: expected a time limit above 0, got \"0\"");
  refused(llama + "--rate 3 --duration 0", "--duration: expected an arrival period above 0, got \"0\"");
  refused(llama + "--users 3 --think-time 1e300s", "--think-time: expected a time of at most 1e9 s, got \"1e300s\"");
  refused(llama + "--rate 3 --arrivals gamma:1e9",
          "--arrivals: expected a standard deviation of at most 100 times the mean, got \"1e9\"");
}

TEST_CASE("impossible serving limits are rejected", "[serve][cli]") {
  for (const char* p : {"0", "100"})
    refused(llama + "--rate 3 --percentile " + p,
            std::string("--percentile: expected a percentile above 0 and below 100, got \"") + p + "\"");
  refused(llama + "--rate 3 --draft-tokens 2 --acceptance 0.8,0.6,0.5",
          "--acceptance has 3 values for the 2 drafts of --draft-tokens; specify at most one per draft, the last "
          "applies to all later drafts");
  refused(llama + "--rate 3 --pools 0P2D",
          "--pools, prefill engines: expected a positive whole number (8192, 8k, 8Ki, 300B, 3e11), got \"0\"");
  refused(llama + "--rate 3 --pools 2D",
          "--pools: expected numbers of prefill and decode engines, for example 2P6D, got \"2D\"");
  refused(
      llama + "--rate 3 --prompt 200k",
      "--prompt 200000 and --generate 256 together exceed the context of llama-3.1-8b, 131072 tokens; shorten them");
  refused(llama + "--rate 3 --draft-tokens 3 --acceptance 0.8 --draft-model llama-3.1-70b",
          "--draft-model llama-3.1-70b has 70553706496 parameters and llama-3.1-8b has 8030261248; choose a draft "
          "model smaller than its target");
  refused(llama + "--rate 3 --draft-tokens 3",
          "--draft-tokens requires --acceptance X,X,...: the acceptance probability of a draft token at each position");
  refused(
      llama + "--rate 3 --batch 4",
      "--batch is not an option of 'llmcalc serve', only of memory, infer, report, fit, explain, sweep, diagnose or "
      "validate; 'llmcalc serve --help-all' lists all options");
}

TEST_CASE("a CSV log without requests is rejected, and missing cells before any value", "[serve][cli]") {
  refused_log("none.csv", columns, ": expected a line of column names and lines of numbers, got no numbers");
  refused_log("cells.csv", columns + "0,x,1\n1,2\n",
              ", line 3: expected 3 cells, one per column of arrival, prompt, generated, got 2");
}

TEST_CASE("the error for an unreadable log states the line number", "[serve][cli]") {
  refused_log("empty.jsonl", "\n\n", " is empty; expected one request per line");
  refused_log("order.csv", columns + "2,10,10\n1,10,10\n",
              ", line 3: the request arrives at 1 s, before the previous request at 2 s; sort the log by arrival");
  refused_log("missing.jsonl", "{\"arrival\": 0, \"prompt\": 9, \"generated\": 9}\n\n{\"arrival\": 1, \"prompt\": 9}\n",
              ", line 3: \"generated\" is missing; every request requires arrival, prompt and generated");
  refused_log("negative.csv", columns + "0,-5,10\n",
              ", line 2, \"prompt\": expected a positive whole number (8192, 8k, 8Ki, 300B, 3e11), got \"-5\"");
  refused_log("column.csv", "arrival,prompt\n0,9\n", ": no column \"generated\"; the columns are arrival, prompt");
  refused_log("prefix.csv", "arrival,prompt,generated,prefix\n0,9,9,rules:20\n",
              ", line 2: a prefix of 20 tokens is longer than the prompt of 9");
  refused_log(
      "name.jsonl", "{\"arrival\": 0, \"prompt\": 9, \"generated\": 9, \"prefix\": \"a\"}\n",
      ", line 1, \"prefix\", TOKENS or NAME:TOKENS: expected a whole number (8192, 8k, 8Ki, 300B, 3e11), got \"a\"");
  refused_log("long.csv", columns + "0,9,9\n1,131072,9\n",
              ", line 3: prompt and answer have 131081 tokens, but llama-3.1-8b supports at most 131072");
  refused_log("late.jsonl", "{\"arrival\": 1e30, \"prompt\": 9, \"generated\": 9}\n",
              ", line 1, \"arrival\": expected seconds, at most 1e+12, got \"1e+30\"");
  refused_log("slip.jsonl", "{\"arrival\": 0, \"prompt\": 9, \"generated\": 9, \"priorty\": 1}\n",
              ", line 1: unknown field \"priorty\", did you mean \"priority\"?");
  refused_log("slip.csv", "arrival,prompt,generated,sesion\n0,9,9,a\n",
              ": unknown field \"sesion\", did you mean \"session\"?");
}
