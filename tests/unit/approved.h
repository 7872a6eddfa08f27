// Approval tests compare the output of a writer with tests/approved/NAME. With OOMDOCTOR_ACCEPT=1 in the environment
// they write the file instead, so one command accepts a change:
//   OOMDOCTOR_ACCEPT=1 build/quick/tests/oomdoctor_tests "[approved]"
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "catch.h"

namespace oomdoctor {

inline void check_approved(const std::string& name, const std::string& text) {
  const std::string path = std::string(OOMDOCTOR_SOURCE_DIR) + "/tests/approved/" + name;
  if (std::getenv("OOMDOCTOR_ACCEPT")) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    REQUIRE(file.flush());
    return;
  }
  std::ifstream file(path, std::ios::binary);
  INFO(path << " (OOMDOCTOR_ACCEPT=1 accepts the new text)");
  REQUIRE(file);
  const std::string approved{std::istreambuf_iterator<char>(file), {}};
  CHECK(text == approved);
}

}  // namespace oomdoctor
