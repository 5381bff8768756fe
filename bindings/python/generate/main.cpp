/// Writes the generated files of the Python package: generate HEAD.pyi MODULE.py STUBS.pyi. HEAD has the stubs that are
/// written by hand.

#include <fstream>
#include <iostream>
#include <sstream>

#include "bindings/python/generate/answers.hpp"
#include "bindings/python/generate/functions.hpp"

namespace {

std::string text_in(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool is_written(const char* path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  return static_cast<bool>(file.flush());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: " << argv[0] << " HEAD.pyi MODULE.py STUBS.pyi\n";
    return 2;
  }
  using namespace llmcalc::python;
  const bool done = is_written(argv[2], functions_module()) &&
                    is_written(argv[3], text_in(argv[1]) + "\n" + answer_stubs() + function_stubs());
  return done ? 0 : 1;
}
