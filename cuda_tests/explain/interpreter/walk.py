"""Walks every thread of a launch through PTX and counts what it executes.

Nothing here comes from kerncast. A value that comes from global or shared memory,
from other threads or from floating-point arithmetic is None; if a branch, a guard
or an address depends on one, the walk ends with DependsOnMemory. The lanes of a
warp go in step: of the places where lanes are, the first in the text comes first.
"""

import math
import re
import struct

from ptx_text import TYPE_BYTES

WARP = 32
SHARED_BASE, LOCAL_BASE, PARAM_BASE = 1 << 52, 1 << 53, 1 << 54
GLOBAL_BASE = 0x70 << 40
APART = 1 << 16  # between parameters: an index beyond the end of one finds no other
STEPS_MAX = 60000


class DependsOnMemory(Exception):
    pass


class NotWalked(Exception):
    pass


FLOATS = {"f16", "bf16", "f16x2", "bf16x2", "tf32", "f32", "f32x2", "f64"}
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


def wrap(value, kind):
    return value & ((1 << 8 * TYPE_BYTES[kind]) - 1) if kind != "pred" else value & 1


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def read_as(value, kind):
    bits = 8 * TYPE_BYTES[kind]
    return signed(value, bits) if kind[0] == "s" else value & ((1 << bits) - 1)


class Frame:
    def __init__(self, function):
        self.function, self.pc, self.registers, self.memory = function, 0, {}, {}
        self.returns_to = None


class Thread:
    """One lane. Memory of its own is bytes by address; None: unknown. What was never written is 0."""

    def __init__(self, launch, tid):
        self.tid, self.launch = tid, launch
        self.frames = [Frame(launch.kernel)]
        self.own = {}
        self.variables = []  # in local memory: first byte, end
        self.next_own = LOCAL_BASE
        self.enter(self.frames[0])

    def enter(self, frame):
        for space, name, length, align in frame.function.variables:
            if space in ("local", "param"):
                self.place(frame, name, max(length, 4096) if space == "param" else length, align)

    def place(self, frame, name, length, align):
        self.next_own = (self.next_own + max(align, 16) - 1) // max(align, 16) * max(align, 16)
        frame.memory[name] = self.next_own
        self.variables.append((self.next_own, self.next_own + length))
        self.next_own += length + 16

    def check(self, address, length):
        """An index beyond the end of an array: not what the program is meant for."""
        if not any(first <= address and address + length <= end for first, end in self.variables):
            raise NotWalked("outside of every variable")

    def where(self):
        return tuple(f.pc for f in self.frames)

    def load(self, address, length):
        data = [self.own.get(address + n, 0) for n in range(length)]
        return None if None in data else int.from_bytes(bytes(data), "little")

    def store(self, address, length, value):
        data = [None] * length if value is None else (value & (1 << 8 * length) - 1).to_bytes(length, "little")
        for n in range(length):
            self.own[address + n] = data[n]


