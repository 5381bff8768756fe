#include "bindings/c/llmcalc.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "report/ask.hpp"
#include "report/ask_many.hpp"
#include "report/commands/threads.hpp"

namespace {

/// The answer if there is no memory for one; not allocated.
char out_of_memory[] =
    "{\n  \"error\": {\n    \"message\": \"out of memory; ask for less at once, or close other programs\",\n"
    "    \"exit_code\": 2\n  }\n}\n";

char* allocated(const std::string& text) {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  return copy == nullptr ? out_of_memory : static_cast<char*>(std::memcpy(copy, text.c_str(), text.size() + 1));
}

/// The text that `answer` returns for the request. No exception leaves this function.
template <typename Answer>
char* answered(const char* request, const Answer& answer) noexcept {
  try {
    if (request == nullptr) return allocated(llmcalc::error_text("the request is a null pointer; pass JSON text"));
    try {
      llmcalc::Threads threads;
      return allocated(answer(request, threads));
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {  // a bug: every expected error is an error object already
      return allocated(llmcalc::error_text(std::string("internal error: ") + e.what() + "; please report the request"));
    }
  } catch (...) {
    return out_of_memory;
  }
}

}  // namespace

char* llmcalc_ask(const char* request) {
  return answered(request,
                  [](const char* text, auto& runner) { return llmcalc::ask_text(std::string_view(text), runner); });
}

char* llmcalc_ask_many(const char* requests) {
  return answered(requests, [](const char* text, auto& runner) { return llmcalc::ask_many_text(text, runner); });
}

void llmcalc_free(char* answer) {
  if (answer != out_of_memory) std::free(answer);
}

const char* llmcalc_version() { return LLMCALC_VERSION; }
