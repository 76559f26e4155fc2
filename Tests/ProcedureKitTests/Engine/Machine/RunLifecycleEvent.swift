@testable import ProcedureKit

/// Everything that can happen to a ``RunLifecycle``, with each argument that makes a difference.
enum RunLifecycleEvent: Codable, Hashable, Sendable {
  case dependenciesSettled(isSatisfied: Bool)
  case conditionsSettled(isSatisfied: Bool)
  case resourcesRefused
  case bodyStarted
  case paused
  case resumed(at: RunLifecycleTable.State)
  case bodyEnded
  case cancelRequested
  case finished

  /// The variants of an event that the head of a column names; none for a name that nobody knows.
  static func named(_ name: String) -> [RunLifecycleEvent] {
    switch name {
    case "dependencies settled": [.dependenciesSettled(isSatisfied: true), .dependenciesSettled(isSatisfied: false)]
    case "conditions settled": [.conditionsSettled(isSatisfied: true), .conditionsSettled(isSatisfied: false)]
    case "resources refused": [.resourcesRefused]
    case "body started": [.bodyStarted]
    case "paused": [.paused]
    case "resumed": ["evaluating", "waiting", "executing"].map { .resumed(at: .init(name: $0)) }
    case "body ended": [.bodyEnded]
    case "cancel requested": [.cancelRequested]
    case "finished": [.finished]
    default: []
    }
  }

  /// What the machine calls it.
  var function: String {
    switch self {
    case .dependenciesSettled: "dependenciesSettled(_:)"
    case .conditionsSettled: "conditionsSettled(_:)"
    case .resourcesRefused: "resourcesRefused()"
    case .bodyStarted: "bodyStarted()"
    case .paused: "paused()"
    case .resumed: "resumed(at:)"
    case .bodyEnded: "bodyEnded()"
    case .cancelRequested: "cancelRequested()"
    case .finished: "finished()"
    }
  }

  /// Tells the machine, and returns its answer as text, empty if it gives none.
  func happen(to lifecycle: inout RunLifecycle) -> String {
    switch self {
    case .dependenciesSettled(let isSatisfied):
      return "\(lifecycle.dependenciesSettled(isSatisfied ? .satisfied : .unsatisfied))"
    case .conditionsSettled(let isSatisfied):
      return "\(lifecycle.conditionsSettled(isSatisfied ? .satisfied : .unsatisfied))"
    case .resourcesRefused: return "\(lifecycle.resourcesRefused())"
    case .bodyStarted: return "\(lifecycle.bodyStarted())"
    case .cancelRequested: return "\(lifecycle.cancelRequested())"
    case .paused: lifecycle.paused()
    case .resumed(let next): lifecycle.resumed(at: next.value ?? .finished)
    case .bodyEnded: lifecycle.bodyEnded()
    case .finished: lifecycle.finished()
    }
    return ""
  }

  /// What has to follow in a state where the table has this entry and a run that is or is not cancelled already.
  func promised(_ entry: RunLifecycleTable.Entry, in state: ProcedureState, isCancelled: Bool) -> Consequence? {
    switch (self, entry) {
    case (_, .trap): nil
    case (.cancelRequested, _) where isCancelled: Consequence(state, isCancelled, "nothing")
    case (.cancelRequested, .noted): Consequence(state, true, "body")
    case (.cancelRequested, .leads(let next)): Consequence(next.value, true, "beforeBody")
    case (.cancelRequested, .tooLate): Consequence(state, isCancelled, "nothing")
    case (.dependenciesSettled, .tooLate), (.conditionsSettled, .tooLate): Consequence(state, isCancelled, "tooLate")
    case (.bodyStarted, .tooLate), (.resourcesRefused, .tooLate): Consequence(state, isCancelled, "false")
    case (.bodyStarted, .leads(let next)), (.resourcesRefused, .leads(let next)):
      Consequence(next.value, isCancelled, "true")
    case (.dependenciesSettled(let isSatisfied), .decides(let proceeding, let finishing)),
      (.conditionsSettled(let isSatisfied), .decides(let proceeding, let finishing)):
      Consequence(
        isSatisfied ? proceeding.value : finishing.value, isCancelled, isSatisfied ? "proceed" : "finish")
    case (.resumed(let next), .leadsToTheOneNamed): Consequence(next.value, isCancelled, "")
    case (.paused, .leads(let next)), (.bodyEnded, .leads(let next)), (.finished, .leads(let next)):
      Consequence(next.value, isCancelled, "")
    default: nil
    }
  }

  struct Consequence: Equatable {
    let state: ProcedureState?
    let isCancelled: Bool
    let answer: String

    init(_ state: ProcedureState?, _ isCancelled: Bool, _ answer: String) {
      self.state = state
      self.isCancelled = isCancelled
      self.answer = answer
    }
  }
}
