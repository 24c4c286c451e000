"""What kerncast recorded, and what it predicts, in Python.

    kerncast.open("kerncast.db").launches()     the launches of a run, for pandas, polars, Arrow or as dictionaries
    kerncast.slow("kerncast.db")                what took longer than it should, and why
    kerncast.diff("old.db", "new.db")           what became slower or faster
    kerncast.import_trace("trace.json")         a trace of a profiler, into kerncast.db
    kerncast.predict(blocks=4096, threads=256, fma=1024, device="h200")
    with kerncast.record(): ...                 records what is launched in the block, and nothing else
"""
from ._command import Error, version as _version
from ._compare import diff, import_trace, slow
from ._database import Database, open_database as open
from ._predict import predict
from ._record import record

__all__ = ["Database", "Error", "diff", "import_trace", "open", "predict", "record", "slow"]


def __getattr__(name: str) -> str:
    if name == "__version__":
        return _version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
