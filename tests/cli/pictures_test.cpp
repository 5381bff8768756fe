/// --html and --plot.

#include <cmath>

#include "ask/request/options/options.hpp"
#include "report/plot/charts.hpp"
#include "report/plot/report_numbers.hpp"
#include "report/plot/scale.hpp"
#include "report/plot/svg.hpp"
#include "report/plot/table.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using Catch::Matchers::Contains;

namespace {

const plot::Chart& chart_called(const std::vector<plot::Chart>& all, std::string_view key) {
  for (const plot::Chart& c : all)
    if (c.key == key) return c;
  throw std::runtime_error("no chart " + std::string(key));
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("ticks are round numbers within the axis", "[plot]") {
  const plot::Scale linear({"s", Unit::none}, {0, 47}), bytes({"b", Unit::bytes}, {0, 80.0 * (1U << 30)}),
      wide({"x", Unit::none, plot::Spacing::logarithmic}, {0.5, 2000});
  CHECK(linear.ticks(5) == std::vector<double>{0, 10, 20, 30, 40});
  for (const double tick : bytes.ticks(5)) CHECK(std::fmod(tick, 1U << 30) == 0);
  CHECK(wide.ticks(8) == std::vector<double>{1, 10, 100, 1000});
  CHECK(wide.at(0.5) == Approx(0).margin(1e-12));
  CHECK(wide.at(2000) == Approx(1));
  CHECK_FALSE(wide.at(0).has_value());
}

TEST_CASE("the memory chart has the report's bytes for every stage", "[plot][cli]") {
  const json::Value report =
      test::ask("train llama-3.1-405b --hardware h100 --tp 8 --pp 16 --global-batch 32 --stages");
  const plot::Chart memory = chart_called(plot::charts_of(report, {}), "memory");
  const auto& bars = std::get<plot::Bars>(memory.content).bars;
  REQUIRE(bars.size() == 16);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const json::Value& stage = report["stages"][i];
    CHECK(bars[i].limit == stage["capacity_bytes"].get<double>());
    CHECK(bars[i].parts[0] == std::pair<std::string, double>{"weights", stage["weights_bytes"].get<double>()});
  }
  CHECK(plot::table_of(memory).rows.size() == 16);
}

TEST_CASE("no operator of the roofline chart is above the roof", "[plot][cli]") {
  const json::Value report = test::ask("infer llama-3.1-8b --hardware h100 --ops");
  const auto charts = plot::charts_of(report, {});
  const auto& series = std::get<plot::Curves>(chart_called(charts, "roofline").content).series;
  REQUIRE(series.size() == 3);
  const double peak = series[0].points[1].y, bandwidth = peak / series[0].points[1].x;
  CHECK(peak == report["hardware"]["peak_flops"]["bf16"]);
  CHECK(bandwidth == Approx(report["hardware"]["memory_bytes_per_s"].get<double>()));
  for (std::size_t i = 1; i < series.size(); ++i)
    for (const plot::Point& p : series[i].points) CHECK(p.y <= 1.0001 * std::min(peak, bandwidth * p.x));
}

TEST_CASE("curves repeat the request with other values of an input", "[plot][cli]") {
  const json::Value report = test::ask("infer llama-3.1-8b --hardware h100 --batch 4");
  const auto curves = plot::curves_of(report);
  const auto& points = std::get<plot::Curves>(chart_called(curves, "batch").content).series[0].points;
  CHECK(points.front().x == 1);
  CHECK(points.back().x == report["limits"]["max_batch"].get<double>());
  CHECK(points[2].x == 4);
  CHECK(points[2].y == report["decode"]["time_per_token_s"].get<double>());
  CHECK(points[2].ends->high == report["decode"]["time_per_token_high_s"].get<double>());
}

TEST_CASE("the pipeline chart has two slots per stage and micro-batch", "[plot][cli]") {
  const std::string out =
      test::llmcalc("train llama-3.1-8b --hardware h100 --gpus 32 --pp 4 --tp 8 --global-batch 8 --plot pipeline").out;
  CHECK_THAT(out, Contains("stage 4") && Contains("# forward  = backward"));
}

TEST_CASE("a picture is text with an accessible name, and names are escaped", "[plot]") {
  const plot::Chart chart{"k", "a < b & c", "about \"it\"",
                          plot::Bars{{"s", Unit::seconds}, {{"<bar>", {{"part", 2}}}}}};
  const std::string svg = plot::svg_file(chart);
  CHECK(svg.starts_with("<svg xmlns="));
  CHECK_THAT(svg, Contains("<title id=\"k-title\">a &lt; b &amp; c</title>") && Contains("role=\"img\"") &&
                      Contains("aria-labelledby=\"k-title k-about\"") && Contains("&lt;bar&gt;") &&
                      !Contains("<bar>") && !Contains("NaN") && !Contains("script"));
}

TEST_CASE("--html writes a page without scripts whose numbers open their explanations", "[html][cli]") {
  const std::string path = test::scratch() + "/page.html";
  CHECK(test::llmcalc("infer llama-3.1-8b --hardware h100 --html " + path).code == 0);
  const std::string page = test::read_file(path);
  CHECK(page.starts_with("<!DOCTYPE html><!-- llmcalc -->"));
  CHECK_THAT(page, Contains("default-src 'none'") && Contains("<svg") && Contains("p_w") && !Contains("<script") &&
                       !Contains("http://www.w3.org/1999") && Contains("llmcalc infer llama-3.1-8b --hardware h100"));
  CHECK(count_of(page, "<figure>") >= 5);
  CHECK(count_of(page, "<details>") > 30);
  CHECK(count_of(page, "<details>") == count_of(page, "</details>"));
}

TEST_CASE("mistakes with pictures are rejected", "[plot][cli][bad_input]") {
  const std::string infer = "infer llama-3.1-8b --hardware h100 ";
  CHECK_THAT(test::refusal_in(infer + "--plot rofline"), Contains("did you mean \"roofline\"?"));
  CHECK_THAT(test::refusal_in(infer + "--plot plans"),
             Contains("this answer has no such chart") && Contains("plan train"));
  CHECK_THAT(test::refusal_in(infer + "--out a.svg"), Contains("--out has no effect without --plot"));
  CHECK_THAT(test::refusal_in(infer + "--html /nowhere/a.html"), Contains("cannot write"));
}

TEST_CASE("the help of --plot lists the kinds of charts in order", "[plot][help]") {
  std::string all;
  const auto kinds = plot::chart_kinds();
  for (std::size_t i = 0; i < kinds.size(); ++i)
    all += (i == 0 ? "" : i + 1 == kinds.size() ? " or " : ", ") + std::string(kinds[i].key);
  CHECK(find_option("--plot")->help == "draw a chart: " + all);
}

TEST_CASE("a picture of another program is preserved unless --force is given", "[plot][cli]") {
  const std::string path = test::scratch() + "/other.svg";
  test::write_file(path, "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>");
  const std::string command = "infer llama-3.1-8b --hardware h100 --plot memory --out " + path;
  CHECK_THAT(test::refusal_in(command), Contains("is not a chart written by llmcalc"));
  CHECK(test::llmcalc(command + " --force").code == 0);
  CHECK(test::llmcalc(command).code == 0);
}
