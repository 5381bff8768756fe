#include "evidence/recorded_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "evidence/beyond_decoding.hpp"
#include "evidence/published.hpp"
#include "evidence/row_object.hpp"
#include "evidence/words.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

/// A second that a row must state.
Seconds needed_seconds(const json::Object& o, std::string_view key) {
  if (!o.has(key)) throw InputError(fmt::format("{}: \"{}\" is missing", o.where(), key));
  const double s = o.number_or(key, 0);
  if (s < 0) throw InputError(fmt::format("{}, \"{}\": expected seconds of at least 0, got {}", o.where(), key, s));
  return Seconds(s);
}

void refuse_before(const json::Object& o, const char* what, Seconds at, const char* than, Seconds begin) {
  if (at < begin)
    throw InputError(
        fmt::format("{}: \"{}\" ({}) lies before \"{}\" ({})", o.where(), what, at.value, than, begin.value));
}

RecordedRequest read_request(const json::Object& o) {
  RecordedRequest r;
  r.id = o.text_or("id", "");
  r.queued = needed_seconds(o, "queued_s");
  r.first_token = needed_seconds(o, "first_token_s");
  r.last_token = needed_seconds(o, "last_token_s");
  r.prompt = o.positive("prompt");
  r.generated = o.positive("generated");
  refuse_before(o, "first_token_s", r.first_token, "queued_s", r.queued);
  refuse_before(o, "last_token_s", r.last_token, "first_token_s", r.first_token);
  return r;
}

/// The elements of a list that must be there and not be empty.
const json::Value& needed_list(const RowObject& o, const json::Value& whole, const char* key) {
  const auto found = whole.find(key);
  if (found == whole.end() || !found->is_array() || found->empty())
    throw InputError(fmt::format("{}: \"{}\" is missing; a recorded run has a list of at least one", o.where(), key));
  return *found;
}

void read_requests(const json::Value& list, const std::string& where, RecordedRun& run) {
  for (std::size_t i = 0; i < list.size(); ++i)
    run.requests.push_back(read_request(json::Object(list[i], fmt::format("{}, request {}", where, i + 1))));
  std::stable_sort(run.requests.begin(), run.requests.end(),
                   [](const RecordedRequest& a, const RecordedRequest& b) { return a.queued < b.queued; });
}

/// Whether no step is recorded, by a flag or by vLLM's compilation_config.
bool runs_eagerly(const RowObject& o) {
  const Words compilation(o.said("compilation_config"));
  return o.flag("enforce_eager").value_or(false) || o.flag("disable_cuda_graph").value_or(false) ||
         compilation.has_any({"cudagraph mode none", "use cudagraph false"});
}

void read_engine(const RowObject& o, RecordedRun& run) {
  run.engine = o.text("name");
  run.version = o.text("version");
  run.tensor_ranks = o.positive("tensor_parallel_size").value_or(1);
  run.stages = o.positive("pipeline_parallel_size").value_or(1);
  run.data_ranks = o.positive("data_parallel_size").value_or(1);
  run.expert_parallel = o.flag("enable_expert_parallel").value_or(false);
  run.max_num_seqs = o.positive("max_num_seqs");
  run.max_num_batched_tokens = o.positive("max_num_batched_tokens");
  run.max_model_len = o.positive("max_model_len");
  run.block_size = o.positive("block_size");
  run.utilization = o.fraction("gpu_memory_utilization");
  run.eager = runs_eagerly(o);
  run.chunked_prefill = o.flag("enable_chunked_prefill");
  run.prefix_caching = o.flag("enable_prefix_caching");
  run.dtype = o.text("dtype");
  run.quantization = o.text("quantization");
  run.cache_dtype = o.text("kv_cache_dtype");
  o.known({"seed"});
  run.beyond = beyond_decoding(o);
}

