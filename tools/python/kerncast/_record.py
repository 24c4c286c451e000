"""Recording a part of a program: the file of `kerncast run --while` is there as long as the part runs."""
import atexit
import ctypes
import os
import re
import shutil
import sys
import tempfile
import threading
import time
import warnings
from typing import List, Optional, Union

from . import _command
from ._command import Error

WAIT_S = 2.0  # the library looks for the file every 100 ms
LOOK_S = 0.005
NOT_INITIALIZED = 3  # CUDA_ERROR_NOT_INITIALIZED
DRIVER = re.compile(r"libcuda\.so[.0-9]*")
LIBRARY = "libkerncast.so"
GATE, INJECTION = "KERNCAST_WHILE", "CUDA_INJECTION64_PATH"

_lock = threading.RLock()
_open: List[Optional[str]] = []  # one entry for each block that is entered: the file, where the block made it, or None


def _mapped(is_wanted):
    """The path of a file that is mapped into this process; None: there is none."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            path = line.rstrip("\n").split(None, 5)[5:]
            if path and is_wanted(os.path.basename(path[0])):
                return path[0]
    return None


def _library():
    return _mapped(lambda name: name == LIBRARY)


def _state():
    """1: launches are recorded; 0: they are not; -1: CUDA has not begun, or nothing is recorded."""
    path = _library()
    if not path:
        return -1
    try:
        return ctypes.CDLL(path).kerncast_recording()
    except (OSError, AttributeError):
        raise Error(f"{path} does not tell whether it records: it is of another version") from None


def _cuda_has_begun():
    """Whether somebody in this process has called cuInit()."""
    path = _mapped(DRIVER.fullmatch)
    if not path:
        return False
    context = ctypes.c_void_p()
    return ctypes.CDLL(path).cuCtxGetCurrent(ctypes.byref(context)) != NOT_INITIALIZED


def _how_to_start():
    program = sys.argv[0] if sys.argv and sys.argv[0] else "app.py"
    return f"start the program with: kerncast run --while record.now python {program}"


def _inject(database):
    """Has the driver load the library when it begins."""
    other = os.environ.get(INJECTION)
    if other and os.path.basename(other) != LIBRARY:
        raise Error(f"{INJECTION} is set to {other!r}, and the driver loads one library only; " + _how_to_start())
    if _cuda_has_begun():
        raise Error("CUDA has begun in this process without kerncast; call record() before, or " + _how_to_start())
    library = other or _command.find_library()
    if not os.environ.get(GATE):
        folder = tempfile.mkdtemp(prefix="kerncast-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ[GATE] = os.path.join(folder, "recording")
    if database is not None:
        os.environ["KERNCAST_DB"] = os.path.abspath(os.fspath(database))
        os.environ.pop("KERNCAST_DB_UNNAMED", None)
    os.environ[INJECTION] = library


def _settle(database):
    """Sees to it that the library is or will be there, and looks for a file."""
    if not _library():
        _inject(database)
    elif not os.environ.get(GATE):
        raise Error("kerncast records all of this program; to have it record a part, " + _how_to_start())
    elif database is not None and os.path.abspath(os.fspath(database)) != os.environ.get("KERNCAST_DB"):
        raise Error("the database of this program is chosen already: kerncast run --output")


def _wait(wanted):
    """Until the library has seen that the file is there, or is not any more."""
    until = time.monotonic() + WAIT_S
    while _state() == 1 - wanted:
        if time.monotonic() > until:
            warnings.warn("kerncast has not begun to record: another of its options does not allow it now" if wanted else
                          "kerncast still records", RuntimeWarning, stacklevel=4)
            return
        time.sleep(LOOK_S)


def _make(gate):
    try:
        os.close(os.open(gate, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return None  # recording is on already, by somebody who will also end it
    except OSError as error:
        raise Error(f"{gate!r}: {error.strerror}") from None
    return gate


class record:
    """with kerncast.record(): records what is launched in the block, by every thread of this process, and not the rest.

    Under `kerncast run --while FILE` that is its FILE, which all processes of the program have in common. Without it, the
    driver is told to load kerncast, which works until CUDA has begun in this process; database is then the one to record
    into ("kerncast.db"). Blocks may be nested; the outermost one counts.
    """

    def __init__(self, database: Union[str, "os.PathLike[str]", None] = None) -> None:
        self._database = database

    def __enter__(self) -> "record":
        with _lock:
            if _open:
                _open.append(None)
                return self
            _settle(self._database)
            _open.append(_make(os.environ[GATE]))
            _wait(1)
        return self

    def __exit__(self, *_: object) -> None:
        with _lock:
            gate = _open.pop()
            if gate:
                try:
                    os.unlink(gate)
                except FileNotFoundError:
                    pass
                _wait(0)
