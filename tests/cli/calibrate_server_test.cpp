// 'llmcalc calibrate --server URL': a hardware file from the metrics of a running server. The metrics are written by
// hand, with the names of tests/evidence/server_counters_test.cpp.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <stdexcept>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/cli/test_server.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

std::string server_path(const std::string& name) { return test::scratch() + "/" + name; }

/// vLLM's metrics after `n` requests of 1,024 + 129 tokens, 125 ms to the first token and 15.625 ms per token.
/// `cached`: share of the prompts' tokens.
std::string served_metrics(double n, double cached = 0) {
  const auto pair = [](const char* name, double sum, double count) {
    return fmt::format(
        "vllm:{0}_sum{{model_name=\"meta-llama/Llama-3.1-8B-Instruct\"}} {1}\n"
        "vllm:{0}_count{{model_name=\"meta-llama/Llama-3.1-8B-Instruct\"}} {2}\n",
        name, sum, count);
  };
  return "# TYPE vllm:request_prompt_tokens histogram\n" + pair("request_prompt_tokens", 1024 * n, n) +
         pair("request_generation_tokens", 129 * n, n) + pair("time_to_first_token_seconds", 0.125 * n, n) +
         pair("inter_token_latency_seconds", 2 * n, 128 * n) + pair("e2e_request_latency_seconds", 2.125 * n, n) +
         fmt::format(
             "vllm:generation_tokens_total {}\nvllm:prefix_cache_queries_total {}\n"
             "vllm:prefix_cache_hits_total {}\n",
             129 * n, 1024 * n, cached * 1024 * n);
}

std::string readings(const std::string& name, double n, double cached = 0) {
  test::write_file(server_path(name), served_metrics(n, cached));
  return server_path(name);
}

const json::Value& served_figure(const json::Value& report, const std::string& key) {
  for (const json::Value& f : report["figures"])
    if (f["figure"] == key) return f;
  throw std::runtime_error("no " + key);
}

/// The one sentence of a calibration that is refused, without a file.
std::string server_refusal(const std::string& arguments) {
  const test::Ran r = test::llmcalc("calibrate " + arguments + " --out " + server_path("refused.json"));
  INFO(r.err);
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK_FALSE(std::filesystem::exists(server_path("refused.json")));
  const std::size_t at = r.err.find("llmcalc: ");  // a slow machine may print progress before it
  REQUIRE(at != std::string::npos);
  CHECK(std::count(r.err.begin() + static_cast<std::ptrdiff_t>(at), r.err.end(), '\n') == 1);
  return r.err.substr(at);
}

}  // namespace

TEST_CASE("two readings of a server's metrics give the ratios of its times", "[calibrate][server]") {
  const std::string before = readings("before.txt", 40), after = readings("after.txt", 140);
  const json::Value report = test::ask("calibrate --force --bench " + before + " --bench " + after +
                                       " --seconds 17 --hardware h100 --out " + server_path("files.json"));
  CHECK(served_figure(report, "ttft_ms")["measured"] == 125);
  CHECK(served_figure(report, "itl_ms")["measured"] == 15.625);
  CHECK(served_figure(report, "output_tok_s")["measured"] == 12900. / 17);
  CHECK(served_figure(report, "itl_ms")["test"] == "12.5 requests in progress, 1024 + 129 tokens");  // 212.5 s / 17 s
  CHECK(report["inputs"]["bench"] == json::Value({before, after}));
  const json::Value served = json::parse(test::read_file(server_path("files.json")), "files.json")["served"];
  CHECK(served["decode"] == served_figure(report, "itl_ms")["time_ratio"]);
  CHECK(served["prompt"] == served_figure(report, "ttft_ms")["time_ratio"]);
  CHECK(served["engine"] == "vllm");
  CHECK(served["model"] == "llama-3.1-8b");
  CHECK(served["file"] == "metrics of a server");
  CHECK_THAT(report["notes"].dump(), Contains("means over 100 requests that ended in 17 s"));
}

