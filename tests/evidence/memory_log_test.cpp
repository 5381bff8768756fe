// Memory logs: all values in all wordings, missing values, and terms that add up.

#include "evidence/logs/memory_booking.hpp"
#include "evidence/logs/served_model.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

constexpr double gib = 0x1p30;

MemoryLog read(const std::string& text) { return read_memory_log(text, "a.log"); }

double gib_of(const std::optional<LoggedBytes>& b) {
  REQUIRE(b);
  return static_cast<double>(b->bytes.value) / gib;
}

OutOfMemory message(const std::string& text) {
  const MemoryLog log = read(text);
  REQUIRE(log.kind == MemoryLogKind::out_of_memory);
  REQUIRE(log.out_of_memory.messages.size() == 1);
  return log.out_of_memory.messages[0];
}

const std::string old_message =
    "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 1; 79.15 GiB total capacity; 70.01 GiB already "
    "allocated; 1.20 GiB free; 76.20 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory\n";
const std::string new_message =
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB. GPU 3 has a total capacity of 79.15 GiB "
    "of "
    "which 1.21 GiB is free. Process 7478 has 4.08 GiB memory in use. Including non-PyTorch memory, this process has "
    "73.85 GiB memory in use. Of the allocated memory 70.01 GiB is allocated by PyTorch, with 1.20 GiB allocated in "
    "private pools (e.g., CUDA Graphs), and 2.20 GiB is reserved by PyTorch but unallocated.\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

void check_sum(const MemoryBooking& b) {
  Bytes sum;
  for (const BookedTerm& t : b.terms) sum += t.bytes;
  CHECK(sum == b.all);
}

Bytes term(const MemoryBooking& b, MemoryTerm t) {
  INFO(name(t));
  REQUIRE(b.term(t));
  return *b.term(t);
}
bool about(Bytes b, double gibibytes) { return static_cast<double>(b.value) / gib == Approx(gibibytes).margin(1e-6); }

}  // namespace

TEST_CASE("an out-of-memory message of PyTorch 1 is read, and reserved minus allocated is slack", "[memory_log]") {
  const OutOfMemory o = message(old_message);
  CHECK(o.gpu == 1);
  CHECK(o.asked.bytes == Bytes(Count{2} << 30));
  CHECK(o.asked.within == Bytes(5368709));  // half of 0.01 GiB
  CHECK(gib_of(o.capacity) == Approx(79.15));
  CHECK(gib_of(o.allocated) == Approx(70.01));
  CHECK(gib_of(o.free) == Approx(1.20));
  CHECK(gib_of(o.reserved) == Approx(76.20));
  CHECK(gib_of(o.slack) == Approx(6.19));
  CHECK_FALSE(o.private_pools);
  CHECK(o.processes.empty());
  CHECK(gib_of(message(replaced(old_message, "reserved in total by PyTorch", "cached")).reserved) == Approx(76.20));
}

TEST_CASE("an out-of-memory message of PyTorch 2 is read with its processes and private pools", "[memory_log]") {
  const OutOfMemory o = message(new_message);
  CHECK(o.gpu == 3);
  CHECK(gib_of(o.allocated) == Approx(70.01));
  CHECK(gib_of(o.private_pools) == Approx(1.20));
  CHECK(gib_of(o.slack) == Approx(2.20));
  CHECK(gib_of(o.reserved) == Approx(72.21));
  REQUIRE(o.processes.size() == 2);
  CHECK(o.processes[0].pid == 7478);
  CHECK(o.processes[0].bytes.bytes < o.processes[1].bytes.bytes);
  CHECK_FALSE(o.processes[1].pid);
  CHECK(gib_of(message(replaced(new_message, "capacity of", "capacty of")).capacity) == Approx(79.15));
  const OutOfMemory limited = message(replaced(new_message, "Of the alloc", "40.00 GiB allowed; Of the alloc"));
  CHECK(gib_of(limited.allowed) == Approx(40));
}

