// From the case to facts: which failure counts, what its numbers add up to, when in the step it struck, what the memory
// series do, what the run was set to. Computes; concludes nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts.h"
#include "analysis/growth.h"
#include "analysis/runs.h"
#include "model/scan_result.h"

namespace oomdoctor {

/// What the device's memory (or the group's limit) was made of. shares + unexplained = capacity.
struct Account {
  struct Part {
    std::string label;
    Bytes size;
  };
  Bytes capacity;
  std::vector<Part> shares;
  Bytes unexplained;  ///< may be negative where the driver lets a process have more than there is
};

/// When in the run a failure struck; an id of the report's contract, "" when the log does not tell.
struct Phase {
  std::string id;
  std::optional<Evidence> by;
  std::string moment = {};  ///< of an engine's own start, finer than a phase: "profile_run", "graph_capture", "wake_up"
};

/// One rank beside the others: figures of the series that the diagnosis is about, or of the fullest such series where
/// the rank has several.
struct RankRow {
  int rank = 0;
  std::optional<std::size_t> series;
  std::optional<i64> last_step;
  bool failed = false;  ///< for want of memory
};

struct AnalysisOptions {
  std::optional<i64> capacity;  ///< bytes; given by the user where the log does not print it
  std::size_t jobs = 1;         ///< threads to fit series on; the result is the same for every number
};

struct Analysis {
  Runs runs;
  std::optional<std::size_t> primary;            ///< index of the incident that the diagnosis is about
  std::vector<std::optional<Account>> accounts;  ///< one an incident
  std::vector<Phase> phases;                     ///< one an incident
  std::vector<Trend> trends;                     ///< one a series
  std::optional<std::size_t> main_series;        ///< the series that trend.* is about
  std::vector<RankRow> ranks;                    ///< by number; empty where fewer than two are known
  std::vector<Note> notes;
  Facts facts;
};

/// `scan` is changed in one way only: series whose unit was ambiguous are rescaled to the reading that fits the card.
Analysis analyse(ScanResult& scan, const AnalysisOptions& options);

// The parts, each in its own file; `facts` grows from one to the next in this order.
std::optional<Account> account_of(const Incident& incident);
/// `capacity`: of the device, where another line than the message tells it.
void message_facts(const Incident& incident, std::optional<i64> capacity,
                   Facts& facts);  // account.cc: oom.*, account.*
/// Another rank of this job among the processes that the message names.
void sibling_facts(const ScanResult& scan, const Incident& incident, Facts& facts);  // account.cc: account.sibling*
Phase phase_of(const ScanResult& scan, const Incident& incident);                    // phases.cc
void phase_facts(const ScanResult& scan, const Incident& incident, const Phase& phase,
                 Facts& facts);     // phases.cc: phase.*, trace.*, run.*
void no_phase_facts(Facts& facts);  // phases.cc: nothing has failed, in no phase
void setting_facts(const ScanResult& scan, const Incident* incident,
                   Facts& facts);  // settings.cc: settings.*, platform.*
void framework_facts(const ScanResult& scan, const Incident* incident,
                     Facts& facts);  // frameworks.cc: framework.*, run.trains
void host_facts(const ScanResult& scan, const Incident& primary,
                Facts& facts);  // host.cc: host.*, masked.*, pool.*
/// A notebook whose log stops at a progress line: host memory is suspected, with low confidence.
void emit_abrupt_end(const ScanResult& scan, std::vector<Note>& notes);                  // host.cc
void trend_facts(ScanResult& scan, const AnalysisOptions& options, Analysis& analysis);  // trends.cc: trend.*, shape.*
void comparison_facts(const ScanResult& scan, const Incident* incident, std::optional<i64> capacity,
                      Analysis& analysis);  // comparisons.cc: trend.gap*, trend.external_grows, ranks.*, join.*
void compare_ranks(const ScanResult& scan, Analysis& analysis);  // comparisons.cc: RankRow, stragglers
void model_facts(Facts& facts);                                  // model_account.cc: model.*
void increment_fact(Facts& facts);                               // increments.cc: trend.increment
void advice_facts(Facts& facts);                                 // advice.cc: advice.*

/// Does the series tell of the process that failed, before it failed? Every series does where nothing failed.
bool belongs(const Series& series, const Incident* incident);

/// "40448 MiB", "23.69 GB" or a bare count of bytes; nullopt for anything else.
std::optional<i64> read_capacity(std::string_view text);

/// Bytes of the GPU that the log speaks of: the user's word, the message's, a printed one, or that of the GPU's model.
std::optional<i64> known_capacity(const ScanResult& scan, const std::optional<Incident>& incident,
                                  const AnalysisOptions& options);

}  // namespace oomdoctor
