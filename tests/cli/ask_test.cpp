// ask(): a JSON request gets the same answer as the command line.

#include "report/ask.hpp"

#include "report/render/render.hpp"
#include "report/schema/request_schema.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

json::Value request(const std::string& text) { return json::parse(text, "request"); }

std::string refused(const std::string& text) {
  const json::Value answer = ask(request(text));
  REQUIRE(answer.contains("error"));
  CHECK(answer["error"]["exit_code"] == 2);
  return answer["error"]["message"];
}

/// The answer as printed.
json::Value printed(const json::Value& asked) { return json::parse(dump(ask(asked)), "the answer"); }

/// The request contained in an answer.
json::Value request_of(const json::Value& answer) {
  json::Value again{{"command", answer["command"]}, {"inputs", answer.value("inputs", json::Value::object())}};
  for (const char* part : {"model", "hardware"})
    if (answer.contains(part)) again[part] = answer[part]["name"];
  return again;
}

}  // namespace

TEST_CASE("a request gets the same answer as the command line", "[ask]") {
  const std::pair<const char*, const char*> same[] = {
      {R"({"command": "params", "model": "gpt2"})", "params gpt2"},
      {R"({"command": "memory", "model": "gpt2", "inputs": {"train": true, "seq": 512}})",
       "memory gpt2 --train --seq 512"},
      {R"({"command": "train", "model": "llama-3.1-8b", "hardware": "h100", "inputs": {"gpus": 64, "tp": 8, "sp": true,
          "tokens": "1T"}})",
       "train llama-3.1-8b --hardware h100 --gpus 64 --tp 8 --sp --tokens 1T"},
      {R"({"command": "infer", "model": "mixtral-8x7b", "hardware": "h200", "inputs": {"batch": 8,
          "weight_precision": {"all": "bf16", "experts": "fp8"}}})",
       "infer mixtral-8x7b --hardware h200 --batch 8 --weight-precision bf16,experts=fp8"},
      {R"({"command": "serve", "model": "llama-3.1-8b", "hardware": "h100", "inputs": {"rate": 2,
          "num_requests": 100}})",
       "serve llama-3.1-8b --hardware h100 --rate 2 --num-requests 100"},
      {R"({"command": "fit", "model": "llama-3.1-8b", "hardware": "rtx-4090"})",
       "fit llama-3.1-8b --hardware rtx-4090"},
      {R"({"command": "plan train", "model": "gpt2", "hardware": "h100", "inputs": {"gpus": 8}})",
       "plan train gpt2 --hardware h100 --gpus 8"},
      {R"({"command": "explain", "model": "gpt2", "hardware": "h100", "inputs": {"quantity": "step.time_s"}})",
       "explain step.time_s gpt2 --hardware h100"},
      {R"({"command": "explain"})", "explain"},
      {R"({"command": "scaling", "inputs": {"compute": 5.76e23}})", "scaling --compute 5.76e23"},
      {R"({"command": "collective", "hardware": "h100", "inputs": {"operation": "all-reduce", "bytes": 1073741824,
          "ranks": 8}})",
       "collective all-reduce --bytes 1GiB --ranks 8 --hardware h100"},
      {R"({"command": "list", "inputs": {"kind": "dtypes"}})", "list dtypes"},
      {R"({"command": "compare", "sides": [{"command": "params", "model": "gpt2"},
          {"command": "params", "model": "llama-3.1-8b"}]})",
       ""}};
  for (const auto& [json, typed] : same) {
    CAPTURE(json);
    const json::Value answer = printed(request(json));
    CHECK_FALSE(answer.contains("error"));
    if (*typed != 0) CHECK(answer == test::ask(typed));
  }
}

