#pragma once
/// The points of a sweep: all combinations of values of a command's model and options.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/commands/arguments.hpp"
#include "report/sweep/range.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// The values of one option or of MODEL, in order. A value is text, or one of the numbers of a range.
class SweepAxis {
 public:
  /// `option`: null for MODEL. A comma separates values, or a semicolon if values contain commas.
  SweepAxis(const Option* option, std::string_view text);
  /// Values of a request, each a cell with its text; absent: the option is not set.
  using Given = std::pair<json::Value, std::optional<std::string>>;
  SweepAxis(const Option* option, std::vector<Given> values);

  const Option* option() const { return option_; }
  /// Key of the option under `inputs`, or "model".
  std::string name() const { return option_ == nullptr ? "model" : option_->key(); }
  /// The flag, or "MODEL", as used in messages.
  std::string_view flag() const { return option_ == nullptr ? "MODEL" : option_->flag; }
  /// Whether the values are written as a list or a range, which makes the axis a column.
  bool swept() const { return swept_; }
  Count size() const { return size_; }
  /// Whether the value sets the option.
  bool is_set(Count index) const;
  std::string text(Count index) const;
  /// The value as a cell: a number if the text is a number and not a name.
  json::Value cell(Count index) const;

 private:
  struct Item {
    std::string text;
    std::optional<NumberRange> range{};
    Count end = 0;  ///< index after the item's last value
    std::optional<json::Value> cell{};
    bool is_set = true;
  };
  const Item& item(Count index) const;

  const Option* option_;
  bool swept_ = false;
  Count size_ = 0;
  std::vector<Item> items_;
};

/// The command whose answers fill the rows, and its axes in the order typed; the last varies fastest.
struct SweepPoints {
  const Command* command = nullptr;
  std::vector<SweepAxis> axes;    ///< the axes; MODEL is the first, unless `base` has the model
  std::optional<Request> base{};  ///< model and options of every point, before defaults are filled in
  bool in_rows = false;           ///< whether the axes have one value per point, instead of every combination

  /// Number of points. Above the limit of 10^9, throws InputError with the number.
  Count size() const;
  /// The index of each axis's value at a point.
  std::vector<Count> at(Count point) const;
};

/// Commands that a sweep can repeat.
std::vector<std::string> swept_commands();
/// The command of this name. Throws InputError, which begins with `where`, if no sweep can repeat it.
const Command& swept_command(const std::string& name, std::string_view where);

/// Throws InputError for an option that the command does not accept, or for one that does not affect the rows.
void check_swept_option(const Command& command, const Option& o);
/// Throws InputError if the command needs hardware and the arguments lack it.
void check_hardware_given(const Arguments& arguments, const Command& command);
/// Throws InputError for values that are invalid for every model. Checks only the ends of axes of over 1000 values.
void check_values(const SweepPoints& points);

/// Reads "sweep COMMAND MODEL OPTIONS". Throws InputError for options that the command does not accept and for values
/// that are invalid for every model.
SweepPoints read_points(const Arguments& arguments);

}  // namespace llmcalc
