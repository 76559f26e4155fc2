"""Moves, merges and splits Swift files by names, so that the same script works on a newer main.

Sources of a target file are whole files, declarations chosen by a regular expression, or `// MARK:` sections of one
declaration. What no map names is reported and stays where it is. What a map names and is not there is reported, too.
"""
import os, re, subprocess, sys

ROOT = os.getcwd()
reports = []


def report(text):
    reports.append(text)
    print("REPORT:", text, flush=True)


def git(*arguments, check=True):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=check, text=True, capture_output=True).stdout


def path(p):
    return os.path.join(ROOT, p)


def exists(p):
    return os.path.exists(path(p))


def read(p):
    with open(path(p), encoding="utf-8") as f:
        return f.read()


def write(p, text):
    os.makedirs(os.path.dirname(path(p)) or ".", exist_ok=True)
    with open(path(p), "w", encoding="utf-8") as f:
        f.write(text)


def tracked(*folders):
    return [p for p in git("ls-files", "-zco", "--exclude-standard", "--", *folders).split("\0") if p and exists(p)]


def swift_files(*folders):
    return [p for p in tracked(*folders) if p.endswith(".swift")]


# MARK: Reading Swift

IMPORT = re.compile(r"^((?:@\w+(?:\([\w, ]*\))? )*)(?:(public|package|internal|private|fileprivate) )?import ([\w. ]+?)( *//.*)?$")
LEVELS = ["private", "fileprivate", "internal", "package", "public"]


def split_imports(text):
    """Returns the imports at the head of a file as {(attributes, module): (level, comment)}, and the rest of the file."""
    lines, imports, index = text.split("\n"), {}, 0
    while index < len(lines):
        match = IMPORT.match(lines[index])
        if match:
            attributes, level, module, comment = match.groups()
            add_import(imports, (attributes, module), level, comment)
        elif lines[index].strip():
            break
        index += 1
    return imports, "\n".join(lines[index:]).strip("\n") + "\n"


def add_import(imports, key, level, comment=None):
    old = imports.get(key)
    if old and LEVELS.index(old[0] or "internal") >= LEVELS.index(level or "internal"):
        return
    imports[key] = (level, comment)


def import_text(imports):
    plain, testable = [], []
    keys = set(m for a, m in imports if not a)
    for (attributes, module), (level, comment) in imports.items():
        if attributes == "@testable " and False:
            continue
        line = f"{attributes}{level + ' ' if level else ''}import {module}{comment or ''}"
        (testable if "@testable" in attributes else plain).append((module.split(" ")[-1], line))
    blocks = ["\n".join(l for _, l in sorted(b)) for b in (plain, testable) if b]
    return "\n\n".join(blocks)


def chunks(body):
    """The declarations of a file with their comments, by blank lines that are followed by a line without indentation."""
    result, current, lines = [], [], body.rstrip("\n").split("\n")
    in_literal = False
    for index, line in enumerate(lines):
        starts = not in_literal and line and not line[0].isspace() and line[0] not in "})"
        if starts and current and current[-1] == "":
            text = "\n".join(current).strip("\n")
            if not re.fullmatch(r"// MARK:.*", text):
                result.append(text)
                current = []
        current.append(line)
        if line.count('"""') % 2:
            in_literal = not in_literal
    if "\n".join(current).strip():
        result.append("\n".join(current).strip("\n"))
    return result


def head(chunk):
    """The first line of a declaration that is no comment and no attribute alone."""
    for line in chunk.split("\n"):
        if line and not line.startswith("//") and not re.fullmatch(r"@\w+(\(.*\))?", line):
            return line
    return ""


def sections(chunk):
    """The parts of a declaration by their marks: {name: lines}, the first under "" with the head of the declaration."""
    result, name = {"": []}, ""
    for line in chunk.split("\n"):
        match = re.match(r"  // MARK: (.*)$", line)
        if match:
            name = match.group(1).strip()
            result[name] = []
        result[name].append(line)
    return result


# MARK: The pieces of a target


