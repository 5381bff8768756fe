// 'llmcalc sweep': grids of points as CSV, JSONL and SQLite, continued after an interruption.

#include <dlfcn.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

/// The rows of a sweep as objects.
std::vector<json::Value> swept(const std::string& arguments) {
  const test::Ran r = test::llmcalc("sweep " + arguments + " --jsonl");
  INFO("llmcalc sweep " << arguments << "\n" << r.err);
  REQUIRE(r.code == 0);
  std::vector<json::Value> rows;
  for (const std::string& line : lines_of(r.out)) rows.push_back(json::parse(line, "a row"));
  return rows;
}

/// The values of one column, without quotes.
Lines column(const std::vector<json::Value>& rows, const std::string& name) {
  Lines all;
  for (const json::Value& row : rows)
    all.push_back(row[name].is_string() ? row[name].get<std::string>() : row[name].dump());
  return all;
}

json::Value at(const json::Value& answer, std::string path) {
  std::replace(path.begin(), path.end(), '.', '/');
  const json::Value::json_pointer pointer("/" + path);
  return answer.contains(pointer) ? answer.at(pointer) : json::Value();
}

/// Options of a grid: options with lists, options shared by all points, and the columns.
struct Grid {
  std::string lists, fixed, columns;
};

/// "--tp 2 --batch 8": the options that a row was computed with.
std::string options_in(const json::Value& row) {
  std::string options;
  for (const auto& [name, value] : row.items()) {
    if (name == "error" || name.find('.') != std::string::npos || value.is_null()) continue;
    std::string flag = name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    options += " --" + flag + " '" + column({row}, name)[0] + "'";
  }
  return options;
}

/// Checks a random sample of rows against the command with the row's options.
void check_equal(const std::string& command, const Grid& grid) {
  std::vector<json::Value> rows = swept(command + " " + grid.lists + " " + grid.fixed + grid.columns);
  std::shuffle(rows.begin(), rows.end(), std::mt19937(1));
  rows.resize(std::min<std::size_t>(rows.size(), 10));
  for (const json::Value& row : rows) {
    const test::Ran one = test::llmcalc(command + options_in(row) + " " + grid.fixed + " --json");
    INFO(command << options_in(row));
    if (one.code != 0) {
      CHECK("llmcalc: " + row["error"].get<std::string>() + "\n" == one.err);
      continue;
    }
    CHECK(row["error"].is_null());
    const json::Value answer = json::parse(one.out, "the answer");
    for (const auto& [name, value] : row.items())
      if (name.find('.') != std::string::npos) CHECK(value == at(answer, name));
  }
}

std::string path_of(const std::string& name) { return test::scratch() + "/" + name; }

const std::string small = "memory gpt2 --train --micro-batch 1..40 --columns memory.peak_bytes,memory.parameters";

/// Writes the sweep to a file and returns the file's bytes.
std::string written(const std::string& arguments, const std::string& path) {
  const test::Ran r = test::llmcalc("sweep " + arguments + " --out " + path);
  INFO(r.err);
  REQUIRE(r.code == 0);
  return test::read_file(path);
}

}  // namespace

TEST_CASE("a sweep has a row per combination, the last option varying fastest", "[sweep][cli]") {
  const auto rows = swept("memory gpt2,llama-3.1-8b --train --tp 1,2 --micro-batch 1,4 --columns memory.peak_bytes");
  CHECK(column(rows, "model") ==
        Lines{"gpt2", "gpt2", "gpt2", "gpt2", "llama-3.1-8b", "llama-3.1-8b", "llama-3.1-8b", "llama-3.1-8b"});
  CHECK(column(rows, "tp") == Lines{"1", "1", "2", "2", "1", "1", "2", "2"});
  CHECK(column(rows, "micro_batch") == Lines{"1", "4", "1", "4", "1", "4", "1", "4"});
}

