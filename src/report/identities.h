// Who and where: users, home folders, hosts, addresses, buckets. The same name gets the same substitute everywhere in a
// report ("host-1"), so that it still reads well when nobody may know where it comes from.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace oomdoctor {

/// A piece of a text and what stands in its place.
struct Replacement {
  std::size_t begin = 0, end = 0;
  std::string with;
};

class Identities {
 public:
  /// A host that something else than its looks says to be one.
  void learn_host(std::string_view name);
  /// Users and hosts that a text gives away: /home/alice, user=alice, hostname: gpu-01.
  void learn(std::string_view text);

  /// In the order of the text; none overlaps another.
  std::vector<Replacement> find(std::string_view text);

  /// How many different ones were replaced, by kind: "host", "user", …
  const std::map<std::string, std::size_t>& counts() const { return counts_; }

 private:
  void learn_placed_hosts(std::string_view text);
  void learn_name(std::string_view kind, std::string_view name);
  std::string substitute(const std::string& kind, std::string_view name);
  bool find_path(std::string_view text, std::size_t at, std::vector<Replacement>& found);
  bool find_address(std::string_view text, std::size_t at, std::vector<Replacement>& found);
  bool find_word(std::string_view text, std::size_t at, std::vector<Replacement>& found);

  std::map<std::string, std::string, std::less<>> kind_of_;  ///< of each learned name
  std::map<std::pair<std::string, std::string>, std::string> substitutes_;
  std::map<std::string, std::size_t> counts_;
};

}  // namespace oomdoctor
