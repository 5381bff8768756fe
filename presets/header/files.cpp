#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>

#include "presets/header/checkpoint.hpp"
#include "presets/header/gguf.hpp"
#include "presets/header/safetensors.hpp"
#include "text/leading_number.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view index_ending = ".safetensors.index.json";
/// Maximum size of an index file in bytes. An index has about 110 bytes per tensor; Kimi-K3's index, which lists
/// 250,000 matrices as three tensors each, has 80 MiB.
constexpr std::size_t longest_index = std::size_t{128} << 20;

bool ends(const fs::path& path, std::string_view ending) { return lower(path.string()).ends_with(ending); }

using TensorNames = std::vector<std::string_view>;

/// Sorted names of the tensors from index `first` on.
TensorNames names_from(const Checkpoint& c, std::size_t first) {
  TensorNames names;
  for (const CheckpointTensor& t : c.tensors.from(first)) names.push_back(t.name);
  std::sort(names.begin(), names.end());
  return names;
}

/// Throws InputError if a tensor appears twice, since it would be counted twice. Names in a single safetensors file are
/// unique, because add_safetensors() refuses other files.
void refuse_duplicates(const Checkpoint& c) {
  if (c.tensors.size() > max_tensors)
    throw InputError(
        fmt::format("'{}' contains {} tensors; at most {} are supported", c.where, c.tensors.size(), max_tensors));
  const bool unique = c.files.size() == 1 && !c.is_gguf();
  if (unique || !c.tensors.may_repeat(0)) return;
  const TensorNames names = names_from(c, 0);
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    throw InputError(fmt::format("'{}': tensor {} appears twice; these files do not belong to one checkpoint", c.where,
                                 in_quotes(*twice)));
}

/// Part number of a file "NAME-00002-of-00005.ENDING": part 2 of 5. Some names have more digits: DeepSeek's
/// "model-00001-of-000163.safetensors".
struct ShardNumber {
  std::string stem, ending, total;
  std::size_t number = 0, digits = 5, parts = 0;
  std::string name(std::size_t n) const { return fmt::format("{}-{:0{}}-of-{}{}", stem, n, digits, total, ending); }
};

std::optional<ShardNumber> part(const fs::path& file) {
  static const std::regex pattern(R"((.*)-(\d{5,9})-of-(\d{5,9})(\.(gguf|safetensors)))");
  const std::string name = file.filename().string();
  std::smatch m;
  if (name.size() > 4096 || !std::regex_match(name, m, pattern)) return std::nullopt;
  const auto number = [&](std::size_t i) { return static_cast<std::size_t>(leading_whole(m[i])); };
  return ShardNumber{.stem = m[1],
                     .ending = m[4],
                     .total = m[3],
                     .number = number(2),
                     .digits = static_cast<std::size_t>(m[2].length()),
                     .parts = number(3)};
}

/// Paths of all parts of the checkpoint that `file` belongs to; only `file` if its name has no part number. Throws
/// InputError if a part is missing.
std::vector<std::string> parts_of(const fs::path& file) {
  const auto p = part(file);
  if (!p) return {file.string()};
  std::vector<std::string> all;
  for (std::size_t n = 1; n <= p->parts; ++n) {
    const fs::path one = file.parent_path() / p->name(n);
    std::error_code failed;
    if (!fs::exists(one, failed))
      throw InputError(fmt::format("'{}' is part {} of {}, but '{}' is missing; pass a checkpoint with all its parts",
                                   file.string(), p->number, p->parts, one.string()));
    all.push_back(one.string());
  }
  if (p->number < 1 || p->number > p->parts)
    throw InputError(fmt::format("'{}' is named part {} of {}; rename it", file.string(), p->number, p->parts));
  return all;
}

Checkpoint gguf_checkpoint(const fs::path& file) {
  Checkpoint c{.where = file.string()};
  for (const std::string& path : parts_of(file)) add_gguf(c, BinaryFile(path, "a GGUF file"));
  refuse_duplicates(c);
  const Count stated =
      json::Object(c.keys, c.where).count_or("split.tensors.count", static_cast<Count>(c.tensors.size()));
  if (static_cast<std::size_t>(stated) != c.tensors.size())
    throw InputError(
        fmt::format("'{}': \"split.tensors.count\" is {}, but its parts contain {} tensors; a part is missing or "
                    "belongs to another model",
                    c.where, stated, c.tensors.size()));
  return c;
}

