/// Where one run of a procedure stands.
///
/// States only go forward, in the order in which they are declared, with one exception: a retry or a repeat leads from
/// ``executing`` through ``pausing`` back to ``evaluating``, ``waiting`` or ``executing``. A run may skip states: one that
/// is cancelled while it is pending goes straight to ``finishing``.
public enum ProcedureState: UInt8, Sendable, CaseIterable {
  /// Waits for the procedures that it depends on.
  case pending
  /// Its dependencies have finished; its conditions are being evaluated, or wait for a suspended queue to resume.
  case evaluating
  /// Its conditions are satisfied; it waits for a slot of its queue.
  case waiting
  /// Its body executes.
  case executing
  /// Its body has ended an attempt and another one follows; it holds no slot meanwhile.
  case pausing
  /// Its outcome is decided, and what follows from it is under way.
  case finishing
  /// Its outcome can be read; nothing more will happen.
  case finished
}
