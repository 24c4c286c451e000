"""Predictions without running anything: kerncast predict."""
import numbers

from typing import Any, Dict, Mapping, Optional, Sequence, Union

from . import _command
from ._command import Error

Number = Union[int, float]
Numbers = Union[Number, Sequence[Number], None]


def _number(name, value):
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise Error(f"{name} is a number, not {value!r}")
    return str(int(value)) if isinstance(value, numbers.Integral) else repr(float(value))


def _list(name, values):
    """512, or (16, 16): "16,16"."""
    return ",".join(_number(name, value) for value in (values if isinstance(values, (tuple, list)) else (values,)))


def _counts(counts):
    return ",".join(f"{name}={_number(name, value)}" for name, value in counts.items())


def predict(*kernels: Union[str, Mapping[str, Number]], device: Optional[str] = None, kernel: Optional[str] = None,
            grid: Numbers = None, block: Numbers = None, args: Union[str, Numbers] = None, shared: Optional[Number] = None,
            bsp_lambda: Optional[Number] = None, database: Optional[str] = None, **counts: Number) -> Dict[str, Any]:
    """How long kernels take when they run alone: the document of `kerncast predict --json`, with "kernels" in the order
    given.

    A kernel is a text as the command takes it ("blocks=4096,threads=256,fma=1024"), a dictionary of the same, or the
    keywords that are left over (blocks=4096, threads=256, fma=1024). Or kernel names a file, "app" or "app:saxpy", whose
    code is counted, launched with grid, block, args and shared. device: "h200". database: one with what was calibrated.
    """
    options = ["--json"]
    given = (("device", device), ("kernel", kernel), ("db", database))
    options += [f"--{name}={value}" for name, value in given if value is not None]
    lists = (("grid", grid), ("block", block), ("shared", shared), ("lambda", bsp_lambda))
    options += [f"--{name}={_list(name, value)}" for name, value in lists if value is not None]
    if args is not None:
        options.append("--args=" + (args if isinstance(args, str) else _list("args", args)))
    described = [_counts(one) if isinstance(one, dict) else str(one) for one in kernels]
    if counts:
        described.append(_counts(counts))
    return _command.document("predict", *options, "--", *described)