TEST_CASE("the request inside an answer reproduces the answer", "[ask]") {
  for (const char* typed :
       {"params deepseek-v3", "memory llama-3.1-70b --train --tp 8 --recompute full --hardware h100",
        "flops gemma-3-27b --tokens 1T", "train gpt-3-175b --hardware a100 --gpus 1024 --tp 8 --pp 8 --tokens 300B",
        "train llama-3.1-8b --hardware h100 --gpus 8 --fsdp",
        "train deepseek-v3 --hardware h200 --gpus 512 --ep 8 --pp 4",
        "infer llama-3.1-8b --hardware h100 --precision fp8", "infer gpt-oss-120b --hardware h100 --tp 2",
        "report falcon-40b --hardware a100 --tp 4", "scaling --params 70B --fit besiroglu",
        "collective broadcast --bytes 400MB --ranks 64 --bandwidth 25GB/s"}) {
    CAPTURE(typed);
    const json::Value answer = test::ask(typed);
    CHECK(printed(request_of(answer)) == answer);
  }
}

TEST_CASE("models and devices can be given as objects", "[ask]") {
  const json::Value model = ask(request(R"({"command": "show", "inputs": {"name": "gpt2"}})"));
  const json::Value device = ask(request(R"({"command": "show", "inputs": {"name": "h100"}})"));
  const json::Value answer =
      ask({{"command", "train"}, {"model", model}, {"hardware", device}, {"inputs", {{"gpus", 8}}}});
  CHECK(answer["step"] == test::ask("train gpt2 --hardware h100 --gpus 8")["step"]);
  const json::Value config = request(R"({"command": "import", "model": {"model_type": "llama", "hidden_size": 64,
    "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 16,
    "max_position_embeddings": 64}})");
  CHECK(ask(config)["hidden"] == 64);
}

TEST_CASE("the error for an invalid request is one sentence that names the key", "[ask]") {
  CHECK(refused("[]").starts_with("a request must be an object"));
  CHECK(refused(R"({"model": "gpt2"})") == "\"command\" is missing; specify one, such as \"train\"");
  CHECK(refused(R"({"command": "trian", "model": "gpt2"})") ==
        "\"command\": unknown command \"trian\", did you mean \"train\"?");
  CHECK(refused(R"({"command": "params", "modle": "gpt2"})") ==
        "\"modle\" is not a request key, did you mean \"model\"?");
  CHECK(refused(R"({"command": "params", "model": "/etc/passwd"})").starts_with("\"model\": unknown preset"));
  CHECK(refused(R"({"command": "params", "model": "gpt2", "inputs": {"sequence": 5}})")
            .starts_with("\"inputs\": \"sequence\" is not an input of \"params\""));
  CHECK(refused(R"({"command": "train", "model": "gpt2"})").find("needs --hardware") != std::string::npos);
  CHECK(refused(R"({"command": "train", "model": "gpt2", "hardware": "h100", "inputs": {"trace": "t.json"}})") ==
        "--trace takes a file, which a request cannot name; omit it");
  CHECK(refused(R"({"command": "serve", "model": "gpt2", "hardware": "h100", "inputs": {"requests": "log.jsonl"}})")
            .starts_with("--requests takes a file"));
  const json::Value answer =
      ask(request(R"({"command": "train", "model": "gpt2", "hardware": "h100", "inputs": {"tp": 5}})"));
  CHECK(answer["error"]["key"] == "tp");
  CHECK(refused(R"({"command": "train", "model": "gpt2", "hardware": "h100", "inputs": {"cp_method": "ulysses"}})")
            .starts_with("--cp-method has no effect without --cp"));
}

TEST_CASE("a request reads no file, whichever input names it", "[ask]") {
  const std::string path = test::scratch() + "/secret.json";
  test::write_file(path, "secret");
  for (const char* request_text :
       {R"({"command": "infer", "model": "gpt2", "hardware": "h100", "inputs": {"host": "PATH"}})",
        R"({"command": "serve", "model": "gpt2", "hardware": "h100",
            "inputs": {"rate": 1, "draft_tokens": 2, "draft_model": "PATH"}})",
        R"({"command": "plan train", "model": "gpt2", "hardware": "h100,PATH", "inputs": {"gpus": 2}})",
        R"({"command": "params", "inputs": {"model": "PATH"}})",
        R"({"command": "train", "model": "gpt2", "hardware": "h100", "inputs": {"software": "PATH"}})"}) {
    std::string text = request_text;
    text.replace(text.find("PATH"), 4, path);
    CAPTURE(text);
    CHECK(refused(text).find("unknown preset") != std::string::npos);
  }
}

