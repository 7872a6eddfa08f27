// Which reports are one failure although their words differ: a death that kernel, scheduler, launcher and shell each
// report in their own way, and the reports of one refused request that each know some of its numbers.
#pragma once

#include "model/scan_result.h"

namespace oomdoctor {

/// True when the report names at least one size: without any, only its place tells it from the next one.
bool has_numbers(const Oom& report);

/// How far a report of a killed process is to be trusted; 0: it reports no death. The most trusted one places the
/// incident.
int kill_report_rank(const Oom& report);

/// True when `now`, said of `where`, may be the death that `old` reports. Distance is the caller's business.
bool may_be_one_death(const Incident& old, const Oom& now, const Origin& where);

/// True when both name the same victim.
bool same_victim(const Incident& old, const Origin& where);

/// The test that a line of pytest's summary names, "FAILED tests/a.py::test_b - …"; "" elsewhere. Equal numbers of two
/// tests are two failures.
std::string_view failed_test(std::string_view body);

/// True of TensorFlow's pool allocator, on a device or on the host.
bool of_tensorflow_pool(const Oom& report);

/// True when such reports come in parts: the request, the allocator's state and the operation on lines of their own.
bool comes_in_parts(const Oom& report);

/// True of a report in words that no exact form knows: which memory it means is less sure, and it may be the
/// announcement or the echo of an exact one.
bool in_any_words(const Oom& report);
/// True when the two may speak of one memory although they name different kinds.
bool may_be_same_memory(const Oom& a, const Oom& b);

/// True when no number that both know differs by more than rounding.
bool complement(const Oom& a, const Oom& b);

/// Takes from `from` what `into` does not know, or knows less exactly.
void fill_gaps(Oom& into, const Oom& from);

}  // namespace oomdoctor
