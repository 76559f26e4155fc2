/// Where one run of a procedure stands.
///
/// States only go forward, in the order in which they are declared, with one exception: a pause leads from
/// ``executing`` through ``pausing`` back to ``executing``, in which a later attempt waits for its conditions and resources.
/// A run may skip states: one that is cancelled while it is pending goes straight to ``finishing``.
public enum ProcedureState: UInt8, Sendable, CaseIterable {
  /// Waits for the procedures that it depends on.
  case pending
  /// Its dependencies have finished; its conditions are being evaluated, or wait for a suspended queue to resume.
  case evaluating
  /// Its conditions are satisfied; it waits for its resources, or for a slot of its queue.
  case waiting
  /// Its body executes.
  case executing
  /// Its body pauses between two attempts, or before the first, as for a delay or a rate limiter; it holds no slot meanwhile.
  case pausing
  /// Its outcome is decided, and what follows from it is under way.
  case finishing
  /// Its outcome can be read; nothing more will happen.
  case finished
}