TEST_CASE("an out-of-memory message wrapped over several lines is read like an unwrapped one", "[memory_log]") {
  std::string wrapped = new_message;
  for (char& c : wrapped)
    if (c == ' ' && &c - wrapped.data() > 60 && (&c - wrapped.data()) % 3 == 0) c = '\n';
  CHECK(gib_of(message(wrapped).slack) == Approx(2.20));
  CHECK(message(wrapped).processes.size() == 2);
}

TEST_CASE("small sizes in an out-of-memory message may be in bytes or KiB", "[memory_log]") {
  std::string text = replaced(new_message, "1.21 GiB is free", "896.50 KiB is free");
  text = replaced(text, "8.00 GiB. GPU", "512 bytes. GPU");
  CHECK(message(text).free->bytes == Bytes(918016));  // 896.5 x 1024
  CHECK(message(text).asked.bytes == Bytes(512));
}

TEST_CASE("2^34 GiB, a driver's placeholder for unknown memory, counts as missing", "[memory_log]") {
  const OutOfMemory o = message(replaced(new_message, "73.85 GiB memory", "17179869184.00 GiB memory"));
  REQUIRE(o.processes.size() == 1);
  CHECK(own_process(o) == nullptr);  // the other process holds 4 GiB, less than PyTorch reserved
}

TEST_CASE("only the first out-of-memory message of each GPU is used", "[memory_log]") {
  const MemoryLog log = read(new_message + new_message + old_message);
  CHECK(log.out_of_memory.messages.size() == 2);
  CHECK(log.out_of_memory.repeats == 1);
}

TEST_CASE("the memory terms of an out-of-memory message add up to the device capacity", "[memory_log]") {
  const MemoryBooking b = book(message(new_message), {});
  check_sum(b);
  CHECK(b.whole == BookedWhole::capacity);
  CHECK(about(b.all, 79.15));
  CHECK(about(term(b, MemoryTerm::allocated), 68.81));  // 70.01 - 1.20
  CHECK(about(term(b, MemoryTerm::graphs), 1.20));
  CHECK(about(term(b, MemoryTerm::slack), 2.20));
  CHECK(about(term(b, MemoryTerm::libraries), 1.64));  // 73.85 - 70.01 - 2.20
  CHECK(about(term(b, MemoryTerm::other_processes), 4.08));
  CHECK(about(term(b, MemoryTerm::free), 1.21));
  CHECK(about(term(b, MemoryTerm::unexplained), 0.01));  // 79.15 - 1.21 - 73.85 - 4.08
  const MemoryBooking together = book(message(new_message), {.pools_apart = false});
  CHECK(about(term(together, MemoryTerm::allocated), 70.01));
  CHECK(together.all == b.all);
}

TEST_CASE("memory that a message does not break down is attributed to allocations outside PyTorch", "[memory_log]") {
  const MemoryBooking b = book(message(old_message), {});
  check_sum(b);
  CHECK(about(term(b, MemoryTerm::outside), 1.75));  // 79.15 - 76.20 - 1.20
  CHECK_FALSE(b.term(MemoryTerm::libraries));
  const OutOfMemory foreign = message(replaced(new_message, "Including non-PyTorch memory, this process", "Process 9"));
  REQUIRE(own_process(foreign) != nullptr);  // a process in a container
  CHECK(own_process(foreign)->pid == 9);
}

TEST_CASE("impossible values in an out-of-memory message are rejected", "[memory_log]") {
  const auto refused = [](const std::string& text) { return test::sentence([&] { read(text); }); };
  CHECK_THAT(refused(replaced(old_message, "70.01", "90.01")),
             Contains("a.log, line 1: 90.01 GiB allocated is more than 79.15 GiB of total capacity"));
  CHECK_THAT(refused(replaced(old_message, "1.20 GiB free", "9.20 GiB free")), Contains("free and reserved"));
  CHECK_THAT(refused(replaced(old_message, "76.20", "66.20")), Contains("is more than 66.20 GiB reserved"));
  CHECK_THAT(refused(replaced(old_message, "2.00 GiB (", "9999999999999.00 TiB (")), Contains("below 2^62"));
}

