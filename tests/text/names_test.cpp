#include "text/names.hpp"

#include "tests/catch.hpp"

using namespace llmcalc;

TEST_CASE("the edit distance counts insertions, deletions, substitutions and swaps", "[names]") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);  // k->s, e->i, +g
  CHECK(edit_distance("heads", "hedas") == 1);     // one swap
  CHECK(edit_distance("ca", "abc") == 3);          // no character is edited twice
  CHECK(edit_distance("h100", "h200") == 1);
}

TEST_CASE("names compare without regard to case", "[names]") {
  CHECK(same_name("Llama-3.1-8B", "llama-3.1-8b"));
  CHECK_FALSE(same_name("llama-3.1-8b", "llama-3.1-8"));
  CHECK_FALSE(same_name("a[", "a{"));  // only letters have case
  CHECK(lower("GPT-2 XL\xC3\x84") == "gpt-2 xl\xC3\x84");
}

TEST_CASE("hyphens, underscores, spaces and a missing separator between letter and digit are equivalent", "[names]") {
  for (const auto* same : {"RTX 4090", "rtx4090", "rtx_4090", "rtx-4090"}) CHECK(spelling(same) == "rtx4090");
  CHECK(spelling("Llama 3.1 8B") == spelling("llama3.1-8b"));
  CHECK(spelling("llama-2-7b") != spelling("llama-27b"));  // the separator between digits counts
  CHECK(spelling("m1-max") == spelling("M1 Max"));
  CHECK(spelling("") == "");
  CHECK(spelling("-a-") == "-a-");
}

TEST_CASE("edit distances are exact up to a limit, and names of very different lengths are skipped", "[names]") {
  CHECK(edits_within(3, "kitten", "sitting") == 3);
  CHECK(edits_within(2, "kitten", "sitting") > 2);
  CHECK(edits_within(2, std::string(1 << 24, 'a'), "prompt") > 2);
}

TEST_CASE("closest returns three names, however distant, and compares a long name by its beginning", "[names]") {
  const std::vector<std::string> known{"qwen3", "llama", "gemma", "gpt2"};
  CHECK(closest("LLAMA2", known) == std::vector<std::string>{"llama", "gemma", "gpt2"});
  CHECK(closest("llama" + std::string(1 << 20, 'x'), known, 1) == std::vector<std::string>{"llama"});
  CHECK(closest("x", {"y"}) == std::vector<std::string>{"y"});
}

TEST_CASE("closest ranks the same family first, then a nearby version, then a small edit distance", "[names]") {
  const std::vector<std::string> known{"Yi",         "chatglm",     "glm",          "glm4",    "glm4_moe",
                                       "glm4v_text", "glm_moe_dsa", "glm_ocr_text", "granite", "granitemoe",
                                       "hunyuan",    "olmo3",       "phi3",         "qwen2",   "qwen3"};
  CHECK(closest("glm5_next_text", known) == std::vector<std::string>{"glm_ocr_text", "glm_moe_dsa", "glm"});
  CHECK(closest("hy_v3", known, 1) == std::vector<std::string>{"hunyuan"});  // abbreviated
  CHECK(closest("granite_swa", known, 2) == std::vector<std::string>{"granite", "granitemoe"});
  CHECK(closest("qwen4_exp", known, 2) == std::vector<std::string>{"qwen3", "qwen2"});
  CHECK(closest("OLMO_3_x", known, 1) == std::vector<std::string>{"olmo3"});
}