/// Of several instances, which are the ranks of one run, the first tells the device.
void read_instance(const json::Value& value, const std::string& where, UnknownKeys& unknown, RecordedRun& run) {
  const json::Object object(value, where);
  const RowObject o(object, "instances.", unknown);
  if (run.hardware.empty()) run.hardware = o.text("hardware");
  const RowObject memory = o.object("npu_mem");
  run.memory_gb = device_memory(memory, "mem_size");
  run.bandwidth_gb_s = memory.quantity("mem_bw");
  if (!run.utilization) run.utilization = memory.fraction("mem_util");
  run.tensor_ranks = o.positive("tp_size").value_or(run.tensor_ranks);
}

/// Where each of the known columns stands; absent: it does not.
struct SecondColumns {
  std::array<std::optional<std::size_t>, 5> at;
  explicit SecondColumns(const std::vector<std::string>& names) {
    constexpr std::array known{"t", "prompt_throughput", "gen_throughput", "running", "waiting"};
    for (std::size_t i = 0; i < known.size(); ++i)
      if (const auto found = std::find(names.begin(), names.end(), known[i]); found != names.end())
        at[i] = static_cast<std::size_t>(found - names.begin());
  }
};

double cell(const json::Value& row, const std::optional<std::size_t>& column, const std::string& where) {
  if (!column) return 0;
  if (!row.is_array() || row.size() <= *column || !row[*column].is_number())
    throw InputError(fmt::format("{}: expected a number in column {}", where, *column + 1));
  return row[*column].get<double>();
}

void read_seconds(const json::Object& o, RecordedRun& run) {
  const SecondColumns columns(o.texts("columns"));
  const json::Value* rows = o.find("rows");
  if (rows == nullptr || !rows->is_array()) throw InputError(o.where() + ", \"rows\": expected a list of rows");
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const std::string where = fmt::format("{}, row {}", o.where(), i + 1);
    const auto number = [&](std::size_t k) { return cell((*rows)[i], columns.at[k], where); };
    run.seconds.push_back({Seconds(number(0)), number(1), number(2), number(3), number(4)});
  }
}

void refuse_run_without(const RecordedRun& run, const char* key, const std::string& said) {
  if (said.empty()) throw InputError(fmt::format("{}: \"{}\" is missing; a recorded run says it", run.where, key));
}

}  // namespace

std::optional<Seconds> RecordedRequest::per_token() const {
  if (generated < 2) return std::nullopt;
  return (1 / static_cast<double>(generated - 1)) * (last_token - first_token);
}

RecordedRun read_recorded_run(std::string_view text, const std::string& where) {
  const json::Value whole = json::parse(text, where);
  const json::Object object(whole, where);
  UnknownKeys unknown;
  const RowObject o(object, "", unknown);
  RecordedRun run;
  run.where = where;
  run.name = o.text("name");
  run.source = read_source(o);
  run.model = o.text("model");
  for (const char* key : {"config", "model_config"})
    if (auto config = o.config(key)) run.config = std::move(config);
  run.hardware = o.text("hardware");
  refuse_run_without(run, "name", run.name);
  refuse_run_without(run, "model", run.model);
  o.known({"clock", "requests", "instances"});
  read_engine(o.object("engine"), run);
  if (o.has("instances")) read_instance(needed_list(o, whole, "instances")[0], where + ", instance 1", unknown, run);
  refuse_run_without(run, "hardware", run.hardware);
  read_requests(needed_list(o, whole, "requests"), where, run);
  if (o.has("per_second")) read_seconds(object.object("per_second"), run);
  o.finish();
  run.unknown_keys.assign(unknown.begin(), unknown.end());
  return run;
}

RecordedRun read_recorded_run_file(const std::string& path) { return read_recorded_run(json::file_text(path), path); }

std::vector<RecordedRun> published_runs() {
  std::vector<RecordedRun> all;
  for (const std::string& name : published_run_names())
    all.push_back(read_recorded_run(published_text("serving/" + name + ".json"), name));
  return all;
}

}  // namespace llmcalc
