#include "report/redact.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "report/identities.h"
#include "report/secrets.h"
#include "report/texts.h"

namespace oomdoctor {
namespace {

/// Where a column of the text was moved to. One inside a replaced piece goes to that piece's begin or end.
int moved(int column, bool is_end, const std::vector<Replacement>& pieces) {
  const auto at = static_cast<std::size_t>(std::max(column, 0));
  std::ptrdiff_t shift = 0;
  for (const auto& piece : pieces) {
    const auto begin = static_cast<std::ptrdiff_t>(piece.begin), size = static_cast<std::ptrdiff_t>(piece.with.size());
    if (piece.begin >= at) break;
    if (piece.end > at) return static_cast<int>(begin + shift + (is_end ? size : 0));
    shift += size - static_cast<std::ptrdiff_t>(piece.end - piece.begin);
  }
  return static_cast<int>(static_cast<std::ptrdiff_t>(at) + shift);
}

class Redactor {
 public:
  explicit Redactor(Redaction how) : how_(how) {}

  void learn(Report& report) {
    for (const auto& incident : report.incidents) identities_.learn_host(incident.host);
    visit_texts(report, [&](std::string& text, Location*) { identities_.learn(text); });
  }

  /// The value of a setting is secret where its name says so, and they are two texts.
  void replace_value_of(ReportSetting& setting) {
    std::string both = setting.name + '=' + setting.value;
    replace_in(both, nullptr);
    if (both.starts_with(setting.name + '=')) setting.value = both.substr(setting.name.size() + 1);
  }

  void replace_in(std::string& text, Location* excerpt_of) {
    std::vector<Replacement> pieces;
    for (const Secret& secret : find_secrets(text)) {
      secrets_.emplace(secret.kind, text.substr(secret.begin, secret.end - secret.begin));
      pieces.push_back({secret.begin, secret.end, fmt::format("[redacted: {}]", secret.kind)});
    }
    if (how_ == Redaction::all) add_identities(text, pieces);
    if (pieces.empty()) return;
    if (excerpt_of) {
      const bool marked = excerpt_of->end_column > excerpt_of->column;
      excerpt_of->column = moved(excerpt_of->column, false, pieces);
      excerpt_of->end_column = marked ? moved(excerpt_of->end_column, true, pieces) : excerpt_of->column;
    }
    std::string out;
    std::size_t from = 0;
    for (const auto& piece : pieces) {
      out.append(text, from, piece.begin - from).append(piece.with);
      from = piece.end;
    }
    text = out.append(text, from);
  }

  /// Different ones: the same token in ten lines is one token.
  std::map<std::string, std::size_t> counts() const {
    std::map<std::string, std::size_t> counts = identities_.counts();
    for (const auto& [kind, value] : secrets_) ++counts[std::string(kind)];
    return counts;
  }

 private:
  void add_identities(std::string_view text, std::vector<Replacement>& pieces) {
    const std::size_t secrets = pieces.size();
    for (auto& piece : identities_.find(text)) {
      const auto overlaps = [&](const Replacement& secret) {
        return secret.begin < piece.end && piece.begin < secret.end;
      };
      const auto end_of_secrets = pieces.begin() + static_cast<std::ptrdiff_t>(secrets);
      if (std::none_of(pieces.begin(), end_of_secrets, overlaps)) pieces.push_back(std::move(piece));
    }
    std::sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  }

  Redaction how_;
  Identities identities_;
  std::set<std::pair<std::string_view, std::string>> secrets_;
};

}  // namespace

Redacted redact(Report report, Redaction how) {
  Redacted out{std::move(report), {}};
  if (how == Redaction::off) return out;
  Redactor redactor(how);
  if (how == Redaction::all) redactor.learn(out.report);
  for (auto& setting : out.report.settings) redactor.replace_value_of(setting);
  visit_texts(out.report, [&](std::string& text, Location* excerpt_of) { redactor.replace_in(text, excerpt_of); });
  out.counts = redactor.counts();
  if (!out.counts.empty()) out.report.notes.push_back({"note", "Redacted: " + redaction_words(out), std::nullopt});
  return out;
}

std::string redaction_words(const Redacted& of) {
  std::vector<std::string> words;
  for (const auto& [kind, count] : of.counts)
    words.push_back(fmt::format("{} {}{}", count, kind, count == 1 ? "" : kind.ends_with('s') ? "es" : "s"));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace oomdoctor
