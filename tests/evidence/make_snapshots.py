#!/usr/bin/env python3
"""Writes small allocator snapshots of PyTorch, in each form and as each release writes them, from made-up jobs.

Usage: make_snapshots.py FOLDER [JOB...]   one file for each job, form and release: leak_2.5_pickle4.pickle, …
       make_snapshots.py --check           reads all of them back with Python's own pickle and json

An allocator in Python places the blocks, so that addresses, sizes and events of a file agree. Tests import its parts:
JOBS, snapshot_of() and ENCODERS make the files, damaged() and hostile_pickles() what a reader must survive.
"""

import base64
import collections
import io
import json
import pickle
import pickletools
import struct
import sys
from pathlib import Path

KIB, MIB = 1 << 10, 1 << 20

# The releases whose files differ, oldest first.
RELEASES = ["1.13", "2.0", "2.1", "2.3", "2.5", "2.8", "2.10", "2.12"]


class OutOfMemory(Exception):
    """The device has no room for a request."""


class Block:
    def __init__(self, address, size):
        self.address, self.size = address, size
        self.requested, self.stack, self.live = 0, None, False


class CachingAllocator:
    """The default settings on one stream: best fit, split, merge; whole segments go back when the device is full."""

    def __init__(self, capacity, device=0):
        self.capacity, self.device = capacity, device
        self.segments, self.events, self.reserved = [], [], 0
        self.top, self.clock = 0x7F4C_2000_0000, 1_780_000_000_000_000

    def record(self, action, address, size, stack):
        self.clock += 37
        self.events.append((action, address, size, stack, self.clock))

    def allocate(self, requested, stack):
        size = max(512, -(-requested // 512) * 512)
        small = size <= MIB
        place = self.best_fit(size, small)
        if place is None and not self.grow(size, small, stack):
            self.release(stack)
            if not self.grow(size, small, stack):
                self.record("oom", self.capacity - self.reserved, size, stack)
                raise OutOfMemory(requested)
        segment, block = place or self.best_fit(size, small)
        rest = block.size - size
        if rest >= 512 if small else rest > MIB:
            segment["blocks"].insert(segment["blocks"].index(block) + 1, Block(block.address + size, rest))
            block.size = size
        block.requested, block.stack, block.live = requested, stack, True
        self.record("alloc", block.address, requested, stack)
        return block

    def best_fit(self, size, small):
        fits = [(b.size, b.address, s, b) for s in self.segments if s["small"] == small for b in s["blocks"]
                if not b.live and b.size >= size]
        return min(fits, key=lambda f: f[:2])[2:] if fits else None

    def grow(self, size, small, stack):
        total = 2 * MIB if small else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        if self.reserved + total > self.capacity:
            return False
        self.segments.append({"address": self.top, "small": small, "stack": stack, "blocks": [Block(self.top, total)]})
        self.record("segment_alloc", self.top, total, stack)
        self.top += total
        self.reserved += total
        return True

    def free(self, block, stack):
        self.record("free_requested", block.address, block.requested, stack)
        self.record("free_completed", block.address, block.requested, stack)
        block.live = False
        for segment in self.segments:
            merged = []
            for b in segment["blocks"]:
                if merged and not merged[-1].live and not b.live:
                    merged[-1].size += b.size
                else:
                    merged.append(b)
            segment["blocks"] = merged

    def release(self, stack):
        """Frees all segments without a live block: large ones first, by size and address."""
        whole = [s for s in self.segments if len(s["blocks"]) == 1 and not s["blocks"][0].live]
        for s in sorted(whole, key=lambda s: (s["small"], s["blocks"][0].size, s["address"])):
            self.segments.remove(s)
            self.reserved -= s["blocks"][0].size
            self.record("segment_free", s["address"], s["blocks"][0].size, stack)


# --- jobs -------------------------------------------------------------------------------------------------------------

ALLOCATOR = ("??", 0, "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(unsigned long, CUstream_st*)")
ENGINE = (ALLOCATOR, ("??", 0, "torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)"))


def stack(line, function, *library):
    """A stack of a made-up project, innermost first."""
    return (ALLOCATOR, *library, ("/srv/birdsong/train.py", line, function), ("/srv/birdsong/train.py", 88, "main"))


LINEAR = ("/opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", 125, "forward")
ADAM = ("/opt/venv/lib/python3.11/site-packages/torch/optim/adamw.py", 152, "_init_group")
EMPTY = stack(61, "clear")


def train(allocator, steps, hook=lambda step: None):
    """Parameters, activations that the backward pass frees, gradients, optimizer states from the first step on."""
    sizes = [48 * MIB, 30 * MIB, 12 * MIB, 300 * KIB]
    for size in sizes:
        allocator.allocate(size, stack(20, "build"))
    states = False
    for step in range(1, steps + 1):
        acts = [allocator.allocate(size // 2 + 4 * KIB, stack(31, "forward", LINEAR)) for size in sizes for _ in (0, 1)]
        hook(step)
        grads = []
        for size in reversed(sizes):
            grads.append(allocator.allocate(size, ENGINE))
            allocator.free(acts.pop(), ENGINE)
            allocator.free(acts.pop(), ENGINE)
        if not states:
            states = [allocator.allocate(2 * size, stack(40, "update", ADAM)) for size in sizes]
        for grad in grads:
            allocator.free(grad, stack(42, "update"))


def leak(allocator):
    """A list keeps 21 MiB of each step, until the device is full."""
    train(allocator, 40, lambda step: allocator.allocate(21 * MIB + 512, stack(55, "log_step")))


def pinned(allocator):
    """Each shard leaves a small tensor in its segment; then nothing large fits."""
    for i in range(8):
        whole = allocator.allocate((70 + 2 * i) * MIB, stack(70, "load_shard"))
        allocator.free(whole, stack(71, "load_shard"))
        part = allocator.allocate((66 + 2 * i) * MIB, stack(72, "load_shard"))
        allocator.allocate(3 * MIB, stack(74, "running_mean"))
        allocator.free(part, stack(75, "load_shard"))
    allocator.allocate(400 * MIB, stack(33, "forward", LINEAR))


def healthy(allocator):
    """Four steps, and the cache emptied after the second one."""
    train(allocator, 4, lambda step: allocator.release(EMPTY) if step == 3 else None)


# Each job with the memory of its device.
JOBS = {"leak": (leak, 900 * MIB), "pinned": (pinned, 800 * MIB), "healthy": (healthy, 8192 * MIB)}


def run(job):
    """The allocator after a job: at its failure, or at its end."""
    program, capacity = JOBS[job]
    allocator = CachingAllocator(capacity)
    try:
        program(allocator)
    except OutOfMemory:
        pass
    return allocator


# --- releases ---------------------------------------------------------------------------------------------------------

class Snapshot:
    """The plain values that one release writes. Stacks and frames are shared objects, as they are in torch."""

    def __init__(self, release):
        self.release = RELEASES.index(release)
        self.stacks, self.frames = {}, {}

    def since(self, release):
        return self.release >= RELEASES.index(release)

    def frame_list(self, stack):
        if stack not in self.stacks:
            for file, line, name in stack:
                self.frames.setdefault((file, line, name), {"filename": file, "line": line, "name": name})
            self.stacks[stack] = [self.frames[frame] for frame in stack]
        return self.stacks[stack]

    def block(self, b):
        state = "active_allocated" if b.live else "inactive"
        if self.since("2.1"):
            return {"address": b.address, "size": b.size, "requested_size": b.requested, "state": state,
                    "frames": self.frame_list(b.stack) if b.live else []}
        values = {"size": b.size, "state": state}
        if self.since("2.0"):
            values["requested_size"] = b.requested
        if b.stack:
            values["history"] = [{"addr": b.address, "real_size": b.requested, "frames": self.frame_list(b.stack)}]
        return values

    def segment(self, s, device):
        live = [b for b in s["blocks"] if b.live]
        values = {"device": device, "address": s["address"], "total_size": sum(b.size for b in s["blocks"]),
                  "allocated_size": sum(b.size for b in live), "active_size": sum(b.size for b in live), "stream": 0,
                  "segment_type": "small" if s["small"] else "large", "blocks": [self.block(b) for b in s["blocks"]]}
        if self.since("2.0"):
            values["requested_size"] = sum(b.requested for b in live)
        if self.since("2.1"):
            values.update(segment_pool_id=(0, 0), is_expandable=False, frames=self.frame_list(s["stack"]))
        return values

    def event(self, event):
        action, address, size, stack, time = event
        values = {"action": action, "device_free" if action == "oom" else "addr": address, "size": size, "stream": 0,
                  "frames": self.frame_list(stack)}
        if self.since("2.3"):
            values["time_us"] = time
        if self.since("2.8"):
            values["compile_context"] = "N/A"
        if self.since("2.10"):
            values["user_metadata"] = ""
        if self.since("2.12"):
            values["pool_id"] = (0, 0)
        return values

    def value(self, allocator):
        device = allocator.device
        segments = [self.segment(s, device) for s in sorted(allocator.segments, key=lambda s: s["address"])]
        if not self.since("2.0"):
            return segments
        traces = [[] for _ in range(device)] + [[self.event(e) for e in allocator.events]]
        values = {"segments": segments, "device_traces": traces}
        if self.since("2.3"):
            values["allocator_settings"] = {
                "PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0,
                "expandable_segments": False, "pinned_num_register_threads": 1, "release_lock_on_cudamalloc": False,
                "pinned_use_cuda_host_register": False,
                "roundup_power2_divisions": {str(1 << i): 0 for i in range(16)}}
        if self.since("2.5"):
            values["external_annotations"] = []
        if self.since("2.10"):
            values["allocator_settings"]["graph_capture_record_stream_reuse"] = False
        if self.since("2.12"):
            values["allocator_settings"].update(trace_alloc_max_entries=(1 << 63) - 1, trace_alloc_overflowed=False)
            values.update(host_segments=[], host_traces=[])
        return values


def snapshot_of(allocator, release):
    return Snapshot(release).value(allocator)


# --- forms ------------------------------------------------------------------------------------------------------------

class TorchPickler:
    """Protocol 2 as torch/csrc/jit/serialization/pickler.cpp writes it: a string is stored for later use when it first
    occurs, a list or dict with several owners after its end; a dict or list is one MARK … SETITEMS or APPENDS."""

    def __init__(self, value):
        self.out, self.slots, self.owners = io.BytesIO(), {}, collections.Counter()
        self.count(value)
        self.out.write(b"\x80\x02")
        self.write(value)
        self.out.write(b".")

    def count(self, value):
        if isinstance(value, (dict, list)):
            self.owners[id(value)] += 1
            if self.owners[id(value)] > 1:
                return
        if isinstance(value, dict):
            value = value.values()
        for item in value if not isinstance(value, (str, int, float, bool, type(None))) else ():
            self.count(item)

    def store(self, key):
        slot = self.slots[key] = len(self.slots)
        self.out.write(b"q" + bytes([slot]) if slot < 256 else b"r" + struct.pack("<I", slot))

    def write(self, value):
        out, key = self.out, value if isinstance(value, str) else id(value)
        if isinstance(value, (str, dict, list)) and key in self.slots:
            slot = self.slots[key]
            out.write(b"h" + bytes([slot]) if slot < 256 else b"j" + struct.pack("<I", slot))
        elif isinstance(value, str):
            out.write(b"X" + struct.pack("<I", len(value.encode())) + value.encode())
            self.store(key)
        elif isinstance(value, bool) or value is None:
            out.write({None: b"N", True: b"\x88", False: b"\x89"}[value])
        elif isinstance(value, int):
            self.write_int(value)
        elif isinstance(value, float):
            out.write(b"G" + struct.pack(">d", value))
        elif isinstance(value, tuple):  # only pairs occur
            self.write(value[0])
            self.write(value[1])
            out.write(b"\x86")
        else:
            out.write(b"}(" if isinstance(value, dict) else b"](")
            for item in value.items() if isinstance(value, dict) else value:
                if isinstance(value, dict):
                    self.write(item[0])
                    self.write(item[1])
                else:
                    self.write(item)
            out.write(b"u" if isinstance(value, dict) else b"e")
            if self.owners[id(value)] > 1:
                self.store(key)

    def write_int(self, value):
        if 0 <= value < 1 << 8:
            self.out.write(b"K" + struct.pack("<B", value))
        elif 0 <= value < 1 << 16:
            self.out.write(b"M" + struct.pack("<H", value))
        elif -(1 << 31) <= value < 1 << 31:
            self.out.write(b"J" + struct.pack("<i", value))
        else:
            self.out.write(b"\x8a\x08" + struct.pack("<q", value))


def page(value):
    """The page of torch.cuda._memory_viz: the pickle as base64, padded with one to three zeros."""
    raw = pickle.dumps(value, protocol=4)
    raw += b"\0" * (3 - len(raw) % 3)
    files = json.dumps([{"name": "snapshot.pickle", "base64": base64.b64encode(raw).decode()}])
    return f'''<!DOCTYPE html>
<html>
<head>
</head>
<body>
<script type="module">
import {{add_local_files}} from "https://cdn.jsdelivr.net/gh/pytorch/pytorch@main/torch/utils/viz/MemoryViz.js"
const local_files = {files}
add_local_files(local_files, "Active Memory Timeline")
</script>
</body>
'''.encode()


# The name of a form, its file name's end, and its bytes for a value.
ENCODERS = {
    "pickle2": (".pickle", lambda value: TorchPickler(value).out.getvalue()),
    "pickle4": (".pickle", lambda value: pickle.dumps(value, protocol=4)),
    "pickle5": (".pickle", lambda value: pickle.dumps(value, protocol=5)),
    "json": (".json", lambda value: json.dumps(value).encode()),
    "html": (".html", page),
}


# --- damage -----------------------------------------------------------------------------------------------------------

def text(value):
    return b"\x8c" + bytes([len(value)]) + value.encode()


def with_value(opcodes):
    """A snapshot's dict whose last value is made by these opcodes."""
    return b"\x80\x04}(" + text("segments") + b"]" + text("device_traces") + b"]" + text("x") + opcodes + b"u."


def damaged(data):
    """The file cut at places all over it; nothing of it says anything about a failure."""
    return [data[:len(data) * part // 16] for part in range(1, 16)] + [data[:-1]]


def hostile_pickles(canary):
    """{name: (bytes, words of the note)}; a reader that runs one of them creates the file `canary`."""
    command = text(f"touch {canary}")
    return {
        "global": (with_value(b"cos\nsystem\n" + command + b"\x85R"), ["GLOBAL", "os.system"]),
        "stack_global": (with_value(text("posix") + text("system") + b"\x93" + command + b"\x85R"),
                         ["STACK_GLOBAL", "posix.system"]),
        "inst": (with_value(b"(" + command + b"ios\nsystem\n"), ["INST", "os.system"]),
        "build": (with_value(b"}}b"), ["BUILD"]),
        "persid": (with_value(b"Pstorage\n"), ["PERSID"]),
        "extension": (with_value(b"\x82\x07"), ["EXT1"]),
        "unknown": (with_value(b"\xfd"), ["0xfd"]),
        "deep": (with_value(b"]" * 50_000 + b"a" * 49_999), ["nested"]),
        "long": (with_value(b"X\xf0\xff\xff\xff"), []),
        "no_mark": (with_value(b"]e"), []),
        "missing_slot": (with_value(b"j\xff\xff\x00\x00"), ["memo"]),
    }


# --- the files --------------------------------------------------------------------------------------------------------

ALLOWED = {"PROTO", "FRAME", "MARK", "STOP", "MEMOIZE", "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET", "NONE", "NEWTRUE",
           "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "EMPTY_DICT",
           "EMPTY_LIST", "EMPTY_TUPLE", "TUPLE2", "SETITEM", "SETITEMS", "APPEND", "APPENDS"}


class PlainUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name}")


def files(jobs):
    """(name, job, release, form, bytes) of each file."""
    for job in jobs:
        allocator = run(job)
        for release in RELEASES:
            for form, (ending, encode) in ENCODERS.items():
                data = encode(snapshot_of(allocator, release))
                yield f"{job}_{release}_{form}{ending}", job, release, form, data


def check():
    """Python's own readers accept each file, and read the values that were written."""
    count = 0
    for name, job, release, form, data in files(JOBS):
        value = snapshot_of(run(job), release)
        if form == "json":
            assert json.loads(data) == json.loads(json.dumps(value)), name
        else:
            if form == "html":
                listed = data.split(b"local_files = ")[1].split(b"\n")[0]
                data = base64.b64decode(json.loads(listed)[0]["base64"])
            assert PlainUnpickler(io.BytesIO(data)).load() == value, name
            used = {opcode.name for opcode, _, _ in pickletools.genops(data)}
            assert used <= ALLOWED, (name, used - ALLOWED)
            pickletools.dis(data.rstrip(b"\0"), out=io.StringIO())  # also checks the stack and the memo
        count += 1
    for job in JOBS:
        actions = [event[0] for event in run(job).events]
        assert (actions[-1] == "oom") == (job != "healthy"), job
    print(f"{count} files")


def main():
    arguments = sys.argv[1:]
    if arguments == ["--check"]:
        check()
    elif arguments and not arguments[0].startswith("-"):
        folder = Path(arguments[0])
        folder.mkdir(parents=True, exist_ok=True)
        for name, *_, data in files(arguments[1:] or JOBS):
            (folder / name).write_bytes(data)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
