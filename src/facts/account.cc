// The memory breakdown of the GPU at the moment of the failure.
//
// Identities, from the allocator's printing code: reserved = allocated + unallocated; capacity = free + this process +
// other processes; own memory outside the allocator = this process - reserved. Messages before 2.1 do not list
// processes, so they show only the sum of own and foreign memory outside the allocator. Every term keeps the tolerance
// of its printed digits.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "facts/analysis.h"

namespace oomdoctor {
namespace {

// Judgement constants, each with its reason.
/// CUDA context, kernels and NCCL of one process take 0.1 to 1.5 GiB, on a GPU with few processors at most a fifth of
/// its memory; more belongs to another process.
constexpr double assumed_own_other = 1.5 * static_cast<double>(GiB),
                 least_assumed_other = 0.5 * static_cast<double>(GiB), assumed_share = 0.2;
constexpr double margin_share = 0.05;    ///< of the GPU; free memory to keep, because steps vary by a few per cent
constexpr double pieces_share = 0.04;    ///< of the GPU; this much is in pieces too small to use
constexpr i64 unusable_free = 64 * MiB;  ///< the driver never hands out the last tens of MiB
constexpr double context_low = 0.25 * static_cast<double>(GiB), context_high = 1.6 * static_cast<double>(GiB);

Bytes zero_floor(Bytes b) {
  b.count = std::max<i64>(b.count, 0);
  return b;
}

std::optional<Bytes> find_reserved(const Oom& oom) {
  if (oom.reserved) return oom.reserved;
  if (oom.allocated && oom.unallocated) return *oom.allocated + *oom.unallocated;
  return std::nullopt;
}

Bytes sum_sizes(const std::vector<OtherProcess>& others) {
  Bytes sum;
  for (const auto& o : others)
    if (o.pid != 0) sum = sum + o.used;
  return sum;
}

/// The process's own memory outside the allocator, if the message contains it.
std::optional<Bytes> find_own_other(const Oom& oom) {
  for (const auto& o : oom.others)
    if (o.pid == 0) return o.used;  // MPS prints it as a process without a number
  const auto reserved = find_reserved(oom);
  if (oom.process && reserved) return zero_floor(*oom.process - *reserved);
  if (oom.process && oom.allocated) return zero_floor(*oom.process - *oom.allocated);
  return std::nullopt;
}

/// True if the owner of the memory outside the framework is unknown, because the message counts no process, not even
/// this one.
bool is_ownerless(const Oom& oom) { return !oom.process && sum_sizes(oom.others).count == 0; }

/// Memory of other processes: printed, or what capacity, free and this process leave.
std::optional<Bytes> find_external(
    const Oom& oom) {  // Memory of other processes: as printed, or capacity − free − this process.
  const Bytes named = sum_sizes(oom.others);
  if (oom.kind != OomKind::device || !oom.capacity || !oom.free)
    return named.count > 0 ? std::optional(named) : std::nullopt;
  if (oom.process && oom.process->count > 0)  // 0 bytes: the driver counts in the PID namespace of another container
    return std::max(zero_floor(*oom.capacity - *oom.free - *oom.process), named,
                    [](Bytes a, Bytes b) { return a.count < b.count; });
  if (named.count > 0) return named;
  // Without the reserved size, the difference may be the process's own cache.
  const auto reserved = find_reserved(oom);
  if (!reserved || oom.sizes_not_available) return std::nullopt;
  const double own_other =
      std::clamp(assumed_share * static_cast<double>(oom.capacity->count), least_assumed_other, assumed_own_other);
  return zero_floor(*oom.capacity - *oom.free - *reserved - Bytes{whole_number(own_other), 0});
}

/// Two numbers may lie close together by chance: a user's program and its helper.
constexpr int min_adjacent = 3;

/// The largest number of processes without a size whose numbers lie close together: a launcher started them at once.
int count_adjacent(const std::vector<OtherProcess>& others) {
  constexpr i64 reach = 16;  // a launcher starts a process for each of up to 8 GPUs, and each may start a helper
  int most = 0;
  for (const auto& first : others)
    most = std::max(most, static_cast<int>(std::count_if(others.begin(), others.end(), [&](const OtherProcess& o) {
                      return o.pid != 0 && o.used.count == 0 && o.pid >= first.pid && o.pid - first.pid < reach;
                    })));
  return most;
}

/// The number of other processes with nearly equal sizes typical of a context: other ranks of the job that opened a
/// context on this GPU; 0 for fewer than two.
int count_stray_contexts(const std::vector<OtherProcess>& others) {
  int max_count = 0;
  for (const auto& a : others) {
    const auto size = static_cast<double>(a.used.count);
    if (size < context_low || size > context_high) continue;
    max_count =
        std::max(max_count, static_cast<int>(std::count_if(others.begin(), others.end(), [&](const OtherProcess& b) {
                   return std::abs(static_cast<double>(b.used.count) - size) <= 0.02 * size;
                 })));
  }
  return max_count >= 2 ? max_count : 0;
}

/// True if the allocator counts more than the GPU has, and the driver less for the whole process. Part of the pool is
/// then unmapped, because an engine in the same process sleeps.
bool counts_unmapped(const Oom& oom) {
  const auto reserved = find_reserved(oom);
  if (oom.kind != OomKind::device || !oom.process || !oom.capacity || !reserved || oom.sizes_not_available)
    return false;
  return oom.process->count <= oom.capacity->count && reserved->count > oom.capacity->count;
}

/// True if two sizes may be those of one process, printed by two processes a moment apart.
bool same_size(const Bytes& a, const Bytes& b) {
  constexpr double tolerance = 0.02;
  return std::abs(static_cast<double>(a.count - b.count)) <=
         tolerance * static_cast<double>(std::max(a.count, b.count));
}

/// The rank of this job that the process is: it reports the same size as its own memory, on a GPU of the same number.
const Incident* find_sibling(const ScanResult& scan, const Incident& incident, const OtherProcess& process) {
  const Origin& here = incident.origin;
  for (const Incident& other : scan.incidents) {
    const Origin& there = other.origin;
    if (&other == &incident || !other.oom.process || !here.rank || !there.rank || here.rank == there.rank) continue;
    if (here.device != there.device || here.host != there.host || incident.run.number != other.run.number) continue;
    if (there.pid ? *there.pid == process.pid : same_size(*other.oom.process, process.used)) return &other;
  }
  return nullptr;
}

/// The first remark of this id that names the process.
const Event* find_remark_of(const ScanResult& scan, i64 pid, std::string_view id) {
  const auto found = std::find_if(scan.remarks.begin(), scan.remarks.end(), [&](const Event& event) {
    const Remark* remark = remark_of(event, id);
    return remark != nullptr && pid != 0 && remark->number == static_cast<double>(pid);
  });
  return found == scan.remarks.end() ? nullptr : &*found;
}

/// A line that shows that this process belongs to the job: its own lines have its number, the launcher starts or
/// terminates it, or it names its rank.
const Event* find_membership(const ScanResult& scan, i64 pid) {
  for (const std::string_view id : {"job/worker", "collateral/terminated", "job/process"})
    if (const Event* found = find_remark_of(scan, pid, id)) return found;
  return nullptr;
}

/// Sets what shows that the largest other process is one of this job. Of smaller ones, it only keeps the fixes from
/// stopping them.
void membership_facts(const ScanResult& scan, const Incident& incident, Facts& facts) {
  std::vector<OtherProcess> foreign = incident.oom.others;
  std::erase_if(foreign, [&](const OtherProcess& process) { return find_membership(scan, process.pid) != nullptr; });
  if (foreign.size() == incident.oom.others.size()) return;
  const auto largest = std::max_element(incident.oom.others.begin(), incident.oom.others.end(),
                                        [](const auto& a, const auto& b) { return a.used.count < b.used.count; });
  const Event* membership = find_membership(scan, largest->pid);
  if (membership == nullptr) return stop_facts(std::move(foreign), {incident.evidence}, facts);
  facts.set("account.sibling_pid", Value{Number{static_cast<double>(largest->pid), 0}}, {membership->evidence});
  facts.set("account.sibling", largest->used, {incident.evidence, membership->evidence});
  facts.set("account.sibling_works", Value{std::get<Remark>(membership->what).id == "job/worker"},
            {membership->evidence});
}

/// The runtime in the label of the context's part.
std::string_view context_of(Agent agent) {
  switch (agent) {
    case Agent::cuda_allocator:
    case Agent::cuda_malloc_async:
      return "CUDA";
    case Agent::hip_allocator:
      return "HIP";
    default:
      return "driver";
  }
}

/// The label of the used part. Slurm counts the whole job, other schedulers the job or one container of it, the kernel
/// one process.
std::string host_share(const Oom& oom) {
  if (!oom.process_name.empty()) return "process " + oom.process_name;
  if (oom.agent == Agent::cpu_allocator || oom.agent == Agent::scheduler) return "in use";
  return oom.agent == Agent::slurm ? "the job" : "the killed process";
}

/// Metal's allocator counts its heaps, with what is free in them.
std::string name_content(const Oom& oom) {
  return oom.agent == Agent::mps_allocator ? "PyTorch's cache and tensors" : "tensors";
}

}  // namespace

std::optional<Account> build_account(const Incident& incident) {
  const Oom& oom = incident.oom;
  const auto capacity = oom.capacity                                               ? oom.capacity
                        : oom.kind == OomKind::device || oom.kind == OomKind::host ? oom.limit
                                                                                   : std::nullopt;
  if (!capacity) return std::nullopt;
  Account account;
  account.capacity = *capacity;
  const auto add = [&](std::string label, std::optional<Bytes> size) {
    if (size && size->count > 0) account.shares.push_back({std::move(label), *size});
  };
  if (oom.kind == OomKind::host) {
    // An exceeded limit has no parts to draw, even if the printed digits leave a doubt: "8.3 GB of 8 GB".
    if (oom.process && oom.process->count > account.capacity.count) return std::nullopt;
    add(host_share(oom), oom.process);
    for (const OtherProcess& o : oom.others)
      add(o.pid == 0 ? fmt::format("{} other killed processes", incident.victims - 1)
                     : "process " + std::to_string(o.pid),
          o.used);
    add("page cache (files)", oom.page_cache);
    if (oom.capacity && oom.free) {
      const std::string_view others = oom.agent == Agent::scheduler ? "other workers and processes" : "other processes";
      add(std::string(oom.process ? others : "all processes"),
          *oom.capacity - *oom.free - oom.process.value_or(Bytes{}));
      add("free", oom.free);
    }
  } else if (counts_unmapped(oom)) {
    add("this process", oom.process);
    for (const auto& o : oom.others) add("process " + std::to_string(o.pid), o.used);
    add("free", oom.free);
  } else {
    if (oom.allocated) add(name_content(oom), zero_floor(*oom.allocated - oom.private_pools.value_or(Bytes{})));
    add("CUDA graph pools (free blocks)", oom.private_pools);
    std::optional<Bytes> unused = oom.unallocated;
    if (!unused && oom.reserved && oom.allocated && !oom.private_pools) unused = *oom.reserved - *oom.allocated;
    add(oom.framework == "pytorch" ? "PyTorch cache (unused)" : "cache (unused)", unused);
    const auto own = find_own_other(oom);
    add(oom.agent == Agent::mps_allocator ? "other allocations (outside PyTorch)"
                                          : std::string(context_of(oom.agent)) + " context + libraries",
        own);
    if (!oom.allocated && !oom.reserved) add("this process", oom.process);
    for (const auto& o : oom.others)
      if (o.pid != 0) add("process " + std::to_string(o.pid), o.used);
    const auto reserved = find_reserved(oom);
    if (!own && reserved && oom.free && oom.capacity) {
      const Bytes rest = *oom.capacity - *oom.free - *reserved - sum_sizes(oom.others);
      add("other processes + " + std::string(context_of(oom.agent)) + " contexts", rest);
    }
    if (oom.has(OomTrait::free_target) && oom.capacity && oom.free) add("in use at startup", *oom.capacity - *oom.free);
    if (oom.capacity) add("free", oom.free);
  }
  if (account.shares.empty()) return std::nullopt;
  account.unexplained = account.capacity;
  for (const auto& s : account.shares) account.unexplained = account.unexplained - s.size;
  // An allocator with a limit counts all that it holds, so the rest is not explained by anybody else.
  if (oom.kind == OomKind::device && !oom.capacity && account.unexplained.count > account.unexplained.slack) {
    add("left below the limit", account.unexplained);
    account.unexplained = {};
  }
  // A message without the free memory leaves open how much of the rest is free.
  if (oom.kind == OomKind::device && oom.capacity && !oom.free && !oom.process &&
      account.unexplained.count > account.unexplained.slack) {
    add("not in the message", account.unexplained);
    account.unexplained = {};
  }
  return account;
}

/// True if a configured cap refused the request, not the end of the GPU. TensorFlow, XLA and MPS print their default
/// limit too, which counts only if it is clearly below the capacity.
bool is_capped(const Oom& oom, const Facts& facts) {
  constexpr double clearly_less = 0.8;
  if (oom.has(OomTrait::capped)) return true;
  const bool counted =
      facts.find("account.limit_reached") != nullptr;  // otherwise the message does not show the memory in use
  if (!oom.limit || !facts.is_true(counted ? "account.limit_reached" : "account.free_beyond_request")) return false;
  if (oom.free && oom.request) {  // the GPU would have refused too
    const Bytes missing = *oom.request - *oom.free;
    if (missing.count > missing.slack) return false;
  }
  const bool by_default = oom.agent == Agent::tf_bfc || oom.agent == Agent::xla || oom.agent == Agent::mps_allocator;
  return !by_default || (oom.capacity && static_cast<double>(oom.limit->count) <
                                             clearly_less * static_cast<double>(oom.capacity->count));
}

/// Sets the missing memory, with the margin.
void set_need(const Oom& oom, const std::vector<Evidence>& here, Facts& facts) {
  const auto reserved = find_reserved(oom);
  const auto held = reserved ? reserved : oom.allocated;
  if (!oom.request) return;
  const bool capped = oom.limit && held && (*held + *oom.request).count > oom.limit->count;
  const auto room = capped || !oom.capacity ? oom.limit : oom.capacity;
  if (!room) return;
  const Bytes margin{static_cast<i64>(margin_share * static_cast<double>(room->count)), 0};
  facts.set("account.margin", std::optional(margin), here);
  std::optional<Bytes> left = oom.free;
  if (capped) left = *oom.limit - *held;
  // A pool serves a request of one piece: of a free one, or of what it may still take.
  if (oom.largest_free && (!left || left->count < oom.largest_free->count)) left = oom.largest_free;
  if (facts.is_true("account.oversubscribed")) left = *oom.capacity - *oom.allocated;
  if (!left) return;
  const Bytes missing = *oom.request - *left;
  if (missing.count > 0) facts.set("account.need", std::optional(missing + margin), here);
}

/// Sets oom.* and account.* from one message. A fact whose sizes are not printed stays unknown.
void message_facts(const Incident& incident, std::optional<i64> capacity, Facts& facts) {
  const Oom& oom = incident.oom;
  const std::vector<Evidence> here{incident.evidence}, in_use{incident.in_use.value_or(incident.evidence)};
  const auto number = [](double v, double slack = 0) { return Value{Number{v, slack}}; };
  const auto set_true = [&](std::string_view name, bool yes) { facts.set(name, Value{yes}, here); };
  const auto text = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) facts.set(name, Value{std::string(value)}, here);
  };
  text("oom.kind", to_string(oom.kind));
  text("oom.agent", to_string(oom.agent));
  text("oom.framework", oom.framework);
  text("account.content", name_content(oom));
  text("oom.printed_advice", oom.printed_advice);
  set_true("oom.has_numbers", oom.request && (oom.allocated || oom.free || oom.capacity));
  set_true("oom.known_form", !oom.has(OomTrait::prose));
  set_true("oom.beyond_exabyte", oom.beyond_exabyte);
  set_true("oom.tentative", oom.has(OomTrait::suspected));
  set_true("oom.sizes_not_available", oom.sizes_not_available);
  set_true("oom.on_chip", oom.has(OomTrait::on_chip));
  set_true("oom.either_memory", oom.has(OomTrait::either_memory));
  set_true("oom.unnamed_device", oom.has(OomTrait::unnamed_device));
  const auto reserved = find_reserved(oom);
  facts.set("oom.request", oom.request, here);
  std::optional<Bytes> whole =
      oom.capacity || oom.kind != OomKind::device || !capacity ? oom.capacity : std::optional(Bytes{*capacity, 0});
  // A GPU may be larger than its name says; a pool is never larger than its GPU.
  if (whole && !oom.capacity && oom.limit && oom.limit->count > whole->count) whole = oom.limit;
  facts.set("oom.capacity", whole, here);
  facts.set("oom.free", oom.free, in_use);
  facts.set("oom.process", oom.process, in_use);
  facts.set("oom.allocated", oom.allocated, in_use);
  facts.set("oom.reserved", reserved, in_use);
  facts.set("oom.unallocated", oom.unallocated, in_use);
  facts.set("oom.largest_free", oom.largest_free, in_use);
  facts.set("oom.limit", oom.limit, in_use);
  if (oom.private_pools)
    facts.set("oom.private_pools", oom.private_pools, here);
  else if (oom.allocated && oom.kind == OomKind::device)
    facts.set("oom.private_pools", Bytes{}, here);
  if (oom.kind != OomKind::device) return;

  const auto others = std::count_if(oom.others.begin(), oom.others.end(), [](const auto& o) { return o.pid != 0; });
  facts.set("oom.others", std::optional(sum_sizes(oom.others)), here);
  facts.set("oom.others_count", number(static_cast<double>(others)), here);
  const auto uncounted = std::count_if(oom.others.begin(), oom.others.end(),
                                       [](const auto& o) { return o.pid != 0 && o.used.count == 0; });
  facts.set("account.uncounted", number(static_cast<double>(uncounted)), here);
  set_true("account.adjacent", count_adjacent(oom.others) >= min_adjacent);
  const auto own = find_own_other(oom);
  const auto external = find_external(oom);
  facts.set("account.own_other", own, here);
  facts.set("account.external", external, here);
  if (external) {
    set_true("account.ownerless", is_ownerless(oom));
    text("account.holders",
         is_ownerless(oom) ? "other processes, or libraries of this one, beyond a usual context" : "other processes");
  }
  const auto largest = std::max_element(oom.others.begin(), oom.others.end(),
                                        [](const auto& a, const auto& b) { return a.used.count < b.used.count; });
  if (largest != oom.others.end() && largest->pid != 0 && largest->used.count > 0)
    facts.set("account.external_pid", number(static_cast<double>(largest->pid)), here);
  const auto share = [&](std::string_view name, const std::optional<Bytes>& part, const std::optional<Bytes>& all,
                         const std::vector<Evidence>& by) {
    if (part && all && all->count > 0)
      facts.set(name,
                number(static_cast<double>(part->count) / static_cast<double>(all->count),
                       static_cast<double>(part->slack) / static_cast<double>(all->count)),
                by);
  };
  if (oom.request)
    set_true("account.request_is_power",
             oom.request->count >= GiB && std::has_single_bit(static_cast<std::uint64_t>(oom.request->count)));
  share("account.external_share", external, oom.capacity, in_use);
  share("account.own_other_share", own, oom.capacity, in_use);
  const bool unmapped = counts_unmapped(oom);
  set_true("account.unmapped_pool", unmapped);
  const auto live = unmapped        ? oom.process
                    : oom.allocated ? std::optional(zero_floor(*oom.allocated - oom.private_pools.value_or(Bytes{})))
                                    : std::nullopt;
  // TensorFlow's limit is the part of the GPU that it got at its start: usually nearly all, else others have the rest.
  constexpr double nearly_all = 0.85;
  const bool got_part = whole && oom.limit && oom.agent == Agent::tf_bfc &&
                        static_cast<double>(oom.limit->count) < nearly_all * static_cast<double>(whole->count);
  const bool of_whole = oom.capacity || !oom.limit || got_part;
  text("account.whole", oom.agent == Agent::mps_allocator         ? "the MPS limit"
                        : oom.agent == Agent::tf_bfc && !of_whole ? "TensorFlow's limit"
                                                                  : "the GPU");
  share("account.allocated_share", live, of_whole ? whole : oom.limit, in_use);
  share("account.request_share", oom.request, of_whole ? whole : oom.limit, here);
  if (!unmapped) share("account.frag_ratio", oom.unallocated, reserved, in_use);
  facts.set("account.stray_contexts", number(count_stray_contexts(oom.others)), here);
  if (oom.allocated && oom.capacity)
    set_true(
        "account.oversubscribed",
        !unmapped && oom.allocated->count > saturated_sum(oom.capacity->count, (*oom.capacity + *oom.allocated).slack));
  if (const auto account = build_account(incident))
    facts.set("account.unexplained", std::optional(account->unexplained), here);
  const auto held = reserved ? reserved : oom.allocated;
  if (oom.limit && held && oom.request) {
    const Bytes over = *held + *oom.request - *oom.limit;
    // TensorFlow's limit is what its allocator took at the start, and not a configured cap.
    if (oom.agent != Agent::tf_bfc)
      set_true("account.limit_reached", saturated_sum(over.count, over.slack) >= 0);
    else if (!oom.free && over.count > over.slack)
      set_true("account.free_beyond_request", false);
  }
  if (oom.request && oom.free) {
    facts.set("account.shortfall", std::optional(zero_floor(*oom.request - *oom.free)), here);
    // The last part of a nearly full GPU is fragmented. Its free bytes do not prove a limit.
    const i64 pieces =
        oom.capacity && !oom.limit ? static_cast<i64>(pieces_share * static_cast<double>(oom.capacity->count)) : 0;
    const i64 clear = std::max({unusable_free, oom.request->count / 20, pieces - oom.request->count});
    set_true("account.free_beyond_request", oom.free->count >= saturated_sum(oom.request->count, clear));
    if (oom.unallocated && !unmapped)
      facts.set("account.after_compaction", std::optional(*oom.free + *oom.unallocated - *oom.request), here);
  }
  set_true("account.capped", is_capped(oom, facts));
  if (oom.request && held && oom.capacity && !oom.free)
    share("account.demand_share", *held + *oom.request, oom.capacity, in_use);
  set_need(oom, here, facts);
  stop_facts(oom.others, here, facts);
}

