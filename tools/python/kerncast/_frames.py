"""Columns of values in the form that a user wants them in. SQLite may have anything in a column, whatever its type."""
import importlib
import importlib.util

from ._command import Error

MODULES = {"pandas": "pandas", "polars": "polars", "arrow": "pyarrow"}


def _type(values):
    """int, float or str, into which all values fit; None is a value that is not known."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int}:
        return int
    return float if kinds <= {int, float} else str


def _as(values, kind):
    """The values as one type; bytes and numbers among text become text."""
    if kind is int:
        return values
    return [None if value is None else value.decode("utf-8", "replace") if isinstance(value, bytes) else kind(value)
            for value in values]


def _pandas(columns):
    pandas = importlib.import_module("pandas")
    names = {int: "Int64", float: "Float64", str: "string"}
    return pandas.DataFrame({name: pandas.array(_as(values, _type(values)), dtype=names[_type(values)])
                             for name, values in columns.items()})


def _polars(columns):
    polars = importlib.import_module("polars")
    types = {int: polars.Int64, float: polars.Float64, str: polars.String}
    return polars.DataFrame([polars.Series(name, _as(values, _type(values)), dtype=types[_type(values)])
                             for name, values in columns.items()])


def _arrow(columns):
    arrow = importlib.import_module("pyarrow")
    types = {int: arrow.int64(), float: arrow.float64(), str: arrow.string()}
    return arrow.table({name: arrow.array(_as(values, _type(values)), type=types[_type(values)])
                        for name, values in columns.items()})


def _dicts(columns):
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


MAKERS = {"pandas": _pandas, "polars": _polars, "arrow": _arrow, "dicts": _dicts}


def make(columns, kind):
    """kind: a key of MAKERS; None: the first that is installed."""
    if kind is None:
        kind = next((kind for kind, module in MODULES.items() if importlib.util.find_spec(module)), "dicts")
    if kind not in MAKERS:
        raise Error(f"{kind!r} is none of {', '.join(MAKERS)}")
    try:
        return MAKERS[kind](columns)
    except ImportError:
        raise Error(f"{MODULES[kind]} is not installed") from None
