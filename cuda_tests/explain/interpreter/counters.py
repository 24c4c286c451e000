"""What instructions that do not touch memory count, by what ptxas makes of them."""

import re

from ptx_text import FLOATS

INTEGER_OPCODES = set(
    "mad mul add sub min max abs neg set setp addc and bfe bfi bfind brev clz cnot copysign dp2a dp4a fns lop3 madc "
    "mad24 mul24 match not or popc prmt redux sad selp shf shfl shl shr slct subc testp vote xor vshr".split())
FLOAT_COUNTER = {"fma": "fma", "mad": "fma", "mul": "mul", "add": "add", "sub": "add", "min": "add", "max": "add",
                 "set": "add", "setp": "add"}
# By what ptxas writes for sm_86: fma, add, mul, special, int, control; the last: of those fma that have 32 bits.
BY_TABLE = {"div.f32": (5, 0, 0, 1, 1, 1), "div.full": (0, 0, 1, 1, 2, 0), "div.approx": (0, 0, 1, 1, 1, 0),
            "div.approx.ftz": (0, 0, 1, 1, 0, 0), "rcp.f32": (2, 1, 0, 1, 3, 1), "rcp.approx": (0, 0, 2, 1, 4, 0),
            "sqrt.f32": (2, 0, 2, 1, 2, 1), "sin": (0, 0, 1, 1, 0, 0), "cos": (0, 0, 1, 1, 0, 0),
            "div.f64": (8, 0, 1, 1, 2, 1), "rcp.f64": (5, 0, 0, 1, 4, 1), "sqrt.f64": (5, 0, 3, 1, 3, 1),
            "rsqrt.f64": (3, 0, 2, 1, 2, 1)}
APPROXIMATIONS = set("ex2 lg2 rcp rsqrt sqrt tanh".split())
TABLE_COUNTERS = "fma add mul special int control".split()
WIDTH = {"u8": 1, "s8": 1, "u16": 2, "s16": 2, "u32": 4, "s32": 4, "u64": 8, "s64": 8}
CONTROL = set("bra brx call ret exit trap".split())


def conversion(to, source, parts, target):
    if to in WIDTH and source in WIDTH:
        if "sat" in parts:
            return "convert"
        return "int" if WIDTH[to] == 1 or (WIDTH[to] == 8 and WIDTH[source] < 8 and source[0] == "s") else None
    halves = ("f16", "bf16", "f16x2", "bf16x2")
    if (source == "f32" and to in halves and target >= 80) or (to == "f32" and source in halves):
        return "int"
    if to == "f32" and source in ("u8", "u16", "u32", "s32") and target >= 86:
        return "int"
    if to == source == "f32" and not any(p in ("rni", "rzi", "rmi", "rpi") for p in parts):
        return "add"
    return "convert"


def counters_of(s, target):
    """What an instruction that does not touch memory counts: pairs of counter and operations."""
    kind = s.types[1] if s.opcode == "set" and len(s.types) > 1 else s.type
    floating = kind in FLOATS
    if floating and s.opcode in ("div", "rcp", "sqrt", "rsqrt", "sin", "cos", "ex2", "lg2", "tanh"):
        approx, ftz = "approx" in s.parts, "ftz" in s.parts
        how = ".full" if "full" in s.parts else ".approx.ftz" if approx and ftz else ".approx"
        exact = kind == "f64" and not ftz or not (approx or "full" in s.parts)
        row = BY_TABLE.get(s.opcode + ("." + kind if exact else how)) or BY_TABLE.get(s.opcode)
        if row is None:
            row = (0, 0, 0, 1, int(not ftz and kind == "f32" and s.opcode != "tanh"), 0)
        return list(zip(TABLE_COUNTERS, row))
    if s.opcode in ("div", "rem"):
        return [("divmod", 4 if kind in ("u64", "s64") else 1)]
    if s.opcode == "cvt":
        return [(conversion(s.types[0], s.types[1], s.parts, target), 1)]
    if floating and s.opcode in ("abs", "neg"):
        return []
    if kind == "f32" and s.opcode in ("min", "max", "set", "setp"):
        return [("int", 1)]
    if s.opcode in FLOAT_COUNTER and (floating or s.opcode == "fma"):
        return [(FLOAT_COUNTER[s.opcode], 2 if s.type in ("f16x2", "bf16x2", "f32x2") else 1)]
    for names, counter in ((CONTROL, "control"), (INTEGER_OPCODES, "int")):
        if s.opcode in names:
            return [(counter, 1)]
    if s.opcode in ("bar", "barrier"):
        return [("barriers", int(any(p in ("sync", "red", "wait") for p in s.parts)))]
    return []


def reads(s):
    """Registers among what a statement reads, apart from its guard."""
    results = 0 if s.opcode in ("st", "red", "bra") else 1
    return [name for operand in s.operands[results:] for name in re.findall(r"%[\w$]+", operand)]


def joined(function):
    """Statements that ptxas makes part of a comparison: logic on predicates, one of which a setp in the same block
    made for it alone; and not."""
    used, parts, held = {}, set(), {}
    for s in function.statements:
        for name in reads(s) + ([s.guard[0]] if s.guard else []):
            used[name] = used.get(name, 0) + 1
    starts = set(function.labels.values())
    for at, s in enumerate(function.statements):
        if at in starts or (at and function.statements[at - 1].opcode in CONTROL):
            held = {}
        if s.type == "pred" and not s.guard and (s.opcode == "not" or s.opcode in ("and", "or", "xor") and
                                                 any(held.get(name) and used[name] == 1 for name in reads(s))):
            parts.add(s)
        if s.operands:
            held[s.operands[0]] = s.opcode == "setp" and len(s.operands) == 3 and not s.guard
    return parts