class Decl:
    """The declarations of a file whose first line matches."""

    def __init__(self, source, pattern):
        self.source, self.pattern = source, pattern


class Sections:
    """Sections of the declaration whose first line matches, in an extension of a type. "" is the part before the first mark."""

    def __init__(self, source, pattern, names, extension):
        self.source, self.pattern, self.names, self.extension = source, pattern, names, extension


class Rest:
    """All that the other targets do not take of a file."""

    def __init__(self, source):
        self.source = source


def is_split(item):
    return not isinstance(item, str)


moved = {}


def apply_map(base, target_base, mapping):
    """mapping: {target: [items]}, all relative to their bases. Writes the targets and removes the sources.

    Returns {old path: new path} for paths in texts (a split file is represented by its rest).
    """
    sources = {}
    renames = {}
    for target, items in mapping.items():
        for item in items:
            source = item if isinstance(item, str) else item.source
            full = base + "/" + source
            if not exists(full):
                if source not in sources:
                    report(f"not there, though the map names it: {full} (for {target})")
                sources[source] = None
            else:
                sources[source] = read(full)
    # Split files: the declarations, and those that are taken.
    parts = {}
    for items in mapping.values():
        for item in items:
            if is_split(item) and sources[item.source] is not None and item.source not in parts:
                imports, body = split_imports(sources[item.source])
                parts[item.source] = (imports, [[c, False] for c in chunks(body)])
    taken_text = {}  # id(item) -> list of texts
    for items in mapping.values():
        for item in items:
            if isinstance(item, Decl) and item.source in parts:
                found = []
                for entry in parts[item.source][1]:
                    if not entry[1] and re.search(item.pattern, head(entry[0])):
                        found.append(entry[0])
                        entry[1] = True
                if not found:
                    report(f"no declaration {item.pattern} in {item.source}")
                taken_text[id(item)] = found
            if isinstance(item, Sections) and item.source in parts:
                texts = []
                for entry in parts[item.source][1]:
                    if re.search(item.pattern, head(entry[0])):
                        cut = sections(entry[0])
                        closing = list(cut.values())[-1][-1] == "}"
                        for name in item.names:
                            if name not in cut:
                                report(f"no section {name} in {item.source}")
                                continue
                            lines = cut[name]
                            if name == "":
                                at = next(i for i, l in enumerate(lines) if l and not l.startswith("//") and l.rstrip().endswith("{"))
                                lines = lines[at + 1:]
                                texts.append("\n".join(lines).strip("\n"))
                                entry[0] = remove_lines(entry[0], name)
                                continue
                            if lines is list(cut.values())[-1] and closing:
                                lines = lines[:-1]
                                entry_lines = entry[0].split("\n")
                            text = "\n".join(lines).strip("\n")
                            texts.append(text)
                            # What is left keeps its closing brace.
                            entry[0] = remove_lines(entry[0], name)
                if texts:
                    taken_text[id(item)] = [item.extension + " {\n" + "\n\n".join(texts) + "\n}"]
    outputs, pieces_of = {}, {}
    for target, items in mapping.items():
        imports, bodies = {}, []
        for item in items:
            source = item if isinstance(item, str) else item.source
            if sources[source] is None:
                continue
            if isinstance(item, str):
                own, body = split_imports(sources[source])
                bodies.append(body.strip("\n"))
            elif isinstance(item, Rest):
                own = parts[source][0]
                rest = [c for c, is_taken in parts[source][1] if not is_taken and not is_empty(c)]
                bodies += rest
                pieces_of.setdefault(source, []).append((target, len(bodies) - len(rest), len(bodies)))
            else:
                own = parts[source][0]
                texts = taken_text.get(id(item), [])
                bodies += texts
                pieces_of.setdefault(source, []).append((target, len(bodies) - len(texts), len(bodies)))
            for key, (level, comment) in own.items():
                add_import(imports, key, level, comment)
        if bodies:
            outputs[target] = (imports, bodies)
    for source, places in pieces_of.items():
        relax_access(outputs, places)
    for source in parts:
        if not any(isinstance(i, Rest) and i.source == source for items in mapping.values() for i in items):
            for c, is_taken in parts[source][1]:
                if not is_taken and not is_empty(c):
                    report(f"left over of {source}: {head(c)}")
    written = set()
    # The first source of a target becomes the target by `git mv`, so that its history follows.
    for target, items in mapping.items():
        if target not in outputs:
            continue
        new = target_base + "/" + target
        for item in items:
            source = item if isinstance(item, str) else item.source
            if sources[source] is None:
                continue
            if not is_split(item) or isinstance(item, Rest):
                renames[base + "/" + source] = new
            else:
                renames.setdefault(base + "/" + source, new)
    for source, text in sources.items():
        if text is not None:
            os.remove(path(base + "/" + source))
    for target, (imports, bodies) in outputs.items():
        new = target_base + "/" + target
        if exists(new):
            report(f"{new} is there already and would be overwritten")
        imports = needed_imports(imports, "\n".join(bodies))
        text = import_text(imports)
        write(new, (text + "\n\n" if text else "") + "\n\n".join(bodies) + "\n")
    moved.update(renames)
    return renames


