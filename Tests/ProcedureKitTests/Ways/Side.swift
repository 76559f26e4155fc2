import ProcedureKit
import TestSupport

/// The side that cancels.
enum Side: String, CaseIterable, Sendable {
  /// The task that runs the procedure, or the procedure that contains it.
  case caller = "the caller's task"
  /// The handle of the added procedure, which is the procedure itself or contains it.
  case handle = "the handle"
  /// The handle of the produced procedure itself.
  case childHandle = "the child's handle"
  /// The procedure itself, through its context.
  case context = "the context"
  /// `cancelAll`.
  case queue = "the queue"

  static let reason = TestError(code: 7)

  /// The sides that can cancel a procedure that is not executing yet.
  static let outsiders = allCases.filter { $0 != .context }

  /// The ways in which a procedure can be cancelled by this side. According to C4, the task that awaits a handle cancels nothing.
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

  /// Returns whether `reason` is the side's reason. A task is cancelled without a reason.
  func gives(_ reason: (any Error)?) -> Bool {
    self == .caller ? reason == nil : reason as? TestError == Self.reason
  }

  /// Returns whether `error` is the error that is thrown after a cancellation by this side.
  func throwsError(_ error: (any Error)?) -> Bool {
    self == .caller ? error is CancellationError : error as? TestError == Self.reason
  }
}
