"""PTX text as functions, and their statements as opcode, modifiers and operands."""

import re

TYPE_BYTES = {"pred": 1, "f16": 2, "bf16": 2, "f16x2": 4, "bf16x2": 4, "tf32": 4, "f32": 4, "f32x2": 8, "f64": 8}
for kind in "bus":
    for width in (8, 16, 32, 64):
        TYPE_BYTES[f"{kind}{width}"] = width // 8
TYPE_BYTES["b128"] = 16
FLOATS = {"f16", "bf16", "f16x2", "bf16x2", "tf32", "f32", "f32x2", "f64"}

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
TOKEN = re.compile(r'"[^"]*"|[{};]|[^{};"]+')
FUNCTION = re.compile(r"\.(entry|func)\b")


class Statement:
    """One instruction: guard (register, negated) or None, opcode, its parts after the first dot, operands as text."""

    def __init__(self, text):
        self.text = text
        self.guard = None
        if text.startswith("@"):
            guard, text = text[1:].split(None, 1)
            self.guard = (guard.lstrip("!"), guard.startswith("!"))
        head, _, rest = text.partition(" ") if " " in text else (text, "", "")
        parts = head.split(".")
        self.opcode, self.parts = parts[0], parts[1:]
        self.operands = split_operands(rest)
        self.types = [p for p in self.parts if p in TYPE_BYTES]
        self.type = self.types[0] if self.types else None
        self.vector = next((int(p[1]) for p in self.parts if p in ("v2", "v4", "v8")), 1)
        spaces = [p.split("::")[0] for p in self.parts]
        self.space = next((p for p in spaces if p in ("global", "shared", "local", "const", "param")), None)


def split_operands(text):
    operands, depth, start = [], 0, 0
    text = text.strip()
    for at, c in enumerate(text):
        depth += (c in "{[(") - (c in "}])")
        if c == "," and not depth or c == "|" and not depth:
            operands.append(text[start:at].strip())
            start = at + 1
    return operands + [text[start:].strip()] if text else []


class Function:
    def __init__(self, name, is_entry):
        self.name, self.is_entry = name, is_entry
        self.params, self.returned = [], []
        self.statements, self.labels, self.targets = [], {}, {}
        self.variables = []  # (space, name, bytes, align)
        self.registers = {}  # name or prefix → type
        self.has_body = False


def parse_variable(text):
    """".local .align 8 .b8 name[64]" as (space, type, align, name, bytes)."""
    space = re.match(r"\.(\w+)", text).group(1)
    align = re.search(r"\.align\s+(\d+)", text)
    kinds = [t for t in re.findall(r"\.(\w+)", text) if t in TYPE_BYTES]
    vector = re.search(r"\.v([248])\b", text)
    name = re.search(r"([\w$%]+)((?:\s*\[[^\]]*\])*)\s*$", text.split("=")[0])
    count = int(vector.group(1)) if vector else 1
    for extent in re.findall(r"\[\s*(\w*)\s*\]", name.group(2)):
        count *= int(extent, 0) if extent else 0
    each = TYPE_BYTES[kinds[0]] if kinds else 1
    return space, kinds[0] if kinds else "b8", int(align.group(1)) if align else each, name.group(1), count * each


def parse_params(text):
    params = []
    for part in split_operands(text):
        if part:
            part = re.sub(r"\.ptr(\s*\.\w+)?(\s*\.align\s+\d+)?", "", part)
            _, kind, align, name, length = parse_variable(part)
            params.append((name, kind, align, length, "[" in part))
    return params


def closing(text, at, pair):
    depth = 0
    for bracket in re.compile("[" + re.escape(pair) + "]").finditer(text, at):
        depth += 1 if bracket.group(0) == pair[0] else -1
        if not depth:
            return bracket.start()
    raise ValueError("unbalanced")


def add_declaration(function, text):
    if text.startswith(".reg"):
        kind = re.match(r"\.reg\s*(?:\.v\d\s*)?\.(\w+)", text).group(1)
        for name in text[re.match(r"\.reg\s*(?:\.v\d\s*)?\.\w+", text).end():].split(","):
            function.registers[name.split("<")[0].strip()] = kind
    elif re.match(r"\.(local|shared|param)\b", text):
        space, _, align, name, length = parse_variable(text)
        function.variables.append((space, name, length, align))


def add_body(function, body):
    for token in TOKEN.findall(body):
        token = token.strip()
        if token == "{" or token == "}" or not token or token == ";" or token.startswith('"'):
            continue
        while True:
            label = re.match(r"([\w$%]+)\s*:(?!:)\s*", token)
            if not label:
                break
            rest = token[label.end():]
            if rest.startswith(".branchtargets"):
                function.targets[label.group(1)] = [t.strip() for t in rest[len(".branchtargets"):].split(",")]
                rest = ""
            elif rest.startswith(".callprototype") or rest.startswith(".calltargets"):
                rest = ""
            else:
                function.labels[label.group(1)] = len(function.statements)
            token = rest
        if not token:
            continue
        token = re.sub(r"\s+", " ", token)
        if token.startswith("."):
            add_declaration(function, token)
        else:
            function.statements.append(token)


def body_tokens(body):
    """Joins back the braces of vectors, so that only those of scopes are left."""
    return re.sub(r"\{([^{};]*)\}", lambda m: "\x01" + m.group(1) + "\x02", body)


def parse(text, kernel):
    """Returns functions by name, with the body of no other kernel, and the module's variables."""
    text = COMMENT.sub(" ", text) if "//" in text or "/*" in text else text
    functions, variables, at = {}, [], 0
    text = re.sub(r"\.(loc|file)\b[^\n]*", " ", text)
    while True:
        match = FUNCTION.search(text, at)
        outside = text[at:match.start()] if match else text[at:]
        for m in re.finditer(r"\.(shared|global|const)\b[^;{}]*?(=\s*\{[^}]*\}|=[^;]*)?\s*;", outside):
            space, _, align, name, length = parse_variable(m.group(0).split("=")[0].rstrip("; \n"))
            variables.append((space, name, length, align))
        if not match:
            return functions, variables
        at = match.end()
        returned = []
        head = re.compile(r"\s*").match(text, at).end()
        if text[head] == "(":
            end = closing(text, head, "()")
            returned = parse_params(text[head + 1:end])
            head = end + 1
        name = re.compile(r"\s*([\w$%]+)\s*").match(text, head)
        function = Function(name.group(1), match.group(1) == "entry")
        function.returned = returned
        at = name.end()
        if text[at:at + 1] == "(":
            end = closing(text, at, "()")
            function.params = parse_params(text[at + 1:end])
            at = end + 1
        brace, semicolon = text.find("{", at), text.find(";", at)
        if brace < 0 or 0 <= semicolon < brace:
            at = semicolon + 1
            functions.setdefault(function.name, function)
            continue
        end = closing(text, brace, "{}")
        if not function.is_entry or function.name == kernel:
            add_body(function, body_tokens(text[brace + 1:end]))
            function.has_body = True
        function.statements = [Statement(s.replace("\x01", "{").replace("\x02", "}")) for s in function.statements]
        functions[function.name] = function
        at = end + 1