TEST_CASE("the startup log of vLLM 0.6 is read, and its GB mean GiB", "[memory_log]") {
  const MemoryLog log = read(
      "INFO 11-23 10:00:00 llm_engine.py:232] Initializing an LLM engine (v0.6.6) with config: "
      "model='meta-llama/Llama-3.1-8B', tokenizer='x', dtype=torch.bfloat16, max_seq_len=8192, download_dir=None, "
      "tensor_parallel_size=4, pipeline_parallel_size=1, quantization=None, kv_cache_dtype=auto, seed=0)\n"
      "INFO 11-23 10:00:20 model_runner.py:1115] Loading model weights took 14.9888 GB\n"
      "INFO 11-23 10:00:25 worker.py:241] the current vLLM instance can use total_gpu_memory (79.15GiB) x "
      "gpu_memory_utilization (0.90) = 71.24GiB\n"
      "INFO 11-23 10:00:25 worker.py:241] model weights take 14.99GiB; non_torch_memory takes 0.09GiB; PyTorch "
      "activation peak memory takes 1.20GiB; the rest of the memory reserved for KV Cache is 54.91GiB.\n"
      "INFO 11-23 10:00:25 gpu_executor.py:76] # GPU blocks: 27886, # CPU blocks: 2048\n"
      "INFO 11-23 10:00:50 model_runner.py:1535] Graph capturing finished in 20 secs, took 0.52 GiB\n");
  CHECK(log.kind == MemoryLogKind::server);
  const ServerStart& s = log.server;
  CHECK(s.config.version == "0.6.6");
  CHECK(s.config.model == "meta-llama/Llama-3.1-8B");
  CHECK(s.config.dtype == "torch.bfloat16");
  CHECK(s.config.quantization.empty());
  CHECK(s.config.tensor_parallel == 4);
  CHECK(s.config.max_model_len == 8192);
  CHECK(s.config.utilization == Approx(0.9));
  CHECK(gib_of(s.memory.weights) == Approx(14.99));
  CHECK(s.cache_tokens() == 27886 * 16);
  const MemoryBooking b = book(s, {});
  check_sum(b);
  CHECK(about(b.all, 79.15));
  CHECK(about(term(b, MemoryTerm::unexplained), 0.05));  // 71.24 - 14.99 - 0.09 - 1.20 - 54.91
  CHECK(about(term(b, MemoryTerm::not_granted), 7.39));  // 79.15 - 71.24 - 0.52
  const MemoryLog weights = read("INFO Loading model weights took 2.00 GB\n");
  CHECK(weights.server.memory.weights->bytes == Bytes(Count{2} << 30));
  CHECK_FALSE(weights.server.memory.kv_cache);
  CHECK_FALSE(weights.server.cache_tokens());
}

TEST_CASE("cached tokens follow from the logged cache size, or concurrency, or 16 tokens per block", "[memory_log]") {
  const std::string blocks = "# cuda blocks: 1000, # CPU blocks: 5\n";
  CHECK(read(blocks).server.cache_tokens() == 16000);
  CHECK(read(blocks + "Maximum concurrency for 8000 tokens per request: 4.00x\n").server.cache_tokens() == 32000);
  CHECK(read(blocks + "GPU KV cache size: 15,984 tokens\n").server.cache_tokens() == 15984);
}

