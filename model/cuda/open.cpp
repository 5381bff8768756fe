#include "model/cuda/open.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "text/error.hpp"

namespace llmcalc::model {
namespace {

using MakeBackend = Backend*(int index, bool bf16_numbers, bool poison, char* error, std::size_t room);

constexpr const char* library_name = "libllmcalc_cuda.so";

/// Opens the library that lies beside the program. Never closed: what it made may live as long as the program.
MakeBackend* opened() {
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const auto beside = program.parent_path() / library_name;
  if (!std::filesystem::exists(beside, ignored))
    throw InputError(
        fmt::format("this program was built without CUDA: there is no {}; build llmcalc where nvcc is "
                    "found, or use --device cpu",
                    beside.string()));
  void* const library = ::dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const make = library == nullptr ? nullptr : ::dlsym(library, "llmcalc_cuda_backend");
  if (make == nullptr)
    throw InputError(
        fmt::format("{} cannot be opened: {}; install the CUDA libraries that it names, build llmcalc "
                    "again, or use --device cpu",
                    beside.string(), ::dlerror()));
  return reinterpret_cast<MakeBackend*>(make);
}

}  // namespace

std::unique_ptr<Backend> make_cuda(Number number, bool poison, int index) {
  if (number != Number::f32 && number != Number::bf16)
    throw InputError("a GPU computes in float32 and bfloat16 here; use --device cpu for other formats");
  static MakeBackend* const make = opened();
  std::array<char, 512> error{};
  Backend* const made = make(index, number == Number::bf16, poison, error.data(), error.size());
  if (made == nullptr) throw InputError(fmt::format("no GPU can be used: {}; use --device cpu", error.data()));
  return std::unique_ptr<Backend>(made);
}

}  // namespace llmcalc::model
