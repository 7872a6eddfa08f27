// Recognises different reports of the same failure. Kernel, scheduler, launcher and shell each report a kill in their
// own words, and several messages about one refused request may each contain some of its numbers. Stateless.
#pragma once

#include "model/scan_result.h"

namespace oomdoctor {

/// True if the report names at least one size. Without any, only its position separates it from the next failure.
bool has_numbers(const Oom& report);

/// How much a report of a killed process is trusted, 5 most; 0: it reports no death. The most trusted report becomes
/// the main one of the incident.
int kill_report_rank(const Oom& report);

/// True if `now`, which names the victim `where`, may report the death of `old`. The caller checks the distance.
bool may_be_same_kill(const Incident& old, const Oom& now, const Origin& where);

/// True if both name the same process.
bool same_victim(const Incident& old, const Origin& where);

/// The test in a line of pytest's summary, "FAILED tests/a.py::test_b - …"; "" for other lines. Equal numbers in two
/// tests are two failures.
std::string_view failed_test(std::string_view body);

/// True for a line that passes on the failure of another process, which has reported it: vLLM's server prints "Call to
/// wake_up method failed: …" for its engine.
bool is_passed_on(std::string_view body);

/// "rial 4" of "Trial 4 failed: CUDA out of memory": the part of the work that a line of a failure counts. Two of them
/// are two failures, also with the same sizes. Empty without one.
std::string_view counted_part(std::string_view line);

/// True for TensorFlow's pool allocator, on a device or on the host.
bool of_tensorflow_pool(const Oom& report);

/// True for TensorFlow's exception of a copy that found no room on the device. It does not say why.
bool is_failed_copy(const Oom& report);

/// True if such a report comes in parts: the request, the allocator's state and the operation are separate lines.
bool comes_in_parts(const Oom& report);

/// True for a report that no exact form matches. Its kind of memory is less certain, and it may announce or echo an
/// exact report.
bool is_general_form(const Oom& report);
/// True if both may be about one memory although they name different kinds.
bool may_be_same_memory(const Oom& a, const Oom& b);

/// True if no number that both reports contain differs by more than rounding.
bool complement(const Oom& a, const Oom& b);

/// Copies numbers that `into` lacks or has less exactly from `from`.
void fill_gaps(Oom& into, const Oom& from);

}  // namespace oomdoctor
