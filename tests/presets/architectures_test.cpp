// Models of mid-2025 to 2026: published configurations, and counts worked out from the modelling code.

#include "calc/memory.hpp"
#include "calc/parameters.hpp"
#include "calc/textbook/mtp.hpp"
#include "presets/import/import.hpp"
#include "presets/model_file.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

json::Value rows_2026() {
  const std::string path = LLMCALC_SOURCE_DIR "/tests/presets/data/configs_2026.json";
  return json::parse(json::file_text(path), path);
}

template <typename Act>
void for_each_row(const Act& act) {
  const json::Value rows = rows_2026();
  REQUIRE(rows.size() == 32);
  for (const json::Value& row : rows) {
    CAPTURE(row["name"].get<std::string>());
    act(row, import_config(row["config"], "config.json"));
  }
}

}  // namespace

TEST_CASE("a configuration of 2026 imports to its parameters by component", "[import][architectures]") {
  for_each_row([](const json::Value& row, const ModelCard& card) {
    const Parameters p = parameters(card.arch);
    CHECK(p.total == row["parameters"].get<Count>());
    CHECK(p.embedding == row["embedding"].get<Count>());
    CHECK(p.attention == row["attention"].get<Count>());
    CHECK(p.mlp == row["mlp"].get<Count>());
    CHECK(p.norm == row["norm"].get<Count>());
    CHECK(p.lm_head == row["lm_head"].get<Count>());
    if (row.contains("active")) CHECK(p.active == row["active"].get<Count>());
    CHECK(card.unknown_keys == std::vector<std::string>());
  });
}

// mtp: the published total less the model's, where files hold the modules; correction biases of routers, which files
// hold too, left out of both.
TEST_CASE("the modules for further tokens of a configuration of 2026 have the parameters that its files have besides",
          "[import][architectures][mtp]") {
  for_each_row([](const json::Value& row, const ModelCard& card) {
    CHECK(mtp_parameters(card.arch).total == row.value("mtp", Count{0}));
    CHECK(mtp_parameters(card.arch).total == card.arch.mtp.modules * textbook::module_parameters(card.arch));
  });
}

// hidden 2560: attention 15728640, dense MLP 3 x 2560 x 12288, projection 2 x 2560^2, 4 norms; the model's final norm.
TEST_CASE("a module of ERNIE 4.5 has the dense MLP and no norm before the head", "[import][architectures][mtp]") {
  for_each_row([](const json::Value& row, const ModelCard& card) {
    if (row["name"] != "ERNIE-4.5-21B-A3B") return;
    CHECK(card.arch.mtp.modules == 0);
    json::Value config = row["config"];
    config["num_nextn_predict_layers"] = 1;
    CHECK(mtp_parameters(import_config(config, "config.json").arch).total == 123217920);
  });
}

// fixed_per_sequence: full windows, recurrent states in float32, the last K - 1 inputs of convolutions in 16 bits.
TEST_CASE("a model of 2026 caches its bytes per token and per sequence", "[import][architectures]") {
  for_each_row([](const json::Value& row, const ModelCard& card) {
    constexpr Count far = 1 << 20;
    const Bytes at = cache_bytes(card.arch, {}, far);
    const Bytes each = cache_bytes(card.arch, {}, far + 1) - at;
    CHECK(each == Bytes(row["cache_per_token"].get<Count>()));
    CHECK(at - far * each == Bytes(row["fixed_per_sequence"].get<Count>()));
  });
}

TEST_CASE("a model of 2026 survives being written as a model file and read back", "[import][architectures]") {
  for_each_row([](const json::Value&, const ModelCard& card) {
    CHECK(read_model_file(model_file_json(card), "a file").arch == card.arch);
  });
}
