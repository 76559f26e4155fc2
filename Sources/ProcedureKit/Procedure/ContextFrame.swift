/// Internal. What a ``ProcedureContext`` refers to: a scope, for the body of which it is the context, or something made for
/// a part of it. So a context is one reference, and cheap to bind.
///
/// Invariant: it stores nothing; what its subclasses store they guard.
@usableFromInline
class ContextFrame: @unchecked Sendable {
  var scope: ProcedureScope {
    preconditionFailure("\(type(of: self)) has to know its scope")
  }

  /// Which attempt this is, counted from 1.
  var attempt: Int { 1 }

  /// The innermost claim that holds something for this body, or for what it is part of.
  var hold: ResourceHold? { scope.parent?.hold }

  /// The innermost claim that is kept during a pause: what is further in is given back meanwhile.
  var keptHold: ResourceHold? { scope.parent?.hold }

  /// Whether this is the outermost level of a run, so that its attempts are those of the run.
  var isOutermost: Bool { true }
}

/// Internal. The frame of a body that holds something, or of a part of a body.
///
/// Invariant: nothing of it changes.
final class InnerFrame: ContextFrame, @unchecked Sendable {
  private let innerScope: ProcedureScope
  private let innerAttempt: Int
  private let innerHold: ResourceHold?
  private let innerKeptHold: ResourceHold?
  private let outermost: Bool

  init(scope: ProcedureScope, attempt: Int, hold: ResourceHold?, keptHold: ResourceHold?, isOutermost: Bool) {
    (innerScope, innerAttempt, outermost) = (scope, attempt, isOutermost)
    (innerHold, innerKeptHold) = (hold, keptHold)
  }

  override var scope: ProcedureScope { innerScope }
  override var attempt: Int { innerAttempt }
  override var hold: ResourceHold? { innerHold }
  override var keptHold: ResourceHold? { innerKeptHold }
  override var isOutermost: Bool { outermost }
}
