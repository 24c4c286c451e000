"""Walks every thread of a launch through PTX and counts what it executes.

Nothing here comes from kerncast. A value that comes from global or shared memory,
from other threads or from floating-point arithmetic is None; if a branch, a guard
or an address depends on one, the walk ends with DependsOnMemory. The lanes of a
warp go in step: of the places where lanes are, the first in the text comes first.
"""

from counters import CONTROL, counters_of, joined
from ptx_text import TYPE_BYTES
from results import SHARED_BASE, NotWalked, compare, evaluate, signed, wrap

WARP = 32
LOCAL_BASE, PARAM_BASE = 1 << 53, 1 << 54
GLOBAL_BASE = 0x70 << 40
APART = 1 << 16  # between parameters: an index beyond the end of one finds no other
STEPS_MAX = 60000


class DependsOnMemory(Exception):
    pass


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
