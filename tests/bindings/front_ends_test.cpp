// Every front end gives the same bytes.

#include <cstdlib>
#include <functional>
#include <sstream>

#include "bindings/c/llmcalc.h"
#include "report/ask.hpp"
#include "report/render/render.hpp"
#include "tests/bindings/random_requests.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

using Requests = std::vector<json::Value>;
using Answers = std::vector<std::string>;

std::vector<std::string> split_at(const std::string& text, const std::string& separator) {
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    all.push_back(text.substr(begin, end - begin));
    begin = end + separator.size();
  }
  return all;
}

std::string taken(char* answer) {
  std::string text = answer;
  llmcalc_free(answer);
  return text;
}

Answers in_c(const Requests& requests) {
  Answers all;
  for (const json::Value& request : requests) all.push_back(taken(llmcalc_ask(request.dump().c_str())));
  return all;
}

Answers in_c_at_once(const Requests& requests) {
  const std::string text = taken(llmcalc_ask_many(json::Value(requests).dump().c_str()));
  REQUIRE(text.starts_with("[\n"));
  Answers all = split_at(text.substr(2, text.size() - 5), "\n,\n");
  for (std::string& answer : all) answer += "\n";
  return all;
}

bool has_python() {
  return std::system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null") == 0;
}

Answers in_python(const Requests& requests) {
  std::string lines;
  for (const json::Value& request : requests) lines += request.dump() + "\n";
  const std::string in = test::scratch() + "/requests.jsonl", out = test::scratch() + "/answers";
  test::write_file(in, lines);
  const std::string command =
      "python3 " LLMCALC_SOURCE_DIR "/tests/bindings/python_answers.py " LLMCALC_BINDINGS " " + in + " " + out;
  REQUIRE(std::system(command.c_str()) == 0);
  return split_at(test::read_file(out), std::string(1, '\0'));
}

/// A front end, and whether it runs on this machine. A new one is a new row.
struct FrontEnd {
  const char* name;
  Answers (*answers)(const Requests&);
  bool (*is_present)() = [] { return true; };
};
constexpr FrontEnd front_ends[] = {{"C", in_c}, {"C, all at once", in_c_at_once}, {"Python", in_python, has_python}};

Requests requests_of(const std::vector<test::AskedRequest>& all) {
  Requests requests;
  for (const test::AskedRequest& one : all) requests.push_back(one.request);
  return requests;
}

Answers in_cpp(const Requests& requests) {
  Runner serial;
  Answers all;
  for (const json::Value& request : requests) all.push_back(ask_text(request, serial));
  return all;
}

bool is_error(const std::string& answer) { return answer.starts_with("{\n  \"error\": {"); }

}  // namespace

TEST_CASE("every front end gives the bytes of ask()", "[front_ends]") {
  const Requests requests = requests_of(test::random_requests(600, 1));
  const Answers expected = in_cpp(requests);
  for (const FrontEnd& front_end : front_ends) {
    if (!front_end.is_present()) {
      WARN(front_end.name << " is not installed; skipped");
      continue;
    }
    const Answers answers = front_end.answers(requests);
    REQUIRE(answers.size() == expected.size());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      INFO(front_end.name << ": " << requests[i].dump());
      CHECK(answers[i] == expected[i]);
    }
  }
}

TEST_CASE("ask() gives the bytes of the program's --json", "[front_ends]") {
  const std::vector<test::AskedRequest> asked = test::random_requests(600, 1);
  const Answers answers = in_cpp(requests_of(asked));
  std::size_t compared = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (asked[i].typed.empty()) continue;
    const test::Ran ran = test::llmcalc(asked[i].typed + " --json");
    INFO("llmcalc " << asked[i].typed << "\n" << asked[i].request.dump() << "\n" << ran.err);
    if (is_error(answers[i])) CHECK(ran.code == 2);
    if (ran.code != 0) continue;
    CHECK(ran.out == answers[i]);
    ++compared;
  }
  CHECK(compared >= 100);
}