TEST_CASE("an input counts as typed, even if it equals a default", "[ask]") {
  CHECK(printed(request(R"({"command": "memory", "model": "gpt2", "hardware": "h100",
      "inputs": {"memory_utilization": 1}})")) == test::ask("memory gpt2 --hardware h100 --memory-utilization 1"));
}

TEST_CASE("a style other than JSON gives the short answer without command-line hints", "[ask]") {
  const auto styled = [](const char* style) {
    json::Value asked = request(R"({"command": "train", "model": "gpt2", "hardware": "h100"})");
    asked["style"] = style;
    return ask(asked)["text"].get<std::string>();
  };
  const std::string typed = test::llmcalc("train gpt2 --hardware h100").out;
  CHECK(styled("text") == typed.substr(0, typed.find("more: ")));
  CHECK(styled("markdown") == test::llmcalc("train gpt2 --hardware h100 --markdown").out);
  CHECK(styled("html").starts_with("<div"));
  CHECK(refused(R"({"command": "params", "model": "gpt2", "style": "pdf"})") ==
        "\"style\": expected json, text, markdown or html, got \"pdf\"");
  CHECK(ask(request(R"({"command": "params", "model": "gpt2", "style": "json"})")) ==
        ask(request(R"({"command": "params", "model": "gpt2"})")));
}

TEST_CASE("the key of an error is the input inside \"inputs\"", "[ask]") {
  const auto key = [](const char* text) { return ask(request(text))["error"]["key"]; };
  CHECK(key(R"({"command": "params", "model": "gpt2", "inputs": {"sequence": 5}})") == "sequence");
  CHECK(key(R"({"command": "train", "model": "gpt2", "hardware": "h100", "inputs": {"sp": 3}})") == "sp");
  CHECK(key(R"({"command": "params", "model": "gpt2", "inputs": []})") == "inputs");
}

TEST_CASE("no input of a request opens a file", "[ask]") {
  const std::string path = test::scratch() + "/config.json";
  test::write_file(path, test::read_file(LLMCALC_SOURCE_DIR "/tests/models/llama.json"));
  Count tried = 0;
  for (const Command& c : requested_commands()) {
    const json::Value schema = arguments_schema(c)["properties"];
    json::Value request{{"command", c.name}, {"model", "gpt2"}, {"hardware", "h100"}};
    for (const char* key : {"model", "hardware"})
      if (!schema.contains(key)) request.erase(key);
    std::vector<std::string> keys{"model", "config", "hardware", "software", "trace", "requests"};
    for (const auto& [key, part] : schema["inputs"]["properties"].items()) keys.push_back(key);
    for (const std::string& key : keys)
      for (const std::string& name : {path, path + ".absent"}) {
        if (c.name == "diagnose" && key == "log") continue;  // the text of a log
        json::Value one = request;
        one["inputs"][key] = name;
        CAPTURE(c.name, key);
        const std::string answer = ask(one).dump();
        CHECK((answer.find("{\"error\"") == 0 || answer.find("config.json") == std::string::npos));
        CHECK(answer.find("no such file") == std::string::npos);
        ++tried;
      }
  }
  CHECK(tried > 1000);
}

TEST_CASE("an option outside the inputs is refused with its place", "[ask]") {
  CHECK(refused(R"({"command": "params", "model": "gpt2", "tp": 8})") ==
        "\"tp\" is not a request key; put it under \"inputs\"");
}
