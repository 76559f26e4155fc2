import Synchronization

/// Names one run of a procedure, uniquely within the process.
///
/// A procedure is a value and may run many times; every run has an identity of its own. Identities grow in the order in
/// which they were handed out, which is useful for sorting and nothing else.
public struct ProcedureID: Hashable, Comparable, Sendable, CustomStringConvertible {
  let number: UInt64

  /// Orders identities by the time at which they were handed out.
  public static func < (lhs: ProcedureID, rhs: ProcedureID) -> Bool {
    lhs.number < rhs.number
  }

  /// The identity as users read it in messages: `#42`.
  public var description: String {
    "#\(number)"
  }

  /// The identity of no run, which is never handed out.
  static var ofNoRun: ProcedureID { ProcedureID(number: 0) }

  private static let next = Atomic<UInt64>(1)

  /// Hands out `count` consecutive identities and returns the first of them.
  static func reserve(_ count: Int = 1) -> ProcedureID {
    let amount = UInt64(count)
    return ProcedureID(number: next.wrappingAdd(amount, ordering: .relaxed).oldValue)
  }

  /// The identity `offset` places after this one, within a reserved block.
  func advanced(by offset: Int) -> ProcedureID {
    ProcedureID(number: number &+ UInt64(offset))
  }
}