TEST_CASE("sweep ranges can add or multiply, and can have suffixes and decimal places", "[sweep][cli]") {
  const auto values = [](const std::string& flag, const std::string& range) {
    std::string key = flag.substr(2);
    std::replace(key.begin(), key.end(), '-', '_');
    return column(swept("train gpt2 --hardware h100 --columns step.mfu " + flag + " " + range), key);
  };
  CHECK(values("--micro-batch", "1..4") == Lines{"1", "2", "3", "4"});
  CHECK(values("--micro-batch", "1..20x2") == Lines{"1", "2", "4", "8", "16"});
  CHECK(values("--micro-batch", "2..9+3,16") == Lines{"2", "5", "8", "16"});
  CHECK(values("--seq", "256..1kx2,1Ki") == Lines{"256", "512", "1024"});
  CHECK(values("--overlap", "0..1+0.25") == Lines{"0", "0.25", "0.5", "0.75", "1"});
  CHECK(values("--overlap", "0.5..0.9+0.2") == Lines{"0.5", "0.7", "0.9"});
}

TEST_CASE("a semicolon separates values that contain commas", "[sweep][cli]") {
  const auto rows = swept(
      "train gpt2 --hardware h100 --pp 2 --stage-layers '7,5;6,6' --recompute 'none;selective:norm,act' "
      "--columns layout.stage_layers,inputs.recompute");
  CHECK(column(rows, "layout.stage_layers") == Lines{"7,5", "7,5", "2x6", "2x6"});
  CHECK(column(rows, "inputs.recompute") == Lines{"none", "selective:norm,act", "none", "selective:norm,act"});
  test::refused("sweep memory gpt2 --train --recompute none,full",
                "--recompute: expected none, selective, selective:MODULES, block:N, uniform:N or full, got "
                "\"none,full\"; in a sweep, a semicolon separates the values of this option");
}

TEST_CASE("sweep rows equal the command's --json output to the last digit", "[sweep][cli]") {
  check_equal("train llama-3.1-8b",
              {"--hardware h100,a100 --tp 1,2,3 --pp 1,2 --zero 0,1 --global-batch 64..192+64", "--dp 2 --tokens 1T",
               " --columns step.time_s,step.mfu,step.breakdown_s.matmul,memory.peak_bytes,run.days,"
               "memory.process.needed_bytes,layout.gpus,inputs.seq,model.source,utilization.palm,flops.model_total,"
               "verdict.fit,verdict.fit_probability"});
  check_equal("memory mixtral-8x7b",
              {"--hardware h100,rtx-4090 --tp 1,2,5 --batch 1..64x4", "",
               "--columns memory.peak_bytes,activations.blocks_bytes,inference_memory.peak_bytes,kv_cache.bytes_total,"
               "verdict.fit,conventions.parameters"});
  check_equal("infer deepseek-v3",
              {"--hardware h200,mi300x --tp 8,16 --batch 1..128x8 --prompt 1k,8k", "",
               "--columns prefill.time_s,decode.time_per_token_s,decode.flops,end_to_end.usd_per_1m_tokens,"
               "limits.max_batch,inputs.software,verdict.fit_probability,inference_estimate.whole_class"});
  check_equal("serve llama-3.1-8b", {"--rate 1,4 --tp 1,2", "--hardware h100 --num-requests 40", ""});
}

TEST_CASE("an impossible point of a sweep is a row with its error", "[sweep][cli]") {
  const test::Ran r = test::llmcalc("sweep memory gpt2 --train --tp 1,5 --columns memory.parameters");
  CHECK(r.code == 0);
  // gpt2 has 12 heads, and 124,439,808 parameters
  CHECK(r.out ==
        "tp,memory.parameters,error\r\n1,124439808,\r\n5,,\"--tp 5 does not divide the 12 attention heads of "
        "gpt-2-124m; valid "
        "sizes: 1, 2, 3, 4, 6, 12\"\r\n");
  CHECK(r.err == "llmcalc: note: 1 of 2 points is impossible; the column error has the reason\n");
}

