#pragma once
/// JSON fields of structs, listed once for reading and writing. A function template fields(io, struct) names each key
/// and member; `io` is a FieldWriter or a FieldReader. Fields with their default value are not written.

#include <optional>
#include <string>
#include <vector>

#include "calc/choice.hpp"
#include "calc/formats/dtype.hpp"
#include "calc/units.hpp"
#include "text/error.hpp"
#include "text/json.hpp"
#include "text/names.hpp"

namespace llmcalc {

class FieldWriter {
 public:
  explicit FieldWriter(json::Value& to) : to_(to) {}

  template <typename T>
  void operator()(const char* key, const T& value, const T& usual = T()) {
    if (value != usual) to_[key] = written(value);
  }
  /// Writes a nested object, unless it is empty.
  template <typename Fields>
  void object(const char* key, const Fields& fields) {
    json::Value inner = json::Value::object();
    FieldWriter io(inner);
    fields(io);
    if (!inner.empty()) to_[key] = std::move(inner);
  }

 private:
  static json::Value written(bool v) { return v; }
  static json::Value written(Count v) { return v; }
  static json::Value written(double v) { return v; }
  static json::Value written(Bytes v) { return v.value; }
  static json::Value written(Seconds v) { return v.value; }
  static json::Value written(BytesPerSecond v) { return v.value; }
  static json::Value written(FlopsPerSecond v) { return v.value; }
  static json::Value written(DType v) { return std::string(v.name()); }
  static json::Value written(const std::string& v) { return v; }
  static json::Value written(const std::vector<std::string>& v) { return v; }
  template <Named E>
  static json::Value written(E v) {
    return std::string(name(v));
  }
  template <typename T>
  static json::Value written(const std::optional<T>& v) {
    return written(*v);  // never empty, since empty is the default and is not written
  }

  json::Value& to_;
};

class FieldReader {
 public:
  explicit FieldReader(const json::Object& from) : from_(from) {}

  template <typename T>
  void operator()(const char* key, T& value, const T& usual = T()) {
    value = usual;
    if (from_.has(key)) read(key, value);
  }
  template <typename Fields>
  void object(const char* key, const Fields& fields) {
    static const json::Value none = json::Value::object();
    const json::Object inner = from_.has(key) ? from_.object(key) : json::Object(none, from_.where());
    FieldReader io(inner);
    fields(io);
    inner.refuse_unread();
  }

 private:
  void read(const char* key, bool& v) { v = from_.flag(key); }
  void read(const char* key, Count& v) { v = from_.count(key); }
  void read(const char* key, double& v) { v = from_.number_or(key, 0); }
  void read(const char* key, Bytes& v) { v = Bytes(from_.count(key)); }
  void read(const char* key, Seconds& v) { v = Seconds(from_.number_or(key, 0)); }
  void read(const char* key, BytesPerSecond& v) { v = BytesPerSecond(from_.number_or(key, 0)); }
  void read(const char* key, FlopsPerSecond& v) { v = FlopsPerSecond(from_.number_or(key, 0)); }
  void read(const char* key, std::string& v) { v = from_.text(key); }
  void read(const char* key, std::vector<std::string>& v) { v = from_.texts(key); }
  void read(const char* key, DType& v) {
    const auto found = dtype(from_.text(key));
    if (!found) refuse(key, "a number format");
    v = *found;
  }
  template <Named E>
  void read(const char* key, E& v) {
    const auto found = parse<E>(from_.text(key));
    if (!found) refuse(key, std::string(choice_names<E>));
    v = *found;
  }
  template <typename T>
  void read(const char* key, std::optional<T>& v) {
    read(key, v.emplace());
  }
  [[noreturn]] void refuse(const char* key, const std::string& expected) {
    throw InputError(from_.where() + ", " + in_quotes(key) + ": expected " + expected + ", got " +
                     in_quotes(from_.text(key)));
  }

  const json::Object& from_;
};

}  // namespace llmcalc
