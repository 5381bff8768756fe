// Published traces as request logs: Mooncake, Azure, BurstGPT.

#include <fmt/format.h>

#include "ask/answer/serving/request_log.hpp"
#include "serve/fleet/fleet.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/serve/even_times.hpp"

using namespace llmcalc;

namespace {

RequestLog log_of(const std::string& text) { return read_request_log(text, "log"); }

struct Logged {
  double at;
  Count prompt, generate;
  bool operator==(const Logged&) const = default;
};

std::vector<Logged> requests_of(const RequestLog& log) {
  std::vector<Logged> all;
  for (const ServerRequest r : log.requests) all.push_back({r.at.value, r.prompt, r.generate});
  return all;
}

/// A line of a Mooncake trace for an answer of one token.
std::string prompt_line(Count second, Count tokens, const std::string& ids) {
  return fmt::format("{{\"timestamp\": {}, \"input_length\": {}, \"output_length\": 1, \"hash_ids\": [{}]}}\n",
                     1000 * second, tokens, ids);
}

ServerRun run_of(const RequestLog& log, Count blocks) {
  const RequestTraffic traffic{.requests = log.requests};
  return serve({.server = {.scheduler = {.block_tokens = 16, .blocks = blocks, .prefix_cache = true}}},
               test::even_times(), traffic);
}

/// Prompt tokens of each request that are found in a cache of this many blocks of 16 tokens.
std::vector<Count> cached(const std::string& text, Count blocks) {
  const ServerRun run = run_of(log_of(text), blocks);
  std::vector<Count> all;
  for (std::size_t i = 0; i < run.answers.size(); ++i) all.push_back(run.answers[i].cached);
  return all;
}

/// Checks that the log is rejected with this message after its path.
void refused_trace(const std::string& name, const std::string& text, const std::string& says) {
  const std::string path = test::scratch() + "/" + name;
  test::write_file(path, text);
  test::refused("serve llama-3.1-8b --hardware h100 --requests " + path, path + says);
}

const std::string azure = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n";
const std::string burst = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n";

}  // namespace

TEST_CASE("a Mooncake trace has times in milliseconds", "[serve][cli]") {
  const RequestLog log =
      log_of(R"({"timestamp": 27482, "input_length": 1055, "output_length": 52, "hash_ids": [46, 47, 2353]})"
             "\n"
             R"({"timestamp": 30535, "input_length": 900, "output_length": 26, "hash_ids": [46, 2366]})");
  CHECK(requests_of(log) == std::vector<Logged>{{0, 1055, 52}, {3.053, 900, 26}});
  CHECK(log.unused.empty());
  CHECK(log.requests.prefix_tokens(1) == 512);
  const RequestLog since_1970 = log_of(R"({"timestamp": 1764581677000, "input_length": 9, "output_length": 1})"
                                       "\n"
                                       R"({"timestamp": 1764581677250, "input_length": 9, "output_length": 1})");
  CHECK(since_1970.requests.at(1) == Seconds(0.25));
}

TEST_CASE("hash ids may have 64 bits, and may be absent", "[serve][cli]") {
  const RequestLog log =
      log_of(prompt_line(0, 600, "18446744073709551615, 7") + prompt_line(1, 600, "18446744073709551615, 8") +
             prompt_line(2, 600, "18446744073709551614, 9") +
             R"({"timestamp": 3000, "input_length": 600, "output_length": 1})");
  for (const std::size_t i : {0, 1}) CHECK(log.requests.prefix_tokens(i) == 512);
  for (const std::size_t i : {2, 3}) CHECK(log.requests.prefix(i) == no_chain);
}

TEST_CASE("the Azure traces of 2023 and 2024 have dates, with or without an offset", "[serve][cli]") {
  const RequestLog of_2023 = log_of(azure +
                                    "2023-11-16 23:59:59.9799600,4808,10\r\n"
                                    "2023-11-17 00:00:00.0319601,3180,8"),
                   of_2024 = log_of(azure +
                                    "2024-05-10 00:00:00.009930+00:00,2162,5\n"
                                    "2024-05-10 00:00:01+00:00,76,15\n");
  CHECK(requests_of(of_2023) == std::vector<Logged>{{0, 4808, 10}, {0.0520001, 3180, 8}});
  CHECK(requests_of(of_2024) == std::vector<Logged>{{0, 2162, 5}, {0.99007, 76, 15}});
}

