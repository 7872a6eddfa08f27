// Reads every log with each family of exact forms switched off in turn, and counts the failures of that family that the
// general reader finds. This simulates future messages, for which no family exists yet.
//
//   oomdoctor_leave_one_out FOLDER [-v]      a table by family; -v: every miss
//
// A failure whose line names no memory (a status that hides the reason, a bare "Killed") counts as silent: no words
// identify it. Fails if less than 85% of the failures or 80% of their sizes are found, or if a log below healthy/ gives
// an alarm.
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "fold/scanner.h"
#include "read/parser.h"
#include "read/sizes.h"
#include "text/source.h"

namespace {

using namespace oomdoctor;

constexpr double min_found = 0.85, min_sizes = 0.80;
constexpr int min_failures = 5;

struct Log {
  std::string name, text;
  bool healthy = false;
};

std::vector<Log> logs_below(const std::filesystem::path& folder) {
  std::vector<Log> logs;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().extension() != ".log") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string name = std::filesystem::relative(entry.path(), folder).generic_string();
    logs.push_back({name, {std::istreambuf_iterator<char>(in), {}}, name.starts_with("healthy/")});
  }
  std::sort(logs.begin(), logs.end(), [](const Log& a, const Log& b) { return a.name < b.name; });
  return logs;
}

ScanResult read(const Scanner& scanner, const Log& log) {
  Source source = Source::of_text(log.name, log.text);
  return scanner.scan(source, {.jobs = 1});
}

std::string family_of(const Incident& incident) {
  return incident.evidence.reader.substr(0, incident.evidence.reader.find('/'));
}

/// The nearest incident of the other reading that contains this line, itself or in one of its occurrences.
const Incident* find_same_incident(const ScanResult& reading, const Incident& wanted) {
  constexpr i64 slack = 3;
  const Incident* best = nullptr;
  i64 nearest = slack + 1;
  for (const Incident& incident : reading.incidents) {
    const auto consider = [&](const Evidence& e) {
      const i64 distance = std::max({e.span.first_line - wanted.evidence.span.last_line,
                                     wanted.evidence.span.first_line - e.span.last_line, i64{0}});
      if (distance < nearest) nearest = distance, best = &incident;
    };
    consider(incident.evidence);
    for (const Evidence& e : incident.occurrences) consider(e);
  }
  return best;
}

/// Lines [first, last] of the log.
std::string_view lines_of(const Log& log, i64 first, i64 last) {
  std::size_t begin = 0;
  for (i64 line = 1; line < first && begin != std::string::npos; ++line) begin = log.text.find('\n', begin) + 1;
  std::size_t end = begin;
  for (i64 line = first; line <= last && end < log.text.size(); ++line)
    end = std::min(log.text.find('\n', end), log.text.size() - 1) + 1;
  return std::string_view(log.text).substr(begin, end - begin);
}

bool agree(const std::optional<Bytes>& wanted, const std::optional<Bytes>& got) {
  if (!got) return false;
  const i64 difference = wanted->count > got->count ? wanted->count - got->count : got->count - wanted->count;
  return difference <= wanted->slack + got->slack + 1;
}

/// Whether the line names a failure of memory: a status that hides the reason, a bare "Killed", a cache of less than
/// nothing, and "Allocation on device" alone do not.
bool names_memory(const Incident& incident) {
  if (incident.oom.message_format.find("negative") != std::string::npos) return false;
  if (incident.evidence.excerpt.find("!!! Allocation on device") != std::string::npos) return false;
  std::string text = incident.evidence.excerpt;
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* word : {"mem", "alloc", "oom", "heap", "shm", "swap", "rss", "hbm"})
    if (text.find(word) != text.npos) return true;
  const auto is_letter = [&](std::size_t at) { return at < text.size() && text[at] >= 'a' && text[at] <= 'z'; };
  for (std::size_t at = text.find("ram"); at != text.npos; at = text.find("ram", at + 1))  // and not "program"
    if ((at == 0 || text[at - 1] == 'v' || !is_letter(at - 1)) && !is_letter(at + 3)) return true;
  return false;
}

/// Whether the failure's own lines print the size. Otherwise the exact form computed it or took it from other lines.
bool is_printed(std::string_view text, const Bytes& size) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9',
               begins = i == 0 || ((text[i - 1] < '0' || text[i - 1] > '9') && text[i - 1] != '.');
    if (!digit || !begins) continue;
    std::string number(text.substr(i, 40));
    if (const std::size_t blank = number.find_first_not_of("0123456789.,");
        blank != number.npos && number[blank] == ' ')
      number.erase(blank, 1);
    if (agree(size, read_size(number))) return true;
  }
  return false;
}