void stop_facts(std::vector<OtherProcess> others, const std::vector<Evidence>& here, Facts& facts) {
  std::erase_if(others, [](const OtherProcess& process) { return process.pid == 0 || process.used.count == 0; });
  if (others.empty()) {
    if (const Fact* all = facts.find("account.external")) facts.set("account.stop_frees", all->value, here);
    return;
  }
  std::sort(others.begin(), others.end(),
            [](const OtherProcess& a, const OtherProcess& b) { return a.used.count > b.used.count; });
  // Processes of one size are mostly workers or replicas of one program: none of them is the one to stop.
  constexpr std::size_t several = 3;
  constexpr double alike = 0.98;  // of the largest: batches of different jobs differ by more
  const double largest = static_cast<double>(others.front().used.count);
  const auto replicas =
      static_cast<std::size_t>(std::count_if(others.begin(), others.end(), [&](const OtherProcess& p) {
        return static_cast<double>(p.used.count) >= alike * largest;
      }));
  if (replicas >= several) {
    facts.set("account.replicas", Value{Number{static_cast<double>(replicas), 0}}, here);
    facts.set("account.replica_size", std::optional(others.front().used), here);
    return;
  }
  // One script that starts several programs, or a launcher: their numbers follow each other.
  constexpr i64 reach = 4;
  const bool together = std::any_of(others.begin() + 1, others.end(), [&](const OtherProcess& process) {
    return std::abs(process.pid - others.front().pid) <= reach;
  });
  if (together) facts.set("account.stop_adjacent", Value{true}, here);
  const double need = facts.number("account.need").value_or(0);
  std::string pids;
  Bytes freed;
  for (const OtherProcess& process : others) {
    pids += (pids.empty() ? "" : " ") + std::to_string(process.pid);
    freed = freed + process.used;
    if (static_cast<double>(freed.count) >= need) break;
  }
  facts.set("account.stop_pids", Value{std::move(pids)}, here);
  facts.set("account.stop_frees", std::optional(freed), here);
}

void sibling_facts(const ScanResult& scan, const Incident& incident, Facts& facts) {
  membership_facts(scan, incident, facts);
  for (const OtherProcess& process : incident.oom.others) {
    const Incident* sibling = process.pid != 0 ? find_sibling(scan, incident, process) : nullptr;
    if (sibling == nullptr) continue;
    const std::vector<Evidence> both{incident.evidence, sibling->evidence};
    facts.set("account.sibling_rank", Value{Number{static_cast<double>(*sibling->origin.rank), 0}}, both);
    facts.set("account.sibling_pid", Value{Number{static_cast<double>(process.pid), 0}}, both);
    facts.set("account.sibling", process.used, both);
    return;
  }
}

}  // namespace oomdoctor