TEST_CASE("cached tokens shorten the predicted time to the first token, not the context of an answer",
          "[calibrate][server]") {
  const auto predicted = [](double cached, const char* key) {
    const json::Value report =
        test::ask("calibrate --force --bench " + readings("before.txt", 40, cached) + " --bench " +
                  readings("after.txt", 140, cached) + " --seconds 170 --hardware h100 --out " + server_path("c.json"));
    return served_figure(report, key)["predicted"].get<double>();
  };
  CHECK(predicted(0.75, "ttft_ms") < 0.8 * predicted(0, "ttft_ms"));
  CHECK(predicted(0.75, "itl_ms") == Approx(predicted(0, "itl_ms")).epsilon(0.02));
}

TEST_CASE("readings in files are refused without what they lack", "[calibrate][server][errors]") {
  const std::string before = readings("before.txt", 40), after = readings("after.txt", 140),
                    both = "--hardware h100 --bench " + before + " --bench " + after;
  CHECK_THAT(server_refusal(both), Contains("add --seconds N, the time between them"));
  CHECK_THAT(server_refusal(both + " --seconds 0"), Contains("--seconds"));
  CHECK_THAT(server_refusal(both + " --seconds 1e9"), Contains("--seconds: expected at most 86400"));
  CHECK_THAT(server_refusal(both + " --seconds 9 --bench " + after), Contains("more than twice"));
  CHECK_THAT(server_refusal("--hardware h100 --bench " + after), Contains("one reading of a server's metrics"));
  CHECK_THAT(server_refusal("--hardware h100 --seconds 9 --bench " + after),
             Contains("--seconds describes two readings"));
  CHECK_THAT(server_refusal("--hardware h100 --seconds 9 --bench " + after + " --bench " + before),
             Contains("fell from"));
  CHECK_THAT(server_refusal("--seconds 9"), Contains("--seconds describes the readings of --server URL"));
  CHECK_THAT(server_refusal("--allow-remote --bench " + after), Contains("--allow-remote describes"));
  CHECK_THAT(server_refusal("--server http://localhost:1 --bench " + after), Contains("omit one of them"));
}

#ifdef LLMCALC_HTTP

namespace {

/// A vLLM server; each reading of its metrics is 10 requests later.
test::TestServer served_vllm(std::shared_ptr<std::atomic<int>> read = std::make_shared<std::atomic<int>>(0)) {
  return test::TestServer([read](const std::string& path) -> test::ServerReply {
    if (path == "/metrics") return {.body = served_metrics(40 + 10 * (*read)++)};
    if (path == "/version") return {.body = R"({"version": "0.10.0"})"};
    if (path == "/v1/models") return {.body = R"({"data": [{"id": "chat", "root": "meta-llama/Llama-3.1-8B"}]})"};
    return {.status = 404};
  });
}

std::string refusal_of(const std::string& url, const std::string& options = "--hardware h100") {
  return server_refusal("--seconds 0.1 " + options + " --server " + url);
}

std::string refusal_of_reply(const test::ServerReply& metrics) {
  const test::TestServer server([&](const std::string&) { return metrics; });
  return refusal_of(server.url());
}

}  // namespace

TEST_CASE("a running server is read twice", "[calibrate][server][http]") {
  const test::TestServer server = served_vllm();
  const json::Value report = test::ask("calibrate --force --seconds 0.2 --hardware h100 --server " + server.url() +
                                       "/metrics --out " + server_path("server.json"));
  CHECK(served_figure(report, "ttft_ms")["measured"] == 125);
  CHECK(served_figure(report, "itl_ms")["measured"] == 15.625);
  const json::Value served = json::parse(test::read_file(server_path("server.json")), "server.json")["served"];
  CHECK(served["engine"] == "vllm");
  CHECK(served["version"] == "0.10.0");
  CHECK(served["model"] == "llama-3.1-8b");
  CHECK(report["inputs"]["server"] == server.url() + "/metrics");
}

