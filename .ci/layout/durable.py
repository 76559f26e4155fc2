import re
from lib import *

CORE = "Sources/ProcedureKit"
DURABLE = "Sources/ProcedureKitDurable"
MAP = {
    "Journal/ProcedureJournal.swift": [
        "ProcedureKit/Durable/Journal/ProcedureJournal.swift", "ProcedureKit/Durable/Journal/JournalKey.swift",
        "ProcedureKit/Durable/Journal/Fingerprint.swift"],
    "Journal/JournalError.swift": [
        "ProcedureKit/Durable/Journal/JournalError.swift", "ProcedureKit/Durable/Journal/RememberedFailure.swift"],
    "Journal/JournalRecord.swift": [
        "ProcedureKit/Durable/Journal/JournalRecord.swift", "ProcedureKit/Durable/Procedures/JournalNumber.swift"],
    "Journal/InMemoryJournal.swift": ["ProcedureKitFoundation/Durable/InMemoryJournal.swift"],
    "Journal/FileJournal.swift": [
        "ProcedureKitFoundation/Durable/FileJournal.swift", "ProcedureKitFoundation/Durable/JournalExecutor.swift"],
    "Journal/JournalFile.swift": ["ProcedureKitFoundation/Durable/JournalFile.swift"],
    "Journal/JournalFormat.swift": [
        "ProcedureKitFoundation/Durable/JournalFormat.swift", "ProcedureKitFoundation/Durable/CRC32.swift"],
    "Journal/FileDescriptor.swift": ["ProcedureKitFoundation/Durable/FileDescriptor.swift"],
    "Graph/DurableGraph.swift": [
        "ProcedureKit/Durable/Graph/DurableGraph.swift", "ProcedureKit/Durable/Graph/ProcedureGraph+Durable.swift"],
    "Graph/DurablePlan.swift": [
        "ProcedureKit/Durable/Graph/DurablePlan.swift", "ProcedureKit/Durable/Graph/DurablePlan+Cause.swift",
        "ProcedureKit/Durable/Graph/NodeCodec.swift"],
    "Graph/DurableRun.swift": ["ProcedureKit/Durable/Graph/DurableRun.swift", "ProcedureKit/Durable/Graph/DurableLook.swift"],
    "Graph/ResumptionPlan.swift": ["ProcedureKit/Durable/Graph/ResumptionPlan.swift"],
    "Modifiers/Procedure+Remembered.swift": [
        "ProcedureKit/Durable/Procedures/Procedure+Remembered.swift", "ProcedureKit/Durable/Procedures/RememberedPlace.swift",
        "ProcedureKit/Durable/Procedures/Procedure+Version.swift"],
    "Modifiers/Procedure+CountedRetry.swift": ["ProcedureKit/Durable/Procedures/Procedure+CountedRetry.swift"],
    "Modifiers/Procedure+CountedTimeout.swift": ["ProcedureKit/Durable/Procedures/Procedure+CountedTimeout.swift"],
}
CORE_PUBLIC = "public import ProcedureKit"
CORE_OWN = "internal import ProcedureKit"
CODER_PUBLIC = "public import ProcedureKitFoundation"
CODER_OWN = "internal import ProcedureKitFoundation"
IMPORTS = {
    "Journal/ProcedureJournal.swift": [CORE_OWN, CODER_PUBLIC],
    "Journal/JournalError.swift": [],
    "Journal/JournalRecord.swift": [CORE_OWN, CODER_OWN],
    "Journal/InMemoryJournal.swift": [CORE_OWN, CODER_PUBLIC],
    "Journal/FileJournal.swift": [CODER_PUBLIC],
    "Graph/DurableGraph.swift": [CORE_PUBLIC, CODER_OWN],
    "Graph/DurablePlan.swift": [CORE_OWN, CODER_OWN],
    "Graph/DurableRun.swift": [CORE_OWN],
    "Graph/ResumptionPlan.swift": [CORE_PUBLIC],
    "Modifiers/Procedure+Remembered.swift": [CORE_PUBLIC, CODER_OWN],
    "Modifiers/Procedure+CountedRetry.swift": [CORE_PUBLIC, CODER_OWN],
    "Modifiers/Procedure+CountedTimeout.swift": [CORE_PUBLIC, CODER_OWN],
}
# What the module takes of the core.
PACKAGE = """
ProcedureGraph.plan ProcedureGraph.outputNodes ProcedureGraph.execute
GraphPlan GraphPlan.shape GraphPlan.bodies GraphPlan.traits GraphPlan.layout GraphPlan.inputs GraphPlan.inputEnds GraphPlan.collection GraphPlan.init GraphPlan.slot
GraphShape GraphShape.dependencies
NodeTraits NodeTraits.name NodeTraits.priority NodeTraits.version NodeTraits.weight NodeTraits.init
NodeBody NodeBody.execute
ValueLayout ValueLayout.slots ValueLayout.countsConsumers ValueLayout.Slot ValueLayout.Slot.offset ValueLayout.Slot.consumers ValueLayout.Slot.type
ValueSlot ValueSlot.index ValueSlot.offset ValueSlot.init
GraphValues GraphValues.take GraphValues.put GraphValues.giveUpShare GraphValues.error
RunDriver RunDriver.runNode
Level Level.Traits Level.Traits.reuse Level.Traits.version Level.Reuse Level.Reused
ProcedureTask.init:Level.Traits ProcedureTask.wrapped ProcedureTask.relabelled ProcedureTask.executeAsLevel
ProcedureContext.ofBody ProcedureContext.run
Run Run.reported Run.levelIdentity Error.isNoFailure
Schedule.expression ScheduleExpression ScheduleEvaluation ScheduleEvaluation.init ScheduleEvaluation.next Locked Locked.init Locked.withLock
String.precedes require
""".split()