class Launch:
    def __init__(self, functions, variables, kernel, grid, block, arguments, steps_max=STEPS_MAX):
        self.functions, self.kernel, self.grid, self.block = functions, functions[kernel], grid, block
        self.param_at, self.param_bytes, self.symbols = {}, {}, {}
        self.counts, self.steps, self.steps_max = {}, 0, steps_max
        self.instructions = []  # of each warp
        self.place_params(arguments)
        self.joined = {}
        self.place_variables(variables)

    def place_params(self, arguments):
        at = 0
        for (name, _, align, length, _), data in zip(self.kernel.params, arguments):
            at = (at + align - 1) // align * align
            self.param_at[name] = PARAM_BASE + at
            for n in range(length):
                self.param_bytes[PARAM_BASE + at + n] = data[n]
            at += length + APART

    def place_variables(self, variables):
        shared, last, rest = SHARED_BASE, [], GLOBAL_BASE
        for space, name, length, align in self.kernel.variables + variables:
            if space == "shared" and length:
                shared = (shared + align - 1) // align * align
                self.symbols[name] = shared
                shared += length
            elif space == "shared":
                last.append((name, align))
            elif space in ("global", "const"):
                self.symbols[name] = rest
                rest += 1 << 32
        for name, align in last:
            self.symbols[name] = (shared + align - 1) // align * align

    def parts(self, function):
        if function.name not in self.joined:
            self.joined[function.name] = joined(function)
        return self.joined[function.name]

    def add(self, counter, amount):
        self.counts[counter] = self.counts.get(counter, 0) + amount

    def run(self):
        gx, gy, gz = self.grid
        bx, by, bz = self.block
        for block in range(gx * gy * gz):
            self.ctaid = (block % gx, block // gx % gy, block // gx // gy)
            for first in range(0, bx * by * bz, WARP):
                threads = [Thread(self, (t % bx, t // bx % by, t // bx // by))
                           for t in range(first, min(first + WARP, bx * by * bz))]
                for lane, thread in enumerate(threads):
                    thread.lane = lane
                self.run_warp(threads)
        return self.counts

    def run_warp(self, threads):
        waiting = list(threads)
        self.instructions.append(0)
        while waiting:
            self.steps += 1
            if self.steps > self.steps_max:
                raise NotWalked("too many steps")
            first = min(t.where() for t in waiting)
            here = [t for t in waiting if t.where() == first]
            frame = here[0].frames[-1]
            if frame.pc >= len(frame.function.statements):
                for t in here:
                    self.leave(t)
            else:
                Step(self, here, frame.function.statements[frame.pc]).run()
            waiting = [t for t in waiting if t.frames]

    def leave(self, thread):
        frame = thread.frames.pop()
        if not thread.frames:
            return
        caller = thread.frames[-1]
        for (name, _, _, length, _), to in zip(frame.function.returned, frame.returns_to or []):
            if name in frame.memory:
                for n in range(4096):
                    value = thread.own.get(frame.memory[name] + n)
                    if value is not None:
                        thread.own[caller.memory[to] + n] = value
        caller.pc += 1


class Step:
    """One instruction of the lanes that are at it."""

    def __init__(self, launch, lanes, s):
        self.launch, self.lanes, self.s = launch, lanes, s

    def run(self):
        s = self.s
        active = self.lanes
        if s.guard:
            active = [t for t in self.lanes if self.known(self.register(t, s.guard[0])) != s.guard[1]]
        if s in self.launch.parts(self.lanes[0].frames[-1].function):
            self.step(active)
            return
        self.launch.instructions[-1] += bool(active) or s.opcode in CONTROL
        for counter, amount in counters_of(s, self.launch.target):
            if counter:
                self.launch.add(counter, amount * len(self.lanes if s.opcode in CONTROL else active))
        if s.opcode in ("bra", "brx", "ret", "exit", "trap", "call"):
            self.jump(active)
            return
        self.step(active)

    def step(self, active):
        if active:
            self.operate(active)
        for t in self.lanes:
            t.frames[-1].pc += 1

    # --- control flow

    def jump(self, active):
        s = self.s
        for t in self.lanes:
            if t not in active:
                t.frames[-1].pc += 1
        for t in active:
            frame = t.frames[-1]
            if s.opcode == "bra":
                frame.pc = frame.function.labels[s.operands[0]]
            elif s.opcode == "brx":
                targets = frame.function.targets[s.operands[1]]
                frame.pc = frame.function.labels[targets[self.known(self.value(t, s.operands[0], "u32"))]]
            elif s.opcode == "ret":
                self.launch.leave(t)
            elif s.opcode == "call":
                self.call(t)
            else:
                t.frames.clear()

    def call(self, t):
        operands = self.s.operands
        lists = [[x.strip() for x in o[1:-1].split(",") if x.strip()] if o.startswith("(") else None for o in operands]
        names = [o for o, is_list in zip(operands, lists) if is_list is None]
        returned = lists[0] if lists[0] is not None else []
        given = next((x for x in lists[1:] if x is not None), [])
        function = self.launch.functions.get(names[0])
        caller = t.frames[-1]
        if not function or not function.has_body:
            for name in returned:
                for n in range(4096):
                    t.own[caller.memory[name] + n] = None
            caller.pc += 1
            return
        frame = Frame(function)
        frame.returns_to = returned
        for name, _, align, _, _ in function.returned:
            t.place(frame, name, 4096, align)
        for (name, _, align, length, _), passed in zip(function.params, given):
            t.place(frame, name, max(length, 16), align)
            if passed not in caller.memory:
                raise NotWalked("a parameter in a register")
            for n in range(length):
                t.own[frame.memory[name] + n] = t.own.get(caller.memory[passed] + n)
        t.frames.append(frame)
        t.enter(frame)

    # --- values

    def known(self, value):
        if value is None:
            raise DependsOnMemory(self.s.text)
        return value

    def register(self, t, name):
        return t.frames[-1].registers.get(name)

    def special(self, t, name):
        axis = {"x": 0, "y": 1, "z": 2}.get(name[-1])
        for prefix, of in (("%tid.", t.tid), ("%ntid.", self.launch.block), ("%ctaid.", self.launch.ctaid),
                           ("%nctaid.", self.launch.grid)):
            if name.startswith(prefix):
                return of[axis]
        return {"%laneid": t.lane, "%lanemask_eq": 1 << t.lane, "%lanemask_lt": (1 << t.lane) - 1,
                "%lanemask_le": (2 << t.lane) - 1, "%lanemask_ge": (1 << 32) - (1 << t.lane),
                "%lanemask_gt": (1 << 32) - (2 << t.lane)}.get(name)

    def is_register(self, t, name):
        kinds = t.frames[-1].function.registers
        return name in kinds or name.rstrip("0123456789") in kinds

    def address_of(self, t, name):
        frame = t.frames[-1]
        if name in frame.memory:
            return frame.memory[name]
        if len(t.frames) == 1 and name in self.launch.param_at:
            return self.launch.param_at[name]
        if name in self.launch.symbols:
            at = self.launch.symbols[name]
            return at - SHARED_BASE if SHARED_BASE <= at < LOCAL_BASE else at
        return None

    def value(self, t, text, kind):
        if text.startswith("!"):
            value = self.value(t, text[1:], "pred")
            return None if value is None else 1 - value
        if text in t.frames[-1].registers:
            value = t.frames[-1].registers[text]
            return value if value is None or kind is None else wrap(value, kind)
        if self.is_register(t, text):
            return None
        if text == "WARP_SZ":
            return WARP
        if text[0] == "%":
            return self.special(t, text)
        if text[0].isdigit() or text[0] == "-":
            return self.number(text, kind)
        base, _, offset = text.partition("+")
        at = self.address_of(t, base.strip())
        if at is None:
            raise NotWalked("name " + text)
        return at + (int(offset, 0) if offset else 0)

    @staticmethod
    def number(text, kind):
        if text[:2] in ("0f", "0F"):
            return int(text[2:], 16)
        if text[:2] in ("0d", "0D"):
            return int(text[2:], 16)
        if "." in text:
            raise NotWalked("decimal fraction")
        if len(text) > 1 and text[0] == "0" and text[1].isdigit():
            return wrap(int(text.rstrip("U"), 8), kind or "b64")
        return wrap(int(text.rstrip("U"), 0), kind or "b64")

    def set(self, t, text, value):
        if text.startswith("{"):
            raise NotWalked("vector")
        if text != "_":
            t.frames[-1].registers[text] = value

    def address(self, t, operand):
        inner = operand[1:operand.index("]")].split(",")[0].strip()
        sign = 1
        base, _, offset = inner.partition("+")
        offset = offset.strip()
        if not offset and "-" in inner[1:]:
            base, _, offset = inner.partition("-")
            sign = -1
        base = base.strip()
        at = self.value(t, base, None)
        return None if at is None else at + sign * (int(offset, 0) if offset else 0)

    # --- operations

    def operate(self, active):
        s = self.s
        if s.opcode in ("ld", "ldu", "st", "atom", "red", "ldmatrix", "stmatrix"):
            self.access(active)
        elif s.opcode == "cp":
            self.copy(active)
        elif s.opcode in ("tex", "tld4", "suld", "sust"):
            raise NotWalked(s.opcode)
        elif s.opcode == "elect" or s.opcode == "shfl" and "idx" in s.parts:
            self.between_lanes(active)
        else:
            for t in active:
                self.compute(t)

    def elements(self, text):
        return [x.strip() for x in text[1:-1].split(",")] if text.startswith("{") else [text]

    def compute(self, t):
        s, o = self.s, self.s.operands
        results = 2 if "|" in s.text.split(",")[0] else 1
        if s.opcode == "mov" and (o[0].startswith("{") or o[1].startswith("{")):
            self.move_vector(t)
            return
        if s.opcode in ("bar", "barrier", "membar", "fence", "prefetch", "nanosleep", "griddepcontrol", "mbarrier",
                        "discard", "applypriority", "setmaxnreg", "pmevent", "brkpt"):
            for name in o[:1]:
                if s.opcode == "mbarrier" or "red" in s.parts:
                    self.set(t, name, None)
            return
        if not o:
            return
        value = evaluate(self, t)
        if s.opcode == "setp" and results == 2:
            self.set(t, o[1], compare(self, t, 2, negated=True))
        elif results == 2:
            self.set(t, o[1], None)
        for name in self.elements(o[0]):
            self.set(t, name, value)

    def between_lanes(self, active):
        """The first lane of a mask is elected; a value is read from one lane, which is to be the same for all."""
        o = self.s.operands
        results = 2 if "|" in self.s.text.split(",")[0] else 1
        given = [{self.value(t, x, "u32") for t in active} for x in o[results:]]
        lane, value = None, None
        if self.s.opcode == "elect" and len(given[0]) == 1 and given[0] != {0} and None not in given[0]:
            mask = given[0].pop()
            lane = value = (mask & -mask).bit_length() - 1
        elif self.s.opcode == "shfl" and len(given[1]) == 1 and given[2] == {31} and None not in given[1]:
            lane = given[1].pop() & WARP - 1
            value = next((self.value(t, o[results], "b32") for t in active if t.lane == lane), None)
        for t in active:
            self.set(t, o[0], value)
            if results == 2:
                self.set(t, o[1], None if lane is None else 1 if self.s.opcode == "shfl" else int(t.lane == lane))

    def move_vector(self, t):
        o = self.s.operands
        to, source = self.elements(o[0]), self.elements(o[1])
        whole = 8 * TYPE_BYTES[self.s.type]
        if len(source) > 1:
            bits = whole // len(source)
            parts = [self.value(t, x, None) for x in source]
            self.set(t, o[0], None if None in parts else
                     sum((p & (1 << bits) - 1) << n * bits for n, p in enumerate(parts)))
            return
        bits, value = whole // len(to), self.value(t, o[1], None)
        for n, name in enumerate(to):
            self.set(t, name, None if value is None else value >> n * bits & (1 << bits) - 1)

    # --- memory

    def space_of(self, address):
        if self.s.space:
            return self.s.space
        if address >= PARAM_BASE:
            return "param"
        return "local" if address >= LOCAL_BASE else "shared" if address >= SHARED_BASE else "global"

    def access(self, active):
        s = self.s
        is_store = s.opcode in ("st", "red", "stmatrix")
        at = next(n for n, o in enumerate(s.operands) if o.startswith("["))
        length = 16 if "matrix" in s.opcode else TYPE_BYTES[s.type] * s.vector
        places = []
        for t in active:
            address = self.address(t, s.operands[at])
            if s.space not in ("const", "local") or is_store or address is not None:
                if s.opcode not in ("atom", "red") or s.space != "shared":
                    address = self.known(address)
            places.append((t, address))
        space = "shared" if "matrix" in s.opcode else self.space_of(places[0][1] or 0)
        self.count_access(active, [a for _, a in places], space, length, is_store)
        for t, address in places:
            if s.opcode in ("ld", "ldu") :
                self.load(t, address, space)
            elif s.opcode == "st":
                self.store(t, address, space, s.operands[at + 1])
            elif s.opcode not in ("red", "stmatrix"):
                for name in self.elements(s.operands[0]):
                    self.set(t, name, None)

    def count_access(self, active, addresses, space, length, is_store):
        s, add = self.s, self.launch.add
        if s.opcode in ("atom", "red"):
            add("atomics", len(active))
            if space == "shared":
                add("atomics_shared", len(active))
                return
            add("requests", 1)
            add("sectors", sectors(addresses, length))
        elif space == "local":
            add("st_local" if is_store else "ld_local", len(active))
        elif space == "global":
            add("st_global" if is_store else "ld_global", len(active))
            add("bytes_stored" if is_store else "bytes_loaded", len(active) * length)
            add("requests", 1)
            add("sectors", sectors(addresses, length))
        elif space == "shared":
            add("st_shared" if is_store else "ld_shared", len(active))
            lanes = WARP
            if "matrix" in s.opcode:
                lanes = 32 if "x4" in s.parts else 16 if "x2" in s.parts else 8
            pairs = [(t.lane, a) for t, a in zip(active, addresses) if t.lane < lanes]
            if pairs:
                add("shared_requests", 1)
                add("shared_passes", passes(pairs, length))

    def load(self, t, address, space):
        each = TYPE_BYTES[self.s.type]
        for n, name in enumerate(self.elements(self.s.operands[0])):
            value = None
            at = None if address is None else address + n * each
            if at is not None and space == "local":
                t.check(at, each)
                value = t.load(at, each)
            elif at is not None and space == "param" and at >= PARAM_BASE:
                data = [self.launch.param_bytes.get(at + k) for k in range(each)]
                if None in data:
                    raise NotWalked("outside of every parameter")
                value = int.from_bytes(bytes(data), "little")
            elif at is not None and space == "param":
                value = t.load(at, each)
            if value is not None and self.s.type[0] == "s":
                value = signed(value, 8 * each) & (1 << 64) - 1
            self.set(t, name, value)

    def store(self, t, address, space, operand):
        each = TYPE_BYTES[self.s.type]
        if space not in ("local", "param"):
            return
        for n, text in enumerate(self.elements(operand)):
            t.check(address + n * each, each)
            t.store(address + n * each, each, self.value(t, text, None))

    def copy(self, active):
        s, o, add = self.s, self.s.operands, self.launch.add
        if "bulk" in s.parts:
            raise NotWalked("cp.async.bulk")
        if len(o) < 3 or not o[0].startswith("[") or not o[1].startswith("["):
            return
        length = int(o[2], 0)
        policies = any("cache_hint" in p for p in s.parts)
        to, source = [], []
        for t in active:
            size = length
            if len(o) > 3 + policies:
                if t.frames[-1].function.registers.get(o[3].lstrip("!").rstrip("0123456789")) == "pred":
                    raise NotWalked("ignore-src")
                size = min(length, self.known(self.value(t, o[3], "u32")))
            to.append((t.lane, self.known(self.address(t, o[0]))))
            if size:
                source.append((self.known(self.address(t, o[1])), size))
        add("ld_global", len(source))
        add("bytes_loaded", sum(size for _, size in source))
        if source:
            add("requests", 1)
            add("sectors", len({x for a, size in source for x in range(a // 32, (a + size - 1) // 32 + 1)}))
        add("st_shared", len(active))
        add("shared_requests", 1)
        add("shared_passes", passes(to, length))


def sectors(addresses, length):
    return len({x for a in addresses for x in range(a // 32, (a + length - 1) // 32 + 1)})


def passes(pairs, length):
    """Lanes that need different words of a bank take turns; 8 bytes per lane go in halves of a warp, 16 in quarters."""
    lanes = WARP * 4 // max(length, 4)
    total = 0
    for first in range(0, WARP, lanes):
        words = {w for lane, a in pairs if first <= lane < first + lanes
                 for w in range(a // 4, (a + length - 1) // 4 + 1)}
        banks = [w % 32 for w in words]
        total += max((banks.count(b) for b in set(banks)), default=0)
    return total


# --- results of instructions

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
