// The judgement in its order: weigh the causes, prescribe, say which popular advice is wrong here, ask what is open.
#include <algorithm>
#include <map>

#include "judge/causes.h"
#include "judge/device_words.h"
#include "judge/diagnosis.h"
#include "judge/fixes.h"
#include "judge/rule_pack.h"

namespace oomdoctor {

namespace {

constexpr std::size_t most_held_back = 2;  // the most tempting: of more nobody reads any
constexpr std::size_t most_questions = 3;
constexpr double least_gain = 0.05;  // nats, weighed by probability: below it an answer would change nothing

// Without a failure and without a growth that leads to one there is nothing to explain.
bool anything_to_judge(const Facts& facts) {
  return facts.find("oom.kind") || facts.is_true("run.at_risk") || facts.is_true("trend.leak");
}

std::vector<HeldBackFix> myths_of(const RulePack& pack, const Facts& facts) {
  std::vector<const MythRule*> wrong;
  for (const auto& [id, myth] : pack.myths())
    if (myth.when.truth(facts) == Truth::yes) wrong.push_back(&myth);
  std::stable_sort(wrong.begin(), wrong.end(), [](const MythRule* a, const MythRule* b) { return a->rank > b->rank; });
  std::vector<HeldBackFix> list;
  for (const auto* myth : wrong) {
    std::string because = myth->because.fill_sentences(facts);
    if (because.empty()) continue;
    list.push_back({myth->id, myth->title, std::move(because)});
    if (list.size() == most_held_back) break;
  }
  return list;
}

// Facts of one group ("trend", "settings") come from the same place: where a fact does not say how to get it, the first
// of its group that does speaks for it.
const FactSpec* source_of(const FactSpec& spec) {
  if (!spec.how_to_get.empty()) return &spec;
  const auto group = spec.name.substr(0, spec.name.find('.') + 1);
  for (const auto& other : fact_specs())
    if (other.name.starts_with(group) && !other.how_to_get.empty()) return &other;
  return nullptr;
}

// The log has it: what is still open in its group, this command would not settle.
bool at_hand(const Facts& facts, const FactSpec& source) {
  constexpr double enough_values = 8;  // fewer show no trend
  if (source.name == "trend.points") return facts.number(source.name).value_or(0) >= enough_values;
  const Fact* fact = facts.find(source.name);
  const bool* truth = fact ? std::get_if<bool>(&fact->value) : nullptr;
  return fact && (!truth || *truth);
}

struct Open {
  const FactSpec *source = nullptr, *fact = nullptr;
  double gain = 0, most = 0;
  std::string about;
};

// Open facts that one command settles are one question; the greatest of them speaks.
std::vector<Open> open_questions(const std::vector<MissingFact>& doubts, const Facts& facts) {
  std::map<std::string_view, Open> by_command;
  const bool failed = facts.find("oom.kind") != nullptr;
  for (const auto& doubt : doubts) {
    // Where nothing failed, no message and no traceback can be asked for.
    const auto about = [&](std::string_view group) { return std::string_view(doubt.fact).starts_with(group); };
    if (!failed && (about("oom.") || about("account.") || about("phase.") || about("trace."))) continue;
    const FactSpec* spec = find_fact_spec(doubt.fact);
    const FactSpec* source = spec ? source_of(*spec) : nullptr;
    if (!source || at_hand(facts, *source)) continue;
    Open& open = by_command[source->how_to_get];
    open.gain += doubt.gain;
    if (doubt.gain <= open.most) continue;
    open.source = source;
    open.fact = spec;
    open.most = doubt.gain;
    open.about = doubt.about;
  }
  std::vector<Open> ranked;
  for (const auto& [command, open] : by_command)
    if (open.source) ranked.push_back(open);
  std::stable_sort(ranked.begin(), ranked.end(), [](const Open& a, const Open& b) { return a.gain > b.gain; });
  return ranked;
}

std::string device_command(std::string_view command, const Facts& facts) {
  const auto is_of = [&](std::string_view vendor) { return facts.text("platform.vendor") == vendor; };
  if (facts.is_true("platform.rocm")) return "rocm-smi --showmeminfo vram --showpids";
  if (facts.is_true("platform.mps")) return "the GPU History of Activity Monitor";
  if (is_of("huawei")) return "npu-smi info";
  if (is_of("intel")) return "xpu-smi ps";
  return facts.is_true("platform.other") ? "the accelerator's monitor" : std::string(command);
}

std::string series_command(std::string_view command, const Facts& facts) {
  if (facts.is_true("framework.jax")) return "print(step, jax.local_devices()[0].memory_stats())   # once a step";
  if (facts.is_true("framework.tensorflow"))
    return "print(step, tf.config.experimental.get_memory_info(\"GPU:0\"))   # once a step";
  if (facts.is_false("framework.pytorch") || facts.is_false("run.trains")) return "log the memory in use regularly";
  if (facts.is_true("platform.mps")) return "print(step, torch.mps.driver_allocated_memory())   # once a step";
  const std::string device = facts.text("platform.torch").value_or("cuda");
  return device == "cuda" ? std::string(command)
                          : "print(step, torch." + device + ".memory_allocated())   # once a step";
}

/// What settles a question, in the words of this program and this device.
std::string command_here(std::string_view command, const Facts& facts) {
  if (command.starts_with("nvidia-smi")) return device_command(command, facts);
  if (command.starts_with("print(step, torch.cuda")) return series_command(command, facts);
  if (command.starts_with("python train.py") && facts.is_false("run.trains"))
    return "COMMAND 2>&1 | tee job.log   # the whole output of the program";
  return std::string(command);
}

std::vector<OpenQuestion> questions_of(const std::vector<MissingFact>& doubts, const Facts& facts) {
  std::vector<OpenQuestion> questions;
  for (const auto& open : open_questions(doubts, facts)) {
    if (questions.size() == most_questions || open.gain < least_gain) break;
    // Settings are printed one by one; what is computed from a series or a traceback is missing with it.
    const FactSpec& lacking = open.fact->name.starts_with("settings.") ? *open.fact : *open.source;
    const std::string missing = open.fact->unit == FactUnit::truth
                                    ? "The log does not show whether " + std::string(open.fact->description)
                                    : "Not in the log: " + std::string(lacking.description);
    const std::string about = open.about.substr(0, std::min(open.about.find(':'), open.about.find(" (")));
    questions.push_back({std::string(lacking.name), missing + " (matters for: " + about + ")",
                         command_here(open.source->how_to_get, facts)});
  }
  return questions;
}

}  // namespace

Diagnosis judge(const RulePack& pack, const Facts& facts) {
  if (!anything_to_judge(facts)) return {};
  WeighedCauses causes = weigh_causes(pack, facts);
  // What a program survives needs a cure where it is known what it was: else nobody has to do anything.
  const bool is_over = facts.is_true("run.survived") && causes.verdict == "undetermined";
  Prescription prescription = is_over ? Prescription{} : prescribe(pack, causes, facts);
  Diagnosis diagnosis;
  diagnosis.held_back = myths_of(pack, facts);
  for (auto& fix : prescription.held_back) diagnosis.held_back.push_back(std::move(fix));
  if (diagnosis.held_back.size() > most_held_back) diagnosis.held_back.resize(most_held_back);
  std::vector<MissingFact> doubts = std::move(causes.doubts);
  doubts.insert(doubts.end(), prescription.doubts.begin(), prescription.doubts.end());
  if (!is_over) diagnosis.questions = questions_of(doubts, facts);
  diagnosis.causes = std::move(causes.causes);
  diagnosis.cause = std::move(causes.verdict);
  diagnosis.fixes = std::move(prescription.fixes);
  diagnosis.plan = std::move(prescription.plan);
  name_device(diagnosis, facts);
  return diagnosis;
}

}  // namespace oomdoctor
