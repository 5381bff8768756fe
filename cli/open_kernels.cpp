// Opens the kernel library on first use, so that the calculator does not load or require it otherwise.

#include <dlfcn.h>
#include <fmt/format.h>

#include <vector>

#include "cli/command.hpp"
#include "cli/kernels/library.hpp"
#include "cli/kernels/run.hpp"
#include "text/error.hpp"
#include "text/installed.hpp"

namespace llmcalc {
namespace {

constexpr const char* library_name = "libllmcalc_kernels.so";

using KernelEntry = decltype(&llmcalc_kernels);

/// Opens the library permanently: its objects live as long as the program.
KernelEntry opened(std::string_view command) {
  const auto path = installed(library_name);
  if (!path)
    throw InputError(
        fmt::format("'llmcalc {}' needs {}, which was not found next to the program; build the target 'llmcalc', or "
                    "copy the library there",
                    command, library_name));
  void* const library = ::dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const entry = library == nullptr ? nullptr : ::dlsym(library, "llmcalc_kernels");
  if (entry != nullptr) return reinterpret_cast<KernelEntry>(entry);
  throw InputError(fmt::format("cannot open {}: {}; install the missing libraries, or rebuild llmcalc", path->string(),
                               ::dlerror()));
}

int forward(const Arguments& arguments) {
  const std::string command(arguments.command().name);
  std::vector<const char*> words{command.c_str()};
  for (const std::string& word : arguments.typed()) words.push_back(word.c_str());
  return opened(command)(static_cast<int>(words.size()), words.data());
}

}  // namespace

int run_validate(const Arguments& arguments) { return forward(arguments); }
int run_learn(const Arguments& arguments) { return forward(arguments); }
int run_generate(const Arguments& arguments) { return forward(arguments); }
int run_perplexity(const Arguments& arguments) { return forward(arguments); }
int run_calibrate(const Arguments& arguments) { return forward(arguments); }

}  // namespace llmcalc
