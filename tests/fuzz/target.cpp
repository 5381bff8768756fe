// Every parser of user input and files, under libFuzzer: any input is either read or rejected with an InputError.
// LLMCALC_FUZZ names the parser. scripts/fuzz builds and runs this.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>

#include "ask/request/weight_precision.hpp"
#include "evidence/bench/server_about.hpp"
#include "evidence/bench/server_counters.hpp"
#include "evidence/convert/convert.hpp"
#include "evidence/logs/memory_log.hpp"
#include "evidence/rows/measurement_file.hpp"
#include "presets/hardware_file.hpp"
#include "presets/header/checkpoint_model.hpp"
#include "presets/header/gguf_config.hpp"
#include "presets/import/import.hpp"
#include "presets/model_file.hpp"
#include "text/quantity.hpp"

using namespace llmcalc;

namespace {

/// An in-memory file with these bytes and a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : file_(::memfd_create("fuzz", 0)) {
    if (file_ < 0 || ::write(file_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

/// Reads a checkpoint's header, and for GGUF also its model.
void checkpoint(std::string_view bytes) {
  const MemoryFile file(bytes);
  const Checkpoint c = read_checkpoint(file.path());
  if (!c.is_gguf()) return;
  ModelCard card = import_config(gguf_config(c), c.where);
  add_checkpoint(card, c);
}

void config(std::string_view text) { import_config(json::parse(text, "c.json"), "c.json"); }
void model(std::string_view text) { read_model_file(json::parse(text, "m.json"), "m.json"); }
void hardware(std::string_view text) { read_hardware_file(json::parse(text, "h.json"), "h.json"); }
void measurements(std::string_view text) { read_measurements(text, "rows.json"); }
void converted(std::string_view text) { convert(text, "rows.json"); }
/// Two readings of a server's metrics, separated by a form feed.
void metrics(std::string_view text) {
  const std::size_t end = std::min(text.find('\f'), text.size());
  const Exposition before(text.substr(0, end), "before"), after(text.substr(std::min(end + 1, text.size())), "after");
  counted_run(after, "after");
  server_interval(ServerReadings{before, after, 30, 512, "server"});
}
void about(std::string_view text) {
  BenchRun run;
  add_about(run, std::string(text));
}
void log(std::string_view text) { read_memory_log(text, "log"); }

template <typename Read>
void tried(const Read& read) {
  try {
    read();
  } catch (const InputError&) {
  }
}

void quantity(std::string_view text) {
  tried([&] { parse_count(text, "n"); });
  tried([&] { parse_real(text, "n"); });
  tried([&] { parse_wide(text, "n"); });
  tried([&] { parse_bytes(text, "n", Bare::allowed); });
  tried([&] { parse_rate(text, "n", Bare::allowed); });
  tried([&] { parse_flops_rate(text, "n", Bare::allowed); });
  tried([&] { parse_seconds(text, "n", Bare::allowed); });
  tried([&] { parse_watts(text, "n", Bare::allowed); });
  tried([&] { parse_price(text, "n", Bare::allowed); });
  ModelCard model;
  Arch& arch = model.arch;
  arch.layers = 1;
  arch.heads = arch.kv_heads = 1;
  arch.hidden = arch.vocabulary = arch.head_dim = arch.mlp_width = 64;
  tried([&] { read_weight_precision(text, "n", model); });
}

using Parser = void (*)(std::string_view);
constexpr std::array<std::pair<std::string_view, Parser>, 11> parsers{{{"gguf", checkpoint},
                                                                       {"safetensors", checkpoint},
                                                                       {"config", config},
                                                                       {"quantity", quantity},
                                                                       {"model", model},
                                                                       {"hardware", hardware},
                                                                       {"measurements", measurements},
                                                                       {"convert", converted},
                                                                       {"log", log},
                                                                       {"metrics", metrics},
                                                                       {"about", about}}};

Parser chosen() {
  const char* name = std::getenv("LLMCALC_FUZZ");
  for (const auto& [known, parser] : parsers)
    if (name != nullptr && known == name) return parser;
  std::cerr << "LLMCALC_FUZZ does not name a parser\n";
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Parser parse = chosen();
  tried([&] { parse({reinterpret_cast<const char*>(data), size}); });
  return 0;
}
