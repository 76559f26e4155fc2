"""Which file of the core goes where: DESIGN.md 6. One entry for each folder, which is one commit."""
from lib import Decl, Rest, Sections

CORE = {
    "Support": ("Move shared helpers of the core to Support", {
        "Support/InternedKey.swift": ["Lifecycle/InternedKey.swift"],
        "Support/Locked.swift": ["Lifecycle/Locked.swift", "Lifecycle/ResultBox.swift"],
        "Support/ExploredLocks.swift": ["Lifecycle/ExploredLocks.swift"],
        "Support/ByteText.swift": ["Lifecycle/ByteText.swift"],
        "Support/ShortText.swift": ["Lifecycle/ShortText.swift"],
        "Support/SystemText.swift": ["Lifecycle/SystemText.swift"],
        "Support/Duration+Formatting.swift": ["Lifecycle/Duration+Description.swift", "Lifecycle/Duration+Saturation.swift"],
        "Support/Preconditions.swift": ["Lifecycle/Mistake.swift"],
        "Support/IndexedHeap.swift": ["Lifecycle/IndexedHeap.swift"],
        "Support/Slots.swift": ["Resources/Slots.swift"],
    }),
    "Procedure": ("Merge the files of a procedure and its identity", {
        "Procedure/Procedure.swift": ["Procedure/Procedure.swift", "Procedure/InputlessProcedure.swift"],
        "Procedure/ProcedureTask.swift": ["Procedure/ProcedureTask.swift"],
        "Procedure/ModifierLayer.swift": ["Procedure/Level.swift", "Lifecycle/SharedList.swift"],
        "Procedure/ProcedureContext.swift": [
            "Procedure/ProcedureContext.swift", "Queue/ProcedureContext+Produce.swift", "Logging/Runs/ProcedureContext+Log.swift"],
        "Procedure/ContextCarrier.swift": ["Procedure/ContextCarrier.swift"],
        "Procedure/ProcedureID.swift": ["Lifecycle/ProcedureID.swift", "Lifecycle/ProcedureIdentity.swift"],
        "Procedure/ProcedureOutcome.swift": ["Lifecycle/ProcedureOutcome.swift"],
        "Procedure/ProcedureState.swift": ["Lifecycle/ProcedureState.swift"],
    }),
    "Errors": ("Move the errors to Errors", {
        "Errors/ProcedureError.swift": ["Lifecycle/ProcedureError.swift"],
        "Errors/ProcedureError+Description.swift": ["Lifecycle/ProcedureError+Description.swift"],
        "Errors/FailurePolicy.swift": [
            "Lifecycle/ErrorPolicy.swift", "Graph/ElementFailurePolicy.swift", "Lifecycle/ProcedureFailure.swift"],
    }),
    "Modifiers": ("Keep each family of modifiers in one file", {
        "Modifiers/Procedure+Composition.swift": ["Modifiers/Procedure+Composition.swift"],
        "Modifiers/Procedure+Conditions.swift": [
            "Modifiers/Procedure+Conditions.swift", "Modifiers/Procedure+Configured.swift", "Modifiers/Procedure+ErrorPolicy.swift"],
        "Modifiers/Procedure+Hooks.swift": ["Modifiers/Procedure+Hooks.swift", "Modifiers/Procedure+Intercepted.swift"],
        "Modifiers/Procedure+Keys.swift": ["Modifiers/Procedure+Keys.swift", "Procedure/CoalescingScope.swift"],
        "Modifiers/Procedure+Repeat.swift": [
            "Modifiers/Procedure+Repeat.swift", "Schedule/RepetitionPace.swift", "Queue/ProcedureRepetition.swift"],
        "Modifiers/Procedure+Resilience.swift": ["Modifiers/Procedure+Resilience.swift", "Procedure/Hedge.swift"],
        "Modifiers/Procedure+Resources.swift": ["Modifiers/Procedure+Resources.swift"],
        "Modifiers/Procedure+Retry.swift": ["Modifiers/Procedure+Retry.swift", "Modifiers/RetryDecision.swift"],
        "Modifiers/Procedure+Reuse.swift": ["Modifiers/Procedure+Reusing.swift"],
        "Modifiers/Procedure+Time.swift": ["Modifiers/Procedure+Time.swift", "Lifecycle/Deadline.swift"],
    }),
    "Queue": ("Merge the files of a queue by what a caller does", {
        "Queue/ProcedureQueue.swift": ["Queue/ProcedureQueue.swift"],
        "Queue/ProcedureQueue+Configuration.swift": [
            "Queue/ProcedureQueue+Configuration.swift", "Queue/QueueFairness.swift", "Procedure/QueueOverflow.swift",
            "Procedure/ProcedureHooks.swift", "Lifecycle/FailureHandling.swift"],
        "Queue/ProcedureQueue+Admission.swift": ["Queue/ProcedureQueue+Room.swift", "Queue/ProcedureQueue+OneDependency.swift"],
        "Queue/ProcedureQueue+Shutdown.swift": ["Queue/ProcedureQueue+Ending.swift"],
        "Queue/ProcedureQueue+Results.swift": ["Queue/ProcedureQueue+Results.swift", "Graph/ProcedureQueue+Collections.swift"],
        "Queue/ResultStream.swift": ["Queue/ResultFlow.swift"],
        "Queue/ResultStreamStorage.swift": ["Queue/ResultAdder.swift", "Queue/ResultExchange.swift"],
        "Queue/ProcedureHandle.swift": ["Queue/ProcedureHandle.swift", "Procedure/ProcedureDependency.swift"],
        "Queue/withProcedureQueue.swift": ["Queue/withProcedureQueue.swift"],
    }),
    "Graph": ("Move what executes a graph to Graph/Execution", {
        "Graph/ProcedureGraph.swift": ["Graph/ProcedureGraph.swift"],
        "Graph/GraphBuilder.swift": ["Graph/GraphBuilder.swift", "Graph/GraphBuilder+Functions.swift"],
        "Graph/GraphBuilder+OneDependency.swift": ["Graph/GraphBuilder+OneDependency.swift"],
        "Graph/GraphBuilder+Collections.swift": [
            "Graph/GraphBuilder+Collections.swift", "Graph/GraphBuilder+ElementFunctions.swift", "Graph/ElementWork.swift"],
        "Graph/Node.swift": ["Graph/Node.swift", "Graph/NodeReference.swift", "Graph/GraphDependency.swift", "Graph/ProcedureTask+Node.swift"],
        "Graph/ProcedureGraph+Items.swift": ["Graph/ProcedureGraph+Items.swift", "Graph/ItemOrder.swift", "Graph/GraphItemsError.swift"],
        "Graph/GraphDiagrams.swift": ["Graph/GraphDiagrams.swift", "Graph/DiagramText.swift"],
        "Graph/Execution/GraphPlan.swift": [
            "Engine/Runtime/GraphPlan.swift", "Engine/Machine/GraphShape.swift",
            Decl("Metrics/GraphRun+Metrics.swift", r"^extension GraphShape"), "Engine/Machine/ValueLayout.swift", "Graph/GraphDraft.swift"],
        "Graph/Execution/GraphProgress.swift": ["Engine/Machine/GraphProgress.swift", "Engine/Machine/GraphCountdown.swift"],
        "Graph/Execution/GraphValues.swift": ["Engine/Machine/GraphValues.swift"],
        "Graph/Execution/GraphRun.swift": [Rest("Engine/Runtime/GraphRun.swift")],
        "Graph/Execution/GraphRun+Events.swift": [
            Sections("Engine/Runtime/GraphRun.swift", r"class GraphRun", ["Events"], "extension GraphRun"),
            Rest("Metrics/GraphRun+Metrics.swift"), "Progress/Runs/GraphRun+Progress.swift"],
        "Graph/Execution/GraphWorker.swift": ["Engine/Runtime/GraphWorker.swift", "Engine/Runtime/NodeFrame.swift"],
    }),
    "Conditions": ("Merge the satellites of conditions and capabilities", {
        "Conditions/Condition.swift": ["Conditions/Condition.swift", "Conditions/ConditionEvaluation.swift"],
        "Conditions/Condition+Combinators.swift": ["Conditions/Condition+Combinators.swift", "Conditions/ConditionError.swift"],
        "Capabilities/Capability.swift": [
            "Capabilities/Capability.swift", "Capabilities/AuthorizationStatus.swift", "Capabilities/CapabilityError.swift"],
        "Capabilities/Authorize.swift": [
            "Capabilities/Authorize.swift", "Capabilities/GetAuthorizationStatus.swift", "Capabilities/AuthorizationRequests.swift"],
        "Capabilities/Condition+Capabilities.swift": [
            "Capabilities/Condition+Capabilities.swift", "Capabilities/Condition+UserConfirmation.swift", "Capabilities/Prompts.swift"],
    }),
    "Resources": ("Move the search for deadlocks to Resources/Deadlock", {
        "Resources/Resource.swift": ["Resources/Resource.swift", "Resources/ResourceRequest.swift"],
        "Resources/ResourceTable.swift": ["Resources/ResourceTable.swift"],
        "Resources/ClaimTable.swift": ["Resources/ClaimTable.swift"],
        "Resources/ClaimTable+Entries.swift": ["Resources/ClaimTable+Entries.swift", "Resources/ClaimTable+Waits.swift"],
        "Resources/SharedWorkTable.swift": ["Resources/SharedWorkTable.swift", "Procedure/CoalescedWork.swift"],
        "Resources/Deadlock/ExclusionWait.swift": ["Lifecycle/ExclusionWait.swift", "Metrics/ExclusionWait+Codable.swift"],
        "Resources/Deadlock/WaitForGraph.swift": ["Resources/WaitGraph.swift"],
        "Resources/Deadlock/WaitForGraph+Reduction.swift": ["Resources/WaitGraph+Reduction.swift"],
        "Resources/Deadlock/DeadlockSearch.swift": ["Resources/WaitSearch.swift"],
    }),
    "Schedule": ("Merge the satellites of schedules, breakers and limiters", {
        "Schedule/Schedule.swift": ["Schedule/Schedule.swift", "Schedule/Schedule+Delays.swift"],
        "Schedule/ScheduleExpression.swift": ["Schedule/ScheduleExpression.swift"],
        "Schedule/ScheduleEvaluation.swift": ["Schedule/ScheduleEvaluation.swift"],
        "Schedule/Schedule+Combinators.swift": ["Schedule/Schedule+Combinators.swift", "Schedule/SplitMix64.swift"],
        "Resilience/CircuitBreaker.swift": ["Resilience/CircuitBreaker.swift"],
        "Resilience/CircuitBreakerMachine.swift": ["Resilience/CircuitBreakerMachine.swift", "Resilience/SlidingWindow.swift"],
        "Resilience/RateLimiter.swift": ["Resilience/RateLimiter.swift"],
        "Resilience/RateLimiterMachine.swift": ["Resilience/RateLimiterMachine.swift", "Resilience/TokenBucket.swift"],
        "Resilience/RetryBudget.swift": ["Resilience/RetryBudget.swift"],
    }),
    "Events": ("Merge the files of events and their readers", {
        "Events/ProcedureEvent.swift": [
            "Events/ProcedureEvent.swift", "Durable/Values/ExecutionCause.swift", "Durable/Graph/ProcedureEvent+ExecutionCause.swift",
            "Progress/Runs/ProcedureEvent+Progress.swift"],
        "Events/EventBroadcaster.swift": ["Events/EventBroadcaster.swift", "Events/EventSubscription.swift", "Events/EventEffect.swift"],
        "Events/EventLog.swift": ["Events/EventLog.swift"],
        "Events/EventReader.swift": ["Events/EventReader.swift"],
        "Events/QueueFeed.swift": ["Metrics/QueueFeed.swift"],
    }),
    "Observability": ("Move snapshots, metrics, logs and progress to Observability", {
        "Observability/QueueSnapshot.swift": [Rest("Metrics/QueueSnapshot.swift")],
        "Observability/SnapshotBuilder.swift": [
            Decl("Metrics/QueueSnapshot.swift", r"^extension QueueCore|struct RunLook|^extension Run ")],
        "Observability/ProcedureMetrics.swift": [
            "Metrics/Values/ProcedureMetrics.swift", "Metrics/Values/QueueTotals.swift", "Metrics/Values/DurationHistogram.swift"],
        "Observability/RunMeters.swift": ["Metrics/Values/RunMeters.swift"],
        "Observability/ProcedureLog.swift": [
            Rest("Logging/Messages/ProcedureLog.swift"), "Logging/Messages/ProcedureLog+Level.swift", "Logging/Messages/ProcedureLogMessage.swift",
            Rest("Logging/Messages/ProcedureLogHandler.swift")],
        "Observability/StandardErrorLogHandler.swift": [
            Decl("Logging/Messages/ProcedureLogHandler.swift", r"struct StandardErrorLogHandler"), "Logging/Messages/StandardError.swift"],
        "Observability/Progress/ProcedureProgress.swift": [
            "Progress/Values/ProcedureProgress.swift", "Progress/Runs/ProcedureContext+Progress.swift", "Progress/Reading/ProcedureHandle+Progress.swift",
            "Progress/Reading/Procedure+ProgressWeight.swift"],
        "Observability/Progress/ProgressNode.swift": ["Progress/Values/ProgressPart.swift", "Progress/Values/ProgressState.swift"],
        "Observability/Progress/ProgressReader.swift": ["Progress/Runs/ProgressReader.swift", "Progress/Runs/Run+Progress.swift"],
    }),
    "Scheduler/Machine": ("Move the scheduler's values to Scheduler/Machine", {
        "Scheduler/Machine/QueueMachine.swift": ["Engine/Machine/QueueMachine.swift"],
        "Scheduler/Machine/QueueMachine+Slots.swift": ["Queue/QueueMachine+Keys.swift"],
        "Scheduler/Machine/RunPhase.swift": ["Engine/Machine/RunPhase.swift"],
        "Scheduler/Machine/ReadyQueue.swift": ["Engine/Machine/ReadyQueue.swift"],
        "Scheduler/Machine/FairQueue.swift": ["Lifecycle/KeyTurns.swift"],
        "Scheduler/Machine/AdmissionLimiter.swift": ["Procedure/WaitingRoom.swift"],
        "Scheduler/Machine/StallDetector.swift": ["Procedure/StallWatch.swift"],
        "Scheduler/Machine/TimerHeap.swift": ["Engine/Machine/TimerHeap.swift"],
    }),
    "Scheduler/Tasks": ("Move what tasks and clocks need to Scheduler/Tasks", {
        "Scheduler/Tasks/Spawner.swift": ["Engine/Tasks/Spawner.swift"],
        "Scheduler/Tasks/WorkerGroup.swift": ["Engine/Tasks/GroupInbox.swift", "Engine/Tasks/WorkerGroups.swift", "Engine/Runtime/Worker.swift"],
        "Scheduler/Tasks/CancellableTask.swift": ["Engine/Tasks/CancellableWork.swift"],
        "Scheduler/Tasks/Timers.swift": ["Engine/Tasks/Timers.swift"],
        "Scheduler/Tasks/QueueClock.swift": ["Lifecycle/QueueTime.swift", "Lifecycle/ProcedureInstant.swift"],
        "Scheduler/Tasks/OneShotSignal.swift": ["Lifecycle/Wakeup.swift", "Lifecycle/Waiter.swift"],
        "Scheduler/Tasks/Trampoline.swift": ["Lifecycle/Trampoline.swift"],
        "Scheduler/Tasks/YieldPolicy.swift": ["Lifecycle/Fairness.swift"],
    }),
    "Scheduler/Run": ("Divide the driver of runs by what it does, in Scheduler/Run", {
        "Scheduler/Run/Run.swift": [Rest("Engine/Runtime/Run.swift")],
        "Scheduler/Run/RunState.swift": [
            Decl("Engine/Runtime/Run.swift", r"class RunDetails"), Decl("Engine/Runtime/Run.swift", r"struct Cancel\b"),
            Decl("Engine/Runtime/Run.swift", r"struct BodyWait\b"), Decl("Engine/Runtime/Run.swift", r"enum RunWait\b"),
            "Procedure/Run+Key.swift"],
        "Scheduler/Run/Run+Admission.swift": [
            Decl("Engine/Runtime/RunDriver.swift", r"^enum RunDriver"),
            Sections("Engine/Runtime/RunDriver.swift", r"^extension Run \{", ["", "Before the body"], "extension Run")],
        "Scheduler/Run/Run+Execution.swift": [Rest("Engine/Runtime/RunDriver.swift")],
        "Scheduler/Run/Run+Pauses.swift": [
            Decl("Engine/Runtime/Run.swift", r"struct Pause\b"),
            Sections("Engine/Runtime/RunDriver.swift", r"^extension Run \{", ["Pauses", "The state of a level that pauses"], "extension Run"),
            Decl("Engine/Runtime/RunDriver.swift", r"^extension \[Run\]")],
        "Scheduler/Run/Run+Cancellation.swift": ["Engine/Runtime/Run+Cancel.swift"],
        "Scheduler/Run/Run+Completion.swift": ["Engine/Runtime/Run+End.swift"],
        "Scheduler/Run/Run+Waiting.swift": ["Engine/Runtime/Run+Waiting.swift"],
        "Scheduler/Run/Run+Events.swift": ["Engine/Runtime/Run+Events.swift", "Queue/Run+EventLog.swift", "Logging/Runs/Run+Log.swift"],
    }),
    "Scheduler": ("Move the core of a queue to Scheduler", {
        "Scheduler/QueueCore.swift": [Rest("Engine/Runtime/QueueCore.swift")],
        "Scheduler/QueueCore+Runs.swift": ["Engine/Runtime/QueueCore+Entry.swift"],
        "Scheduler/QueueCore+Control.swift": [
            Sections("Engine/Runtime/QueueCore.swift", r"class QueueCore", ["The queue as a whole", "Failures", "Priority"], "extension QueueCore"),
            "Queue/QueueCore+Stall.swift", "Queue/QueueCore+Room.swift", "Logging/Runs/QueueCore+Log.swift", "Metrics/QueueCore+Metrics.swift"],
    }),
}
