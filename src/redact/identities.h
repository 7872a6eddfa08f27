// Finds users, home folders, hosts, addresses and buckets. The same name gets the same substitute everywhere in a
// report ("host-1"), so that the report remains readable after redaction.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace oomdoctor {

/// A piece of a text and its replacement; byte positions.
struct Replacement {
  std::size_t begin = 0, end = 0;
  std::string with;
};

/// Not thread-safe: find() numbers new names. Call learn() for all texts first, so that a name is recognized
/// everywhere.
class Identities {
 public:
  /// Learns a host name from a structured field.
  void learn_host(std::string_view name);
  /// Learns a user's name from a structured field. Returns its substitute, also for a name that is too short or too
  /// common to be recognized in other texts.
  std::string learn_user(std::string_view name);
  /// Learns users and hosts from their context in a text: /home/alice, user=alice, hostname: gpu-01.
  void learn(std::string_view text);

  /// The pieces to replace, in the order of the text, without overlaps.
  std::vector<Replacement> find(std::string_view text);

  /// The number of different names that were replaced, by kind: "host", "user", …
  const std::map<std::string, std::size_t>& counts() const { return counts_; }

 private:
  void learn_hosts_by_format(std::string_view text);
  void learn_name(std::string_view kind, std::string_view name);
  std::string substitute(const std::string& kind, std::string_view name);
  bool find_path(std::string_view text, std::size_t at, std::vector<Replacement>& found);
  bool find_address(std::string_view text, std::size_t at, std::vector<Replacement>& found);
  bool find_word(std::string_view text, std::size_t at, std::vector<Replacement>& found);

  std::map<std::string, std::string, std::less<>> kind_of_;  ///< the kind of each learned name
  std::map<std::pair<std::string, std::string>, std::string> substitutes_;
  std::map<std::string, std::size_t> counts_;
};

}  // namespace oomdoctor
