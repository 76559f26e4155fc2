import ProcedureKit

/// A counter of the events of many runs, which finds events that are superfluous, missing, or in the wrong order.
///
/// The `orderViolations` of `TestingProcedureKit` gives more detailed descriptions, but this counter needs only a few bytes per run.
struct EventCount {
  private struct Steps {
    var last: ProcedureEvent.Kind = .didAttach
    var executions = 0
    var cancels = 0
    var willFinishes = 0
    var didFinishes = 0
  }

  private var steps: [ProcedureID: Steps] = [:]
  private var early: [String] = []
  /// The number of runs that have finished.
  private(set) var finishes = 0

  mutating func add(_ event: ProcedureEvent) {
    var run = steps[event.id] ?? Steps()
    if event.kind == .didAttach, steps[event.id] != nil { early.append("\(event) is not the first") }
    if run.didFinishes > 0 { early.append("\(event) follows didFinish") }
    switch event.kind {
    case .willExecute: run.executions += 1
    case .didExecute: run.executions -= 1
    case .didCancel: run.cancels += 1
    case .willFinish: run.willFinishes += 1
    case .didFinish:
      run.didFinishes += 1
      finishes += 1
    case .gap: early.append("\(event)")
    default: break
    }
    if run.willFinishes > 0, event.kind == .didCancel { early.append("\(event) follows willFinish") }
    steps[event.id] = run
  }

  /// Descriptions of the problems.
  var complaints: [String] {
    early
      + steps.compactMap { id, run in
        let isRight = run.executions == 0 && run.cancels <= 1 && run.willFinishes == 1 && run.didFinishes == 1
        return isRight ? nil : "\(id): \(run)"
      }
  }
}