TEST_CASE("the startup log of vLLM 1 is read with the memory of the first of several workers", "[memory_log]") {
  const MemoryLog log = read(
      "\033[1;36m(Worker_TP0 pid=30)\033[0;0m INFO 11-23 10:00:12 [gpu_model_runner.py:2602] Model loading took 7.5100 "
      "GiB memory and 5.1 seconds\n"
      "(Worker_TP1 pid=31) INFO 11-23 10:00:12 [gpu_model_runner.py:2602] Model loading took 7.9900 GiB memory and 5.1 "
      "seconds\n"
      "(Worker_TP0 pid=30) INFO 11-23 10:00:40 [gpu_worker.py:298] Available KV cache memory: 61.30 GiB\n"
      "(Worker_TP1 pid=31) INFO 11-23 10:00:40 [gpu_worker.py:298] Available KV cache memory: 60.30 GiB\n"
      "(EngineCore_DP0 pid=21) INFO 11-23 10:00:40 [kv_cache_utils.py:1087] GPU KV cache size: 435,296 tokens, Maximum "
      "concurrency for 131,072 tokens per request: 3.32x\n"
      "(Worker_TP0 pid=30) INFO 11-23 10:01:05 [gpu_model_runner.py:3480] Graph capturing finished in 20 secs, took "
      "-0.01 GiB\n");
  const ServerStart& s = log.server;
  CHECK(s.workers == 2);
  CHECK(gib_of(s.memory.weights) == Approx(7.51));
  CHECK(gib_of(s.memory.kv_cache) == Approx(61.30));
  CHECK(gib_of(s.memory.graphs) == Approx(-0.01));
  CHECK(s.cache_tokens() == 435296);
  CHECK(s.config.max_model_len == 131072);
  CHECK(s.concurrency == Approx(3.32));
  CHECK(book(s, {}).whole == BookedWhole::said);
  const MemoryBooking b = book(s, {.capacity = Bytes(Count{80} << 30), .utilization = 0.9});
  check_sum(b);
  CHECK(about(term(b, MemoryTerm::activations_and_libraries), 3.19));  // 72 - 7.51 - 61.30
}

TEST_CASE("the summary of vLLM 0.11 and later has all terms, with weights and libraries apart or combined",
          "[memory_log]") {
  const std::string account =
      "Free memory on device (78.60/79.15 GiB) on startup. Desired GPU memory utilization is (0.9, 71.24 GiB). Actual "
      "usage is 14.99 GiB for weight, 1.20 GiB for peak activation, 0.09 GiB for non-torch memory, and 0.52 GiB for "
      "CUDAGraph memory. Replace gpu_memory_utilization config with `--kv-cache-memory=1` (0.00 GiB) to fit. Current "
      "kv "
      "cache memory in use is 54.96 GiB.\n";
  const MemoryBooking b = book(read(account).server, {});
  check_sum(b);
  CHECK(about(b.all, 79.15));
  CHECK(about(term(b, MemoryTerm::weights), 14.99));
  CHECK(about(term(b, MemoryTerm::libraries), 0.09));
  CHECK(about(term(b, MemoryTerm::activations), 1.20));
  CHECK(about(term(b, MemoryTerm::kv_cache), 54.96));
  CHECK(about(term(b, MemoryTerm::graphs), 0.52));
  CHECK(about(term(b, MemoryTerm::held_before_start), 0.55));
  CHECK(about(term(b, MemoryTerm::not_granted), 6.84));  // 79.15 - 71.24 - 0.52 - 0.55
  const std::string together =
      replaced(replaced(account, "14.99 GiB for weight", "15.08 GiB for consumed memory (weights + non-torch)"),
               ", 0.09 GiB for non-torch memory", "");
  const MemoryBooking c = book(read(together).server, {});
  CHECK(about(term(c, MemoryTerm::weights_and_libraries), 15.08));
  CHECK_FALSE(c.term(MemoryTerm::weights));
  CHECK(c.all == b.all);
}

TEST_CASE("memory reserved for CUDA graphs is part of the engine's memory grant", "[memory_log]") {
  const std::string start =
      "Model loading took 1.00 GiB memory and 1 seconds\nEstimated CUDA graph memory: 0.50 GiB total\n"
      "Available KV cache memory: 5.00 GiB\n";
  const std::string enabled = "--gpu-memory-utilization=0.8000 is equivalent to --gpu-memory-utilization=0.7500\n";
  const BookingDefaults device{.capacity = Bytes(Count{10} << 30), .utilization = 0.9};
  CHECK(about(term(book(read(start).server, device), MemoryTerm::activations_and_libraries), 3.0));  // 9 - 1 - 5
  const MemoryBooking b = book(read(start + enabled).server, device);
  CHECK(about(term(b, MemoryTerm::activations_and_libraries), 1.5));  // 8 - 0.5 - 1 - 5
  CHECK(about(term(b, MemoryTerm::not_granted), 2.0));
  check_sum(b);
}

