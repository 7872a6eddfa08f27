"""The memory of this process and of its GPU in bytes, as far as they can be known without a change to either."""
import os
import sys

MIB = 2**20
GIB = 2**30


def cuda_in_use():
    """torch.cuda if this process uses a GPU by PyTorch, else None. It starts neither."""
    found = getattr(sys.modules.get("torch"), "cuda", None)
    return found if found is not None and found.is_initialized() else None


def read_host_bytes():
    """The RSS of this process; None where the system does not show it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except FileNotFoundError:  # no Linux
        return None


def describe_bytes(count):
    """A size for people: 512 bytes, 12.50 KiB, 512.00 MiB, 2.31 GiB."""
    if abs(count) < 1024:
        return "%d bytes" % count
    if abs(count) < MIB:
        return "%.2f KiB" % (count / 1024)
    return "%.2f GiB" % (count / GIB) if abs(count) >= GIB else "%.2f MiB" % (count / MIB)
