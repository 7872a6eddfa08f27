"""The classes of the JSON of `oomdoctor analyze`.

tests/python/types_test.py --accept writes this file from `oomdoctor schema report`, with its comments.
"""
from dataclasses import dataclass, field
from typing import Dict, List, Literal, Optional, Tuple

from oomdoctor.records import Record, ReportMethods


@dataclass(frozen=True)
class ReportTool(Record):
    name: Literal["oomdoctor"]
    version: str


@dataclass(frozen=True)
class Input(Record):
    path: str
    kind: str  # log, smi_csv, kernel_log, …
    bytes: int
    lines: int
    compression: Optional[str] = None
    truncated: Optional[bool] = None


@dataclass(frozen=True)
class VerdictRetry(Record):
    decision: Literal["", "stop", "retry_unchanged", "retry_with_change", "unknown"]
    change: Optional[str] = None


@dataclass(frozen=True)
class Location(Record):
    path: str
    line: Optional[int] = None  # 1-based line on which the message begins
    end_line: Optional[int] = None
    event: Optional[int] = None  # 0-based event of the device's trace in a snapshot
    offset: Optional[int] = None  # 0-based byte of an unpacked file that is not text


@dataclass(frozen=True)
class RunEnd(Record):
    """What ended a run, where the log shows it and it was not memory."""

    # exception, crash, timeout, cancelled, disk_full, limit, nccl, device_error, signal, rejected, exit,
    # finished
    kind: str
    text: str  # the line
    location: Location


@dataclass(frozen=True)
class Verdict(Record):
    outcome: Literal[
        "oom", "handled_oom", "at_risk", "possible_oom", "ended_otherwise", "no_oom", "unrecognised"]
    cause: Optional[str]  # a cause id, undetermined, or null when there is nothing to explain
    confidence: float
    headline: str
    retry: VerdictRetry
    cause_title: Optional[str] = None
    incident: Optional[str] = None  # id of the incident that it is about
    end: Optional[RunEnd] = None


@dataclass(frozen=True)
class IncidentOtherProcess(Record):
    pid: int
    bytes: int


@dataclass(frozen=True)
class Frame(Record):
    file: str
    line: int
    function: str
    code: Optional[str] = None


@dataclass(frozen=True)
class AccountShare(Record):
    label: str
    bytes: int


@dataclass(frozen=True)
class Account(Record):
    """Shares + unexplained = capacity."""

    capacity_bytes: int
    shares: List[AccountShare]
    unexplained_bytes: int
    slack_bytes: int


@dataclass(frozen=True)
class Incident(Record):
    id: str
    kind: Literal["device", "host", "shared_memory", "masked", "pool"]
    agent: str  # who refused or killed
    location: Location
    occurrences: List[Location]  # the same failure printed again
    handled: bool  # the program continued
    framework: Optional[str] = None
    message_format: Optional[str] = None
    more_occurrences: Optional[int] = None
    # id of the incident that this one came after: its consequence, or the same on another rank
    follows: Optional[str] = None
    device: Optional[int] = None
    rank: Optional[int] = None
    pid: Optional[int] = None
    host: Optional[str] = None
    step: Optional[int] = None
    epoch: Optional[float] = None
    phase: Optional[
        Literal["load", "first_step", "optimizer_init", "forward", "backward", "optimizer", "evaluation",
        "generation", "checkpoint_save", "checkpoint_load", "data_loading"]] = None
    requested_bytes: Optional[int] = None
    capacity_bytes: Optional[int] = None
    free_bytes: Optional[int] = None
    process_bytes: Optional[int] = None
    allocated_bytes: Optional[int] = None
    reserved_bytes: Optional[int] = None
    unallocated_bytes: Optional[int] = None
    private_pool_bytes: Optional[int] = None
    limit_bytes: Optional[int] = None
    # the ranks that ran out in the same way, each by itself; incidents that follow have their numbers
    ranks: List[int] = field(default_factory=list)
    other_processes: List[IncidentOtherProcess] = field(default_factory=list)
    frame: Optional[Frame] = None
    ask_frame: Optional[Frame] = None
    account: Optional[Account] = None


@dataclass(frozen=True)
class Estimate(Record):
    """With its 95% interval."""

    value: Optional[float]
    low: Optional[float]
    high: Optional[float]


@dataclass(frozen=True)
class TrendModel(Record):
    name: str
    score: Optional[float]


@dataclass(frozen=True)
class Forecast(Record):
    """A 90% interval for the step at which capacity is reached."""

    capacity_bytes: int
    step: Optional[float]
    step_low: Optional[float]
    step_high: Optional[float]  # null: no bound
    beyond_data: bool  # further ahead than the log is long


