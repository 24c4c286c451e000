"""What kerncast recorded, and what it predicts, in Python.

    kerncast.open("kerncast.db").launches()     the launches of a run, for pandas, polars, Arrow or as dictionaries
    kerncast.predict(blocks=4096, threads=256, fma=1024, device="h200")
    with kerncast.record(): ...                 records what is launched in the block, and nothing else
"""
from ._command import Error
from ._database import Database, open_database as open
from ._predict import predict
from ._record import record

__all__ = ["Database", "Error", "open", "predict", "record"]
