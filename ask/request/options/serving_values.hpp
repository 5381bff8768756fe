#pragma once
/// Parsers of option values for a server: text in, a value or one complete error sentence out, as in
/// ask/request/options/option_values.hpp.

#include <string>
#include <string_view>
#include <vector>

#include "ask/request/serving_inputs.hpp"

namespace llmcalc {

Seconds read_time(std::string_view text, std::string_view where);         ///< reads "500 ms", "2 s", "0"
Seconds read_limit(std::string_view text, std::string_view where);        ///< as read_time, but above 0
Seconds read_duration(std::string_view text, std::string_view where);     ///< as read_time, for the length of a run
double read_request_rate(std::string_view text, std::string_view where);  ///< requests per second, within the range
                                                                          ///< of the clock
double read_arrivals(std::string_view text, std::string_view where);      ///< reads "poisson", "constant", "gamma:2"
double read_percentile(std::string_view text, std::string_view where);    ///< value above 0 and below 100
Count read_drafts(std::string_view text, std::string_view where);         ///< value from 1 to most_drafts
ServedAdapters read_adapters(std::string_view text, std::string_view where);         ///< reads "8:16", "8:16:q,v"
Pools read_pools(std::string_view text, std::string_view where);                     ///< reads "2P6D"
ApiPrice read_api_price(std::string_view text, std::string_view where);              ///< reads "0.5,1.5"
std::vector<double> read_acceptance(std::string_view text, std::string_view where);  ///< reads "0.8,0.6"
std::string read_words(std::string_view text, std::string_view where);               ///< a name or a path

std::string arrivals_text(double variation);
std::string adapters_text(const ServedAdapters& adapters);
std::string pools_text(const Pools& pools);
std::string acceptance_text(const std::vector<double>& acceptance);

/// Lengths of prompts and answers, in the syntax of --lengths.
struct LengthsText {
  double variation = 0;
  std::string file{};
};
LengthsText read_lengths(std::string_view text, std::string_view where);  ///< reads "constant", "lognormal:1", a file
std::string lengths_text(const LengthsText& lengths);

}  // namespace llmcalc