TEST_CASE("a server's ranks are those that it states, unless an option states others", "[calibrate][server][http]") {
  const auto read = std::make_shared<std::atomic<int>>(0);
  const test::TestServer server([read](const std::string& path) -> test::ServerReply {
    if (path == "/version") return {.body = R"({"version": "0.10.0", "tp_size": 2, "pp_size": 1})"};
    if (path == "/metrics") return {.body = served_metrics(40 + 10 * (*read)++)};
    return {.status = 404};
  });
  const auto per_token = [&](const std::string& options) {
    const json::Value report = test::ask("calibrate --force --seconds 1 --hardware h100 --server " + server.url() +
                                         options + " --out " + server_path("ranks.json"));
    CHECK_THAT(report["notes"].dump(), Contains("the server states --tp 2 and --pp 1"));
    return served_figure(report, "itl_ms")["predicted"].get<double>();
  };
  CHECK(per_token("") < 0.8 * per_token(" --tp 1"));
}

TEST_CASE("one signal ends the wait for the second reading, and no file is written", "[calibrate][server][http]") {
  const auto read = std::make_shared<std::atomic<int>>(0);
  const test::TestServer server = served_vllm(read);
  const std::string out = server_path("interrupted.json");
  const test::Ran r =
      test::signaled("calibrate --hardware h100 --seconds 60 --server " + server.url() + " --out " + out, {SIGINT},
                     std::chrono::milliseconds(500));
  CHECK(r.code == 130);
  CHECK_THAT(r.err, Contains("stopped"));
  CHECK(r.out.empty());
  CHECK_FALSE(std::filesystem::exists(out));
  CHECK(*read <= 1);
}

TEST_CASE("a mistake in the options is found before the wait", "[calibrate][server][http][errors]") {
  const test::TestServer server = served_vllm();
  const std::string url = server.url();
  CHECK_THAT(server_refusal("--seconds 600 --server " + url), Contains(url + " does not state the device"));
  CHECK_THAT(server_refusal("--seconds 600 --hardware h100 --model none --server " + url), Contains("none"));
}

TEST_CASE("a server without metrics of requests is refused", "[calibrate][server][http][errors]") {
  CHECK_THAT(refusal_of("http://127.0.0.1:1"), Contains("cannot read http://127.0.0.1:1/metrics: no connection"));
  CHECK_THAT(refusal_of_reply({.status = 404}), Contains("status 404; start SGLang with --enable-metrics"));
  CHECK_THAT(refusal_of_reply({.status = 501}), Contains("status 501; start SGLang with --enable-metrics"));
  CHECK_THAT(refusal_of_reply({.status = 401}), Contains("llmcalc sends no API key"));
  CHECK_THAT(refusal_of_reply({.status = 302}), Contains("llmcalc does not follow a redirect"));
  CHECK_THAT(refusal_of_reply({.status = 500}), Contains("status 500"));
  CHECK_THAT(refusal_of_reply({.body = "<!DOCTYPE html>\n"}), Contains("line 1 is no Prometheus metric"));
  CHECK_THAT(refusal_of_reply({.body = ""}), Contains("no metrics of vLLM, SGLang or llama.cpp"));
  CHECK_THAT(refusal_of_reply({.body = "go_threads 7\n"}), Contains("no metrics of vLLM, SGLang or llama.cpp"));
  CHECK_THAT(refusal_of_reply({.body = served_metrics(40)}), Contains("no request ended in 0.1"));
  CHECK_THAT(refusal_of_reply({.body = std::string(17 << 20, '#')}), Contains("the reply exceeds 16 MiB"));
}

