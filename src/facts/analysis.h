// From the scanned logs to facts: the failure that counts, its memory breakdown, its phase of the run, the trends of
// the memory series, the settings. This stage computes; it draws no conclusions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.h"
#include "facts/quotes.h"
#include "facts/series_trends.h"
#include "growth/growth.h"
#include "growth/runs.h"
#include "model/scan_result.h"

namespace oomdoctor {

/// The memory breakdown of the GPU, or of the limit of a group. The sum of `shares` plus `unexplained` is `capacity`.
struct Account {
  struct AccountPart {
    std::string label;
    Bytes size;
  };
  Bytes capacity;
  std::vector<AccountPart> shares;
  Bytes unexplained;  ///< may be negative, if the driver lets a process have more than there is
};

/// The phase of the run in which a failure happened. `id` is one of the JSON report's ids, "" if the log does not show
/// it.
struct Phase {
  std::string id;
  std::optional<Evidence> by;
  std::string moment =
      {};  ///< within the start of an inference engine, finer than a phase: "profile_run", "graph_capture", "wake_up"
};

/// One rank in the comparison of ranks. `series` is its series with the metric of the diagnosis; of several, the
/// fullest.
struct RankRow {
  int rank = 0;
  std::optional<std::size_t> series;
  std::optional<i64> last_step;
  bool failed = false;  ///< ran out of memory
};

struct AnalysisOptions {
  std::optional<i64> capacity;  ///< bytes; the user sets it if the log does not print it
  std::size_t jobs = 1;         ///< threads that fit series; the result does not depend on their number
  bool all_trends = true;       ///< false: compute a trend only when a fact or the report reads it
};

/// The result of all analyses. Its trends refer to the series of the scan.
struct Analysis {
  Runs runs;
  std::optional<std::size_t> primary;            ///< index of the incident that the diagnosis is about
  std::vector<std::optional<Account>> accounts;  ///< one per incident
  std::vector<Phase> phases;                     ///< one per incident
  Trends trends;                                 ///< one per series
  std::optional<std::size_t> main_series;        ///< the series that trend.* is about
  std::vector<RankRow> ranks;                    ///< sorted by rank number; empty if fewer than two are known
  std::vector<Note> notes;
  Facts facts;
  Quotes quotes;
};

/// Rescales series with an ambiguous unit to the unit that fits the GPU, and adds a note. Nothing changes the scan
/// after this.
void resolve_units(ScanResult& scan, const AnalysisOptions& options);

/// Runs all analyses in a fixed order.
Analysis analyse(const ScanResult& scan, const AnalysisOptions& options);

// The single analyses. Each adds to `facts` and may read the facts of those before it in this order.
/// The memory breakdown of a failure; nullopt if its message prints no capacity or limit, or no parts.
std::optional<Account> build_account(const Incident& incident);
/// `capacity`: bytes of the GPU, if the message does not print them.
void message_facts(const Incident& incident, std::optional<i64> capacity,
                   Facts& facts);  // account.cc: oom.*, account.*
/// Detects another rank of this job among the processes that the message lists.
void sibling_facts(const ScanResult& scan, const Incident& incident, Facts& facts);  // account.cc: account.sibling*
/// Chooses the processes to stop, among those that are not part of this job.
void stop_facts(std::vector<OtherProcess> others, const std::vector<Evidence>& here,
                Facts& facts);  // account.cc: account.stop_*
/// Detects other processes on the GPU in the newest list of a monitor, where the message lists none.
void neighbour_facts(const ScanResult& scan, const Incident& incident,
                     Facts& facts);  // neighbours.cc: account.external*, join.newcomer*
/// Finds the phase by the traceback, else by the last phase marker before the failure.
Phase find_phase(const ScanResult& scan, const Incident& incident);  // phases.cc
void phase_facts(const ScanResult& scan, const Incident& incident, const Phase& phase,
                 Facts& facts);     // phases.cc: phase.*, trace.*, run.*
void no_phase_facts(Facts& facts);  // phases.cc: the same facts when nothing failed
/// Sets run.at_risk as well: growth that no failure has ended.
void snapshot_facts(const ScanResult& scan, std::optional<std::size_t> primary,
                    Facts& facts);  // snapshots.cc: snapshot.*
void setting_facts(const ScanResult& scan, const Incident* incident,
                   Facts& facts);  // settings.cc: settings.*, platform.*
void framework_facts(const ScanResult& scan, const Incident* incident,
                     Facts& facts);  // frameworks.cc: framework.*, run.trains
void host_facts(const ScanResult& scan, const Incident& primary,
                Facts& facts);  // host.cc: host.*, masked.*, pool.*
/// Adds a note for a command that was killed while the host had free RAM.
void emit_free_memory(const ScanResult& scan, std::vector<Note>& notes);  // host.cc
/// Adds a note for a scheduler's report that adds up the memory of several nodes.
void emit_node_sum(const ScanResult& scan, std::vector<Note>& notes);  // host.cc
/// Adds a note for a notebook whose log stops at a progress line: the host may have run out of RAM, with low
/// confidence.
void emit_abrupt_end(const ScanResult& scan, std::vector<Note>& notes);  // host.cc
/// Notes the other reading of an ambiguous unit that the capacity did not resolve, once per unit.
void emit_units(const ScanResult& scan, std::vector<Note>& notes);  // units.cc
void trend_facts(const ScanResult& scan, const AnalysisOptions& options,
                 Analysis& analysis);  // trends.cc: trend.*, shape.*
void comparison_facts(const ScanResult& scan, const Incident* incident, std::optional<i64> capacity,
                      Analysis& analysis);  // comparisons.cc: trend.gap*, trend.external_grows, ranks.*, join.*
/// Fills Analysis::ranks, and adds a note about ranks that stopped early.
void compare_ranks(const ScanResult& scan, Analysis& analysis);  // comparisons.cc: RankRow, stragglers
/// Recognises the logits by the size of the request.
void logits_facts(Facts& facts);
/// A lower bound for the memory of the model, from the settings.
void model_facts(Facts& facts);     // model_account.cc: model.*
void increment_fact(Facts& facts);  // increments.cc: trend.increment
void advice_facts(Facts& facts);    // advice.cc: advice.*

/// The first failure that ended the work; otherwise the last one that the program survived.
std::optional<std::size_t> find_primary(const ScanResult& scan);

/// The vendor of the device of a failure, by the agent that refused, else by words in the log; "" if neither shows it.
std::string_view device_vendor(const ScanResult& scan, const Incident& incident);  // settings.cc
/// The vendor by words in the log alone.
std::string_view device_vendor(const ScanResult& scan);  // settings.cc

/// False for a setting "workers" that is not known to count data loader workers: servers, schedulers, build tools and
/// downloaders have workers too.
bool counts_loader_workers(const ScanResult& scan, const KnownSetting& workers);  // settings.cc

/// True if the series is the memory of one process, as a monitor lists it.
bool is_process_series(const Series& series);  // neighbours.cc

/// True for RAM of a machine, or perhaps of one program, whose label names no container.
bool may_be_of_machine(const Series& series);  // host.cc

/// True for the RAM of a machine whose size the log prints.
bool is_of_machine(const Series& series);  // host.cc

/// True if the series belongs to the failed process and began before the failure. Without a failure, true for every
/// series.
bool belongs(const Series& series, const Incident* incident);

/// True if the program failed outside the whole interval of the forecast of its series, so that no report shows it.
bool is_contradicted(const Forecast& forecast, const Series& series, const Incident* primary);  // trends.cc

/// "40448 MiB", "23.69 GB" or a bare count of bytes; nullopt for anything else.
std::optional<i64> read_capacity(std::string_view text);
/// The size that the log prints for a setting; nullopt if it prints none.
std::optional<i64> size_of_setting(const ScanResult& scan, std::string_view name);

/// The bytes of the GPU in this log: from the user, the message, another line, or the GPU's model, in this order.
std::optional<i64> known_capacity(const ScanResult& scan, const std::optional<Incident>& incident,
                                  const AnalysisOptions& options);

}  // namespace oomdoctor
