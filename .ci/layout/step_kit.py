import re
from lib import *

KIT = "Sources/TestingProcedureKit"
MAP = {
    "Clock": ("Merge the files of the virtual clock", {
        "Clock/VirtualClock.swift": ["Clock/VirtualClock.swift", "Clock/VirtualClockInstant.swift"],
        "Clock/SleepQueue.swift": ["Clock/SleepQueue.swift"],
        "Clock/QuietExecutor.swift": ["Clock/QuietExecutor.swift"],
    }),
    "Probes": ("Merge the files of the probes", {
        "Probes/EventRecorder.swift": [
            "Probes/EventRecorder.swift", "Probes/EventRecorder+StreamEnded.swift", "Probes/ProcedureEvent+Order.swift",
            "Probes/ProcedureHandle+Events.swift"],
        "Probes/ProbeProcedure.swift": ["Probes/ProbeProcedure.swift", "Probes/Gate.swift", "Probes/Milestones.swift"],
        "Probes/ProcedureOutcome+Testing.swift": ["Outcomes/ProcedureOutcome+Testing.swift"],
        "Probes/WaitingRoom.swift": ["Tasks/WaitingRoom.swift"],
    }),
    "Programs": ("Merge the files of generated programs", {
        "Programs/ProgramExplorer.swift": [
            "Programs/ProgramExplorer.swift", "Programs/ExplorePrograms.swift", "Programs/ExplorationSummary+Programs.swift"],
        "Programs/Program.swift": ["Programs/Program.swift", "Programs/GeneratedProgram.swift", "Programs/ProgramFailure.swift"],
        "Programs/ProgramHistory.swift": [
            "Programs/ProgramHistory.swift", "Programs/ProgramRecording.swift", "Programs/LinearizationSearch.swift"],
    }),
    "Traits": ("Merge the files of the exploring trait", {
        "Traits/ExploredTrait.swift": ["Traits/ExploredTrait.swift", "Traits/LentFunction.swift"],
    }),
    "Exploration/Strategies": ("Move the choosers of schedules to Exploration/Strategies", {
        "Exploration/Strategies/ChoiceTree.swift": ["Schedules/Strategies/ChoiceTree.swift"],
        "Exploration/Strategies/ChooserSource.swift": [
            "Schedules/Strategies/ChooserSource.swift", "Schedules/Strategies/ScheduleLengths.swift",
            "Schedules/Strategies/ExplorationStrategy.swift"],
        "Exploration/Strategies/PriorityChooser.swift": ["Schedules/Strategies/PriorityChooser.swift"],
        "Exploration/Strategies/ScheduleChooser.swift": ["Schedules/Strategies/ScheduleChooser.swift"],
        "Exploration/Strategies/ReplayCode.swift": [
            "Schedules/Strategies/ReplayCode.swift", "Schedules/Strategies/Fingerprint.swift", "Schedules/Strategies/OrderTrail.swift"],
        "Exploration/Strategies/SeededGenerator.swift": ["Random/SeededGenerator.swift"],
    }),
    "Exploration/Locks": ("Move explored locks to Exploration/Locks", {
        "Exploration/Locks/LockTable.swift": [
            "Schedules/Locks/LockTable.swift", "Schedules/Locks/LockUse.swift", "Schedules/Locks/LockOrder.swift", "Schedules/Locks/LockCycle.swift"],
        "Exploration/Locks/ScheduleExecutor+Locks.swift": ["Schedules/Locks/ScheduleExecutor+Locks.swift"],
        "Exploration/Locks/ScheduleState+Locks.swift": ["Schedules/Locks/ScheduleState+Locks.swift"],
    }),
    "Exploration/Runtime": ("Keep what relies on the runtime in Exploration/Runtime", {
        "Exploration/Runtime/Platform.swift": ["Schedules/Executor/Platform.swift"],
        "Exploration/Runtime/GlobalExecutorWatch.swift": [
            "Schedules/Executor/GlobalExecutorWatch.swift", "Schedules/Executor/ScheduleMainActor.swift"],
        "Exploration/Runtime/JobKind.swift": ["Schedules/Executor/JobKind.swift", "Schedules/Executor/JobIdentities.swift"],
        "Exploration/Runtime/TaskStatus.swift": ["Schedules/Executor/TaskStatus.swift", "Schedules/Executor/GroupDrain.swift"],
        "Exploration/Runtime/ScheduleExecutor+Waiting.swift": ["Schedules/Executor/ScheduleExecutor+Waiting.swift"],
    }),
    "Exploration/Scheduler": ("Move what executes a schedule to Exploration/Scheduler", {
        "Exploration/Scheduler/ScheduleExecutor.swift": ["Schedules/Executor/ScheduleExecutor.swift"],
        "Exploration/Scheduler/ScheduleState.swift": ["Schedules/Executor/ScheduleState.swift"],
        "Exploration/Scheduler/ScheduleRun.swift": ["Schedules/ScheduleRun.swift"],
        "Exploration/Scheduler/ScheduleRecord.swift": [
            "Schedules/Executor/ScheduleRecord.swift", "Schedules/Executor/ReadyJob.swift", "Schedules/Executor/LockCollision.swift"],
        "Exploration/Scheduler/Crew.swift": [
            "Schedules/Executor/Crew.swift", "Schedules/Executor/Carrier.swift", "Schedules/Executor/ExplorationPermits.swift"],
        "Exploration/Scheduler/CrashTrail.swift": ["Schedules/Executor/CrashTrail.swift"],
        "Exploration/Scheduler/StepWatch.swift": ["Schedules/Executor/StepWatch.swift"],
        "Exploration/Scheduler/RealSleeps.swift": [
            "Schedules/Executor/RealSleeps.swift", "Schedules/Executor/RealSleepTest.swift", "Schedules/Executor/JobStarts.swift"],
        "Exploration/Scheduler/KitSpawner.swift": ["Tasks/KitSpawner.swift"],
    }),
    "Exploration/Explorer": ("Move the explorer and its reports to Exploration/Explorer", {
        "Exploration/Explorer/ScheduleExplorer.swift": ["Schedules/ScheduleExplorer.swift"],
        "Exploration/Explorer/ExploreSchedules.swift": [
            "Schedules/ExploreSchedules.swift", "Schedules/ExploreRace.swift", "Schedules/MissingOutcomes.swift"],
        "Exploration/Explorer/ExplorationEnvironment.swift": [
            "Schedules/ExplorationEnvironment.swift", "Schedules/ExplorationEnvironment+Queues.swift", "Schedules/ExplorationLogHandler.swift"],
        "Exploration/Explorer/ExplorationFailure.swift": [
            "Schedules/ExplorationFailure.swift", "Schedules/ExplorationFailure+Files.swift", "Schedules/FailedCheck.swift",
            "Schedules/NestedExploration.swift"],
        "Exploration/Explorer/ExplorationProblem.swift": [
            "Schedules/ExplorationProblem.swift", "Schedules/UncontrolledJob.swift", "Schedules/ReplayDiverged.swift"],
        "Exploration/Explorer/ExplorationSummary.swift": ["Schedules/ExplorationSummary.swift", "Schedules/Int+Counting.swift"],
        "Exploration/Explorer/Deadlock.swift": ["Schedules/Deadlock.swift", "Schedules/StuckStrand.swift", "Schedules/Livelock.swift"],
        "Exploration/Explorer/ScheduleTrace.swift": ["Schedules/ScheduleTrace.swift", "Schedules/ScheduleTrace+Files.swift"],
        "Exploration/Explorer/ChoiceShrinker.swift": ["Schedules/ChoiceShrinker.swift"],
    }),
}
BODY = """A folder of the kit holds one idea, and a file holds a type with its small satellites.
No declaration changes."""
DOCC = KIT + "/TestingProcedureKit.docc"


def run():
    for folder, (subject, mapping) in MAP.items():
        renames = apply_map(KIT, KIT, mapping)
        follow(renames)
        body = BODY
        if folder == "Exploration/Runtime":
            substitute(f"{KIT}/Exploration/Runtime/Platform.swift", r"^(/// The explorer's needs beyond the standard library\. .*\n)(?=enum Platform)",
                       r"""\1///
/// The article *What explorations rely on* lists what this folder takes of the runtime, and what is lost without it.
""")
            write(f"{DOCC}/ExplorationRuntime.md", file_text("ExplorationRuntime.md"))
            replace(f"{DOCC}/TestingProcedureKit.md", "- <doc:TestingYourProcedures>\n", "- <doc:TestingYourProcedures>\n- <doc:ExplorationRuntime>\n")
            body += """

The article *What explorations rely on* lists each symbol and offset, the version with
which it was tried, and what is lost without it."""
        commit(subject, body)
    for p in swift_files(KIT):
        inner = p[len(KIT) + 1:]
        if inner.startswith(("Schedules/", "Tasks/", "Random/", "Outcomes/")):
            report(f"new, and in no map: {p}")
