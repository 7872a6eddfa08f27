// A folder for the files of one test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "catch.h"

namespace oomdoctor::testing {

/// Removed with its content at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "oomdoctor-test-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;

  std::string at(const std::string& name) const { return (path_ / name).string(); }
  /// Writes a file, and creates the folders above it. Returns its path.
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return at(name);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace oomdoctor::testing
