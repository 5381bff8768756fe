// The shipped model files.

#include <algorithm>
#include <filesystem>
#include <set>

#include "calc/parameters.hpp"
#include "presets/builtin.hpp"
#include "presets/import/import.hpp"
#include "presets/load.hpp"
#include "presets/model_file.hpp"
#include "tests/catch.hpp"
#include "text/names.hpp"

using namespace llmcalc;

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> model_files() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(fs::path(LLMCALC_SOURCE_DIR) / "presets/models"))
    if (entry.path().extension() == ".json") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

ModelCard card_in(const fs::path& path) {
  return read_model_file(json::parse(json::file_text(path.string()), path.string()), path.string());
}

}  // namespace

TEST_CASE("a shipped model states its published count and source, and the engine reproduces the count", "[models]") {
  REQUIRE(model_files().size() >= 163);
  for (const fs::path& path : model_files()) {
    CAPTURE(path.filename().string());
    const ModelCard card = card_in(path);  // reading checks the count
    REQUIRE(card.published.has_value());
    CHECK(parameters(card.arch).total == *card.published);
    CHECK_FALSE(card.published_source.empty());
    CHECK(card.name == path.stem().string());
    CHECK_FALSE(card.title.empty());
  }
}

TEST_CASE("no two shipped models share a name or alias, ignoring case", "[models]") {
  std::set<std::string> seen;
  for (const fs::path& path : model_files()) {
    const ModelCard card = card_in(path);
    CHECK(seen.insert(lower(card.name)).second);
    for (const std::string& alias : card.aliases) {
      CAPTURE(card.name, alias);
      CHECK(seen.insert(lower(alias)).second);
    }
  }
}

TEST_CASE("a shipped model equals the import of its published config", "[models]") {
  std::set<std::string_view> compared;
  for (const char* file : {"configs.json", "more_configs.json", "configs_2026.json"}) {
    const std::string path = (fs::path(LLMCALC_SOURCE_DIR) / "tests/presets/data" / file).string();
    for (const json::Value& row : json::parse(json::file_text(path), path)) {
      const std::string name = row["name"].get<std::string>();
      CAPTURE(name);
      const Builtin* preset = find_meant(builtin_models(), name);
      if (preset == nullptr || !compared.insert(preset->name).second) continue;  // no preset, or a duplicate
      CHECK(load_model(preset->name).arch == import_config(row["config"], "config.json").arch);
    }
  }
  CHECK(compared.size() >= 169);  // the two PaLM models have no published config.json
}

TEST_CASE("every shipped model file is byte-identical to the writer's output", "[models]") {
  for (const fs::path& path : model_files()) {
    CAPTURE(path.filename().string());
    const std::string text = json::file_text(path.string());
    CHECK(model_file_text(model_file_json(card_in(path))) == text);
  }
}

// Chowdhery et al. 2022 (arXiv:2204.02311), Table 1 and section 2: parallel block, one KV head of width 256, SwiGLU,
// tied. 8B:   256000*4096 + 32*(2*4096*4096 + 2*4096*256 + 3*4096*16384 + 4096) + 4096 540B: 256000*18432 +
// 118*(2*18432*12288 + 2*18432*256 + 3*18432*73728 + 18432) + 18432
TEST_CASE("PaLM's parameters match a hand count", "[models]") {
  const auto total = [](const char* name) {
    return parameters(card_in(fs::path(LLMCALC_SOURCE_DIR) / "presets/models" / name).arch).total;
  };
  CHECK(total("palm-8b.json") == 8632012800);
  CHECK(total("palm-540b.json") == 540356474880);
}

TEST_CASE("shipped models state the checkpoint parameters outside the model", "[models]") {
  const auto stored = [](const char* name) {
    const ModelCard card = card_in(fs::path(LLMCALC_SOURCE_DIR) / "presets/models" / name);
    return card.stored.value_or(0) - *card.published;
  };
  CHECK(stored("falcon-7b.json") == 65024 * 4544);        // the tied head, stored twice
  CHECK(stored("starcoder-15.5b.json") == 49152 * 6144);  // the tied head, stored twice
  CHECK(stored("llama-2-7b.json") == 32 * 64);            // rotary frequencies, one per layer and pair of dimensions
}