def is_empty(chunk):
    return re.fullmatch(r"(?s)(///?[^\n]*\n)*\s*(?:final class|class|struct|enum|extension) [^\n]*\{\s*\}", chunk) is not None


def needed_imports(imports, text):
    """Without `Synchronization` where a split has left nothing that needs it."""
    result = dict(imports)
    if ("", "Synchronization") in result and not re.search(r"\b(Mutex|Atomic\w*|withLock)\b|ordering:", text):
        del result[("", "Synchronization")]
    return result


def remove_lines(chunk, name):
    """A declaration without one of its sections."""
    cut = sections(chunk)
    lines = []
    keys = list(cut)
    for key in keys:
        own = cut[key]
        if key == name:
            if key == keys[-1]:
                while lines and not lines[-1].strip():
                    lines.pop()
                lines.append("}")
            elif key == "":
                # The head of the declaration stays.
                at = next(i for i, l in enumerate(own) if l and not l.startswith("//") and l.rstrip().endswith("{"))
                lines += own[: at + 1]
            continue
        lines += own
    text = "\n".join(lines)
    return re.sub(r"\{\n\n+", "{\n", text, count=1) if name == "" else text


PRIVATE = re.compile(r"^( *)((?:@\w+ )*)(?:private|fileprivate) ((?:[\w()]+ )*?(?:func|var|let|init|struct|enum|class|typealias|case) (?:\(?)([\w, ]*))", re.M)


def relax_access(outputs, places):
    """Drops `private` in the pieces of a split file where another piece names the declaration."""
    def piece(place):
        target, start, end = place
        return "\n".join(outputs[target][1][start:end])

    targets = {}
    for place in places:
        targets.setdefault(place[0], []).append(place)
    texts = {t: "\n".join(piece(p) for p in ps) for t, ps in targets.items()}
    for target, own in targets.items():
        others = "\n".join(text for t, text in texts.items() if t != target)
        # A type that stands in a relaxed declaration has to be relaxed, too.
        more = ""
        imports, bodies = outputs[target]
        while True:
            before = "\n".join(bodies)

            def relaxed(match):
                nonlocal more
                names = re.findall(r"\w+", match.group(4))
                if any(re.search(rf"\b{n}\b", others + more) for n in names if n):
                    line = match.string[match.start():].split("\n", 1)[0]
                    more += "\n" + line
                    return f"{match.group(1)}{match.group(2)}{match.group(3)}"
                return match.group(0)

            def settable(match):
                name = match.group(2)
                assigns = rf"\b{name}\b(?:\[[^\]]*\])?(?:\.\w+)* *(?:[-+*/|&]?=[^=]|\.(?:append|insert|remove|formUnion|subtract))"
                if re.search(assigns, others):
                    return re.sub(r"(?:file)?private\(set\) ", "internal(set) " if match.group(1) else "", match.group(0), count=1)
                return match.group(0)

            for _, start, end in own:
                for index in range(start, end):
                    bodies[index] = PRIVATE.sub(relaxed, bodies[index])
                    bodies[index] = re.sub(r"(?m)^ *((?:public |package )?)(?:file)?private\(set\) var (\w+).*$", settable, bodies[index])
            if "\n".join(bodies) == before:
                break