TEST_CASE("for a failed start, the log gives the cache memory needed and the longest length that fits",
          "[memory_log]") {
  const ServerStart s =
      read(
          "Available KV cache memory: 5.83 GiB\nValueError: To serve at least one request with the "
          "models's max seq len "
          "(131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory "
          "(5.83 GiB). Based "
          "on the available memory, the estimated maximum model length is 47744. Try increasing\n")
          .server;
  CHECK(gib_of(s.cache_needed) == Approx(16));
  CHECK(s.longest == 47744);
  CHECK(s.config.max_model_len == 131072);
  CHECK(gib_of(read("Available KV cache memory: -2.81 GiB\n").server.memory.kv_cache) == Approx(-2.81));
}

TEST_CASE("the memory_summary table is read for every device, and its values are truncated to whole units",
          "[memory_log]") {
  const auto table = [](const std::string& device, const std::string& peak, const std::string& unit) {
    std::string text =
        "|                  PyTorch CUDA memory summary, device ID 0                 |\n"
        "|            CUDA OOMs: 2            |        cudaMalloc retries: 0         |\n"
        "| Allocated memory      |  30720 UNIT |  PEAK UNIT |    901 GiB |    871 GiB |\n"
        "|       from large pool |  30700 MiB |  63400 MiB |    900 GiB |    870 GiB |\n"
        "| GPU reserved memory   |  69632 MiB |  69632 MiB |  69632 MiB |      0 B   |\n"
        "| Non-releasable memory |   2048 MiB |   6100 MiB |    500 GiB |    498 GiB |\n"
        "| GPU reserved segments |    1024    |    2048    |   10 K     |    9 K     |\n";
    text = replaced(replaced(replaced(text, "ID 0", "ID " + device), "PEAK", peak), "UNIT", unit);
    return replaced(text, "UNIT", unit);
  };
  const MemoryLog log = read(table("0", "63488", "MiB") + table("1", "64000", "MB") + table("0", "64512", "MiB"));
  CHECK(log.kind == MemoryLogKind::summary);
  REQUIRE(log.summary.devices.size() == 2);
  CHECK(log.summary.repeats == 1);
  const MemorySummary& s = log.summary.devices[0];
  CHECK(s.device == 0);
  CHECK(s.failures == 2);
  CHECK(s.allocated->current.bytes == Bytes(Count{30} << 30));
  CHECK(s.allocated->peak.bytes == Bytes(Count{63} << 30));  // from the last table
  CHECK(s.allocated->peak.within == Bytes(Count{1} << 20));
  CHECK(s.non_releasable->peak.bytes == Bytes(Count{6100} << 20));
  CHECK_FALSE(s.requested);
  const std::vector<MemoryBooking> all = book(log, {});
  REQUIRE(all.size() == 2);
  CHECK(about(term(all[0], MemoryTerm::slack), 5));  // 68 - 63
  CHECK(about(all[0].all, 68));
  const MemoryBooking whole = book(s, {.capacity = Bytes(Count{80} << 30)});
  check_sum(whole);
  CHECK(about(term(whole, MemoryTerm::not_said), 12));
  CHECK_THAT(test::sentence([&] { read(table("0", "20000", "MiB")); }),
             Contains("the current usage of Allocated memory is above its peak"));
  CHECK_THAT(test::sentence([&] { read(table("0", "70000", "MiB")); }),
             Contains("allocated memory exceeds reserved memory"));
}

TEST_CASE("a failure message takes precedence over a memory table, and a table over a startup log", "[memory_log]") {
  const std::string start = "Model loading took 1.00 GiB memory and 1 seconds\n";
  const MemoryLog log = read(start + new_message);
  CHECK(log.kind == MemoryLogKind::out_of_memory);
  CHECK(log.server.says_memory());
}

