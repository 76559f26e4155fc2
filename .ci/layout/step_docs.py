import re
from lib import *

CORE = "Sources/ProcedureKit"
DOCC = CORE + "/ProcedureKit.docc"


def run():
    how_it_works()
    platforms()
    readme()
    changes()
    mutants()
    git("add", "-A")
    commit("Name the new folders and modules in the guides", """
The README, the landing page, Platforms, How it works and Changes say where things are
now, and which module to import. The measurement of the tests finds its files again.""")


def how_it_works():
    p = f"{DOCC}/HowItWorks.md"
    text = read(p)
    for old, new in {
        "`RunDriver.swift` (`arm`)": "`Scheduler/Run/Run+Execution.swift` (`arm`)",
        "`ReadyQueue.swift`": "`Scheduler/Machine/ReadyQueue.swift`",
        "`Queue/ProcedureRepetition.swift`": "`Modifiers/Procedure+Repeat.swift`",
    }.items():
        text = text.replace(old, new)
    text = text.replace("R2: when resources are claimed and given back | `Scheduler/Run/Run+Execution.swift`",
                        "R2: when resources are claimed and given back | `Scheduler/Run/Run+Admission.swift`, `Run+Pauses.swift`")
    text = text.replace("moves up | `Scheduler/QueueCore.swift`", "moves up | `Scheduler/QueueCore+Control.swift`")
    text = re.sub(r"Scheduler/Machine/Scheduler/Machine/", "Scheduler/Machine/", text)
    write(p, text)
    for name in re.findall(r"`([\w/+]+\.swift)`", text):
        if "/" in name and not exists(f"{CORE}/{name}"):
            report(f"{p} names {name}, which is not there")


def platforms():
    p = f"{DOCC}/Platforms.md"
    replace(p, "| `ProcedureKit`, `TestingProcedureKit`, `ProcedureKitFoundation` | – |\n",
            "| `ProcedureKit`, `TestingProcedureKit`, `ProcedureKitFoundation`, `ProcedureKitRemote` | – |\n"
            "| `ProcedureKitDurable` | for `FileJournal`, POSIX files with `flock`, and Dispatch; the rest has no needs |\n")
    page = f"{DOCC}/ProcedureKit.md"
    replace(page, "Files as a\ncapability, and JSON, are in the module `ProcedureKitFoundation`.",
            "Files as a\ncapability, and JSON, are in the module `ProcedureKitFoundation`, journals in `ProcedureKitDurable`, and calls of other processes in `ProcedureKitRemote`.")


def readme():
    r = "README.md"
    substitute(r, r"- `Sources/ProcedureKit`: `Lifecycle` \(identity, state, outcome, errors\)(?:.*\n)*?  `Sources/ProcedureKit/ProcedureKit\.docc`: ",
               """- `Sources/ProcedureKit`: `Procedure`, `Modifiers`, `Conditions`, `Queue`, `Graph` and more; in `Scheduler`, `Machine` decides in pure values,
  `Run` and `QueueCore` perform, `Tasks` spawns. Guides are in
  `Sources/ProcedureKit/ProcedureKit.docc`: """)
    replace(r, "*Dynamic graphs*, *Work that survives*, *Conditions", "*Dynamic graphs*, *Conditions")
    replace(r, "`Sources/ProcedureKitFoundation`: files, JSON, journals.",
            "`Sources/ProcedureKitFoundation`: files, JSON, signals.\n"
            "- `Sources/ProcedureKitDurable`: journals and durable graphs, with the guide *Work that survives*. `Sources/ProcedureKitRemote`: bodies that other\n"
            "  processes execute, with the guide *On other machines*.")
    substitute(r, r"- `Sources/ProcedureKitMobile`, `Mac`,(.*\n)", r"- `Sources/Adapters`: `ProcedureKitMobile`, `Mac`,\1")
    replace(r, "`ProjectTests` checks the layering, the manifest, and the snippets and paths of this page.",
            "`ProjectTests` checks the imports, the manifest, and the snippets and paths of this page.")
    replace(".ci/run", "(layering, snippets, the\n# manifest)", "(imports, snippets, the\n# manifest)")


def changes():
    p = f"{DOCC}/Changes.md"
    substitute(p, r"(## Since 0\.9\n\n(?:- .*\n(?:  .*\n)*)+)", r"""\1- Journals, durable graphs, `remembered`, `version` and the counted `retry` and `timeout` are in `ProcedureKitDurable`, `FileJournal` and `InMemoryJournal` too.
  `remote`, workers and `LocalEngine` are in `ProcedureKitRemote`. `ProcedureCoder` is in `ProcedureKitFoundation`, beside `JSONProcedureCoder`.
""")
    text = read(p)
    if "| before | now, since 0.9 |" not in text:
        text = re.sub(r"(## Since 0\.9\n\n(?:- .*\n(?:  .*\n)*)+)", r"""\1
| before | now, since 0.9 |
|---|---|
| `import ProcedureKit`, for `durable(in:)`, `remembered(in:as:)`, `version(_:)`, `ProcedureJournal` | `import ProcedureKitDurable`, too |
| `import ProcedureKitFoundation`, for `FileJournal` and `InMemoryJournal` | `import ProcedureKitDurable` |
| `import ProcedureKit` or `ProcedureKitFoundation`, for `remote(on:as:)`, `RemoteWorker`, `LocalEngine` | `import ProcedureKitRemote` |
| `import ProcedureKit`, for `ProcedureCoder` | `import ProcedureKitFoundation` |
| `import ExploredLocks` | `import TestingProcedureKit` |
""", text, count=1)
        write(p, text)


def mutants():
    p = ".ci/mutants"
    replace(p, "# What is changed, in Sources/ProcedureKit, but for text.\n", "# What is changed, in Sources, but for text.\n")
    substitute(p, r"^areas=\(.*\)$", "areas=(ProcedureKit/{Scheduler,Graph/Execution,Resources,Queue,Procedure,Support/IndexedHeap.swift}\n"
               "  ProcedureKitDurable/Graph/DurableRun.swift ProcedureKitRemote/{Worker,Engine})")
    substitute(p, r"^text='.*'$", "text='Configuration|Description|Resources/Resource\\.swift|OneDependency'")
    replace(p, '"StressTests", "ProcedureKitFoundationTests"\'', '"StressTests", "ProcedureKitDurableTests", "ProcedureKitRemoteTests"\'')
    replace(p, "^ProcedureKitFoundationTests\\\\..*(Remote|", "^ProcedureKit(Durable|Remote)Tests\\\\..*(Remote|")
    replace(p, "${areas[@]/#/Sources/ProcedureKit/}", "${areas[@]/#/Sources/}")
    substitute(p, r"^@usableFromInline\nfunc mutant", "@usableFromInline\npackage func mutant")
    replace(p, """    if nice swift build --package-path "$folder" --target ProcedureKit >"$folder/build.txt" 2>&1; then
""", """    if nice swift build --package-path "$folder" --target ProcedureKitDurable >"$folder/build.txt" 2>&1 &&
      nice swift build --package-path "$folder" --target ProcedureKitRemote >"$folder/build.txt" 2>&1; then
""")
    replace(p, r"s|.*/\(Sources/ProcedureKit/[^:]*:[0-9]*\)", r"s|.*/\(Sources/[^:]*:[0-9]*\)")
