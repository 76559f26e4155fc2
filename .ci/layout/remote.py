import re
from lib import *

CORE = "Sources/ProcedureKit"
REMOTE = "Sources/ProcedureKitRemote"
OLD = "ProcedureKit/Remote/"
MAP = {
    "Calls/RemoteCall.swift": [
        OLD + "Calls/RemoteCall.swift", OLD + "Calls/RemoteCall+Key.swift", OLD + "Calls/RemoteName.swift",
        OLD + "Calls/RemoteLimits.swift", OLD + "Calls/RemoteProgress.swift"],
    "Calls/RemoteSignature.swift": [OLD + "Calls/RemoteSignature.swift"],
    "Client/Procedure+Remote.swift": [OLD + "Client/Procedure+Remote.swift", "ProcedureKitFoundation/Remote/Procedure+RemoteJSON.swift"],
    "Client/RemoteClient.swift": [OLD + "Client/RemoteClient.swift", OLD + "Client/ProcedureContext+Cancel.swift"],
    "Client/ProcedureExecutor.swift": [OLD + "Client/ProcedureExecutor.swift", OLD + "Client/LocalExecutor.swift"],
    "Worker/RemoteWorker.swift": [OLD + "Worker/RemoteWorker.swift", OLD + "Worker/RemoteTask.swift"],
    "Worker/ProcedureRegistry.swift": [OLD + "Worker/ProcedureRegistry.swift"],
    "Worker/RemoteDelivery.swift": [OLD + "Worker/RemoteDelivery.swift", OLD + "Worker/RemoteExecution.swift"],
    "Engine/LocalEngine.swift": [OLD + "Engine/LocalEngine.swift"],
    "Engine/LocalEngineMachine.swift": [OLD + "Engine/LocalEngineMachine.swift"],
    "Errors/RemoteError.swift": [
        OLD + "Errors/RemoteError.swift", OLD + "Errors/RemoteFailure.swift", OLD + "Errors/RemoteErrorType.swift",
        OLD + "Errors/RemoteProcedureError.swift"],
}
CORE_PUBLIC, CORE_OWN = "public import ProcedureKit", "internal import ProcedureKit"
CODER_PUBLIC, CODER_OWN = "public import ProcedureKitFoundation", "internal import ProcedureKitFoundation"
IMPORTS = {
    "Calls/RemoteCall.swift": [CORE_OWN],
    "Calls/RemoteSignature.swift": [CORE_OWN, CODER_OWN],
    "Client/Procedure+Remote.swift": [CORE_PUBLIC, CODER_PUBLIC],
    "Client/RemoteClient.swift": [CORE_OWN, CODER_OWN],
    "Client/ProcedureExecutor.swift": [CORE_PUBLIC, CODER_OWN],
    "Worker/RemoteWorker.swift": [CORE_PUBLIC],
    "Worker/ProcedureRegistry.swift": [CORE_PUBLIC, CODER_PUBLIC],
    "Worker/RemoteDelivery.swift": [CORE_OWN],
    "Engine/LocalEngine.swift": [CORE_OWN],
    "Engine/LocalEngineMachine.swift": [CORE_OWN],
    "Errors/RemoteError.swift": [CORE_OWN, CODER_OWN],
}
PACKAGE = """
ProcedureID.reserve ProcedureID.number
String.precedes require Duration.saturated Duration.inWords
ProcedureContext.ofBody ProcedureContext.run ProcedureContext.identity
Run Run.core Run.progressPart
QueueCore QueueCore.timers QueueCore.log ProcedureQueue.core
Timers Timers.now Timers.pause Timers.schedule Timers.cancel Timers.close Timers.init Timers.Action
QueueTime QueueTime.init
TimerHeap TimerHeap.ID
Wakeup Wakeup.wait Wakeup.waitUntilCalled Wakeup.call Wakeup.isOver
ResultBox ResultBox.result ResultBox.store
Locked Locked.init Locked.withLock
CancellableWork CancellableWork.execute CancellableWork.executeHere CancellableWork.cancel
Spawner Spawner.startDetached
ProgressPart ProgressPart.fractionUnderWay
ProcedureTask.wrapped ProcedureTask.executeAsLevel
ProcedureError.init ProcedureError.Details
Result.isSuccess

""".split()


