// The folder of one run: new, readable by its owner only, and everything in it by its own descriptor. Nothing is taken
// over by its name, so no file, link or pipe that somebody else put there is ever written or removed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"

namespace oomdoctor {

class RunFolder {
 public:
  /// Owns the folder that `folder` has open. `path` is its name for people.
  RunFolder(Descriptor folder, std::string path) : folder_(std::move(folder)), path_(std::move(path)) {}

  int descriptor() const { return folder_.number(); }
  const std::string& path() const { return path_; }
  std::string path_of(std::string_view name) const { return path_ + '/' + std::string(name); }

  /// A new file, open for reading and appending. Not open on failure, with the reason in errno.
  Descriptor create(const std::string& name) const;
  /// Gives the file another name, instead of an own file of that name.
  bool rename(const std::string& from, const std::string& to) const;
  void remove(const std::string& name) const;
  /// Removes these files. The folder stays if there is anything else in it.
  void remove_all(const std::vector<std::string>& names) const;
  /// Makes or replaces a link to `target`. It replaces nothing but a link. False on failure.
  bool link(const std::string& name, const std::string& target) const;

 private:
  Descriptor folder_;
  std::string path_;
};

}  // namespace oomdoctor