TEST_CASE("a sweep whose points are all impossible still writes a row per point", "[sweep][cli]") {
  const auto rows = swept("memory gpt2 --train --tp 5,7 --columns memory.peak_bytes,layout.gpus");  // 12 heads
  REQUIRE(rows.size() == 2);
  for (const json::Value& row : rows) {
    CHECK(row["memory.peak_bytes"].is_null());
    CHECK(row["error"].is_string());
  }
}

TEST_CASE("invalid sweeps are rejected before any row is written", "[sweep][cli]") {
  test::refused("sweep memory gpt2 --train --tp 1..1000000000 --micro-batch 1,2",
                "the sweep has 2,000,000,000 points, more than 10^9; shorten the lists, or split the sweep");
  test::refused("sweep train gpt2 --hardware h100 --columns step.tim",
                "--columns: \"step.tim\" is not a value of 'train --json', did you mean \"step.time_s\"?");
  test::refused("sweep train gpt2 --hardware h100 --columns step",
                "--columns: \"step\" is an object; name one of its values");
  test::refused("sweep train gpt2 --hardware h100 --columns step.mfu,step.mfu",
                "--columns: step.mfu is specified twice; specify it once");
  test::refused("sweep train gpt2 --tp 1,2",
                "'llmcalc train' needs --hardware HW; 'llmcalc list hardware' lists the presets");
  test::refused("sweep params gpt2 --tp 1,2",
                "--tp is not an option of 'llmcalc params'; 'llmcalc params --help-all' lists all options");
  test::refused("sweep memory gpt2 --tp 8..1",
                "--tp: \"8..1\" has no numbers; write a range such as 1..8, 1..64x2 or 8k..32k+8k");
  test::refused("sweep memory gpt2 --tp 1..8x1",
                "--tp: \"1..8x1\" does not grow; write a range such as 1..8, 1..64x2 or 8k..32k+8k");
  test::refused("sweep memory gpt2 --tp 1,x",
                "--tp: expected a positive whole number (8192, 8k, 8Ki, 300B, 3e11), got \"x\"");
  test::refused("sweep memory gpt2 --out rows.txt",
                "--out: expected a name that ends with .csv, .jsonl, .sqlite or .db, got \"rows.txt\"");
  test::refused("sweep memory gpt2 --resume", "--resume has no effect without --out; add --out");
  test::refused("sweep memory gpt2 --require-fit", "--require-fit has no effect on the rows of a sweep; omit it");
}

TEST_CASE("a column that only some points have is empty in the other rows", "[sweep][cli]") {
  const auto rows = swept("memory gpt2 --train --zero 0,3 --dp 2 --columns memory.gathered_bytes");
  CHECK(rows[0]["memory.gathered_bytes"].is_null());
  CHECK(rows[1]["memory.gathered_bytes"].is_number_integer());
}

TEST_CASE("a truncated sweep file is completed to the same bytes", "[sweep][cli]") {
  for (const std::string ending : {".csv", ".jsonl"}) {
    const std::string path = path_of("cut" + ending), whole = written(small, path);
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{10}, whole.size() / 2, whole.size() - 1, whole.size()}) {
      test::write_file(path, whole.substr(0, bytes));
      INFO(ending << " cut at " << bytes);
      CHECK(written(small + " --resume", path) == whole);
    }
  }
}

TEST_CASE("a sweep neither continues nor replaces a file of another command", "[sweep][cli]") {
  const std::string path = path_of("other.csv"), whole = written(small, path);
  const std::string other = "memory gpt2 --train --micro-batch 1..40 --columns memory.peak_bytes";
  const std::string kept = "; pass another --out";
  test::refused("sweep " + other + " --resume --out " + path,
                "'" + path + "' was not written by this command: it has other columns" + kept);
  test::refused("sweep " + other + " --out " + path,
                "'" + path + "' exists and is not a sweep with these columns" + kept + ", or --force to replace it");
  test::refused("sweep " + small + " --seq 512 --resume --out " + path,
                "'" + path +
                    "' was not written by this command: row 1 differs; repeat the command that wrote it, or pass "
                    "another --out");
  CHECK(test::read_file(path) == whole);
  CHECK(written(small, path) == whole);  // a sweep with the same columns is replaced
  CHECK(written(other + " --force", path) != whole);
}

