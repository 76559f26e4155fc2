import Synchronization

/// The identity of one run of a procedure, unique within the process.
///
/// A procedure is a value and can run many times; every run has its own identity. Identities are ordered by creation. Use this order only
/// for sorting.
public struct ProcedureID: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let number: UInt64

  /// Returns whether `lhs` was created before `rhs`.
  public static func < (lhs: ProcedureID, rhs: ProcedureID) -> Bool {
    lhs.number < rhs.number
  }

  /// The identity as it appears in messages: `#42`.
  public var description: String {
    "#\(number)"
  }

  /// A placeholder identity that belongs to no run.
  static var ofNoRun: ProcedureID { ProcedureID(number: 0) }

  private static let next = Atomic<UInt64>(1)

  /// Reserves `count` consecutive identities and returns the first.
  package static func reserve(_ count: Int = 1) -> ProcedureID {
    let amount = UInt64(count)
    return ProcedureID(number: next.wrappingAdd(amount, ordering: .relaxed).oldValue)
  }

  /// Returns the identity that is `offset` positions after this one, within a reserved block.
  func advanced(by offset: Int) -> ProcedureID {
    ProcedureID(number: number &+ UInt64(offset))
  }
}

extension ProcedureID: Codable {
  /// Decodes an identity from its number.
  public init(from decoder: any Decoder) throws {
    self.init(number: try decoder.singleValueContainer().decode(UInt64.self))
  }

  /// Encodes the identity as its number.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(number)
  }
}

extension Dictionary where Key: Comparable {
  /// The values, in the order in which their keys were created. Identical executions therefore process the values in the same order.
  /// Sorting takes O(n log n) time.
  var inOrder: [Value] { count < 2 ? Array(values) : sorted { $0.key < $1.key }.map(\.value) }
}

/// The identity and the name of a run, for errors and events.
public struct ProcedureIdentity: Hashable, Codable, Sendable, Identifiable, CustomStringConvertible {
  /// The run's identity.
  public let id: ProcedureID
  /// The procedure's name.
  public let name: String

  /// Creates the identity of a run.
  ///
  /// - Parameters:
  ///   - id: The run's ID.
  ///   - name: The procedure's name.
  public init(id: ProcedureID, name: String) {
    self.id = id
    self.name = name
  }

  /// The run as it appears in messages: `"Resize" (#42)`. The description of a scope consists only of its name. Long names are shortened,
  /// and control characters become spaces.
  public var description: String { id == .ofNoRun ? name.quoted : "\(name.quoted) (\(id))" }
}