TEST_CASE("nearest returns the closest names first and omits distant ones", "[names]") {
  const std::vector<std::string> known{"llama-2-70b", "llama-3.1-70b", "gpt2", "h100-sxm-80gb", "Mixtral-8x7B"};
  CHECK(nearest("lama3-70b", known) == std::vector<std::string>{"llama-2-70b", "llama-3.1-70b"});
  CHECK(nearest("GTP2", known) == std::vector<std::string>{"gpt2"});
  CHECK(nearest("h100", known) == std::vector<std::string>{"h100-sxm-80gb"});  // a matching beginning counts as near
  CHECK(nearest("mixtral-8x7", known) == std::vector<std::string>{"Mixtral-8x7B"});
  CHECK(nearest("h100-80gb", {"a100-80gb", "h100-sxm-80gb"}).front() == "h100-sxm-80gb");  // has both words
  CHECK(nearest("h100-96gb", {"gh200-96gb", "h100-80gb"}).front() == "h100-80gb");         // the same first word
  CHECK(nearest("a6000", {"a600", "rtx-a6000"}).front() == "rtx-a6000");
  CHECK(nearest("gpt-3", {"gpt2", "gpt-2"}) == std::vector<std::string>{"gpt-2"});  // two spellings of one name
  CHECK(nearest("tensort", {"sglang", "tensorrt-llm"}) == std::vector<std::string>{"tensorrt-llm"});  // nearly begins
  CHECK(nearest("zephyr", known).empty());
  CHECK(nearest("", known).empty());
  CHECK(nearest(std::string(100000, 'a'), known).empty());
}

TEST_CASE("the error for an unknown name is a full sentence", "[names]") {
  const std::vector<std::string> known{"llama-3.1-70b", "gpt2"};
  CHECK(unknown_name("model", "llama3.1-70b", known, 82) ==
        "unknown model \"llama3.1-70b\", did you mean 'llama-3.1-70b'? ('llmcalc list models' shows all 82)");
  CHECK(unknown_name("hardware", "zephyr", known, 68) ==
        "unknown hardware \"zephyr\" ('llmcalc list hardware' shows all 68)");
}

TEST_CASE("the choices of an option are joined with commas and \"or\"", "[names]") {
  CHECK(one_of("adam|sgd|lion") == "adam, sgd or lion");
  CHECK(one_of("op|step") == "op or step");
  CHECK(one_of("op") == "op");
}

TEST_CASE("a shell word is quoted if a shell would split or expand it", "[names]") {
  CHECK(shell_word("/data/Llama-3.1_8B.json") == "/data/Llama-3.1_8B.json");
  CHECK(shell_word("my model.json") == "'my model.json'");
  CHECK(shell_word("$HOME/it's") == "'$HOME/it'\\''s'");
  CHECK(shell_word("") == "''");
}

TEST_CASE("a shortened text stays within the byte limit and never splits a character", "[names]") {
  CHECK(shortened("0123456789", 10) == "0123456789");
  CHECK(shortened("0123456789a", 10) == "0123456...");
  CHECK(shortened("012345\xC3\xA9 and more", 10) == "012345...");
  CHECK(shortened("a\nb", 10) == "a?b");
}

TEST_CASE("control and bidirectional characters become question marks in printable text", "[names]") {
  CHECK(printable("a\x1b]0;x\x07\r\n\x7f") == "a?]0;x????");
  CHECK(printable("\xC2\x85\xC2\x9B \xC2\xA0") == "?? \xC2\xA0");  // C1 controls, then a no-break space
  CHECK(printable("a\u202Eb\u2066c\u2069\u200F\u061C") == "a?b?c???");
  CHECK(printable("a\u2028b\u2029c") == "a?b?c");
  CHECK(printable("a\xFF\xC3(\xED\xA0\x80") ==
        "a??"
        "(???");  // invalid UTF-8: a bad byte, half a character, a surrogate
  const std::string shown = "Gr\u00FC\u00DFe, \u65E5\u672C\u8A9E \U0001F468\u200D\U0001F469 \u2027\u202F\u2065\u206A";
  CHECK(printable(shown) == shown);
}

TEST_CASE("quoted text is shortened and put on one line", "[names]") {
  CHECK(in_quotes("a\nb\x7f") == "\"a?b?\"");
  CHECK(in_quotes("\x1b[31m\xC2\x9B"
                  "7m") == "\"?[31m?7m\"");  // CSI in 7 and in 8 bits
  CHECK(in_quotes("Gr\xC3\xB6\xC3\x9F"
                  "e") ==
        "\"Gr\xC3\xB6\xC3\x9F"
        "e\"");
  CHECK(in_quotes(std::string(100, 'x')) == "\"" + std::string(60, 'x') + "...\"");
  CHECK(in_quotes(std::string(59, 'x') + "\xC3\xA9") == "\"" + std::string(59, 'x') + "...\"");  // no split character
}