def run():
    # The coder is for journals and for remote calls, and JSON is Foundation's.
    renames = apply_map("Sources", "Sources/ProcedureKitFoundation", {
        "JSON/JSONProcedureCoder.swift": [
            "ProcedureKit/Remote/Coding/ProcedureCoder.swift", "ProcedureKitFoundation/JSON/JSONProcedureCoder.swift"],
        "Files/SHA256.swift": ["ProcedureKit/Durable/Journal/SHA256.swift"],
    })
    without_import("Sources/ProcedureKitFoundation/JSON/JSONProcedureCoder.swift", "ProcedureKit")
    package_access("Sources/ProcedureKitFoundation", ["FixedWidthInteger.littleEndianBytes"])
    renames |= apply_map("Sources", DURABLE, MAP)
    for target, lines in IMPORTS.items():
        if lines and exists(f"{DURABLE}/{target}"):
            with_imports(f"{DURABLE}/{target}", *lines)
    package_access(CORE, PACKAGE, "ProcedureKitDurable")
    core_additions()
    follow(renames)
    docs()
    tests()
    manifest()
    users()


def core_additions():
    """Initializers that the compiler made only for the module, and the one change of a run's state."""
    replace(f"{CORE}/Procedure/ModifierLayer.swift", """    let find: @concurrent @Sendable (any Sendable) async throws -> Reused?
""", """    let find: @concurrent @Sendable (any Sendable) async throws -> Reused?

    /// For the procedures that `ProcedureKitDurable` remembers, too.
    package init(name: String, find: @escaping @concurrent @Sendable (any Sendable) async throws -> Reused?) {
      (self.name, self.find) = (name, find)
    }
""")
    replace(f"{CORE}/Procedure/ModifierLayer.swift", """    let value: any Sendable
  }
""", """    let value: any Sendable

    package init(value: any Sendable) { self.value = value }
  }
""")
    text = read(f"{CORE}/Procedure/ModifierLayer.swift")
    if "extension Level.Traits" not in text:
        write(f"{CORE}/Procedure/ModifierLayer.swift", text + """
extension Level.Traits {
  /// For the nodes of durable graphs, which `ProcedureKitDurable` makes.
  package init(name: String, rawPriority: UInt8?) {
    self.init(name: name, rawPriority: rawPriority, key: nil)
  }
}
""")
    replace(f"{CORE}/Graph/Execution/GraphPlan.swift", """  package let execute: @Sendable (GraphValues) async throws -> Void
""", """  package let execute: @Sendable (GraphValues) async throws -> Void

  package init(execute: @escaping @Sendable (GraphValues) async throws -> Void) { self.execute = execute }
""")
    file = f"{CORE}/Scheduler/Run/Run+Events.swift"
    if "noteExecutionCause" not in read(file):
        write(file, read(file) + """
extension Run {
  /// Keeps why a node of a durable graph is executed again, for the event of its start and for snapshots.
  package func noteExecutionCause(_ cause: ExecutionCause) {
    core.withState { _ in madeDetails.executionCause = cause }
  }
}
""")
    replace(f"{DURABLE}/Graph/DurableRun.swift", """    let run = context.run.reported
    run.core.withState { _ in run.madeDetails.executionCause = cause }
""", """    context.run.reported.noteExecutionCause(cause)
""")