TEST_CASE("the error for text without memory information lists the known logs", "[memory_log]") {
  const auto refused = [](const std::string& text) { return test::sentence([&] { read(text); }); };
  CHECK_THAT(refused(""), Contains("a.log: the log is empty"));
  CHECK_THAT(refused(" \r\n\t"), Contains("a.log: the log is empty"));
  CHECK_THAT(refused("hello\n"), Contains("no report of memory use found") && Contains("Tried to allocate") &&
                                     Contains("model weights take") && Contains("memory_summary()"));
  CHECK_THAT(refused(std::string("a\0b", 3)), Contains("binary or UTF-16"));
  CHECK_THAT(refused("DefaultCPUAllocator: can't allocate memory: you tried to allocate 67108864 bytes."),
             Contains("no report of memory use"));
  CHECK_THAT(refused("# GPU blocks: 888888888888888888\n"), Contains("888888888888888888 blocks, or more than"));
  CHECK_THAT(refused("total_gpu_memory (79.15GiB) x gpu_memory_utilization (9.0) = 71.24GiB\n"),
             Contains("gpu_memory_utilization is 9"));
  CHECK_THAT(refused("# GPU blocks: 888888888888888888\n"), Contains("888888888888888888 blocks, or more than"));
  CHECK_THAT(refused("total_gpu_memory (79.15GiB) x\nmodel weights take 800.00GiB;\n"),
             Contains("800.00 GiB exceeds the device memory of 79.15 GiB"));
}

TEST_CASE("a served model is resolved by the last part of its name", "[memory_log]") {
  const auto preset = [](std::string_view model) {
    const Builtin* b = served_preset(model);
    return b == nullptr ? std::string_view() : b->name;
  };
  CHECK(preset("meta-llama/Llama-3.1-8B-Instruct") == "llama-3.1-8b");
  CHECK(preset("/models/Llama-3.1-8B-Instruct/") == "llama-3.1-8b");
  CHECK(preset("/root/.cache/hub/models--Qwen--Qwen2.5-7B-Instruct/snapshots/a09a35") == "qwen2.5-7b");
  CHECK(preset("Qwen/Qwen2.5-7B-Instruct-AWQ") == "qwen2.5-7b");
  CHECK(preset("someone/a-model-of-my-own").empty());
  CHECK(preset("/").empty());
  CHECK(preset("-AWQ").empty());
}

TEST_CASE("a server's logged configuration is converted to plan options", "[memory_log]") {
  const ModelCard llama = load_model("llama-3.1-8b");
  ServerConfig c{.dtype = "torch.float16", .cache_dtype = "fp8_e4m3", .tensor_parallel = 4, .pipeline_parallel = 2};
  std::vector<std::string> unknown, flags;
  for (const SaidOption& o : said_options(c, llama, unknown)) flags.push_back(std::string(o.flag) + " " + o.value);
  CHECK(flags == std::vector<std::string>{"--tp 4", "--precision fp16", "--kv-precision fp8"});
  CHECK(unknown == std::vector<std::string>{"pipeline_parallel_size=2"});
  CHECK_FALSE(said_weights(c));
  c.quantization = "awq_marlin";
  CHECK(said_weights(c)->name() == "awq");
  const WeightFormats w = served_weights(*said_weights(c), dtypes::bf16);
  CHECK(w[Component::mlp].name() == "awq");
  CHECK(w[Component::lm_head] == dtypes::bf16);
  CHECK(w[Component::embedding] == dtypes::bf16);
  unknown.clear();
  c.quantization = "experimental";
  said_options(c, llama, unknown);
  CHECK(unknown.back() == "quantization=experimental");
}

