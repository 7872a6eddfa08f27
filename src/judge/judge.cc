// The order of the diagnosis: weigh the causes, plan the fixes, select the popular advice that does not help, ask the
// open questions.
#include "judge/judge.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>

#include "base/ascii.h"
#include "judge/causes.h"
#include "judge/fixes.h"

namespace oomdoctor {

namespace {

constexpr std::size_t max_questions = 3;
constexpr double min_gain = 0.05;  // in nats, weighted by probability; below it an answer changes nothing

/// What this log shows comes before what is popular everywhere, but which this log neither shows nor suggests.
std::vector<HeldBack> find_myths(const RulePack& pack, const Facts& facts, const Quotes& quotes) {
  struct WrongAdvice {
    const MythRule* myth;
    bool generic;
  };
  std::vector<WrongAdvice> wrong;
  for (const auto& [id, myth] : pack.myths()) {
    if (myth.when.truth(facts) != Truth::yes) continue;
    const auto quoted = [&](const std::string& word) { return quotes.have(word); };
    const bool generic = !myth.mentioned.empty() && std::none_of(myth.mentioned.begin(), myth.mentioned.end(), quoted);
    wrong.push_back({&myth, generic});
  }
  std::stable_sort(wrong.begin(), wrong.end(), [](const WrongAdvice& a, const WrongAdvice& b) {
    return std::pair(!a.generic, a.myth->rank) > std::pair(!b.generic, b.myth->rank);
  });
  std::vector<HeldBack> list;
  for (const auto& [myth, generic] : wrong) {
    std::string because = myth->because.fill_sentences(facts);
    if (because.empty()) continue;
    list.push_back({myth->id, myth->title, std::move(because), generic});
    if (list.size() == max_held_back) break;
  }
  return list;
}

// The facts of a group ("trend") come from the same source. If a fact has no how_to_get, the first fact of its group
// that has one is used. Each setting has its own source.
const FactSpec* find_source(const FactSpec& spec) {
  if (!spec.how_to_get.empty()) return &spec;
  if (spec.name.starts_with("settings.")) return nullptr;
  const auto group = spec.name.substr(0, spec.name.find('.') + 1);
  for (const auto& other : fact_specs())
    if (!other.how_to_get.empty() && other.name.starts_with(group)) return &other;
  return nullptr;
}

// True if the log already contains this source, so that its command would not provide more.
bool is_available(const Facts& facts, const FactSpec& source) {
  constexpr double enough_values = 8;  // fewer values show no trend
  if (source.name == "trend.points") return facts.number(source.name).value_or(0) >= enough_values;
  const Fact* fact = facts.find(source.name);
  const bool* truth = fact ? std::get_if<bool>(&fact->value) : nullptr;
  return fact && (!truth || *truth);
}

/// A question: the fact with the largest gain among those that one command provides.
struct OpenFact {
  const FactSpec *source = nullptr, *fact = nullptr;
  double gain = 0, max_gain = 0;
  std::string about;
  bool of_fix = false;
};

// Groups the missing facts by the command that provides them. The fact with the largest gain names the group.
std::vector<OpenFact> open_questions(const RulePack& pack, const std::vector<MissingFact>& doubts, const Facts& facts) {
  std::map<std::string_view, OpenFact> by_command;
  for (const auto& doubt : doubts) {
    if (pack.is_settled(doubt.fact, facts)) continue;
    const FactSpec* spec = find_fact_spec(doubt.fact);
    const FactSpec* source = spec ? find_source(*spec) : nullptr;
    if (!source || is_available(facts, *source)) continue;
    OpenFact& open = by_command[source->how_to_get];
    open.gain += doubt.gain;
    if (doubt.gain <= open.max_gain) continue;
    open.source = source;
    open.fact = spec;
    open.max_gain = doubt.gain;
    open.about = doubt.about;
    open.of_fix = doubt.of_fix;
  }
  std::vector<OpenFact> ranked;
  for (const auto& [command, open] : by_command)
    if (open.source) ranked.push_back(open);
  std::stable_sort(ranked.begin(), ranked.end(), [](const OpenFact& a, const OpenFact& b) { return a.gain > b.gain; });
  return ranked;
}

/// Adapts the command of a question to this program and this device.
void set_command(Question& question, const RulePack& pack, std::string_view command, const Facts& facts) {
  question.command = command;
  for (const CommandRule& rule : pack.commands())
    if (command.starts_with(rule.instead_of) && rule.condition.truth(facts) == Truth::yes)
      if (const auto text = rule.text.fill(facts)) {
        question.command = *text;
        question.prose = rule.prose;
        question.gap = rule.text.has_gap();
        return;
      }
}

/// What a fact is, as part of a sentence: without its remark, and of the GPU, for which name_device has other words.
std::string subject_words(const FactSpec& spec) {
  std::string text(spec.description.substr(0, spec.description.find(';')));
  constexpr std::string_view device = "device";
  for (std::size_t at = text.find(device); at != text.npos; at = text.find(device, at + 1))
    text.replace(at, device.size(), "GPU");
  return text;
}

std::vector<Question> make_questions(const RulePack& pack, const std::vector<MissingFact>& doubts, const Facts& facts) {
  std::vector<Question> questions;
  for (const auto& open : open_questions(pack, doubts, facts)) {
    if (questions.size() == max_questions || open.gain < min_gain) break;
    // Settings are printed one by one. Facts computed from a series or a traceback are missing together with it.
    const FactSpec& missing_spec = open.fact->name.starts_with("settings.") ? *open.fact : *open.source;
    const bool is_truth = open.fact->unit == FactUnit::truth;
    const std::string subject = subject_words(is_truth ? *open.fact : missing_spec);
    const std::string missing = "The log does not show " +
                                std::string(is_truth                      ? "whether "
                                            : subject.starts_with("the ") ? ""
                                                                          : "the ") +
                                subject;
    const std::string about = open.about.substr(0, std::min(open.about.find(':'), open.about.find(" (")));
    Question question{std::string(missing_spec.name),
                      missing + (open.of_fix ? ". This would show whether \"" + about + "\" helps"
                                             : ". This would confirm or rule out \"" + about + "\""),
                      {},
                      false};
    set_command(question, pack, open.source->how_to_get, facts);
    // One command may answer several questions on this device; the first decides most.
    if (std::none_of(questions.begin(), questions.end(),
                     [&](const Question& other) { return other.command == question.command; }))
      questions.push_back(std::move(question));
  }
  return questions;
}

}  // namespace

std::string with_device_noun(const std::string& text, const std::string& noun) {
  constexpr std::string_view gpu = "GPU";
  std::string out;
  std::size_t from = 0;
  for (std::size_t at = text.find(gpu); at != text.npos; at = text.find(gpu, at + gpu.size())) {
    const std::size_t plural = at + gpu.size() < text.size() && text[at + gpu.size()] == 's' ? 1 : 0;
    const std::size_t end = at + gpu.size() + plural;
    if ((at > 0 && is_word_char(text[at - 1])) || (end < text.size() && is_word_char(text[end]))) continue;
    out.append(text, from, at - from).append(noun);
    from = at + gpu.size();
  }
  return out.append(text, from);
}

void name_device(Diagnosis& diagnosis, const std::string& noun) {
  if (noun.empty()) return;
  const auto rename = [&](std::string& text) { text = with_device_noun(text, noun); };
  for (ReportCause& cause : diagnosis.causes) {
    rename(cause.title), rename(cause.explain);
    for (auto* reasons : {&cause.because, &cause.against})
      for (Reason& reason : *reasons) rename(reason.text);
  }
  for (ReportFix& fix : diagnosis.fixes)
    rename(fix.title), rename(fix.why), rename(fix.verify), rename(fix.saves_formula);
  for (HeldBack& held : diagnosis.held_back) rename(held.title), rename(held.because);
  for (Question& question : diagnosis.questions) rename(question.missing), rename(question.text);
}

std::string in_power_shell(const std::string& text) {
  constexpr std::string_view assign = "export ", pipe = " 2>&1 | tee ";
  std::string out = text;
  if (const std::size_t at = out.find(pipe); at != out.npos) {
    const std::size_t name = at + pipe.size(), end = std::min(out.find(' ', name), out.size());
    out = out.substr(0, at) + " > " + out.substr(name, end - name) + " 2>&1" + out.substr(end);
  }
  if (!out.starts_with(assign)) return out;
  const std::size_t comment = std::min(out.find("   # "), out.size());
  if (out.find_first_of("\"$") < comment) return out;  // the value has another quoting there
  const std::string note = out.substr(comment);
  std::string command;
  for (std::size_t at = assign.size(); at < comment;) {
    const std::size_t end = std::min(out.find(' ', at), comment), equals = out.find('=', at);
    if (equals >= end) return out;  // more than assignments
    command += (command.empty() ? "$env:" : "; $env:") + out.substr(at, equals - at) + "=\"" +
               out.substr(equals + 1, end - equals - 1) + "\"";
    at = end + 1;
  }
  return command + (note.empty() ? "   # PowerShell" : note);
}

Diagnosis judge(const RulePack& pack, const Facts& facts, const Quotes& quotes) {
  WeighedCauses causes = weigh_causes(pack, facts);
  // A failure that the program survived needs a fix only if its cause is known, or if it costs work again and again.
  const bool is_over =
      facts.is_true("run.survived") && causes.top_cause == "undetermined" && !facts.is_true("run.loses_work");
  Prescription prescription = is_over ? Prescription{} : prescribe(pack, causes, facts);
  Diagnosis diagnosis;
  diagnosis.held_back = find_myths(pack, facts, quotes);
  for (auto& fix : prescription.held_back) diagnosis.held_back.push_back(std::move(fix));
  if (diagnosis.held_back.size() > max_held_back) diagnosis.held_back.resize(max_held_back);
  std::vector<MissingFact> doubts = std::move(causes.doubts);
  doubts.insert(doubts.end(), prescription.doubts.begin(), prescription.doubts.end());
  if (!is_over) diagnosis.questions = make_questions(pack, doubts, facts);
  diagnosis.causes = std::move(causes.causes);
  diagnosis.cause = std::move(causes.top_cause);
  diagnosis.fixes = std::move(prescription.fixes);
  diagnosis.plan = std::move(prescription.plan);
  name_device(diagnosis, pack.device_noun(facts));
  if (facts.is_true("platform.windows_paths")) {
    for (ReportFix& fix : diagnosis.fixes)
      for (FixSetting& setting : fix.settings) setting.text = in_power_shell(setting.text);
    for (Question& question : diagnosis.questions)
      if (!question.prose) question.command = in_power_shell(question.command);
  }
  return diagnosis;
}

}  // namespace oomdoctor