def run():
    renames = apply_map("Sources", REMOTE, MAP)
    for target, lines in IMPORTS.items():
        if exists(f"{REMOTE}/{target}"):
            with_imports(f"{REMOTE}/{target}", *lines)
    package_access(CORE, PACKAGE, "ProcedureKitRemote")
    for type in ("Wakeup", "ResultBox<Value: Sendable>", "CancellableWork"):
        add_plain_init(type)
    clock = f"{CORE}/Scheduler/Tasks/QueueClock.swift"
    if "init(nanoseconds: Int64)" not in read(clock):
        substitute(clock, r"(public struct ProcedureInstant(?:.*\n)*?  let nanoseconds: Int64\n)", r"\1\n  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }\n")
    follow(renames)
    docs()
    tests()
    manifest()
    users()


def add_plain_init(type):
    """An initializer that the compiler makes only for the module."""
    for p in swift_files(CORE):
        text = read(p)
        match = re.search(rf"(?m)^package final class {re.escape(type)}: [^\n]*\{{\n(?:.*\n)*?^\}}", text)
        if match:
            if re.search(r"(?m)^  (?:package )?init\(\)", match.group(0)):
                return
            # Before the first member that is no stored property.
            lines = match.group(0).split("\n")
            at = next(i for i, l in enumerate(lines) if re.match(r"  (?:package |private )?(?:var \w+[^=]*\{|func |init|static func)", l))
            while lines[at - 1].startswith("  ///") or lines[at - 1].startswith("  @"):
                at -= 1
            lines[at:at] = ["  package init() {}", ""]
            write(p, text.replace(match.group(0), "\n".join(lines)))
            return
    report(f"no class {type} for an initializer")


def docs():
    move(f"{CORE}/ProcedureKit.docc/OnOtherMachines.md", f"{REMOTE}/ProcedureKitRemote.docc/OnOtherMachines.md")
    write(f"{REMOTE}/ProcedureKitRemote.docc/ProcedureKitRemote.md", file_text("ProcedureKitRemote.md"))
    git("add", "-A")
    own_links_only(REMOTE)
    types = top_types(REMOTE)
    core = [p for p in tracked(CORE, "Sources/ProcedureKitFoundation", "Sources/ProcedureKitDiagnostics") if p.endswith((".swift", ".md"))]
    page = f"{CORE}/ProcedureKit.docc/ProcedureKit.md"
    substitute(page, r"### On other machines\n\n(?:- .*\n)+\n", "")
    unlink(core, lambda link, around: re.split(r"[/(-]", link)[0] in types or link.startswith("Procedure/remote("))
    replace(page, "<doc:OnOtherMachines> has bodies executed by other processes,", "the guide *On other machines* of `ProcedureKitRemote` has bodies executed by other processes,")
    for p in tracked(CORE):
        if p.endswith(".md"):
            text = read(p)
            if "<doc:OnOtherMachines>" in text:
                write(p, text.replace("<doc:OnOtherMachines>", "the guide *On other machines* of `ProcedureKitRemote`"))
    guide = f"{REMOTE}/ProcedureKitRemote.docc/OnOtherMachines.md"
    replace(guide, "These forms use JSON, and need `ProcedureKitFoundation`; the core takes any `ProcedureCoder`.", "These forms use JSON; others take any `ProcedureCoder` of `ProcedureKitFoundation`.")


def tests():
    old, new = "Tests/ProcedureKitFoundationTests", "Tests/ProcedureKitRemoteTests"
    git("add", "-A")
    folders = {
        "LocalExecutorTests": "Client", "LostConnectionTests": "Client", "RemoteCallTests": "Client", "RemoteProgressTests": "Client",
        "RemoteRefusalTests": "Worker", "RemoteWorkerTests": "Worker", "RemoteProcedures": "Support",
        "LocalEngineMachineTests": "Engine", "LocalEngineTests": "Engine",
    }
    for p in tracked(old + "/Remote", "Tests/ProcedureKitTests/Remote"):
        name = os.path.basename(p)[:-len(".swift")]
        if name not in folders:
            report(f"new, and in no map: {p} (moved to {new}/Client)")
        move(p, f"{new}/{folders.get(name, 'Client')}/{name}.swift")
    move(f"{old}/Guide/OnOtherMachinesGuide.swift", f"{new}/Guide/OnOtherMachinesGuide.swift")
    git("add", "-A")
    for p in swift_files(new):
        text = read(p)
        if p.endswith(("LocalEngineMachineTests.swift", "LocalEngineTests.swift")):
            without_import(p, "ProcedureKit")
            with_imports(p, "@testable import ProcedureKit", "@testable import ProcedureKitRemote")
        else:
            with_imports(p, "import ProcedureKitRemote")
        if "ProcedureKitFoundation" in imported(p) and not re.search(r"ProcedureCoder", text):
            without_import(p, "ProcedureKitFoundation")


    # Random numbers for the machines of both modules.
    apply_map("Tests", "Tests/TestSupport", {"SeededGenerator+Choices.swift": [
        "ProcedureKitTests/Support/SeededGenerator+Choices.swift"]})
    choices = "Tests/TestSupport/SeededGenerator+Choices.swift"
    replace(choices, "  mutating func chance", "  package mutating func chance")
    replace(choices, "  mutating func pick", "  package mutating func pick")
    replace(choices, "import TestingProcedureKit", "package import TestingProcedureKit")
    replace("Package.swift", '.target(name: "TestSupport", dependencies: ["ProcedureKit"],', '.target(name: "TestSupport", dependencies: ["ProcedureKit", "TestingProcedureKit"],')
    for p in swift_files("Tests/ProcedureKitTests", new):
        if re.search(r"\.chance\(percent:|\.pick\(from:", read(p)):
            with_imports(p, "import TestSupport", "import TestingProcedureKit")


    move_record()


