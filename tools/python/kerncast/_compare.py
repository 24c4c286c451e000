"""What was slow, what changed, and traces of others: kerncast slow, diff and import."""
import os
from typing import Any, Dict, List, Sequence, Union

from . import _command
from ._command import Error

Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Sequence[Path]]


def _option(name, value):
    """top=5: --top=5; process=["train", "eval"]: --process=train,eval; nothing for None."""
    if value is None or isinstance(value, bool):
        raise Error(f"{name} takes a value, not {value!r}")
    listed = value if isinstance(value, (list, tuple)) else [value]
    return f"--{name.replace('_', '-')}={','.join(str(one) for one in listed)}"


def _document(command, databases, options):
    given = [_option(name, value) for name, value in options.items()]
    return _command.document(command, "--json", *given, "--", *databases)


def _paths(given: Paths) -> List[str]:
    """Of one path or several."""
    paths = [os.fspath(path) for path in given] if isinstance(given, (list, tuple)) else [os.fspath(given)]
    if not paths:
        raise Error("no database is given")
    return paths


def _beside_runs(path):
    """A database in an option that takes numbers of runs, too."""
    return path if "/" in path or "." in path else os.path.join(".", path)


def slow(database: Paths = "kerncast.db", **options: Any) -> Dict[str, Any]:
    """Which launches took longer than they should, and why: the document of `kerncast slow --json`.

    database: one, or several of one job, such as those of its hosts.
    options: those of the command, as run=3, kernel="gemm", since="1.5s", process=["train"], top=20.
    """
    return _document("slow", _paths(database), options)


def diff(old: Paths, new: Paths, **options: Any) -> Dict[str, Any]:
    """Which kernels became slower or faster between runs: the document of `kerncast diff --json`.

    options: those of the command, as over=10, floor="2us", top=20. old and new may be one database; old_run and new_run
    choose others of its runs than the latest. Each may be several databases of one job.
    """
    olds, news = _paths(old), _paths(new)
    renamed = {"old_run": "old", "new_run": "new"}
    given = [_option(renamed.get(name, name), value) for name, value in options.items()]
    for side, paths in (("old", olds if olds != news else []), ("new", news)):
        given += [_option(side, _beside_runs(path)) for path in paths]
    return _command.document("diff", "--json", *given)


def import_trace(*traces: Path, database: Path = "kerncast.db", device: Union[str, None] = None) -> str:
    """Imports traces of PyTorch, Nsight Systems or nvprof, all as one run; gives what the command says of it.

    device: the GPU on which they were recorded, where they do not name it.
    """
    if not traces:
        raise Error("no trace is given")
    options = [f"--output={os.fspath(database)}"] + ([f"--device={device}"] if device is not None else [])
    return _command.answer("import", *options, "--", *[os.fspath(trace) for trace in traces])
