"""Reports of two machines, held against each other."""
import math


def difference(ours, theirs, place="report", size=1):
    """Where two values of JSON differ; "" if they do not. The last digits of a computed number may: each machine has its own
    mathematical functions. `size`: of the largest number beside it, such as the bound of an interval around 0."""
    if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        return "" if math.isclose(ours, theirs, rel_tol=1e-5, abs_tol=1e-9 + 1e-12 * size) else f"{place}: {ours} is not {theirs}"
    if type(ours) is not type(theirs):
        return f"{place}: {ours} is not {theirs}"
    if isinstance(ours, dict):
        if list(ours) != list(theirs):
            return f"{place}: {list(ours)} are not {list(theirs)}"
        size = max((abs(value) for value in theirs.values() if isinstance(value, (int, float))), default=0)
        return next(filter(None, (difference(ours[key], theirs[key], f"{place}.{key}", size) for key in ours)), "")
    if isinstance(ours, list):
        if len(ours) != len(theirs):
            return f"{place}: {len(ours)} is not the number {len(theirs)}"
        return next(filter(None, (difference(a, b, f"{place}[{i}]") for i, (a, b) in enumerate(zip(ours, theirs)))), "")
    return "" if ours == theirs else f"{place}: {ours!r} is not {theirs!r}"
