"""The classes of the JSON of `oomdoctor estimate`.

tests/python/types_test.py --accept writes this file from `oomdoctor schema estimate`, with its comments.
"""
from dataclasses import dataclass, field
from typing import List, Literal, Optional

from oomdoctor.records import Record


@dataclass(frozen=True)
class MemoryEstimateTool(Record):
    name: Literal["oomdoctor"]
    version: str


@dataclass(frozen=True)
class MemoryEstimatePeak(Record):
    moment: str
    bytes: int
    slack_bytes: int


@dataclass(frozen=True)
class Term(Record):
    id: str
    label: str
    bytes: int
    formula: str
    moment: str
    with_batch: bool
    with_sequence: bool
    slack_bytes: Optional[int] = None


@dataclass(frozen=True)
class Missing(Record):
    label: str
    needs: List[str]


@dataclass(frozen=True)
class Change(Record):
    id: str
    title: str
    setting: str
    cost: int
    risk: int
    saves_bytes: int
    peak_bytes: int


@dataclass(frozen=True)
class Plan(Record):
    fits: bool
    changes: List[Change]


@dataclass(frozen=True)
class SweepPoint(Record):
    batch: int
    sequence: int
    peak_bytes: int
    fits: bool


@dataclass(frozen=True)
class Sweep(Record):
    sequences: List[int]
    largest_batches: List[int]
    points: List[SweepPoint]


@dataclass(frozen=True)
class MemoryEstimate(Record):
    """The output of oomdoctor estimate --format json. Sizes are integers in bytes. What the options do not
    determine is absent. Minor versions add fields; readers ignore those that they do not know."""

    tool: MemoryEstimateTool
    model: str
    outcome: Literal["fits", "probably_fits", "probably_not", "does_not_fit", "unknown"]
    peak: MemoryEstimatePeak
    assumed: List[str]
    terms: List[Term]
    missing: List[Missing]
    parameters: Optional[int] = None
    active_parameters: Optional[int] = None
    capacity_bytes: Optional[int] = None
    margin_bytes: Optional[int] = None
    host: Optional[Term] = None
    largest_batch: Optional[int] = None
    longest_sequence: Optional[int] = None
    plan: Optional[Plan] = None
    ranks_with_zero_3: Optional[int] = None
    sweep: Optional[Sweep] = None
