import ProcedureKit

/// Who cancels.
enum Side: String, CaseIterable, Sendable {
  /// The task that runs it, or that runs what it is in.
  case caller = "the caller's task"
  /// The handle of what was added: the procedure itself, or what it is in.
  case handle = "the handle"
  /// The handle of the produced procedure itself.
  case childHandle = "the child's handle"
  /// The procedure itself.
  case context = "the context"
  /// `cancelAll`.
  case queue = "the queue"

  static let reason = TestError(code: 7)

  /// Those who can cancel what does not execute yet.
  static let outsiders = allCases.filter { $0 != .context }

  /// The ways in which it can be cancelled so. C4: the task that awaits a handle cancels nothing.
  var ways: [Way] {
    switch self {
    case .caller: Way.allCases.filter { $0 != .add }
    case .handle: Way.queued.filter { $0 != .run }
    case .childHandle: [.child]
    case .context: Way.allCases
    case .queue: Way.queued
    }
  }

  /// Whether the outermost run is added.
  var isAdded: Bool { self == .handle }

  /// Whether `reason` is what it gives: a task is cancelled without one.
  func gives(_ reason: (any Error)?) -> Bool {
    self == .caller ? reason == nil : reason as? TestError == Self.reason
  }

  /// Whether `error` is what is thrown then.
  func throwsError(_ error: (any Error)?) -> Bool {
    self == .caller ? error is CancellationError : error as? TestError == Self.reason
  }
}
