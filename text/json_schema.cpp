#include "text/json_schema.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "text/error.hpp"
#include "text/json_questions.hpp"

namespace llmcalc::json {
namespace {

constexpr const char* place = "$place";  // stands for the schema of an object until all are known

using Key = std::pair<std::string, std::string>;  ///< an object's place, and a key in it
using Given = std::map<Key, std::size_t>;         ///< keys that a run makes present, and the index of their sample
using Answers = std::map<std::string, Value>;     ///< values by key; null: absent

/// All that is known about one object.
struct Known {
  std::vector<std::string> order;  ///< keys in the order of the first questions
  std::map<std::string, Expected> keys;
  std::vector<Answers> readings;  ///< complete ones, by readers that reject all other keys
  std::vector<Answers> broken;    ///< those that an error or the reader ended earlier
};
using AllKnown = std::map<std::string, Known>;

/// One run of a reader.
class Run : public Questions {
 public:
  Run(AllKnown& known, Given given) : known_(known), given_(std::move(given)) {}

  void expects(const std::string& where, std::string_view key, const Expected& value) override {
    known(where, key).keys.try_emplace(std::string(key), value);
  }
  void needs(const std::string& where, std::string_view key) override {
    given_.try_emplace({where, std::string(key)}, 0);
  }
  const Value* find(const std::string& where, std::string_view key) override {
    const auto& keys = known(where, key).keys;
    Value& answer = answers_[where][std::string(key)];
    const auto given = given_.find({where, std::string(key)});
    const auto expected = keys.find(std::string(key));
    if (given == given_.end()) return nullptr;
    if (expected != keys.end() && (answer.is_null() || answer == untyped))
      answer = expected->second.samples[given->second];
    if (answer.is_null()) answer = untyped;
    return &answer;
  }
  void closes(const std::string& where) override {
    known_[where].readings.push_back(answers_[where]);
    closed_.insert(where);
  }
  /// Ends the run.
  void finish() {
    for (const auto& [where, answers] : answers_)
      if (!closed_.contains(where)) known_[where].broken.push_back(answers);
  }

  const Given& given() const { return given_; }
  const std::map<std::string, Answers>& answers() const { return answers_; }

 private:
  inline static const Value untyped = "?";  ///< of a key whose presence is asked for before its type

  Known& known(const std::string& where, std::string_view key) {
    Known& o = known_[where];
    if (std::find(o.order.begin(), o.order.end(), key) == o.order.end()) o.order.emplace_back(key);
    return o;
  }

  AllKnown& known_;
  Given given_;
  std::map<std::string, Answers> answers_;
  std::set<std::string> closed_;
};

/// Makes a Run answer this thread's Objects.
class Answering {
 public:
  explicit Answering(Run& run) { current_questions() = &run; }
  ~Answering() { current_questions() = nullptr; }
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;
};

/// Runs a reader with one more key present, or another sample, at a time, until it asks for no new key.
class Exploration {
 public:
  explicit Exploration(const Reader& read) : read_(read) { todo_.push_back({}); }

  AllKnown known() {
    for (; !todo_.empty(); todo_.pop_front()) run(todo_.front());
    return std::move(known_);
  }

 private:
  void run(const Given& given) {
    static const Value empty = Value::object();
    Run run(known_, given);
    try {
      const Answering answering(run);
      read_(empty, "");
    } catch (const InputError&) {  // a rule about several values; the keys asked for until then are known
    }
    run.finish();
    for (const auto& [where, answers] : run.answers())
      for (const auto& [key, value] : answers) add_runs(given, where, key);
  }
  void add_runs(const Given& given, const std::string& where, const std::string& key) {
    const auto& keys = known_[where].keys;
    const auto expected = keys.find(key);
    const std::size_t n = expected == keys.end() ? 1 : expected->second.samples.size();
    for (std::size_t i = 0; i < n; ++i) {
      if (!tried_.emplace(where, key, i).second) continue;
      Given next = given;
      next[{where, key}] = i;
      todo_.push_back(std::move(next));
    }
  }

