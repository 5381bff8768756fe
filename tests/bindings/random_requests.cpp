#include "tests/bindings/random_requests.hpp"

#include <random>
#include <sstream>

#include "calc/links/collective.hpp"
#include "presets/builtin.hpp"
#include "report/commands/asked.hpp"
#include "report/schema/report_schema.hpp"

namespace llmcalc::test {
namespace {

class Drawn {
 public:
  explicit Drawn(unsigned seed) : generator_(seed) {}

  AskedRequest request();

 private:
  std::size_t below(std::size_t n) { return generator_() % n; }
  template <typename All>
  auto one_of(const All& all) {
    return all[below(std::size(all))];
  }
  bool rarely() { return below(30) == 0; }

  std::string preset(std::span<const Builtin> presets);
  std::string quantity();
  std::string word_value(const Word& w);
  json::Value input_value(const Option& o);
  json::Value odd_value();
  void add_word(const Word& w);
  void add_option(const Option& o);
  void add(const std::string& key, const json::Value& value);
  void type(const Option& o, const json::Value& value);

  std::mt19937 generator_;
  AskedRequest asked_;
  bool is_typed_ = true;
};

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string Drawn::preset(std::span<const Builtin> presets) {
  std::string name(one_of(presets).name);
  return rarely() ? name + "x" : name;
}

/// The path of a value in the answers.
std::string Drawn::quantity() {
  const json::Value schema = report_json_schema();
  std::vector<std::string> paths;
  for (const auto& [section, part] : schema["properties"].items())
    if (part.contains("properties"))
      for (const auto& [key, ignored] : part["properties"].items()) paths.push_back(section + "." + key);
  return one_of(paths);
}

std::string Drawn::word_value(const Word& w) {
  if (w.name == "MODEL" || w.name == "CONFIG") return preset(builtin_models());
  if (w.name == "NAME") return preset(below(2) == 0 ? builtin_models() : builtin_hardware());
  if (w.name == "QUANTITY") return quantity();
  if (w.name == "OP") return std::string(name(one_of(choices<CollectiveOp>).value));
  std::istringstream listed{std::string(w.name)};
  std::vector<std::string> words;
  for (std::string one; std::getline(listed, one, '|');) words.push_back(one);
  return one_of(words);
}

json::Value Drawn::odd_value() {
  static const std::vector<json::Value> odd{
      nullptr, -1,     1.5, "", "x", json::Value::array(), json::Value::array({"a"}), json::Value::object(),
      1e300,   "\x01", true};
  return one_of(odd);
}

/// Plausible values of a form of value; texts of all kinds for other forms.
std::vector<json::Value> usual_values(std::string_view form) {
  if (form == "N" || form == "K") return {1, 2, 4, 8, 16, 64, 3};
  if (form == "X" || form == "R" || form == "P") return {0.5, 1, 2, "1.5"};
  if (form == "TIME" || form == "S") return {"500ms", "2s"};
  if (form == "SIZE") return {"1GiB", "40GB"};
  if (form == "F") return {"bf16", "fp8", "fp32", "int4"};
  if (form == "B/S") return {"25GB/s"};
  if (form == "STACK" || form == "NAME[@VERSION]") return {"vllm", "megatron-lm", "sglang", "torch-fsdp", "vllm@0.10"};
  return {"8k", "1GiB", "0.9", "500ms", "16", "bf16", "2,2", "1T", "full", 2};
}

json::Value Drawn::input_value(const Option& o) {
  if (o.value.empty()) return true;
  if (rarely()) return odd_value();
  if (o.value.find('|') != std::string_view::npos) return word_value({.name = o.value, .help = ""});
  return o.value == "HW" ? json::Value(preset(builtin_hardware())) : one_of(usual_values(o.value));
}

void Drawn::add(const std::string& key, const json::Value& value) {
  (key == "model" || key == "hardware" ? asked_.request[key] : asked_.request["inputs"][key]) = value;
}

void Drawn::type(const Option& o, const json::Value& value) {
  asked_.typed += " " + std::string(o.flag);
  const bool is_text = value.is_string() && value.get<std::string>().find('\x01') == std::string::npos;
  if (value.is_number())
    asked_.typed += " " + value.dump();
  else if (is_text)
    asked_.typed += " " + quoted(value.get<std::string>());
  else if (!o.value.empty())
    is_typed_ = false;
}

void Drawn::add_word(const Word& w) {
  if (rarely() || (!w.required && below(2) == 0)) return;
  const std::string value =
      w.name == "LOG" ? "INFO 01-01 00:00:00 llm_engine.py: Initializing an LLM engine" : word_value(w);
  add(w.name == "CONFIG" ? "model" : w.request_key(), value);
  asked_.typed += " " + quoted(value);
  if (w.name == "LOG" || w.name == "CONFIG" || w.name == "NAME") is_typed_ = w.name == "NAME";
}

void Drawn::add_option(const Option& o) {
  const json::Value value = o.flag.starts_with("--no-") ? json::Value(false) : input_value(o);
  add(o.key(), value);
  type(o, value);
}

AskedRequest Drawn::request() {
  asked_ = {}, is_typed_ = true;
  static const std::vector<Command> all = asked_commands();
  const Command& command = all[below(all.size())];
  asked_.request["command"] = std::string(command.name) + (rarely() ? "e" : "");
  asked_.typed = asked_.request["command"].get<std::string>();
  if (command.answer == nullptr) {  // compare
    asked_.request["sides"] = json::Value::array({request().request, request().request});
    asked_.request = {{"command", "compare"}, {"sides", asked_.request["sides"]}};
    return {asked_.request, ""};
  }
  for (const Word& w : command.words) add_word(w);
  const std::vector<const Option*> options = asked_options(command);
  for (const Option* o : options)
    if (o->flag == "--hardware" ? below(12) != 0 : below(options.size()) < 2) add_option(*o);
  return {asked_.request, is_typed_ ? asked_.typed : ""};
}

}  // namespace

std::vector<AskedRequest> random_requests(std::size_t n, unsigned seed) {
  Drawn drawn(seed);
  std::vector<AskedRequest> all;
  for (std::size_t i = 0; i < n; ++i) all.push_back(drawn.request());
  return all;
}

}  // namespace llmcalc::test