TEST_CASE("requests of BurstGPT without tokens failed: they are omitted and counted", "[serve][cli]") {
  const RequestLog log = log_of(burst +
                                "5,ChatGPT,472,18,490,Conversation log\n"
                                "45,ChatGPT,0,0,0,API log\n"
                                "50,ChatGPT,900,0,900,API log\n"
                                "118,GPT-4,1087,230,1317,Conversation log\n");
  CHECK(requests_of(log) == std::vector<Logged>{{0, 472, 18}, {113, 1087, 230}});
  CHECK(log.lines == std::vector<std::uint32_t>{2, 5});
  CHECK(log.failed == 2);
  CHECK(log.unused == std::vector<std::string>{"Model", "Total tokens", "Log Type"});
}

TEST_CASE("later releases of BurstGPT have sessions, which are ignored", "[serve][cli]") {
  const RequestLog log = log_of(
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "19440110.0,1722ac82,43,GPT-4,906,446,1352,Conversation log\n"
      "19440161.0,,2,ChatGPT,36,29,65,API log\n");
  CHECK(requests_of(log) == std::vector<Logged>{{0, 906, 446}, {51, 36, 29}});
  CHECK(log.requests.session(0) == no_chain);
}

TEST_CASE("a published trace is sorted by arrival, and equal arrivals remain in order", "[serve][cli]") {
  const RequestLog log = log_of(burst + "9,A,1,9,10,x\n5,A,2,9,11,x\n9,A,3,9,12,x\n4,A,4,9,13,x\n");
  CHECK(requests_of(log) == std::vector<Logged>{{0, 4, 9}, {1, 2, 9}, {5, 1, 9}, {5, 3, 9}});
  CHECK(log.lines == std::vector<std::uint32_t>{5, 3, 2, 4});
  const RequestLog sorted =
      log_of(prompt_line(9, 600, "1, 2") + prompt_line(5, 500, "3") + prompt_line(7, 700, "1, 4"));
  CHECK(sorted.requests.prefix(0) == no_chain);
  CHECK((sorted.requests.prefix(1) == 0 && sorted.requests.prefix(2) == 0));
}