  const Reader& read_;
  AllKnown known_;
  std::deque<Given> todo_;
  std::set<std::tuple<std::string, std::string, std::size_t>> tried_;
};

/// Readings of an object with the same keys, and the kinds (the value of its first choice) that have them.
struct Variant {
  std::vector<Value> kinds;
  std::vector<std::string> keys, required;
};

using Readings = std::vector<Answers>;

/// Keys that any of the readings asked for.
std::vector<std::string> keys_in(const Readings& complete, const Readings& broken) {
  std::set<std::string> all;
  for (const Readings* readings : {&complete, &broken})
    for (const Answers& r : *readings)
      for (const auto& [key, value] : r) all.insert(key);
  return {all.begin(), all.end()};
}

/// Keys that are present in every reading.
std::vector<std::string> required_in(const Readings& complete) {
  std::vector<std::string> all;
  for (const auto& [key, value] : complete.at(0)) {
    const auto has = [&](const Answers& r) { return r.contains(key) && !r.at(key).is_null(); };
    if (std::all_of(complete.begin(), complete.end(), has)) all.push_back(key);
  }
  return all;
}

/// The first choice in an object that all readings make.
std::string choice_of(const Known& o) {
  for (const std::string& key : o.order) {
    const auto expected = o.keys.find(key);
    if (expected == o.keys.end() || !expected->second.schema.contains("enum")) continue;
    const auto makes = [&](const Answers& r) { return r.contains(key) && !r.at(key).is_null(); };
    if (std::all_of(o.readings.begin(), o.readings.end(), makes)) return key;
  }
  return "";
}

/// The readings in which a choice has this value.
Readings of_kind(const Readings& all, const std::string& choice, const Value& kind) {
  Readings some;
  for (const Answers& r : all)
    if (const auto made = r.find(choice); made != r.end() && made->second == kind) some.push_back(r);
  return some;
}

void add_variant(std::vector<Variant>& all, Variant v) {
  const auto is_same = [&](const Variant& x) { return x.keys == v.keys && x.required == v.required; };
  const auto same = std::find_if(all.begin(), all.end(), is_same);
  if (same == all.end())
    all.push_back(std::move(v));
  else
    same->kinds.insert(same->kinds.end(), v.kinds.begin(), v.kinds.end());
}

/// The variants of an object with complete readings, by the value of a choice.
std::vector<Variant> variants_of(const Known& o, const std::string& choice) {
  if (choice.empty()) return {{{}, keys_in(o.readings, o.broken), required_in(o.readings)}};
  std::vector<Variant> all;
  for (const Value& kind : o.keys.at(choice).samples) {
    const Readings complete = of_kind(o.readings, choice, kind);
    if (!complete.empty())
      add_variant(all, {{kind}, keys_in(complete, of_kind(o.broken, choice, kind)), required_in(complete)});
  }
  return all;
}

class Schemas {
 public:
  explicit Schemas(AllKnown known) : known_(std::move(known)) {}

  Value object(const std::string& where) const {
    const auto found = known_.find(where);
    if (found == known_.end()) return {{"type", "object"}};
    const Known& o = found->second;
    if (o.readings.empty()) return {{"type", "object"}, {"properties", properties(o, o.order)}};
    const std::string choice = choice_of(o);
    const std::vector<Variant> variants = variants_of(o, choice);
    if (variants.size() == 1) return closed(o, variants[0]);
    Value schema{{"type", "object"}};
    for (const Variant& v : variants) {
      schema["oneOf"].push_back(closed(o, v));
      schema["oneOf"].back()["properties"][choice]["enum"] = v.kinds;
    }
    return schema;
  }

 private:
  Value closed(const Known& o, const Variant& v) const {
    Value schema{{"type", "object"}, {"properties", properties(o, v.keys)}, {"additionalProperties", false}};
    if (!v.required.empty()) schema["required"] = v.required;
    return schema;
  }
  /// The schemas of some keys, in the order of their questions.
  Value properties(const Known& o, const std::vector<std::string>& keys) const {
    Value all = Value::object();
    for (const std::string& key : o.order) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) continue;
      const auto expected = o.keys.find(key);
      all[key] = expected == o.keys.end() ? Value::object() : with_places(expected->second.schema);
    }
    return all;
  }
  Value with_places(const Value& v) const {
    if (v.is_object() && v.contains(place)) return object(v[place].get<std::string>());
    Value all = v;
    if (v.is_structured())
      for (Value& part : all) part = with_places(part);
    return all;
  }

  AllKnown known_;
};

}  // namespace

Questions*& current_questions() {
  thread_local Questions* current = nullptr;
  return current;
}

Value schema_at(const std::string& where) { return {{place, where}}; }

Expected objects_at(const std::string& where) {
  return {{{"type", "array"}, {"items", schema_at(where)}}, Value::array({Value::array({Value::object()})})};
}

Expected words_among(const std::vector<std::string>& words) {
  return {{{"type", "array"}, {"items", {{"enum", words}}}}, Value::array({Value::array({words.at(0)})})};
}

Value schema_of(const Reader& read) { return Schemas(Exploration(read).known()).object(""); }

}  // namespace llmcalc::json
