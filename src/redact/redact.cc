#include "redact/redact.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "redact/identities.h"
#include "redact/secrets.h"
#include "report/survey_fields.h"

namespace oomdoctor {
namespace {

/// Maps a column of the original text to the redacted text. A column inside a replaced piece maps to the begin or the
/// end of its replacement.
int map_column(int column, bool is_end, const std::vector<Replacement>& pieces) {
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

/// The kind and the text of each secret that was found.
using Secrets = std::set<std::pair<std::string_view, std::string>>;

/// The secrets of `text`, including those that begin in the text before it. Collects them in `seen` unless that is
/// null.
std::vector<Replacement> find_secret_pieces(std::string_view lead, const std::string& text, Secrets* seen) {
  const std::string whole = std::string(lead) + text;
  std::vector<Replacement> pieces;
  for (const Secret& secret : find_secrets(whole)) {
    if (secret.end <= lead.size()) continue;
    if (seen != nullptr) seen->emplace(secret.kind, whole.substr(secret.begin, secret.end - secret.begin));
    pieces.push_back({std::max(secret.begin, lead.size()) - lead.size(), secret.end - lead.size(),
                      fmt::format("[redacted: {}]", secret.kind)});
  }
  return pieces;
}

std::string apply_pieces(const std::string& text, const std::vector<Replacement>& pieces) {
  if (pieces.empty()) return text;
  std::string out;
  std::size_t from = 0;
  for (const auto& piece : pieces) {
    out.append(text, from, piece.begin - from).append(piece.with);
    from = piece.end;
  }
  return out.append(text, from);
}

void move_columns(int& column, int& end_column, const std::vector<Replacement>& pieces) {
  const bool marked = end_column > column;
  column = map_column(column, false, pieces);
  end_column = marked ? map_column(end_column, true, pieces) : column;
}

class Redactor {
 public:
  explicit Redactor(Redaction how) : how_(how) {}

  void learn(Report& report) {
    for (const auto& incident : report.incidents) identities_.learn_host(incident.host);
    visit_texts(report, [&](std::string& text, Location*) { identities_.learn(text); });
  }

  /// Replaces the users at once, because their fields show what they are.
  void learn(Survey& survey) {
    for (SurveyJob& job : survey.jobs)
      if (!job.user.empty()) job.user = identities_.learn_user(job.user);
    for (SurveyOffender& offender : survey.offenders)
      for (std::string& user : offender.users) user = identities_.learn_user(user);
    visit_texts(survey, [&](std::string& text, Location*) { identities_.learn(text); });
  }

  /// Redacts the value of a setting together with its name, because the name may show that the value is a secret.
  void replace_value_of(ReportSetting& setting) {
    std::string both = setting.name + '=' + setting.value;
    replace_in(both, nullptr);
    if (both.starts_with(setting.name + '=')) setting.value = both.substr(setting.name.size() + 1);
  }

  void replace_in(std::string& text, Location* excerpt_of) {
    std::vector<Replacement> pieces =
        find_secret_pieces(excerpt_of != nullptr ? excerpt_of->lead : "", text, &secrets_);
    if (how_ == Redaction::all) add_identities(text, pieces);
    if (excerpt_of != nullptr) move_columns(excerpt_of->column, excerpt_of->end_column, pieces);
    text = apply_pieces(text, pieces);
  }

  /// Counts distinct texts: the same token in ten lines is one token.
  std::map<std::string, std::size_t> counts() const {
    std::map<std::string, std::size_t> counts = identities_.counts();
    for (const auto& [kind, value] : secrets_) ++counts[std::string(kind)];
    return counts;
  }

 private:
  // Secrets win over identities that overlap them.
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
  Secrets secrets_;
};

/// Visits each text, whether the JSON has it or not.
class TextVisitor : public FieldVisitor {
 public:
  explicit TextVisitor(const TextVisit& visit) : visit_(visit) {}

  template <class T>
  void operator()(const char* /*name*/, T& value, const FieldSpec& /*spec*/ = {}) {
    go_to(value);
  }
  template <class Items, class Body>
  void list(const char* /*name*/, Items& items, Body body, const FieldSpec& /*spec*/ = {}) {
    for (auto& item : items) body(*this, item);
  }
  template <class T, class Body>
  void object(const char* /*name*/, T& value, Body body) {
    body(*this, value);
  }
  template <class Body>
  void group(const char* /*name*/, Body body) {
    body(*this);
  }
  void words_only(auto&... members) { (go_to(members), ...); }

 private:
  void go_to(std::string& text) { visit_(text, nullptr); }
  void go_to(Location& of) {
    visit_(of.path, nullptr);
    visit_(of.excerpt, &of);
  }
  template <class T>
  void go_to(std::optional<T>& value) {
    if (value) go_to(*value);
  }
  template <class T>
  void go_to(std::vector<T>& values) {
    for (auto& value : values) go_to(value);
  }
  void go_to(std::map<std::string, std::int64_t>& counts) {
    std::map<std::string, std::int64_t> changed;
    for (const auto& [name, count] : counts) {
      std::string visited = name;
      go_to(visited);
      changed[visited] += count;
    }
    counts = std::move(changed);
  }
  template <class T>
  void go_to(T& value) {
    if constexpr (std::is_class_v<T>) fields(*this, value);
  }

  const TextVisit& visit_;
};

template <class Result>
RedactedResult<Result> redact_texts(Result report, Redaction how) {
  RedactedResult<Result> out{std::move(report), {}};
  if (how == Redaction::off) return out;
  Redactor redactor(how);
  if (how == Redaction::all) redactor.learn(out.report);
  if constexpr (std::is_same_v<Result, Report>)
    for (auto& setting : out.report.settings) redactor.replace_value_of(setting);
  visit_texts(out.report, [&](std::string& text, Location* excerpt_of) { redactor.replace_in(text, excerpt_of); });
  out.counts = redactor.counts();
  if (!out.counts.empty())
    out.report.notes.push_back({"note", "Redacted: " + redaction_words(out.counts), std::nullopt});
  return out;
}

}  // namespace

Redacted redact(Report report, Redaction how) { return redact_texts(std::move(report), how); }

RedactedResult<Survey> redact(Survey survey, Redaction how) { return redact_texts(std::move(survey), how); }

std::string without_secrets(std::string_view text) {
  const std::string own(text);
  return apply_pieces(own, find_secret_pieces("", own, nullptr));
}

void remove_secrets(std::string_view lead, std::string& excerpt, int& column, int& end_column) {
  const auto pieces = find_secret_pieces(lead, excerpt, nullptr);
  move_columns(column, end_column, pieces);
  excerpt = apply_pieces(excerpt, pieces);
}

std::string redaction_words(const std::map<std::string, std::size_t>& counts) {
  std::vector<std::string> words;
  for (const auto& [kind, count] : counts)
    words.push_back(fmt::format("{} {}{}", count, kind, count == 1 ? "" : kind.ends_with('s') ? "es" : "s"));
  return fmt::format("{}", fmt::join(words, ", "));
}

void visit_texts(Report& report, const TextVisit& visit) {
  TextVisitor visitor(visit);
  fields(visitor, report);
}

void visit_texts(Survey& survey, const TextVisit& visit) {
  TextVisitor visitor(visit);
  fields(visitor, survey);
}

}  // namespace oomdoctor