@dataclass(frozen=True)
class Stage(Record):
    kind: Literal["idle", "load", "warmup", "working", "evaluation", "pause", "release", "restart"]
    first_step: Optional[float]
    last_step: Optional[float]
    first_value: Optional[float]
    last_value: Optional[float]
    slope: Optional[float]  # bytes per step


@dataclass(frozen=True)
class Trend(Record):
    leak: bool  # growth without a bound
    shape: Literal[
        "flat", "warmup", "step", "saturating", "sawtooth", "spike", "noisy", "linear", "accelerating",
        "too_short"]
    confidence: float
    slope: Estimate  # bytes per step
    acceleration: Estimate  # bytes per step²
    change_points: List[float]
    model: str
    models: List[TrendModel]  # candidates, lower is better
    why: str
    onset_step: Optional[float] = None
    period: Optional[float] = None
    capacity_bytes: Optional[int] = None
    forecast: Optional[Forecast] = None
    # what the run was doing, in order; the rest of the trend speaks of the working stage that it ended in
    stages: List[Stage] = field(default_factory=list)
    # of the model, for drawing: step, value, and the 95% interval of the curve there
    curve: List[
        Tuple[Optional[float], Optional[float], Optional[float], Optional[float]]] = field(default_factory=list)


@dataclass(frozen=True)
class SeriesSteady(Record):
    """The level after the warm-up: its median, the tenths of the values, and how many they are; absent where
    values are few or grow without a bound."""

    value: Optional[float]
    low: Optional[float]
    high: Optional[float]
    n: int


@dataclass(frozen=True)
class Series(Record):
    id: str
    metric: str
    kind: str
    unit: str  # as printed
    x_unit: Literal["step", "epoch", "second", "value"]  # what first_step, slope and forecast count
    n: int  # values that the log prints, before any thinning
    first_value: Optional[float]
    last_value: Optional[float]
    max_value: Optional[float]
    quantum: Optional[float]
    first_location: Location
    last_location: Location
    trend: Trend
    points: List[Tuple[Optional[float], Optional[float]]]  # step and value, thinned
    label: Optional[str] = None
    rank: Optional[int] = None
    device: Optional[int] = None
    run: Optional[int] = None  # number of its run, from 1, where the log has several
    first_step: Optional[float] = None
    last_step: Optional[float] = None
    # the level after the warm-up: its median, the tenths of the values, and how many they are; absent where
    # values are few or grow without a bound
    steady: Optional[SeriesSteady] = None


@dataclass(frozen=True)
class Reason(Record):
    fact: str
    text: str
    weight: float  # natural logarithm of the likelihood ratio
    locations: List[Location]


@dataclass(frozen=True)
class Cause(Record):
    cause: str
    title: str
    probability: float
    because: List[Reason]
    against: List[Reason]
    explain: Optional[str] = None


@dataclass(frozen=True)
class FixSaves(Record):
    low_bytes: Optional[int] = None
    high_bytes: Optional[int] = None
    formula: Optional[str] = None


@dataclass(frozen=True)
class FixCost(Record):
    class_: int
    text: str


@dataclass(frozen=True)
class FixRisk(Record):
    class_: int
    text: str


@dataclass(frozen=True)
class FixSetting(Record):
    for_: str
    text: str  # a line to copy
    from_: Optional[str] = None
    to: Optional[str] = None


@dataclass(frozen=True)
class Fix(Record):
    id: str
    title: str
    causes: List[str]
    saves: FixSaves
    cost: FixCost
    risk: FixRisk
    enough: bool  # frees what is needed on its own, with the margin
    if_not_already: bool  # the log does not show whether it is set
    settings: List[FixSetting]
    not_with: List[str]
    why: Optional[str] = None
    verify: Optional[str] = None
    locations: List[Location] = field(default_factory=list)


@dataclass(frozen=True)
class ReportHeldBack(Record):
    id: str
    title: str
    because: str


@dataclass(frozen=True)
class ReportQuestion(Record):
    missing: str
    text: str
    command: str


@dataclass(frozen=True)
class ReportCoverage(Record):
    lines: int
    claimed: int
    by_parser: Dict[str, int]


@dataclass(frozen=True)
class Note(Record):
    severity: Literal["note", "warning", "error"]
    text: str
    code: Optional[str] = None
    location: Optional[Location] = None


@dataclass(frozen=True)
class ReportSetting(Record):
    name: str
    value: str
    location: Location


@dataclass(frozen=True)
class Run(Record):
    id: str
    path: str
    first_line: int
    last_line: int
    outcome: Literal[
        "oom", "handled_oom", "at_risk", "possible_oom", "ended_otherwise", "no_oom", "unrecognised"]
    headline: str
    end: Optional[RunEnd] = None


