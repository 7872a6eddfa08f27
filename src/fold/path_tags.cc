#include "fold/path_tags.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/ascii.h"
#include "base/parse_whole.h"

namespace oomdoctor {
namespace {

constexpr std::size_t max_digits = 6;  ///< longer numbers are dates or job numbers

/// A run of letters (in lower case) or digits in a path component, and the characters between it and the next run.
struct NameToken {
  std::string text, gap;
  bool number = false;
};

std::vector<NameToken> tokenize(std::string_view component) {
  std::vector<NameToken> tokens;
  for (std::size_t at = 0; at < component.size();) {
    const auto same = is_digit(component[at]) ? is_digit : is_letter;
    if (!same(component[at])) {
      if (!tokens.empty()) tokens.back().gap += component[at];
      ++at;
      continue;
    }
    NameToken token;
    token.number = is_digit(component[at]);
    for (; at < component.size() && same(component[at]); ++at)
      token.text += token.number ? component[at] : lower(component[at]);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

std::optional<int> parse_number(std::string_view digits) {
  return digits.size() > max_digits ? std::nullopt : parse_whole<int>(digits);
}

/// The number after a word in a path component. Two different numbers count as none.
struct TagNumber {
  bool any = false;
  std::optional<int> number;
};

bool counts_something_else(const NameToken& before) {
  return before.text == "node" || before.text == "local" || before.text == "group" || before.text == "machine" ||
         before.text == "host";
}

TagNumber find_number(const std::vector<NameToken>& tokens, std::string_view word) {
  TagNumber tag;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const NameToken& number = tokens[i + 1];
    if (tokens[i].text != word || !number.number || tokens[i].gap.size() > 1) continue;
    if (i > 0 && !tokens[i - 1].number && counts_something_else(tokens[i - 1])) continue;
    const bool range = number.gap == "-" && i + 2 < tokens.size() && tokens[i + 2].number;
    const auto value = range ? std::nullopt : parse_number(number.text);
    if (tag.any && tag.number != value) return {true, std::nullopt};
    tag = {true, value};
  }
  return tag;
}

std::vector<std::string_view> split_path(std::string_view path) {
  std::vector<std::string_view> out;
  while (true) {
    const auto slash = path.find('/');
    out.push_back(path.substr(0, slash));
    if (slash == path.npos) return out;
    path.remove_prefix(slash + 1);
  }
}

/// torchrun's agent writes attempt_N/RANK/stdout.log.
std::optional<int> elastic_rank(const std::vector<std::string_view>& components) {
  if (components.size() < 3) return std::nullopt;
  const std::string_view file = components.back(), attempt = components[components.size() - 3];
  if (!file.starts_with("stdout") && !file.starts_with("stderr") && !file.starts_with("error")) return std::nullopt;
  return attempt.starts_with("attempt_") ? parse_number(components[components.size() - 2]) : std::nullopt;
}

/// "20250301": a folder of a day's logs.
bool is_date(std::string_view digits) {
  if (digits.size() != 8 || !digits.starts_with("20")) return false;
  const auto month = parse_number(digits.substr(4, 2)), day = parse_number(digits.substr(6, 2));
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/// "slurm-4711_3", "job.4711", "train.o4711", "4711": a number is a job number by the word before it, or if it is
/// alone. Otherwise it may be a date, which has as many digits.
std::string find_job(const std::vector<NameToken>& tokens) {
  constexpr std::size_t min_digits = 3, max_job_digits = 12, min_digits_alone = 5;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& number = tokens[i].text;
    if (!tokens[i].number || number.size() < min_digits || number.size() > max_job_digits) continue;
    const std::string_view before = i > 0 ? std::string_view(tokens[i - 1].text) : "";
    const bool named = before == "slurm" || before == "job" || before == "jobid" || before == "pbs" ||
                       before == "lsf" || before == "condor" || before == "sge";
    const bool of_stream = (before == "o" || before == "e") && tokens[i - 1].gap.empty() && i + 1 == tokens.size();
    const bool alone = i == 0 && number.size() >= min_digits_alone && !is_date(number) &&
                       (tokens.size() == 1 || (tokens.size() == 2 && !tokens[1].number && tokens[1].text.size() <= 3));
    if (!named && !of_stream && !alone) continue;
    const bool task = i + 1 < tokens.size() && tokens[i + 1].number && tokens[i].gap == "_";
    return task ? number + "_" + tokens[i + 1].text : number;
  }
  return "";
}

/// Words that distinguish the logs of one job: the output, the part of the job, the kind of record.
constexpr std::array<std::string_view, 56> parts_of_a_job{
    "stdout",  "stderr",  "output",   "out",     "error",   "errors",   "err",     "log",      "logs",  "txt",
    "csv",     "json",    "jsonl",    "train",   "trainer", "training", "eval",    "valid",    "test",  "run",
    "rank",    "node",    "host",     "worker",  "master",  "main",     "agent",   "launcher", "gpu",   "cuda",
    "device",  "smi",     "nvidia",   "monitor", "memory",  "mem",      "metrics", "usage",    "dmesg", "kernel",
    "kern",    "syslog",  "messages", "journal", "system",  "console",  "slurm",   "sacct",    "job",   "actor",
    "learner", "rollout", "server",   "client",  "part",    "attempt"};

bool is_letter_at(std::string_view text, std::size_t at) { return at < text.size() && is_letter(text[at]); }

/// "node3/rank#.log" becomes "node#/rank#.log": the ranks of a job run on several nodes.
void replace_node_number(std::string& path) {
  for (const std::string_view word : {"node", "host", "machine"})
    for (std::size_t at = path.find(word); at != path.npos; at = path.find(word, at + 1)) {
      std::size_t first = at + word.size();
      if (first < path.size() && (path[first] == '_' || path[first] == '-' || path[first] == '.')) ++first;
      std::size_t end = first;
      while (end < path.size() && is_digit(path[end])) ++end;
      if (end > first) path.replace(first, end - first, "#");
    }
}

}  // namespace

std::optional<int> rank_in_path(std::string_view path) {
  const auto components = split_path(path);
  for (const std::string_view word : {"rank", "globalrank"})
    for (auto component = components.rbegin(); component != components.rend(); ++component)
      if (const TagNumber tag = find_number(tokenize(*component), word); tag.any) return tag.number;
  if (const auto rank = elastic_rank(components)) return rank;
  for (auto component = components.rbegin(); component != components.rend(); ++component)
    if (const TagNumber tag = find_number(tokenize(*component), "worker"); tag.any) return tag.number;
  return std::nullopt;
}

std::string job_in_path(std::string_view path) {
  const auto components = split_path(path);
  for (auto component = components.rbegin(); component != components.rend(); ++component)
    if (std::string job = find_job(tokenize(*component)); !job.empty()) return job;
  return "";
}

std::string program_in_path(std::string_view path) {
  std::string name(path);
  if (const auto rank = rank_in_path(path)) {
    for (std::size_t end = name.size(); end > 0;) {  // replace the last number with this value
      std::size_t first = end;
      while (first > 0 && is_digit(name[first - 1])) --first;
      if (first == end) {
        --end;
        continue;
      }
      if (parse_number(std::string_view(name).substr(first, end - first)) == rank) {
        name.replace(first, end - first, "#");
        break;
      }
      end = first;
    }
    replace_node_number(name);
  }
  const std::size_t file = name.rfind('/') == name.npos ? 0 : name.rfind('/') + 1;
  for (const std::string_view word : {"stdout", "stderr", ".out", ".err", ".log", ".txt", ".o", ".e"})
    if (const auto at = name.find(word, file); at != name.npos && !is_letter_at(name, at + word.size()))
      name.replace(at, word.size(), "*");
  return name;
}

std::string user_in_path(std::string_view path) {
  std::string slashes(path);
  std::replace(slashes.begin(), slashes.end(), '\\', '/');
  const auto components = split_path(slashes);
  for (std::size_t i = 1; i + 1 < components.size(); ++i) {  // the last component is the file
    const std::string parent = lower(components[i - 1]), name = lower(components[i]);
    if (parent != "users" && parent != "home") continue;
    if (!name.empty() && name != "shared" && name != "public" && name != "." && name != "..")
      return std::string(components[i]);
  }
  return "";
}

std::set<std::string> words_in_name(std::string_view path) {
  constexpr std::size_t min_letters = 2;
  std::set<std::string> words;
  for (NameToken& token : tokenize(split_path(path).back()))
    if (!token.number && token.text.size() >= min_letters &&
        std::find(parts_of_a_job.begin(), parts_of_a_job.end(), token.text) == parts_of_a_job.end())
      words.insert(std::move(token.text));
  return words;
}

}  // namespace oomdoctor