def docs():
    move(f"{CORE}/ProcedureKit.docc/WorkThatSurvives.md", f"{DURABLE}/ProcedureKitDurable.docc/WorkThatSurvives.md")
    write(f"{DURABLE}/ProcedureKitDurable.docc/ProcedureKitDurable.md", file_text("ProcedureKitDurable.md"))
    git("add", "-A")
    own_links_only(DURABLE)
    types = top_types(DURABLE)
    members = r"^Procedure/(version|remembered|timeout\(_:countedIn|retry\(.*countedIn)"
    core = [p for p in tracked(CORE, "Sources/ProcedureKitFoundation", "Sources/ProcedureKitDiagnostics") if p.endswith((".swift", ".md"))]
    unlink(core, lambda link, around: re.split(r"[/(-]", link)[0] in types or re.match(members, link) is not None)
    page = f"{CORE}/ProcedureKit.docc/ProcedureKit.md"
    replace(page, "<doc:WorkThatSurvives> when a kill must not lose it,", "the guide *Work that survives* of `ProcedureKitDurable` when a kill must not lose it,")
    replace(page, "- <doc:WorkThatSurvives>\n", "")
    for p in tracked(CORE):
        if p.endswith(".md"):
            text = read(p)
            if "<doc:WorkThatSurvives>" in text:
                write(p, text.replace("<doc:WorkThatSurvives>", "the guide *Work that survives* of `ProcedureKitDurable`"))
    guide = f"{DURABLE}/ProcedureKitDurable.docc/WorkThatSurvives.md"
    replace(guide, "`FileJournal` of the module `ProcedureKitFoundation` is a file:", "A ``FileJournal`` is a file:")
    replace(guide, "- `ExecutionCause`\n", "", optional=True)
    replace(guide, "- `ProcedureCoder`\n", "", optional=True)
    replace(guide, "- ``ProcedureJournal``\n", "- ``ProcedureJournal``\n- ``FileJournal``\n- ``InMemoryJournal``\n")
    foundation = "Sources/ProcedureKitFoundation/ProcedureKitFoundation.docc/ProcedureKitFoundation.md"
    text = read(foundation)
    text, n = re.subn(r"A `+FileJournal`+ keeps the values(?:.|\n)*?\n\n", "", text)
    text, m = re.subn(r"### Journals\n\n(?:- .*\n)+\n", "", text)
    text, o = re.subn(r"- ``JSONProcedureCoder``\n", "- ``ProcedureCoder``\n- ``JSONProcedureCoder``\n", text)
    if not (n and m and o):
        report(f"{foundation}: journals are not there as expected")
    write(foundation, text)
    journal = f"{DURABLE}/Journal/ProcedureJournal.swift"
    replace(journal, "`FileJournal` of ProcedureKitFoundation is a file, and\n/// `InMemoryJournal` is for tests.", "A ``FileJournal`` is a file, and an\n/// ``InMemoryJournal`` is for tests.", optional=True)
    changes = f"{CORE}/ProcedureKit.docc/Changes.md"
    replace(changes, "`FileJournal` and\n  `InMemoryJournal` are in `ProcedureKitFoundation` (", "`FileJournal` and\n  `InMemoryJournal` are journals (", optional=True)