TEST_CASE("if a log covers several engines, the first one that logs memory is used", "[memory_log]") {
  const std::string text =
      "(EngineCore_DP3 pid=88) INFO [gpu_model_runner.py:1] Model loading took 97.54 GiB memory and 121.4 seconds\n"
      "(EngineCore_DP0 pid=85) INFO [gpu_model_runner.py:1] Model loading took 97.50 GiB memory and 121.4 seconds\n"
      "(EngineCore_DP3 pid=88) INFO [gpu_worker.py:436] Available KV cache memory: 22.10 GiB\n"
      "(EngineCore_DP3 pid=88) INFO [kv_cache_utils.py:1] GPU KV cache size: 676,160 tokens\n"
      "(EngineCore_DP0 pid=85) INFO [gpu_worker.py:436] Available KV cache memory: 21.90 GiB\n"
      "(EngineCore_DP0 pid=85) INFO [kv_cache_utils.py:1] GPU KV cache size: 670,080 tokens\n"
      "(EngineCore_DP0 pid=85) INFO [kv_cache_utils.py:1] Maximum concurrency for 32,768 tokens per request: 20.45x\n";
  const ServerStart s = read(text).server;
  CHECK(gib_of(s.memory.weights) == Approx(97.54));
  CHECK(gib_of(s.memory.kv_cache) == Approx(22.10));
  CHECK(s.cache_tokens() == 676160);
  CHECK_FALSE(s.concurrency);
  CHECK(s.config.max_model_len == 32768);
  // A worker with an engine number belongs to that engine; without a number there is only one engine.
  for (const char* worker : {"(Worker_DP1_TP0 pid=30)", "(Worker_TP0 pid=30)"}) {
    const std::string ranks = std::string(worker) + " INFO Available KV cache memory: 10.00 GiB\n" +
                              "(EngineCore_DP1 pid=21) INFO GPU KV cache size: 1,000 tokens\n";
    CHECK(read(ranks).server.cache_tokens() == 1000);
  }
}

TEST_CASE("experts are split over the data-parallel ranks of a server", "[memory_log]") {
  const Arch deepseek = load_model("deepseek-v3").arch, llama = load_model("llama-3.1-8b").arch;
  std::vector<std::string> unknown;
  const auto laid_out = [&](const ServerConfig& c, const Arch& arch, Count tp) {
    Layout l;
    l.tp = tp;
    return served_layout(c, arch, l, unknown);
  };
  const Layout experts = laid_out({.data_parallel = 8, .expert_parallel = true}, deepseek, 1);
  CHECK((experts.dp == 8 && experts.ep == 8 && ranks(experts, Group::expert_tensor) == 1));
  const Layout both = laid_out({.data_parallel = 4, .expert_parallel = true}, deepseek, 2);
  CHECK((both.ep == 8 && ranks(both, Group::expert_tensor) == 1));
  const Layout widths = laid_out({.data_parallel = 4}, deepseek, 2);
  CHECK((widths.ep == 1 && ranks(widths, Group::expert_tensor) == 8));
  CHECK(laid_out({}, deepseek, 8) == Layout{.tp = 8});
  const Layout dense = laid_out({.data_parallel = 4, .expert_parallel = true}, llama, 1);
  CHECK((dense.dp == 4 && dense.ep == 1));
  CHECK(unknown.empty());
  CHECK(laid_out({.data_parallel = 7, .expert_parallel = true}, deepseek, 1) == Layout{});
  CHECK(unknown.size() == 1);
}

TEST_CASE("mxfp4 in a server's configuration applies only to experts", "[memory_log]") {
  const WeightFormats w = *served_weights(ServerConfig{.quantization = "mxfp4"}, dtypes::bf16);
  CHECK(w[Component::experts].name() == "mxfp4");
  for (const Component c : {Component::attention, Component::mlp, Component::lm_head, Component::router})
    CHECK(w[c] == dtypes::bf16);
  CHECK_FALSE(served_weights(ServerConfig{}, dtypes::bf16));
  CHECK((*served_weights(ServerConfig{.quantization = "awq"}, dtypes::bf16))[Component::attention].name() == "awq");
}

TEST_CASE("an out-of-memory message names the environment variable of its allocator", "[memory_log]") {
  CHECK(message(new_message).variable == "PYTORCH_CUDA_ALLOC_CONF");
  CHECK(message(replaced(new_message, "CUDA out of", "HIP out of")).variable == "PYTORCH_HIP_ALLOC_CONF");
  for (const char* named : {"PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"})
    CHECK(message(new_message + "try setting " + named + "=expandable_segments:True").variable == named);
}
