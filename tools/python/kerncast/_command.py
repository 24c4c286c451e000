"""The kerncast command: where it is, and what it answers."""
import functools
import importlib.metadata
import json
import os
import shutil
import subprocess

ANSWER_LIMIT_S = 600  # the longest answer is that about a large file's code


class Error(Exception):
    """What is wrong, in one sentence."""


def _installed_with_us():
    """The command of the package that this module belongs to; None: the module was not installed as a package."""
    try:
        package = importlib.metadata.distribution("kerncast")
    except importlib.metadata.PackageNotFoundError:
        return None
    files = package.files or []
    here = os.path.realpath(os.path.dirname(__file__))
    ours = any(os.path.realpath(os.path.dirname(file.locate())) == here for file in files if file.name == "_command.py")
    for file in files if ours else ():
        path = os.path.abspath(file.locate())
        if file.name == "kerncast" and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return None


@functools.lru_cache(maxsize=None)
def find():
    """The path of the command."""
    path = _installed_with_us() or shutil.which("kerncast")
    if not path:
        raise Error("the command kerncast is not in PATH; install it, or the package that this module belongs to")
    return path


def answer(*arguments):
    """What the command prints."""
    try:
        ended = subprocess.run([find(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, timeout=ANSWER_LIMIT_S, check=False)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise Error(f"kerncast {arguments[0]}: {error}") from None
    if ended.returncode:
        said = ended.stderr.decode(errors="replace").strip().splitlines()
        raise Error(said[0] if said else f"kerncast {arguments[0]} ended with status {ended.returncode}")
    return ended.stdout.decode(errors="replace")


def document(*arguments):
    """The JSON document that the command prints."""
    try:
        return json.loads(answer(*arguments))
    except ValueError as error:
        raise Error(f"kerncast {arguments[0]} printed no JSON: {error}") from None


@functools.lru_cache(maxsize=None)
def schema():
    """What a database consists of: kerncast --schema."""
    return document("--schema")


@functools.lru_cache(maxsize=None)
def version():
    """Of the command, with which this module comes: "0.1.0"."""
    return answer("--version").split()[1]


@functools.lru_cache(maxsize=None)
def find_library():
    """The path of libkerncast.so."""
    return answer("--library").rstrip("\n")