struct Tally {
  int silent = 0, failures = 0, found = 0, sizes = 0, right = 0, alarms = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const bool verbose = argc > 2;
  const std::vector<Log> logs = logs_below(argv[1]);
  const Scanner all(all_parsers(), shipped_prefilter_plan());
  std::vector<ScanResult> whole;
  std::map<std::string, std::set<std::size_t>> logs_of;
  std::set<std::size_t> healthy;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    whole.push_back(read(all, logs[i]));
    if (logs[i].healthy) healthy.insert(i);
    for (const Incident& incident : whole.back().incidents)
      if (family_of(incident) != "statements") logs_of[family_of(incident)].insert(i);
  }
  Tally sum;
  bool right = true;
  fmt::print("{:<20} {:>7} {:>8} {:>7} {:>7} {:>7} {:>7}\n", "without", "silent", "failures", "found", "sizes", "right",
             "alarms");
  for (const auto& [family, numbers_of_logs] : logs_of) {
    std::vector<const Parser*> parsers;
    for (const Parser* parser : all_parsers())
      if (parser->name != family) parsers.push_back(parser);
    const Scanner scanner(parsers);
    Tally tally;
    for (std::size_t i = 0; i < logs.size(); ++i) {
      if (!numbers_of_logs.contains(i) && !healthy.contains(i)) continue;
      const ScanResult reading = read(scanner, logs[i]);
      if (logs[i].healthy)
        for (const Incident& incident : reading.incidents)
          if (!incident.handled) {
            ++tally.alarms;
            if (verbose)
              fmt::print("    alarm {}:{} {}\n", logs[i].name, incident.evidence.span.first_line,
                         incident.evidence.excerpt);
          }
      for (const Incident& wanted : whole[i].incidents) {
        if (family_of(wanted) != family || wanted.handled) continue;
        if (!names_memory(wanted)) {
          ++tally.silent;
          continue;
        }
        ++tally.failures;
        const Incident* got = find_same_incident(reading, wanted);
        if (got == nullptr) {
          if (verbose)
            fmt::print("    missed {}:{} {}\n", logs[i].name, wanted.evidence.span.first_line,
                       wanted.evidence.excerpt.substr(0, 220));
          continue;
        }
        ++tally.found;
        for (const auto& [name, number] : oom_sizes) {
          if (!(wanted.oom.*number)) continue;
          const Span& span = wanted.evidence.span;
          if (!is_printed(lines_of(logs[i], span.first_line, span.last_line), *(wanted.oom.*number))) continue;
          ++tally.sizes;
          // The line's own words decide whether a limit is the GPU's or the program's.
          const bool bound = number == &Oom::limit || number == &Oom::capacity;
          const bool same =
              agree(wanted.oom.*number, got->oom.*number) ||
              (bound && (agree(wanted.oom.*number, got->oom.limit) || agree(wanted.oom.*number, got->oom.capacity)));
          tally.right += same;
          if (!same && verbose)
            fmt::print("    {} {}:{} wanted {} got {} by {}: {}\n", name, logs[i].name, wanted.evidence.span.first_line,
                       bytes_text((wanted.oom.*number)->count),
                       got->oom.*number ? bytes_text((got->oom.*number)->count) : "nothing", got->evidence.reader,
                       wanted.evidence.excerpt.substr(0, 260));
        }
      }
    }
    fmt::print("{:<20} {:>7} {:>8} {:>7} {:>7} {:>7} {:>7}\n", family, tally.silent, tally.failures, tally.found,
               tally.sizes, tally.right, tally.alarms);
    sum.silent += tally.silent, sum.failures += tally.failures, sum.found += tally.found, sum.sizes += tally.sizes,
        sum.right += tally.right;
    sum.alarms += tally.alarms;
    // One miss of two failures is not evidence.
    const bool found = tally.failures < min_failures || tally.found >= min_found * tally.failures;
    right =
        right && tally.alarms == 0 && found && (tally.sizes < min_failures || tally.right >= min_sizes * tally.sizes);
  }
  fmt::print("{:<20} {:>7} {:>8} {:>7} {:>7} {:>7} {:>7}\n", "all", sum.silent, sum.failures, sum.found, sum.sizes,
             sum.right, sum.alarms);
  return right ? 0 : 1;
}