TEST_CASE("Ctrl-C ends a sweep with whole rows, and --resume continues it", "[sweep][cli]") {
  const std::string path = path_of("stopped.csv");
  const std::string sweep = "sweep memory gpt2 --train --hardware h100 --micro-batch 1..30000";
  std::filesystem::remove(path);
  const test::Ran r = test::signaled(sweep + " --out " + path, {SIGINT}, std::chrono::milliseconds(150));
  CHECK(r.code == 130);
  CHECK(r.seconds_to_end < 1);
  CHECK(r.err.find(" of 30000 rows; the same command with --resume continues\n") != std::string::npos);
  const std::string begin = test::read_file(path);
  CHECK(begin.ends_with("\r\n"));
  const test::Ran rest = test::llmcalc(sweep + " --resume --out " + path);
  CHECK(rest.code == 0);
  const std::string whole = test::read_file(path);
  CHECK(lines_of(whole).size() == 30001);
  CHECK(whole.starts_with(begin));
}

TEST_CASE("CSV quotes commas, and JSONL has the same values", "[sweep][cli]") {
  const std::string sweep = "train gpt2 --hardware h100 --pp 2 --stage-layers '7,5;6,6' --columns step.bound";
  CHECK(lines_of(test::llmcalc("sweep " + sweep).out)[1] == "\"7,5\",latency,\r");
  CHECK(lines_of(test::llmcalc("sweep " + sweep + " --jsonl").out)[0] ==
        R"({"stage_layers":"7,5","step.bound":"latency","error":null})");
}

TEST_CASE("integers above 2^64 keep every digit", "[sweep][cli]") {
  const std::string run = "llama-3.1-405b --tokens 15600000000001 ", column_name = "flops.model_run";
  const test::Ran one = test::llmcalc("flops " + run + "--json");
  const std::size_t begin = one.out.find("\"model_run\": ") + 13;
  const std::string digits = one.out.substr(begin, one.out.find_first_not_of("0123456789", begin) - begin);
  REQUIRE(digits.size() > 20);
  CHECK(test::llmcalc("sweep flops " + run + "--columns " + column_name).out ==
        column_name + ",error\r\n" + digits + ",\r\n");
}

TEST_CASE("a SQLite file has the rows in order and is continued", "[sweep][cli]") {
  if (::dlopen("libsqlite3.so.0", RTLD_NOW) == nullptr || std::system("command -v sqlite3 >/dev/null") != 0) return;
  const std::string path = path_of("rows.sqlite"), sweep = small + ",verdict.fit --hardware h100";
  const auto query = [&](const std::string& sql) {
    const std::string out = path_of("sql");
    REQUIRE(std::system(("sqlite3 '" + path + "' \"" + sql + "\" >'" + out + "'").c_str()) == 0);
    return test::read_file(out);
  };
  written(sweep, path);
  std::string expected;
  for (const json::Value& row : swept(sweep))
    expected += row["micro_batch"].dump() + "|" + row["memory.peak_bytes"].dump() + "|" +
                row["verdict.fit"].get<std::string>() + "|integer\n";
  const std::string rows =
      "SELECT micro_batch, \\\"memory.peak_bytes\\\", \\\"verdict.fit\\\", typeof(micro_batch) FROM sweep ORDER BY "
      "rowid";
  CHECK(query(rows) == expected);
  query("DELETE FROM sweep WHERE rowid > 17");
  written(sweep + " --resume", path);
  CHECK(query(rows) == expected);
  test::write_file(path, "not a database, and longer than the header of one: ................................");
  test::refused("sweep " + sweep + " --out " + path,
                "'" + path + "' exists and is not a SQLite file; pass another --out, or --force to replace it");
  written(sweep + " --force", path);
  CHECK(query(rows) == expected);
}