TEST_CASE("a server that does not speak HTTP is refused", "[calibrate][server][http][errors]") {
  const std::string megabyte(1 << 20, 'x');
  for (const auto& [bytes, times] : {std::pair{std::string(), 1},
                                     {std::string("SSH-2.0-OpenSSH\r\n"), 1},
                                     {"HTTP/1.1 200 " + megabyte + "\r\n\r\n", 1},
                                     {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nx", 1},
                                     {"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nx", 1},
                                     {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx", 1},
                                     {std::string("\0\xff\0", 3) + megabyte, 1}}) {
    const test::RawServer server(bytes, times);
    INFO(bytes.substr(0, 60));
    CHECK_THAT(refusal_of(server.url()), Contains(server.url() + "/metrics"));
  }
  const test::RawServer endless(megabyte, 100000);
  CHECK_THAT(refusal_of(endless.url()), Contains("cannot read " + endless.url()));
}

TEST_CASE("only this machine is read, unless another is allowed", "[calibrate][server][http][errors]") {
  for (const char* host :
       {"example.com", "10.0.0.1", "0.0.0.0", "128.0.0.1", "[2001:db8::1]", "localhost.example.com"}) {
    INFO(host);
    CHECK_THAT(refusal_of(fmt::format("'http://{}:8000'", host)),
               Contains("is not this machine; add --allow-remote to send it requests"));
  }
  CHECK_THAT(refusal_of("0.0.0.0:1 --allow-remote"), Contains("no connection"));
  for (const char* host : {"localhost", "127.0.0.1", "127.1.2.3", "[::1]", "LocalHost"})
    CHECK_THAT(refusal_of(fmt::format("'{}:1'", host)), Contains("no connection"));
}

TEST_CASE("a URL that is no server's address is refused", "[calibrate][server][http][errors]") {
  CHECK_THAT(refusal_of("https://localhost"), Contains("expected http, got \"https\""));
  CHECK_THAT(refusal_of("file:///etc/passwd"), Contains("expected http, got \"file\""));
  for (const char* url :
       {"http://", "http://[::1", "http://user@localhost", "http://[a/b]", "'http://a b'", "/metrics"})
    CHECK_THAT(refusal_of(url), Contains("--server: no valid host"));
  for (const char* url : {"localhost:", "localhost:0", "localhost:65536", "localhost:80a", "localhost:-1"})
    CHECK_THAT(refusal_of(url), Contains("--server: no port from 1 to 65535"));
  for (const char* url : {"'http://localhost/a b'", "http://localhost/?q", "'http://localhost/a\r\nb'"})
    CHECK_THAT(refusal_of(url), Contains("--server: no valid path"));
}

TEST_CASE("llama.cpp's server needs the length of a prompt", "[calibrate][server][http]") {
  const auto read = std::make_shared<std::atomic<int>>(0);
  const test::TestServer server([read](const std::string& path) -> test::ServerReply {
    const double n = 10 * (*read)++;
    if (path == "/props")
      return {.body = R"({"model_path": "/m/Llama-3.1-8B-Instruct-Q8_0.gguf", "build_info": "b6123-07f"})"};
    if (path != "/metrics") return {.status = 404};
    return {.body = fmt::format("llamacpp:prompt_tokens_total {}\nllamacpp:prompt_seconds_total {}\n"
                                "llamacpp:tokens_predicted_total {}\nllamacpp:tokens_predicted_seconds_total {}\n",
                                512 * n, 0.0625 * n, 33 * n, 0.25 * n)};
  });
  const std::string options = "--hardware rtx-4090";
  CHECK_THAT(refusal_of(server.url(), options), Contains("add --prompt N, the mean tokens of a prompt"));
  const json::Value report = test::ask("calibrate --force --seconds 1 --prompt 512 " + options + " --server " +
                                       server.url() + " --out " + server_path("llama.json"));
  CHECK(served_figure(report, "ttft_ms")["measured"] == 62.5);
  CHECK(served_figure(report, "tpot_ms")["measured"] == 7.8125);  // 0.25 s / 32 tokens
  const json::Value served = json::parse(test::read_file(server_path("llama.json")), "llama.json")["served"];
  CHECK(served["version"] == "b6123");
  CHECK(served["model"] == "llama-3.1-8b");
}

#else

TEST_CASE("without an HTTP client, --server names the package to install", "[calibrate][server][errors]") {
  CHECK_THAT(server_refusal("--hardware h100 --server http://localhost:1"),
             Contains("libcpp-httplib-dev") && Contains("--bench BEFORE --bench AFTER --seconds N"));
}

#endif