# MARK: Texts

TEXT_ROOTS = ["Tests", "Sources", "Examples", ".ci", "README.md", "Package.swift", ".spi.yml", ".gitignore"]


def follow(renames, relative_base=None, how_it_works=None):
    """Replaces the paths of moved files in all texts."""
    files = [p for p in tracked(*TEXT_ROOTS) if not p.endswith((".svg", ".ppm", ".png", ".jsonl"))]
    pairs = sorted(renames.items(), key=lambda pair: -len(pair[0]))
    for file in files:
        try:
            text = read(file)
        except UnicodeDecodeError:
            continue
        new = text
        for old, target in pairs:
            if old in new:
                new = re.sub(re.escape(old) + r"(?![\w/+])", lambda _: target, new)
        if how_it_works == file:
            for old, target in pairs:
                if old.startswith(relative_base + "/"):
                    o, t = old[len(relative_base) + 1:], target[len(relative_base) + 1:]
                    new = re.sub(r"(?<![\w/])" + re.escape(o) + r"(?![\w/+])", lambda _: t, new)
        if new != text:
            write(file, new)
            if file.startswith("Tests/ProjectTests/"):
                format_file(file)


def format_file(p):
    subprocess.run(["swift", "format", "--in-place", p], cwd=ROOT, check=True)


def replace(file, old, new, count=1, optional=False):
    """Replaces an exact text; reports if it is not there."""
    if not exists(file):
        return report(f"{file} is not there, for a replacement")
    text = read(file)
    if old not in text:
        if new and new in text:
            return
        return None if optional else report(f"{file}: this text is not there: {old[:160]!r}")
    write(file, text.replace(old, new) if count == 0 else text.replace(old, new, count))


def substitute(file, pattern, new, flags=re.M, optional=False):
    text = read(file)
    result, n = re.subn(pattern, new, text, flags=flags)
    if not n and not optional:
        report(f"{file}: nothing matches {pattern[:120]!r}")
    write(file, result)


def move(old, new):
    """Moves a file or a folder."""
    if not exists(old):
        return report(f"not there, to be moved: {old}")
    os.makedirs(os.path.dirname(path(new)), exist_ok=True)
    git("mv", old, new)


def remove(p):
    if not exists(p):
        return report(f"not there, to be removed: {p}")
    git("rm", "-rq", p)


def commit(subject, body=""):
    assert len(subject) <= 72, subject
    git("add", "-A")
    if not git("status", "--porcelain").strip():
        report(f"nothing to commit: {subject}")
        return
    subprocess.run(["git", "commit", "-q", "-F", "-"], cwd=ROOT, check=True, text=True,
                   input=subject + "\n" + ("\n" + body.strip() + "\n" if body else ""))
    print("committed:", subject, flush=True)


# MARK: Access levels

SCOPE = re.compile(
    r"^( *)(?:@\w+(?:\([^)]*\))? )*(?:(?:public|package|internal|private|fileprivate|final|indirect|nonisolated|isolated) )*"
    r"(struct|class|enum|actor|protocol|extension) ([\w.]+|\[\w+\])")
MEMBER = re.compile(
    r"^( *)((?:@[\w]+(?:\([^)]*\))? )*)((?:[\w]+(?:\(\w+\))? )*?)"
    r"(func|var|let|init|struct|class|enum|actor|protocol|typealias|subscript)\b(.*)$")


