#include "model/cuda/open.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "text/error.hpp"

namespace llmcalc::model {
namespace {

using MakeBackend = Backend*(bool bf16_numbers, bool poison, char* error, std::size_t room);

constexpr const char* library_name = "libllmcalc_cuda.so";

/// Beside the program, or where the system looks. Never closed: what it made may live as long as the program.
MakeBackend* backend_maker() {
  std::error_code ignored;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / library_name;
  void* library = ::dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw InputError(
        fmt::format("there is no {} beside the program: it was built without CUDA; build it where nvcc is "
                    "found, or use --device cpu ({})",
                    library_name, ::dlerror()));
  return reinterpret_cast<MakeBackend*>(::dlsym(library, "llmcalc_cuda_backend"));
}

}  // namespace

std::unique_ptr<Backend> make_cuda(Number number, bool poison) {
  if (number != Number::f32 && number != Number::bf16) throw InputError("a GPU runs float32 and bfloat16 here");
  static MakeBackend* const make = backend_maker();
  std::array<char, 512> error{};
  Backend* const made = make(number == Number::bf16, poison, error.data(), error.size());
  if (made == nullptr) throw InputError(fmt::format("no GPU can be used: {}; use --device cpu", error.data()));
  return std::unique_ptr<Backend>(made);
}

}  // namespace llmcalc::model
