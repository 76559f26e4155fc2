from lib import *

CORE = "Tests/ProcedureKitTests"
KIT = "Tests/TestingProcedureKitTests"
FOLDERS = {
    CORE: {"Engine/Machine": "Scheduler/Machine", "Engine": "Scheduler/Tasks", "Lifecycle": "Procedure", "Hooks": "Modifiers",
           "Logging": "Observability", "Metrics": "Observability", "Progress": "Observability/Progress"},
    KIT: {"Schedules/Locks": "Exploration/Locks", "Schedules": "Exploration/Explorer", "Random": "Exploration/Strategies", "Outcomes": "Probes"},
}
FILES = {
    CORE: {
        "Graph/Execution": "GraphCountdownTests GraphDecisions GraphModel GraphProgressCostTests GraphProgressScriptTests GraphProgressTests GraphScript GraphShapeTests GraphValuesTests",
        "Support": "ByteKeyTests SystemTextTests", "Errors": "DescriptionTests ProcedureErrorTests", "Events": "QueueFeedTests",
        "Resources/Deadlock": "WaitGraphTests", "Observability": "SnapshotTests",
    },
    KIT: {
        "Exploration/Scheduler": "CrashReportTests CrashTrailTests JobStartsTests OvertakingTests StrandTests RealTimeTests",
        "Exploration/Runtime": "GroupDrainTests", "Exploration/Strategies": "ChoiceTreeTests ReplayCodeTests ScheduleChooserTests",
    },
}


def run():
    renames = {}
    for base, folders in FOLDERS.items():
        by_name = {name: folder for folder, names in FILES[base].items() for name in names.split()}
        for p in swift_files(base):
            inner = p[len(base) + 1:]
            folder, name = os.path.split(inner)
            target = by_name.get(name[:-len(".swift")])
            if target is None:
                match = [f for f in folders if folder == f or folder.startswith(f + "/")]
                target = folders[max(match, key=len)] + folder[len(max(match, key=len)):] if match else folder
            if target != folder:
                move(p, f"{base}/{target}/{name}")
                renames[p] = f"{base}/{target}/{name}"
    follow(renames)
    commit("Move the tests to folders that mirror the sources", """
A reader finds the tests of a file where the file is. No test changes.""")
