"""What an instruction makes of the values that a lane gives it; None: not known."""

import math
import struct

from ptx_text import FLOATS, TYPE_BYTES

SHARED_BASE = 1 << 52


class NotWalked(Exception):
    pass


def wrap(value, kind):
    return value & ((1 << 8 * TYPE_BYTES[kind]) - 1) if kind != "pred" else value & 1


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def read_as(value, kind):
    bits = 8 * TYPE_BYTES[kind]
    return signed(value, bits) if kind[0] == "s" else value & ((1 << bits) - 1)


def as_float(value, kind, flushes):
    if kind == "f64":
        return struct.unpack("<d", struct.pack("<Q", value))[0]
    number = struct.unpack("<f", struct.pack("<I", value & 0xffffffff))[0]
    return 0.0 if flushes and abs(number) < 2.0 ** -126 else number


def ordered(a, b, how):
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[how]


def compare(step, t, first, negated=False):
    s, o = step.s, step.s.operands
    kind = s.types[1] if s.opcode == "set" else s.type
    how = s.parts[0]
    a, b = step.value(t, o[first], kind), step.value(t, o[first + 1], kind)
    if a is None or b is None or kind in ("f16", "bf16", "f16x2", "bf16x2"):
        return None
    if kind in FLOATS:
        x, y = (as_float(v, kind, "ftz" in s.parts) for v in (a, b))
        nan = math.isnan(x) or math.isnan(y)
        if how in ("num", "nan"):
            result = nan == (how == "nan")
        elif len(how) == 3:
            result = nan or ordered(x, y, how[:2])
        else:
            result = not nan and ordered(x, y, how)
    elif how in ("lo", "ls", "hi", "hs"):
        result = ordered(a, b, {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}[how])
    else:
        result = ordered(read_as(a, kind), read_as(b, kind), how)
    result = int(result != negated)
    join = next((p for p in s.parts if p in ("and", "or", "xor")), None)
    if join:
        third = step.value(t, o[first + 2], "pred")
        if third is None:
            return 0 if join == "and" and not result else 1 if join == "or" and result else None
        result = {"and": result & third, "or": result | third, "xor": result ^ third}[join]
    return result


def divide(a, b, remainder):
    if b == 0:
        raise NotWalked("division by 0")
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return a - quotient * b if remainder else quotient


def shift(a, by, bits, left, is_signed):
    by = min(by & 0xffffffff, bits)
    if left:
        return a << by
    return signed(a, bits) >> by if is_signed else a >> by


def evaluate(step, t):
    s, o = step.s, step.s.operands
    op, kind = s.opcode, s.type
    if op == "setp":
        return compare(step, t, 2 if "|" in s.text.split(",")[0] else 1)
    if op == "set":
        result = compare(step, t, 1)
        return None if result is None or kind in FLOATS else wrap(-result, kind)
    if op == "selp":
        chosen = step.value(t, o[3], "pred")
        return None if chosen is None else step.value(t, o[1] if chosen else o[2], kind)
    if op == "mov":
        return step.value(t, o[1], kind)
    if op == "cvta":
        value = step.value(t, o[1], None)
        space = next((p for p in s.parts if p in ("shared", "local", "param", "global", "const")), None)
        if value is None or space != "shared":
            return value
        return value - SHARED_BASE if "to" in s.parts else value + SHARED_BASE
    if kind is None or "sat" in s.parts:
        return None
    if kind in FLOATS or any(x in FLOATS for x in s.types):
        return None
    operation = OPERATIONS.get(op)
    if not operation:
        return None
    widths = [kind] * (len(o) - 1)
    if op in ("shl", "shr"):
        widths[1] = "u32"
    elif op in ("bfe", "bfi"):
        widths[-2:] = ["u32", "u32"]
    elif op == "cvt":
        widths = [s.types[1]]
    elif op == "slct":
        widths[2] = s.types[1]
    elif op in ("mad", "madc") and "wide" in s.parts:
        widths[2] = kind[0] + str(16 * TYPE_BYTES[kind])
    elif op == "dp4a" or op == "dp2a":
        widths = ["u32"] * 3
    elif op == "vshr":
        widths = ["u32"] * 3
    values = [step.value(t, x, w) for x, w in zip(o[1:], widths)]
    if None in values:
        if op in ("and", "mul") and 0 in values:
            return 0
        return None
    return operation(s, kind, 8 * TYPE_BYTES[kind], *values)


def of_integers(function):
    return lambda s, kind, bits, *values: wrap(function(*(read_as(v, kind) for v in values)), kind)


