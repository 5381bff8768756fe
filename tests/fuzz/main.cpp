// A driver for machines and compilers without libFuzzer: runs every seed of a corpus and random mutants.
//   LLMCALC_FUZZ=PARSER llmcalc_fuzz MUTANTS FOLDER
// Mutants are the same in every run. An input that crashes the program is written to "crash".

#include <sanitizer/common_interface_defs.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::string input;

void save_input() { std::ofstream("crash", std::ios::binary) << input; }

void run() { LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size()); }

std::vector<std::string> files_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return texts;
}

/// Random edits: a byte is replaced, or a piece is removed, repeated or taken from another seed.
class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& seeds) : seeds_(seeds) {}

  std::string mutant() {
    std::string text = any_seed();
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) edit(text);
    return text;
  }

 private:
  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }
  const std::string& any_seed() { return seeds_[below(seeds_.size())]; }

  void edit(std::string& text) {
    const std::size_t at = below(text.size()), length = 1 + below(32);
    const std::string& other = any_seed();
    switch (below(4)) {
      case 0:
        if (!text.empty()) text[at] = static_cast<char>(random_());
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      default:
        text.insert(at, other.substr(below(other.size()), length));
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_{1};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  __sanitizer_set_death_callback(save_input);
  const std::vector<std::string> seeds = files_of(argv[2]);
  for (const std::string& seed : seeds) {
    input = seed;
    run();
  }
  Mutator mutator(seeds);
  const long mutants = std::atol(argv[1]);
  for (long i = 0; i < mutants; ++i) {
    input = mutator.mutant();
    run();
  }
  std::cout << seeds.size() << " seeds and " << mutants << " mutants\n";
  return seeds.empty() ? 2 : 0;
}
