#pragma once
/// The functions of SQLite that a table uses, loaded on first use (libsqlite3.so.0). Declared here, so sqlite3.h is
/// not needed.

#include <cstdint>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace llmcalc {

struct Sqlite {
  int (*open_v2)(const char* path, sqlite3** db, int flags, const char* vfs);
  int (*close_v2)(sqlite3* db);
  int (*exec)(sqlite3* db, const char* sql, int (*row)(void*, int, char**, char**), void* context, char** error);
  int (*prepare_v2)(sqlite3* db, const char* sql, int bytes, sqlite3_stmt** statement, const char** tail);
  int (*step)(sqlite3_stmt* statement);
  int (*reset)(sqlite3_stmt* statement);
  int (*finalize)(sqlite3_stmt* statement);
  int (*bind_null)(sqlite3_stmt* statement, int place);
  int (*bind_int64)(sqlite3_stmt* statement, int place, std::int64_t value);
  int (*bind_double)(sqlite3_stmt* statement, int place, double value);
  int (*bind_text)(sqlite3_stmt* statement, int place, const char* text, int bytes, void (*free)(void*));
  int (*column_type)(sqlite3_stmt* statement, int column);
  std::int64_t (*column_int64)(sqlite3_stmt* statement, int column);
  double (*column_double)(sqlite3_stmt* statement, int column);
  const unsigned char* (*column_text)(sqlite3_stmt* statement, int column);
  const char* (*errmsg)(sqlite3* db);
};

/// Result codes from sqlite3.h.
namespace sqlite_code {
inline constexpr int ok = 0, busy = 5, not_a_database = 26, row = 100, done = 101;
inline constexpr int open_read_write = 2, open_create = 4;
inline constexpr int integer = 1, real = 2, text = 3, null = 5;
}  // namespace sqlite_code

/// Throws InputError if the library is missing.
const Sqlite& sqlite();

}  // namespace llmcalc
