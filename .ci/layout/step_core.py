from lib import *
from core_map import CORE

BASE = "Sources/ProcedureKit"
BODY = """A file holds a type with its small satellites, and a folder holds an idea, so that a
reader looks in one place. No declaration changes, except that a `private` that a move
has separated from its caller goes."""


def run():
    if exists("Tests/ProjectTests/LayeringTests.swift"):
        remove("Tests/ProjectTests/LayeringTests.swift")
        commit("Remove the test of the order of folders", """
It compared the names of types with a list of folders, and members moved into
extensions to pass it. Targets enforce boundaries from here on.""")
    for folder, (subject, mapping) in CORE.items():
        renames = apply_map(BASE, BASE, mapping)
        follow(renames, BASE, BASE + "/ProcedureKit.docc/HowItWorks.md")
        commit(subject, BODY)
    for p in swift_files(BASE):
        inner = p[len(BASE) + 1:]
        if not any(inner in mapping for _, mapping in CORE.values()) and not inner.startswith(("Durable/", "Remote/")):
            report(f"new, and in no map: {p}")