def move_record():
    """`Record` is for the tests of both modules."""
    new = "Tests/ProcedureKitRemoteTests"
    apply_map("Tests", "Tests", {
        "TestSupport/Record.swift": [Decl("ProcedureKitRemoteTests/Support/RemoteProcedures.swift", r"class Record\b")],
        "ProcedureKitRemoteTests/Support/RemoteProcedures.swift": [Rest("ProcedureKitRemoteTests/Support/RemoteProcedures.swift")]})
    record = "Tests/TestSupport/Record.swift"
    package_access("Tests/TestSupport", "Record Record.values Record.append Record.wait".split())
    replace(record, "  package var values", "  package init() {}\n\n  package var values")
    write(record, "import Synchronization\nimport Testing\n\n" + split_imports(read(record))[1])
    for p in swift_files(new, "Tests/ProcedureKitDurableTests"):
        if re.search(r"\bRecord<|\bRecord\(", read(p)) and "TestSupport" not in imported(p):
            with_imports(p, "import TestSupport")


def manifest():
    m = "Package.swift"
    replace(m, """    .library(name: "ProcedureKitFoundation", targets: ["ProcedureKitFoundation"]),
""", """    .library(name: "ProcedureKitRemote", targets: ["ProcedureKitRemote"]),
    .library(name: "ProcedureKitFoundation", targets: ["ProcedureKitFoundation"]),
""")
    replace(m, """    .target(name: "LoadedLibraries\"""", """    .target(
      name: "ProcedureKitRemote", dependencies: ["ProcedureKit", "ProcedureKitFoundation"], swiftSettings: settings),
    .target(name: "LoadedLibraries\"""")
    substitute(m, r'(name: "temporal",\s*dependencies: \[\s*"ProcedureKit", "ProcedureKitDiagnostics", "ProcedureKitFoundation", )', r'\1"ProcedureKitRemote", ')
    substitute(m, r'(name: "TemporalTests", dependencies: \["temporal", "ProcedureKit", "ProcedureKitFoundation")', r'\1, "ProcedureKitRemote"')
    replace(m, """    .testTarget(
      name: "ProcedureKitNetworkTests",
""", """    .testTarget(
      name: "ProcedureKitRemoteTests",
      dependencies: ["ProcedureKitFoundation", "ProcedureKitRemote", "TestingProcedureKit", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "ProcedureKitNetworkTests",
""")
    format_file(m)
    replace(".spi.yml", "        - ProcedureKitFoundation\n", "        - ProcedureKitRemote\n        - ProcedureKitFoundation\n")
    replace("Tests/ProjectTests/ImportsTests.swift", '    "Sources/ProcedureKitFoundation": [', '    "Sources/ProcedureKitRemote": ["ProcedureKit", "ProcedureKitFoundation"],\n    "Sources/ProcedureKitFoundation": [')


def users():
    git("add", "-A")
    types = top_types(REMOTE)
    uses = re.compile(r"\b(" + "|".join(sorted(types)) + r")\b|\.remote\(")
    for p in swift_files("Examples", "Tests"):
        if p.startswith(("Tests/ProcedureKitRemoteTests", "Tests/ProjectTests")):
            continue
        text = read(p)
        if uses.search(text):
            # What was public because of the core is public because of the calls.
            is_public = p.startswith("Examples/") and "public import ProcedureKit\n" in text
            with_imports(p, *(["import ProcedureKit", "public import ProcedureKitRemote"] if is_public else ["import ProcedureKitRemote"]))
