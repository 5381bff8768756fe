#include "cli/sweep/sqlite.hpp"

#include <dlfcn.h>

#include <optional>

#include "text/error.hpp"

namespace llmcalc {
namespace {

template <typename F>
bool find_symbol(void* library, F*& f, const char* name) {
  f = reinterpret_cast<F*>(::dlsym(library, name));
  return f != nullptr;
}

std::optional<Sqlite> loaded_sqlite() {
  void* library = ::dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  Sqlite s{};
  bool complete = true;
#define LLMCALC_FIND(name) complete = find_symbol(library, s.name, "sqlite3_" #name) && complete
  LLMCALC_FIND(open_v2);
  LLMCALC_FIND(close_v2);
  LLMCALC_FIND(exec);
  LLMCALC_FIND(prepare_v2);
  LLMCALC_FIND(step);
  LLMCALC_FIND(reset);
  LLMCALC_FIND(finalize);
  LLMCALC_FIND(bind_null);
  LLMCALC_FIND(bind_int64);
  LLMCALC_FIND(bind_double);
  LLMCALC_FIND(bind_text);
  LLMCALC_FIND(column_type);
  LLMCALC_FIND(column_int64);
  LLMCALC_FIND(column_double);
  LLMCALC_FIND(column_text);
  LLMCALC_FIND(errmsg);
#undef LLMCALC_FIND
  return complete ? std::optional(s) : std::nullopt;
}

}  // namespace

const Sqlite& sqlite() {
  static const std::optional<Sqlite> one = loaded_sqlite();
  if (!one)
    throw InputError(
        "a .sqlite or .db file requires the SQLite library, which is not installed; install it (Debian: libsqlite3-0), "
        "or pass a .csv or .jsonl file");
  return *one;
}

}  // namespace llmcalc