@dataclass(frozen=True)
class Rank(Record):
    """Values are those of the series that the diagnosis is about."""

    rank: int
    failed: bool  # ran out of memory, and the program did not catch it
    last_step: Optional[int] = None
    metric: Optional[str] = None
    first_value: Optional[float] = None
    last_value: Optional[float] = None
    max_value: Optional[float] = None
    leak: Optional[bool] = None
    location: Optional[Location] = None


@dataclass(frozen=True)
class Holder(Record):
    file: Optional[str]
    line: Optional[int]
    function: Optional[str]
    category: Literal[
        "parameter", "gradient", "optimizer_state", "activation", "input", "temporary", "kv_cache",
        "workspace", "collective", "unrecorded", "unknown"]
    live_bytes: int
    blocks: int


@dataclass(frozen=True)
class SnapshotGrowth(Record):
    file: Optional[str]
    line: Optional[int]
    function: Optional[str]
    bytes_per_step: int
    blocks_per_step: Optional[float]
    first_step: Optional[int]  # 1 is the first step of the trace
    unit: Literal["step", "snapshot"]


@dataclass(frozen=True)
class Pinner(Record):
    """Its live blocks keep free memory of these segments."""

    file: Optional[str]
    line: Optional[int]
    function: Optional[str]
    blocks: int
    live_bytes: int
    stranded_bytes: int


@dataclass(frozen=True)
class WhatIf(Record):
    setting: str
    fits: Optional[bool]
    peak_reserved_bytes: int


@dataclass(frozen=True)
class Snapshot(Record):
    """Of one device, at the last failure or at the end; what the file cannot tell is null."""

    path: str
    form: Literal["pickle", "json", "html"]
    protocol: Optional[int]
    torch: str  # the oldest release whose keys account for the file
    device: int
    rank: Optional[int]
    events: int
    history: Literal["cut", "full", "state", "none"]
    unrecorded_bytes: Optional[int]
    at: Literal["oom", "after_unwind", "end"]
    reserved_bytes: int
    live_bytes: int
    live_basis: Literal["requested", "rounded"]
    pending_bytes: int
    free_cached_bytes: Optional[int]
    largest_free_bytes: Optional[int]
    device_free_bytes: Optional[int]
    request_bytes: Optional[int]
    failure: Literal["fragmentation", "stream_pending", "private_pool", "capacity", "none", "unknown"]
    holders: List[Holder]  # live bytes by line of code, most first
    growth: Optional[List[SnapshotGrowth]]  # lines that keep more and more; null if the file cannot tell
    pinners: List[Pinner]
    what_if: List[WhatIf]  # the recorded requests under other settings of the allocator
    joined_incident: Optional[str]
    own_incident: Optional[str]
    what_if_unavailable: Optional[str] = None


@dataclass(frozen=True)
class Plan(Record):
    """The smallest set of fixes that fits with the margin."""

    fixes: List[str]
    need_bytes: int
    margin_bytes: int
    would_have_fitted: bool
    predicted_peak_bytes: Optional[int] = None
    at_least: Optional[bool] = None


@dataclass(frozen=True)
class LostEvidence(Record):
    """Could not be kept, opened, read or judged."""

    what: str
    why: str
    path: Optional[str] = None
    location: Optional[Location] = None


@dataclass(frozen=True, repr=False)
class Report(ReportMethods):
    """Sizes are integers in bytes. What the log does not give is absent or null, never 0. Minor versions add
    fields; readers ignore those that they do not know."""

    schema_version: str
    tool: ReportTool
    inputs: List[Input]
    verdict: Verdict
    incidents: List[Incident]  # one for each distinct failure, the first one first
    series: List[Series]
    causes: List[Cause]  # the most probable first
    fixes: List[Fix]  # in the order to try
    held_back: List[ReportHeldBack]  # popular or printed advice that does not help here
    questions: List[ReportQuestion]  # what would settle it
    coverage: ReportCoverage
    notes: List[Note]
    # what the run was set to, as the log printed it last; by name
    settings: List[ReportSetting] = field(default_factory=list)
    # where the log contains several runs of the job; the verdict is about the last one, or about the last
    # that ran out of memory where the last is unfinished
    runs: List[Run] = field(default_factory=list)
    more_incidents: Optional[int] = None
    more_series: Optional[int] = None  # of very many ranks; ranks has their figures
    # lengths of the batches' inputs, where the log prints them; no memory
    input_lengths: List[Series] = field(default_factory=list)
    # the ranks next to each other, by number; there where two are known
    ranks: List[Rank] = field(default_factory=list)
    snapshots: List[Snapshot] = field(default_factory=list)  # of each allocator snapshot, device by device
    plan: Optional[Plan] = None
    # evidence that could not be kept, opened, read or judged; with it, the outcome is never no_oom
    lost: List[LostEvidence] = field(default_factory=list)
    more_lost: Optional[int] = None
    why_not: Optional[Cause] = None
    trace: List[str] = field(default_factory=list)