def package_access(folder, names, user=None):
    """Makes declarations `package`, by names such as `Run`, `Run.core`, `Locked.init`, `require`.

    `A.init:TEXT` is only the initializer whose line has the text. The comment of a top-level type names the `user`, a module.
    """
    filters = dict(n.split(":", 1) for n in names if ":" in n)
    names = [n.split(":", 1)[0] for n in names]
    wanted = set(names)
    found = set()
    for file in swift_files(folder):
        text = read(file)
        lines = text.split("\n")
        scopes, noted = [], []  # (indentation, path), and types with a new user
        in_literal = False
        for index, line in enumerate(lines):
            if in_literal or line.strip().startswith("//"):
                if line.count('"""') % 2:
                    in_literal = not in_literal
                continue
            if line.count('"""') % 2:
                in_literal = not in_literal
            if not line.strip() or line.strip().startswith("#"):
                continue
            indent = len(line) - len(line.lstrip(" "))
            if line.lstrip(" ")[0] not in "})":
                while scopes and scopes[-1][0] >= indent:
                    scopes.pop()
            match = MEMBER.match(line)
            here = scopes[-1][1] if scopes else ""
            deep = indent > (scopes[-1][0] + 2 if scopes else 0)
            if match and not deep:
                attributes, modifiers, keyword, tail = match.group(2), match.group(3), match.group(4), match.group(5)
                if keyword == "init":
                    declared = ["init"]
                elif keyword in ("var", "let"):
                    pattern = tail.split(":")[0].split("=")[0]
                    declared = re.findall(r"\w+", pattern)
                elif keyword == "func":
                    declared = re.findall(r"^ (?:`?)([\w]+|[^\s\w(]+)", tail)
                else:
                    declared = re.findall(r"\w+", tail)[:1] or [keyword]
                full = [(here + "." if here else "") + d for d in declared]
                hits = [f for f in full if f in wanted and filters.get(f, "") in line]
                if hits and not re.search(r"\b(public|package|open)(?!\()\b", modifiers):
                    modifiers = re.sub(r"\b(private|fileprivate|internal) (?!\()", "", modifiers)
                    lines[index] = f"{match.group(1)}{attributes}package {modifiers}{keyword}{tail}"
                if hits and user and not indent and keyword not in ("func", "init"):
                    noted.append((index, user))
                found.update(hits)
            scope = SCOPE.match(line)
            if scope and not deep:
                name = scope.group(3)
                scopes.append((indent, (here + "." if here else "") + name))
        for index, module in reversed(noted):
            note_user(lines, index, module)
        new = "\n".join(lines)
        if new != text:
            write(file, new)
            if any(len(line) > 120 for line in lines):
                format_file(file)
    for name in sorted(wanted - found):
        report(f"no declaration {name} for package access")


def note_user(lines, index, module):
    """Says in the comment of a type which module needs it to be `package`."""
    at = index
    while at and re.fullmatch(r"@\w+(\(.*\))?", lines[at - 1]):
        at -= 1
    if not at or not lines[at - 1].startswith("///"):
        return
    known = re.fullmatch(r"/// `package` for (.*)\.", lines[at - 1])
    if known is None:
        lines[at:at] = ["///", f"/// `package` for `{module}`."]
    elif f"`{module}`" not in known.group(1):
        lines[at - 1] = f"/// `package` for {known.group(1)} and `{module}`."


def insert_after(file_folder, pattern, text, marker):
    """Inserts text after the first line that matches, in whatever file of a folder has it. `marker` tells that it is there already."""
    for file in swift_files(file_folder):
        source = read(file)
        if marker in source:
            return
        match = re.search(pattern, source, re.M)
        if match:
            end = source.index("\n", match.end()) + 1 if source[match.end():match.end() + 1] != "\n" else match.end() + 1
            write(file, source[:end] + text + source[end:])
            return
    report(f"nothing matches {pattern!r} in {file_folder}, for an insertion")


def leftovers(*folders):
    for folder in folders:
        for p in tracked(folder):
            report(f"new, and in no map: {p}")


# MARK: Targets