def tests():
    old, new = "Tests/ProcedureKitFoundationTests", "Tests/ProcedureKitDurableTests"
    git("add", "-A")
    folders = {
        "FileJournalTests": "Journal", "FingerprintTests": "Journal", "HostileJournalTests": "Journal", "JournalPathTests": "Journal",
        "KillTests": "Journal", "SpellingTests": "Journal", "DurableGraphTests": "Graph", "ExecutionCauseTests": "Graph",
        "RememberedTests": "Modifiers", "CountedAttemptsTests": "Modifiers", "Support": "Support", "JournalImage": "Support",
        "TemporaryFolder": "Support", "WorkerProcess": "Support",
    }
    for p in tracked(old + "/Durable"):
        name = os.path.basename(p)[:-len(".swift")]
        if name not in folders:
            report(f"new, and in no map: {p} (moved to {new}/Graph)")
        move(p, f"{new}/{folders.get(name, 'Graph')}/{name}.swift")
    move(f"{old}/Guide/WorkThatSurvivesGuide.swift", f"{new}/Guide/WorkThatSurvivesGuide.swift")
    move("Tests/ProcedureKitTests/Durable/Journal/SHA256Tests.swift", f"{old}/Files/SHA256Tests.swift")
    without_import(f"{old}/Files/SHA256Tests.swift", "ProcedureKit")
    with_imports(f"{old}/Files/SHA256Tests.swift", "import ProcedureKitFoundation")
    # A test of spellings for each module.
    spelling = f"{new}/Journal/SpellingTests.swift"
    access = take_test(spelling, "A file is known by the bytes of its path")
    if access:
        add_test(f"{old}/Files/FileAccessTests.swift", access.replace("func access() {", "func spellings() {\n    let spellings = [\"caf\\u{e9}\", \"cafe\\u{301}\"]"))
    registry = take_test(spelling, "A worker executes the procedure whose name has the bytes")
    keys = take_test("Tests/ProcedureKitTests/Lifecycle/ByteKeyTests.swift", "Two spellings are two procedures for a worker")
    write("Tests/ProcedureKitRemoteTests/Calls/SpellingTests.swift", file_text("RemoteSpellingTests.swift").replace("REGISTRY", registry or ""))
    add_test(spelling, file_text("DurableSpellingTest.swift").rstrip("\n"))
    if keys and "RemoteName" not in keys:
        report("the test of spellings in ByteKeyTests has changed")
    git("add", "-A")
    for p in swift_files(new):
        text = read(p)
        lines = ["import ProcedureKitDurable"]
        if re.search(r"\bJournalRecord\b", text):
            lines = ["@testable import ProcedureKitDurable"]
        elif not re.search(r"import ProcedureKit|Journal|durable|Fingerprint|remembered", text):
            lines = []
        if lines:
            with_imports(p, *lines)
        if "ProcedureKitFoundation" in imported(p) and not re.search(r"ProcedureCoder|FileAccess|SystemText\(|Signals|littleEndian", text):
            without_import(p, "ProcedureKitFoundation")


