#include "presets/builtin.hpp"

#include <algorithm>
#include <set>

#include "tests/catch.hpp"
#include "text/json.hpp"
#include "text/names.hpp"

using namespace llmcalc;

TEST_CASE("every preset is built in byte for byte, sorted by name", "[builtin]") {
  for (const auto presets : {builtin_models(), builtin_hardware()}) {
    CHECK(std::is_sorted(presets.begin(), presets.end(), [](auto& a, auto& b) { return a.name < b.name; }));
    const std::string folder = presets.data() == builtin_models().data() ? "models" : "hardware";
    for (const Builtin& p : presets) {
      INFO(p.name);
      CHECK(json::file_text(LLMCALC_SOURCE_DIR "/presets/" + folder + "/" + std::string(p.name) + ".json") == p.text);
    }
  }
}

TEST_CASE("the names of presets that need no parsing are those of their files", "[builtin]") {
  for (const auto presets : {builtin_models(), builtin_hardware()}) {
    for (const Builtin& p : presets) {
      INFO(p.name);
      const auto value = json::parse(p.text, std::string(p.name));
      const json::Object o(value, std::string(p.name));
      CHECK(o.text("name") == p.name);
      const auto aliases = o.has("aliases") ? o.texts("aliases") : std::vector<std::string>();
      CHECK(std::equal(aliases.begin(), aliases.end(), p.aliases.begin(), p.aliases.end()));
    }
  }
}

TEST_CASE("no name means two presets", "[builtin]") {
  for (const auto presets : {builtin_models(), builtin_hardware()}) {
    std::set<std::string> seen;
    for (const auto& name : builtin_names(presets)) CHECK(seen.insert(lower(name)).second);
  }
}

TEST_CASE("presets are found by name and alias, in upper and lower case", "[builtin]") {
  const auto hardware = builtin_hardware();
  REQUIRE(find_builtin(hardware, "A100") != nullptr);
  CHECK(find_builtin(hardware, "A100")->name == "a100-sxm-80gb");
  CHECK(find_builtin(hardware, "a100-sxm-80gb") == find_builtin(hardware, "A100"));
  CHECK(find_builtin(hardware, "a100-sxm") == nullptr);
  CHECK(find_builtin(hardware, "") == nullptr);
}