def with_imports(p, *lines):
    """Adds imports to a file."""
    if not exists(p):
        return report(f"{p} is not there, for imports")
    imports, body = split_imports(read(p))
    for line in lines:
        match = IMPORT.match(line)
        imports[(match.group(1), match.group(3))] = (match.group(2), match.group(4))
    write(p, import_text(imports) + "\n\n" + body)


def without_import(p, module):
    imports, body = split_imports(read(p))
    imports = {k: v for k, v in imports.items() if k[1] != module}
    text = import_text(imports)
    write(p, (text + "\n\n" if text else "") + body)


def imported(p):
    return {module for _, module in split_imports(read(p))[0]}


def take_test(p, title):
    """Removes a test from a file, by the beginning of its title, and returns the text."""
    lines = read(p).split("\n")
    start = next((i for i, l in enumerate(lines) if '@Test("' + title in l or l.strip() == "" and False), None)
    if start is None:
        report(f"{p}: no test {title!r}")
        return None
    end = next(i for i in range(start, len(lines)) if lines[i] == "  }")
    text = "\n".join(lines[start:end + 1])
    before, after = lines[:start], lines[end + 1:]
    while before and before[-1] == "":
        before.pop()
    if after and after[0] == "":
        after = after[1:]
    joined = before + ([] if after and after[0] == "}" else [""]) + after
    write(p, "\n".join(joined))
    return text


def add_test(p, text):
    """Adds a test at the end of the first suite of a file."""
    if text is None:
        return
    source = read(p)
    at = source.index("\n}\n")
    write(p, source[:at] + "\n\n" + text + source[at:])


PUBLIC_TYPE = re.compile(r"^ *(?:@\w+(?:\([^)]*\))? )*(?:public|package) (?:(?:final|indirect|nonisolated) )*(?:struct|class|enum|actor|protocol|typealias) (\w+)", re.M)


def type_names(folder):
    names = set()
    for p in swift_files(folder):
        names |= set(PUBLIC_TYPE.findall(read(p)))
    return names


def top_types(folder):
    names = set()
    for p in swift_files(folder):
        names |= {m for m in re.findall(r"^(?:@\w+(?:\([^)]*\))? )*(?:public|package) (?:(?:final|indirect|nonisolated) )*(?:struct|class|enum|actor|protocol|typealias) (\w+)", read(p), re.M)}
    return names


def in_code(link):
    """A link as plain code: `Procedure/timeout(_:)` becomes `timeout(_:)`."""
    parts = [re.sub(r"-(swift\.\w+|[0-9a-z]{4,6}|\(.*)$", "", part) for part in re.split(r"/(?![^(]*\))", link)]
    if parts[0] == "Procedure" and len(parts) > 1:
        parts = parts[1:]
    return "`" + ".".join(parts) + "`"


def unlink(files, is_foreign):
    """Makes code of the links for which `is_foreign(path in the link, head of the declaration around it)` holds."""
    for p in files:
        text = read(p)

        def replaced(chunk, around):
            return re.sub(r"``([^`\n]+)``", lambda m: in_code(m.group(1)) if is_foreign(m.group(1), around) else m.group(0), chunk)

        if p.endswith(".swift"):
            imports, body = split_imports(text)
            new = text
            for chunk in chunks(body):
                new = new.replace(chunk, replaced(chunk, head(chunk)))
        else:
            lines = text.split("\n")
            new = "\n".join(l if l.startswith("# ``") else replaced(l, "") for l in lines)
        if new != text:
            write(p, new)


def own_links_only(module_folder):
    """Makes code of the links of a module that lead to other modules, or to members of their types."""
    own = type_names(module_folder)

    def is_foreign(link, around):
        first = re.split(r"[/(]", link)[0].split("-")[0]
        if first[:1].isupper():
            return first not in own
        extended = re.match(r"(?:@\w+ )*(?:public |package )?extension (\w+)", around)
        return extended is not None and extended.group(1) not in own or around == ""

    files = swift_files(module_folder) + [p for p in tracked(module_folder) if p.endswith(".md")]
    unlink(files, is_foreign)


def file_text(name):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "files", name), encoding="utf-8") as f:
        return f.read()
