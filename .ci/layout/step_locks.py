import re
from lib import *

BLOCK = '''
/// For the package's own gate: a build in which explorations choose the order of the core's own lockings, too, with only the tests of that.
if Context.environment["PROCEDUREKIT_EXPLORED_LOCKS"] != nil {
  let needed: Set = ["ProcedureKit", "ExploredLocks", "TestingProcedureKit"]
  package.products = []
  package.targets.removeAll { !needed.contains($0.name) }
  for target in package.targets where target.name == "ProcedureKit" {
    target.dependencies = ["ExploredLocks"]
    target.swiftSettings = settings + [.define("ExploredLocks")]
  }
  package.targets.append(
    .testTarget(name: "ExploredEngineTests", dependencies: ["TestingProcedureKit"], swiftSettings: settings))
}
'''
COMMAND = "PROCEDUREKIT_EXPLORED_LOCKS=1 swift test --scratch-path .build-explored"


def run():
    move("Tests/ExploredEngine/ExploredEngineTests", "Tests/ExploredEngineTests")
    remove("Tests/ExploredEngine")
    m = "Package.swift"
    replace(m, '    .library(name: "ExploredLocks", targets: ["ExploredLocks"]),\n', "")
    substitute(m, r"  traits: \[\n(?:.*\n)*?  \],\n(?=  targets:)", "")
    substitute(m, r'    \.target\(\s*name: "ProcedureKit",\s*dependencies: \[\.byName\(name: "ExploredLocks".*\],\s*swiftSettings: settings\),\n',
               '    .target(name: "ProcedureKit", swiftSettings: settings),\n')
    if "PROCEDUREKIT_EXPLORED_LOCKS" not in read(m):
        write(m, read(m).rstrip("\n") + "\n" + BLOCK)
    format_file(m)
    seam = "Sources/ProcedureKit/Support/ExploredLocks.swift"
    substitute(seam, r"  /// With the trait .*\n", "  /// With PROCEDUREKIT_EXPLORED_LOCKS in the environment of a build, explorations choose the order of the core's own lockings, see `Package.swift`.\n")
    substitute(".ci/run", r"# The core with a trait of the package.*\nexplore_engine\(\) \{\n(?:.*\n)*?\}\n", """# The core with explored locks: another build, of these modules only, see the end of Package.swift.
explore_engine() {
  local -x PROCEDUREKIT_EXPLORED_LOCKS=1
  build --scratch-path .build-explored --build-tests
  limited 300 swift test --scratch-path .build-explored --skip-build
}
""")
    mu = ".ci/mutants"
    substitute(mu, r'nice swift build --package-path "\$folder/Tests/ExploredEngine" --scratch-path "\$folder/\.build-explored" --build-tests',
               'PROCEDUREKIT_EXPLORED_LOCKS=1 nice swift build --package-path "$folder" --scratch-path "$folder/.build-explored" --build-tests')
    replace(mu, '''test_targets='"ProcedureKitTests",''', '''test_targets='"ExploredEngineTests", "ProcedureKitTests",''')
    guide = "Sources/TestingProcedureKit/TestingProcedureKit.docc/TestingYourProcedures.md"
    replace(guide, """by a type alias, for example
under a condition of the build for tests. The module `ExploredLocks` has only these types, for modules that should not
import the kit.
""", """by a type alias, under
a condition of the build for tests.
""")
    substitute(guide, r"- The trait `ExploredLocks` of the package does the same(?:.*\n)*?  its users\. An exploration of a queue becomes slower, and needs more schedules\.\n",
               """- The tests of the framework itself do the same for the locks of ProcedureKit, in a build with `PROCEDUREKIT_EXPLORED_LOCKS=1` in its
  environment. An exploration of a queue becomes slower, and needs more schedules.
""")
    changes = "Sources/ProcedureKit/ProcedureKit.docc/Changes.md"
    substitute(changes, r"  `ExploredMutex` and `ExploredAtomic`, also in the module `ExploredLocks` alone, make lockings and atomic operations choices of an exploration; with the trait\n  `ExploredLocks` of the package, those of the core, too\.\n",
               "  `ExploredMutex` and `ExploredAtomic` make lockings and atomic operations choices of an exploration.\n")
    substitute(changes, r"(## Since 0\.9\n\n(?:- .*\n(?:  .*\n)*)+)", r"""\1- The product and the trait `ExploredLocks` are gone. `ExploredMutex` and `ExploredAtomic` come with `TestingProcedureKit`; explorations of the
  framework's own locks are for the tests of the framework.
""")
    substitute("README.md", r"`Tests/ExploredEngine`, a package of its own, explores the locks of the core:\n  `swift test --package-path Tests/ExploredEngine --scratch-path \.build-explored`\.",
               f"`Tests/ExploredEngineTests` explores the locks of the core, in a build of its own:\n  `{COMMAND}`.")
    for p in swift_files("Tests/ExploredEngineTests"):
        pass
    commit("Define ExploredLocks by the environment of a build", """
The product and the trait showed users a switch that only the tests of the core need,
and the trait needed a package of its own for these tests. Now the manifest reads
PROCEDUREKIT_EXPLORED_LOCKS and then has the core, the kit and ExploredEngineTests only.""")