TEST_CASE("a request reuses the blocks before its hash ids differ from those of earlier requests", "[serve][cli]") {
  const std::string trace = prompt_line(0, 1600, "1, 2, 3, 4") +     // 3 x 512 + 64 tokens
                            prompt_line(1000, 1600, "1, 2, 5, 6") +  // 2 x 512 shared
                            prompt_line(2000, 1536, "1, 2, 3") +     // 95 blocks: the last token must be computed
                            prompt_line(3000, 1600, "1, 2, 3, 4") +  // 99 blocks
                            prompt_line(4000, 1590, "1, 2, 3, 4") +  // the last id stands for 54 tokens here: 3 x 512
                            prompt_line(5000, 1600, "7, 2, 3, 4");   // other tokens before block 2
  CHECK(cached(trace, 10'000) == std::vector<Count>{0, 1024, 1520, 1584, 1536, 0});
}

TEST_CASE("the last blocks of the prompt used least recently are evicted first", "[serve][cli]") {
  // 128 blocks hold 4 ids. The first two prompts leave 1, 2, 3 and 4; the next one evicts 3, or 3 and 2.
  const std::string before = prompt_line(0, 1536, "1, 2, 3") + prompt_line(1000, 1024, "1, 4"),
                    after = prompt_line(3000, 1536, "1, 2, 3");
  CHECK(cached(before + prompt_line(2000, 512, "5") + after, 128) == std::vector<Count>{0, 512, 0, 1024});
  CHECK(cached(before + prompt_line(2000, 1024, "5, 6") + after, 128) == std::vector<Count>{0, 512, 0, 512});
}

TEST_CASE("hash ids with one shared prefix give the times of a log with this prefix", "[serve][cli]") {
  std::string hashed, named;
  for (Count i = 0; i < 20; ++i) {
    hashed += prompt_line(40 * i, 1100 + 20 * i, fmt::format("1, 2, {}", 3 + i));
    named +=
        fmt::format("{{\"arrival\": {}, \"prompt\": {}, \"generated\": 1, \"prefix\": 1024}}\n", 40 * i, 1100 + 20 * i);
  }
  const ServerRun a = run_of(log_of(hashed), 150), b = run_of(log_of(named), 150);
  for (std::size_t i = 0; i < 20; ++i) {
    const AnswerTimes x = a.answers[i], y = b.answers[i];
    CHECK((x.sent == y.sent && x.first == y.first && x.last == y.last && x.cached == y.cached));
  }
  CHECK(a.answers[19].cached == 1024);
}

TEST_CASE("a request log may be longer than other input files", "[serve][cli]") {
  const std::string path = test::scratch() + "/long.csv", blank(json::max_bytes, ' ');
  test::write_file(path, azure + "2024-05-10 00:00:00+00:00,9,5\n" + blank + "\n2024-05-10 00:00:01+00:00,7,3\n");
  CHECK(requests_of(read_request_log_file(path)) == std::vector<Logged>{{0, 9, 5}, {1, 7, 3}});
  test::write_file(path, azure + "2024-05-10 00:00:00+00:00,x,5\n" + blank);
  CHECK_THROWS_WITH(read_request_log_file(path), Catch::Contains("line 2, \"ContextTokens\": expected a positive"));
}

TEST_CASE("serve and plan serve report the failed requests of a trace", "[serve][cli]") {
  const std::string path = test::scratch() + "/burst.csv";
  test::write_file(path, burst + "5,ChatGPT,472,18,490,x\n45,ChatGPT,0,0,0,x\n46,ChatGPT,47,8,55,x\n");
  const std::string server = "serve llama-3.1-8b --hardware h100 --requests " + path,
                    note = "omitted 1 request of " + path + " without tokens of a prompt or an answer";
  const json::Value served = test::ask(server), plan = test::ask("plan " + server + " --slo-ttft 1s");
  CHECK(served["serving"]["requests"] == 2);
  CHECK_THAT(served["notes"].dump(), Catch::Contains(note));
  CHECK_THAT(plan["notes"].dump(), Catch::Contains(note));
}

TEST_CASE("a plan for a trace with hash ids routes prompts to the engine that caches their blocks", "[serve][cli]") {
  const std::string path = test::scratch() + "/plan.jsonl";
  std::string trace;
  for (Count i = 0; i < 400; ++i)
    trace += fmt::format(R"({{"timestamp": {}, "input_length": 900, "output_length": 50, "hash_ids": [{}, {}]}})"
                         "\n",
                         10 * i, i % 7, 7 + i);
  test::write_file(path, trace);
  const json::Value plan =
      test::ask("plan serve llama-3.1-8b --hardware h100 --tp 1 --slo-ttft 100ms --requests " + path)["plans"][0];
  CHECK_THAT(plan["command"].get<std::string>(), Catch::Contains("--router prefix-aware"));
  CHECK(plan["serving"]["prefix_hits"] > 0.5);
}

TEST_CASE("the error for an unreadable trace states the line and the field", "[serve][cli]") {
  refused_trace("short.jsonl", prompt_line(0, 512, "1") + prompt_line(1, 1025, "1, 2"),
                ", line 2, \"hash_ids\": expected 3 ids for 1025 prompt tokens, one per 512 tokens, got 2");
  refused_trace("ids.jsonl", prompt_line(0, 600, "1, -2"),
                ", line 1, \"hash_ids\": expected an array of whole numbers, one per 512 tokens of the prompt, got "
                "\"[1,-2]\"");
  refused_trace("scalar.jsonl", R"({"timestamp": 0, "input_length": 9, "output_length": 1, "hash_ids": 7})",
                ", line 1, \"hash_ids\": expected an array of whole numbers, one per 512 tokens of the prompt, got "
                "\"7\"");
  refused_trace("missing.jsonl", R"({"timestamp": 0, "input_length": 9})",
                ", line 1: \"output_length\" is missing; every request requires timestamp, input_length and "
                "output_length");
  refused_trace("late.jsonl", R"({"timestamp": 1e16, "input_length": 9, "output_length": 1})",
                ", line 1, \"timestamp\": expected milliseconds, at most 1e+15, got \"1e+16\"");
  refused_trace("negative.csv", azure + "2023-11-16 18:17:03.97,-5,10\n",
                ", line 2, \"ContextTokens\": expected a positive whole number (8192, 8k, 8Ki, 300B, 3e11), got "
                "\"-5\"");
  refused_trace("date.csv", azure + "2023-11-16 18:17:03.97,5,10\n2023-11-31 18:17:03,5,10\n",
                ", line 3, \"TIMESTAMP\": expected a date and time (2023-11-16 18:17:03.97 or 2024-05-10 "
                "00:00:00.009+00:00), got \"2023-11-31 18:17:03\"");
  refused_trace("column.csv", "Timestamp,Request tokens\n5,9\n",
                ": no column \"Response tokens\"; the columns are Timestamp, Request tokens");
  const std::string bad = test::scratch() + "/date.csv";
  test::refused("plan serve llama-3.1-8b --hardware h100 --slo-ttft 1s --requests " + bad,
                bad +
                    ", line 3, \"TIMESTAMP\": expected a date and time (2023-11-16 18:17:03.97 or 2024-05-10 "
                    "00:00:00.009+00:00), got \"2023-11-31 18:17:03\"");
  refused_trace("failures.csv", burst + "5,ChatGPT,0,0,0,x\n6,ChatGPT,9,0,9,x\n",
                ": none of the 2 requests has tokens of a prompt and an answer");
}