Checkpoint safetensors_checkpoint(const fs::path& file) {
  Checkpoint c{.where = file.string()};
  for (const std::string& path : parts_of(file)) add_safetensors(c, BinaryFile(path, "a safetensors file"));
  refuse_duplicates(c);
  return c;
}

/// The shards named in an index, each with its tensors' names, which are views into `map`. Shards must be in the
/// index's folder.
std::map<std::string, TensorNames> shards(const json::Object& map) {
  std::map<std::string, TensorNames> out;
  for (const auto& [tensor, file] : map.value().get_ref<const json::Value::object_t&>()) {
    if (!file.is_string() || file.get_ref<const std::string&>().find('/') != std::string::npos)
      throw InputError(fmt::format(
          "{}, {}: expected the name of a file in the index's folder, got {}", map.where(), in_quotes(tensor),
          file.is_string() ? in_quotes(file.get_ref<const std::string&>())
                           : file.dump(-1, ' ', false, json::Value::error_handler_t::replace)));
    out[file.get_ref<const std::string&>()].push_back(tensor);
  }
  if (out.empty())
    throw InputError(
        fmt::format("{} is empty; expected the file of every tensor, as in a checkpoint index", map.where()));
  return out;
}

/// Adds a shard. Throws InputError unless it contains all tensors that the index assigns to it.
void add_shard(Checkpoint& c, const fs::path& file, TensorNames named) {
  std::error_code failed;
  if (!fs::exists(file, failed))
    throw InputError(fmt::format("'{}' lists the shard '{}', which is missing; pass a checkpoint with all its shards",
                                 c.where, file.string()));
  const std::size_t before = c.tensors.size();
  add_safetensors(c, BinaryFile(file.string(), "a safetensors file"));
  const TensorNames held = names_from(c, before);
  std::sort(named.begin(), named.end());
  TensorNames absent;
  std::set_difference(named.begin(), named.end(), held.begin(), held.end(), std::back_inserter(absent));
  if (!absent.empty())
    throw InputError(fmt::format("'{}' assigns tensor {} to '{}', which does not contain it", c.where,
                                 in_quotes(absent.front()), file.string()));
  const std::size_t others = held.size() - named.size();
  if (others > 0)
    c.caveats.push_back(fmt::format("{} of the tensors in {} are missing from the index, but counted", others,
                                    file.filename().string()));
}

json::Value read_index(const std::string& index) {
  return json::parse(json::file_text(index, "an index of shards", longest_index), index, longest_index);
}

Checkpoint indexed_checkpoint(const fs::path& index) {
  Checkpoint c{.where = index.string()};
  const json::Value value = read_index(c.where);
  const json::Object o(value, c.where);
  for (const auto& [file, named] : shards(o.object("weight_map"))) add_shard(c, index.parent_path() / file, named);
  refuse_duplicates(c);
  if (!o.has("metadata")) return c;
  const Count stated = o.object("metadata").count_or("total_size", c.tensor_bytes().value);
  if (stated != c.tensor_bytes().value)
    c.caveats.push_back(
        fmt::format("the index states {} bytes of tensors, but the shards contain {}, which are "
                    "counted",
                    stated, c.tensor_bytes().value));
  return c;
}

bool is_index(const fs::path& file) { return ends(file, index_ending); }

/// If `all` includes an index, removes the shards listed in it, whatever their names.
void drop_shards(std::vector<fs::path>& all) {
  const auto index = std::find_if(all.begin(), all.end(), is_index);
  if (index == all.end() || all.size() == 1) return;
  const json::Value value = read_index(index->string());
  const json::Object o(value, index->string());
  const json::Object map = o.object("weight_map");
  const std::map<std::string, TensorNames> named = shards(map);
  std::erase_if(all, [&](const fs::path& f) { return named.contains(f.filename().string()); });
}