def manifest():
    m = "Package.swift"
    replace(m, """    .library(name: "ProcedureKitFoundation", targets: ["ProcedureKitFoundation"]),
""", """    .library(name: "ProcedureKitDurable", targets: ["ProcedureKitDurable"]),
    .library(name: "ProcedureKitFoundation", targets: ["ProcedureKitFoundation"]),
""")
    replace(m, """    .target(name: "ProcedureKitFoundation", dependencies: ["ProcedureKit"], swiftSettings: settings),
""", """    .target(name: "ProcedureKitFoundation", dependencies: ["ProcedureKit"], swiftSettings: settings),
    .target(
      name: "ProcedureKitDurable", dependencies: ["ProcedureKit", "ProcedureKitFoundation"], swiftSettings: settings),
""")
    for name in ("kitten", "Benchmark"):
        substitute(m, rf'(name: "{name}",\s*dependencies: \[\s*"ProcedureKit", "ProcedureKitDiagnostics", )', r'\1"ProcedureKitDurable", ')
    substitute(m, r'(name: "journal-worker", dependencies: \["ProcedureKit", )"ProcedureKitFoundation"', r'\1"ProcedureKitDurable"')
    substitute(m, r'(name: "KittenTests", dependencies: \["kitten", "ProcedureKit", )', r'\1"ProcedureKitDurable", ')
    substitute(m, r'      name: "ProcedureKitFoundationTests",\n(?:.*\n)*?      swiftSettings: settings\),\n', """      name: "ProcedureKitFoundationTests",
      dependencies: ["ProcedureKitFoundation", "TestingProcedureKit", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "ProcedureKitDurableTests",
      dependencies: [
        "ProcedureKitDiagnostics", "ProcedureKitDurable", "ProcedureKitFoundation", "TestingProcedureKit",
        "TestSupport", "journal-worker",
      ],
      swiftSettings: settings),
""")
    format_file(m)
    replace(".spi.yml", "        - ProcedureKitFoundation\n", "        - ProcedureKitDurable\n        - ProcedureKitFoundation\n")
    imports = "Tests/ProjectTests/ImportsTests.swift"
    substitute(imports, r'    "Sources/ProcedureKitDurable/Journal/FileJournal.swift": \[.*?\],\n', """    "Sources/ProcedureKitDurable": ["ProcedureKit", "ProcedureKitFoundation", "Foundation"],
    "Sources/ProcedureKitDurable/Journal/FileJournal.swift": [
      "ProcedureKit", "ProcedureKitFoundation", "Dispatch", "Foundation",
    ],
""")


def users():
    """Programs and tests that use the module import it."""
    git("add", "-A")
    types = top_types(DURABLE) | {"InMemoryJournal", "FileJournal"}
    uses = re.compile(r"\b(" + "|".join(sorted(types - {"Fingerprint"})) + r")\b|\.durable\(|\.remembered\(|countedIn:|\.version\(|resumptionPlan\(")
    for p in swift_files("Examples", "Tests", ".ci/rejected"):
        if p.startswith(("Tests/ProcedureKitDurableTests", "Tests/ProjectTests", "Tests/ProcedureKitRemoteTests")):
            continue
        if uses.search(read(p)) and "ProcedureKitDurable" not in imported_anywhere(p):
            if p.startswith(".ci/"):
                text = read(p)
                write(p, text.replace("import ProcedureKit\n", "import ProcedureKit\nimport ProcedureKitDurable\n", 1))
            else:
                with_imports(p, "import ProcedureKitDurable")
    for p in ("Tests/JournalWorker/JournalWorker.swift", "Examples/Kitten/Job/Thumbnails.swift", "Examples/Benchmark/Workloads/DurableWork.swift", "Tests/KittenTests/EndToEnd/JournalTests.swift"):
        if exists(p) and not re.search(r"ProcedureCoder|FileAccess|ProcessSignal|QueueService|JSON|until:", read(p)):
            without_import(p, "ProcedureKitFoundation")


def imported_anywhere(p):
    return set(re.findall(r"import (\w+)", read(p)))
