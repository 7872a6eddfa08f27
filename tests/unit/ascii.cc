#include "base/ascii.h"

#include <string>
#include <string_view>

#include "catch.h"

using namespace oomdoctor;

namespace {

const std::string digits = "0123456789", small = "abcdefghijklmnopqrstuvwxyz", capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const std::string letters = small + capitals, alnum = letters + digits, word = alnum + "_";

struct ByteClass {
  const char* name;
  bool (*contains)(char);
  std::string members;
};

const ByteClass classes[] = {
    {"is_digit", is_digit, digits},
    {"is_lower", is_lower, small},
    {"is_upper", is_upper, capitals},
    {"is_letter", is_letter, letters},
    {"is_alnum", is_alnum, alnum},
    {"is_hex_digit", is_hex_digit, "0123456789abcdefABCDEF"},
    {"is_punctuation", is_punctuation, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"},
    {"is_letter_or_underscore", is_letter_or_underscore, letters + "_"},
    {"is_word_char", is_word_char, word},
    {"is_dotted_name_char", is_dotted_name_char, word + "."},
    {"is_dashed_name_char", is_dashed_name_char, word + "-"},
    {"is_blank", is_blank, " \t"},
    {"ends_line", ends_line, "\n\r"},
    {"is_blank_or_line_end", is_blank_or_line_end, " \t\n\r"},
    {"is_space", is_space, " \t\n\r\v\f"},
};

}  // namespace

TEST_CASE("each class contains exactly its bytes", "[ascii]") {
  for (const ByteClass& one : classes)
    for (int byte = 0; byte < 256; ++byte) {
      INFO(one.name << " of byte " << byte);
      const char c = static_cast<char>(byte);
      CHECK(one.contains(c) == (one.members.find(c) != std::string::npos));
    }
}

TEST_CASE("only the 26 letters have another case", "[ascii]") {
  for (int byte = 0; byte < 256; ++byte) {
    INFO("byte " << byte);
    const char c = static_cast<char>(byte);
    const std::size_t capital = capitals.find(c), other = small.find(c);
    CHECK(lower(c) == (capital != std::string::npos ? small[capital] : c));
    CHECK(upper(c) == (other != std::string::npos ? capitals[other] : c));
  }
  CHECK(lower("GPU-0 Ä mem_MiB") == "gpu-0 Ä mem_mib");
  CHECK(lower("").empty());
  CHECK(capitalised("out of memory") == "Out of memory");
  CHECK(capitalised("äh") == "äh");
  CHECK(capitalised("").empty());
}

TEST_CASE("only blanks and tabs are trimmed", "[ascii]") {
  CHECK(trimmed(" \t a b\t ") == "a b");
  CHECK(trimmed("a\r") == "a\r");
  CHECK(trimmed("\na") == "\na");
  CHECK(trimmed(" \t ").empty());
  CHECK(trimmed("").empty());
}

TEST_CASE("only digits: every byte is one", "[ascii]") {
  CHECK(only_digits("0123456789"));
  CHECK(only_digits(""));
  for (const std::string_view text : {"12a", "-1", "1.5", " 1", "1 "}) CHECK_FALSE(only_digits(text));
}
