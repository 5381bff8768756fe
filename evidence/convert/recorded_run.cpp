#include "evidence/convert/recorded_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "evidence/convert/inference/beyond_decoding.hpp"
#include "evidence/convert/row_object.hpp"
#include "evidence/names/words.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

/// Elements of a required list, which must not be empty.
const json::Value& needed_list(const RowObject& o, const json::Value& whole, const char* key) {
  const auto found = whole.find(key);
  if (found == whole.end() || !found->is_array() || found->empty())
    throw InputError(
        fmt::format("{}: \"{}\" is missing; a recorded run requires a list with at least one", o.where(), key));
  return *found;
}

/// Whether graph capture is disabled, by a flag or in vLLM's compilation_config.
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

/// Reads one instance. The instances are the ranks of one run, and the first one determines the device.
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

void refuse_run_without(const RecordedRun& run, const char* key, const std::string& said) {
  if (said.empty())
    throw InputError(fmt::format("{}: \"{}\" is missing; a recorded run must state it", run.where, key));
}

}  // namespace

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
  run.requests = read_recorded_requests(needed_list(o, whole, "requests"), where);
  if (o.has("per_second")) run.seconds = read_recorded_seconds(object.object("per_second"));
  o.finish();
  run.unknown_keys.assign(unknown.begin(), unknown.end());
  return run;
}

}  // namespace llmcalc
