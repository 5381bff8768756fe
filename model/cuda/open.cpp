#include "model/cuda/open.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

#include "text/error.hpp"
#include "text/installed.hpp"

namespace llmcalc::model {
namespace {

using MakeBackend = Backend*(int index, bool bf16_numbers, bool poison, char* error, std::size_t room);

constexpr const char* library_name = "libllmcalc_cuda.so";

/// Opens the library next to the program, or on the system's search path. Never closes it, because a backend may live
/// as long as the program.
MakeBackend* backend_maker() {
  const auto path = installed(library_name);
  void* const library = ::dlopen(path ? path->c_str() : library_name, RTLD_NOW | RTLD_LOCAL);
  void* const make = library == nullptr ? nullptr : ::dlsym(library, "llmcalc_cuda_backend");
  if (make != nullptr) return reinterpret_cast<MakeBackend*>(make);
  const std::string why = ::dlerror();
  if (!path)
    throw InputError(
        fmt::format("this program was built without CUDA: {} was not found next to it; build llmcalc with "
                    "-DLLMCALC_CUDA=ON on a machine with nvcc, or use --device cpu",
                    library_name));
  throw InputError(
      fmt::format("cannot open {}: {}; install the missing CUDA libraries, rebuild llmcalc, or use --device cpu",
                  path->string(), why));
}

}  // namespace

std::unique_ptr<Backend> make_cuda(Number number, bool poison, int index) {
  if (number != Number::f32 && number != Number::bf16)
    throw InputError("the CUDA backend supports only float32 and bfloat16; use --device cpu for other formats");
  static MakeBackend* const make = backend_maker();
  std::array<char, 512> error{};
  Backend* const made = make(index, number == Number::bf16, poison, error.data(), error.size());
  if (made == nullptr) throw InputError(fmt::format("no usable GPU: {}; use --device cpu", error.data()));
  return std::unique_ptr<Backend>(made);
}

}  // namespace llmcalc::model