/// Weight files in a folder: indexes, unsplit safetensors and GGUF files, and the first parts of split files.
/// Excludes shards listed in an index, and files in Mistral's format, which many folders contain in addition to
/// Hugging Face's.
std::vector<fs::path> weights_in(const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code failed;
  fs::directory_iterator next(folder, failed);
  for (; !failed && next != fs::directory_iterator(); next.increment(failed)) {
    const fs::path& file = next->path();
    const auto p = part(file);
    if (ends(file, index_ending) || (p && p->number == 1) ||
        (!p && (ends(file, ".gguf") || ends(file, ".safetensors"))))
      all.push_back(file);
  }
  std::sort(all.begin(), all.end());
  // llama.cpp stores a vision encoder in a separate file in the same folder (tools/mtmd: "mmproj-F16.gguf").
  if (all.size() > 1)
    std::erase_if(all,
                  [](const fs::path& f) { return lower(f.filename().string()).find("mmproj") != std::string::npos; });
  const bool indexed = std::any_of(all.begin(), all.end(), is_index);
  std::erase_if(all, [&](const fs::path& f) {
    const std::string name = f.filename().string();
    const bool of_index = indexed && part(f) && ends(f, ".safetensors");
    return of_index || (all.size() > 1 && name.starts_with("consolidated"));
  });
  drop_shards(all);
  return all;
}

/// The single weight file or index of a folder; absent if the folder has none.
std::optional<fs::path> weights_of(const fs::path& folder) {
  const std::vector<fs::path> all = weights_in(folder);
  if (all.size() > 1)
    throw InputError(fmt::format("the folder '{}' contains several checkpoints: {} and {}{}; pass one of these files",
                                 folder.string(), all[0].filename().string(), all[1].filename().string(),
                                 all.size() > 2 ? fmt::format(" and {} more", all.size() - 2) : ""));
  return all.empty() ? std::nullopt : std::optional(all[0]);
}

/// First bytes of a regular file; empty for a pipe, where reading would consume them.
std::string first_bytes(const std::string& path) {
  std::error_code failed;
  std::string start(9, '\0');
  if (!fs::is_regular_file(path, failed)) return "";
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(file.gcount()));
  return start;
}

}  // namespace

Bytes Checkpoint::tensor_bytes() const {
  Bytes all;
  for (const CheckpointTensor& t : tensors) all += t.type->bytes;
  return all;
}

bool begins_as_checkpoint(std::string_view start) {
  return start.starts_with("GGUF") || (start.size() > 8 && start[8] == '{' && start[7] == '\0');
}

std::optional<AbsentShards> absent_shards(const std::string& path) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) {
    const auto weights = weights_of(path);
    return weights && is_index(*weights) ? absent_shards(weights->string()) : std::nullopt;
  }
  if (!ends(path, index_ending) || !fs::is_regular_file(path, failed)) return std::nullopt;
  for (const auto& entry : fs::directory_iterator(fs::absolute(path).parent_path(), failed))
    if (ends(entry.path(), ".safetensors")) return std::nullopt;
  const json::Value value = read_index(path);
  const json::Object o(value, path);
  shards(o.object("weight_map"));  // throws if this is not an index
  AbsentShards absent{.index = path};
  if (o.has("metadata") && o.object("metadata").has("total_size"))
    absent.stated = o.object("metadata").count("total_size");
  return absent;
}

bool is_checkpoint(const std::string& path) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) return weights_of(path).has_value();
  return begins_as_checkpoint(first_bytes(path)) || ends(path, ".gguf") || ends(path, ".safetensors") ||
         ends(path, index_ending);
}

Checkpoint read_checkpoint(const std::string& path) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) {
    const auto weights = weights_of(path);
    if (!weights) throw InputError(fmt::format("the folder '{}' contains no GGUF or safetensors files", path));
    return read_checkpoint(weights->string());
  }
  if (ends(path, index_ending)) return indexed_checkpoint(path);
  if (first_bytes(path).starts_with("GGUF") || ends(path, ".gguf")) return gguf_checkpoint(path);
  return safetensors_checkpoint(path);
}

}  // namespace llmcalc