def multiply(s, kind, bits, a, b, c=0):
    product = read_as(a, kind) * read_as(b, kind)
    if "wide" in s.parts:
        return product + c & (1 << 2 * bits) - 1
    return wrap((product >> bits if "hi" in s.parts else product) + c, kind)


def extract(s, kind, bits, a, at, length):
    at, length = at & 255, length & 255
    if kind[0] == "u":
        return a >> at & (1 << length) - 1 if at < bits else 0
    if not length:
        return 0
    top = min(at + length - 1, bits - 1)
    sign = a >> top & 1
    return wrap(sum((a >> at + n & 1 if n < length and at + n < bits else sign) << n for n in range(bits)), kind)


def insert(s, kind, bits, a, b, at, length):
    at, length = at & 255, length & 255
    for n in range(length):
        if at + n < bits:
            b = b & ~(1 << at + n) | (a >> n & 1) << at + n
    return b


def look_up(s, kind, bits, a, b, c, table):
    return sum((table >> ((a >> n & 1) << 2 | (b >> n & 1) << 1 | c >> n & 1) & 1) << n for n in range(bits))


def permute(s, kind, bits, a, b, selector):
    if len(s.parts) > 1:
        return None
    data, result = a | b << 32, 0
    for n in range(4):
        digit = selector >> 4 * n & 15
        byte = data >> 8 * (digit & 7) & 255
        result |= (byte if digit < 8 else 255 * (byte >> 7)) << 8 * n
    return result


def funnel(s, kind, bits, a, b, c):
    by, both = c & 31 if "wrap" in s.parts else min(c, 32), a | b << 32
    return both << by >> 32 & 0xffffffff if s.parts[0] == "l" else both >> by & 0xffffffff


def find_bit(s, kind, bits, a):
    a = read_as(a, kind)
    a = ~a if a < 0 else a
    if not a:
        return 0xffffffff
    return bits - a.bit_length() if "shiftamt" in s.parts else a.bit_length() - 1


def dot(s, kind, bits, a, b, c):
    def part(word, n, width, is_signed):
        x = word >> n * width & (1 << width) - 1
        return signed(x, width) if is_signed else x
    kinds = [x[0] == "s" for x in s.types]
    if s.opcode == "dp4a":
        return wrap(c + sum(part(a, n, 8, kinds[0]) * part(b, n, 8, kinds[1]) for n in range(4)), "u32")
    first = 2 if "hi" in s.parts else 0
    return wrap(c + sum(part(a, n, 16, kinds[0]) * part(b, first + n, 8, kinds[1]) for n in range(2)), "u32")


def convert(s, kind, bits, a):
    return wrap(read_as(a, s.types[1]), kind) if kind[0] != "s" else signed(read_as(a, s.types[1]), bits) & (1 << 64) - 1


OPERATIONS = {
    "add": of_integers(lambda a, b: a + b), "sub": of_integers(lambda a, b: a - b),
    "min": of_integers(min), "max": of_integers(max), "abs": of_integers(abs), "neg": of_integers(lambda a: -a),
    "and": of_integers(lambda a, b: a & b), "or": of_integers(lambda a, b: a | b),
    "xor": of_integers(lambda a, b: a ^ b),
    "not": lambda s, kind, bits, a: wrap(~a, kind),
    "cnot": lambda s, kind, bits, a: int(a == 0),
    "mul": multiply, "mad": multiply, "mul24": multiply, "mad24": multiply,
    "div": of_integers(lambda a, b: divide(a, b, False)), "rem": of_integers(lambda a, b: divide(a, b, True)),
    "shl": lambda s, kind, bits, a, b: wrap(shift(a, b, bits, True, False), kind),
    "shr": lambda s, kind, bits, a, b: wrap(shift(a, b, bits, False, kind[0] == "s"), kind),
    "bfe": extract, "bfi": insert, "lop3": look_up, "prmt": permute, "shf": funnel, "bfind": find_bit,
    "popc": lambda s, kind, bits, a: bin(a).count("1"), "clz": lambda s, kind, bits, a: bits - a.bit_length(),
    "brev": lambda s, kind, bits, a: int(format(a, f"0{bits}b")[::-1], 2), "dp4a": dot, "dp2a": dot,
    "cvt": convert, "sad": of_integers(lambda a, b, c: c + abs(a - b)),
    "slct": lambda s, kind, bits, a, b, c: a if read_as(c, s.types[1]) >= 0 else b,
    "vshr": lambda s, kind, bits, a, b, c: wrap((a >> min(b, 32)) + c, "u32"),
}
