// Bytes as a user's format file: refused with an Error, or formats that read their own examples.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "parse/scanner.h"
#include "parse/user_formats.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oomdoctor;
  UserFormats formats({});
  try {
    formats.add("fuzz.toml", {reinterpret_cast<const char*>(data), size});
  } catch (const Error& error) {
    if (error.what()[0] == '\0') std::abort();
    return 0;
  }
  const Scanner scanner(formats.parsers());
  for (const Parser* parser : formats.parsers())
    for (const Gauge& gauge : parser->gauges)
      if (scanner.takers(gauge.example).empty()) std::abort();
  return 0;
}
