/// A wait for a resource or for a procedure, as reported by ``ProcedureError/Kind/exclusionDeadlock`` and by snapshots.
///
/// The value identifies the waiting procedure, the resource that it is waiting for, and the procedure that holds the resource or is ahead in
/// line for it.
public struct ExclusionWait: Sendable, Hashable, CustomStringConvertible {
  private enum Subject: Sendable {
    /// The user's category, or the name of the resource. The description is computed only when it is read, because computing it can call
    /// the user's code.
    case resource(any CustomStringConvertible & Sendable)
    /// The procedure is waiting for the holder to finish.
    case finish
  }

  /// The waiting procedure.
  public let procedure: ProcedureIdentity
  /// The description of the category or the resource, or `the end of "b"` if the procedure is waiting for the holder itself to finish.
  public var resource: String {
    switch subject {
    case .resource(let key): "\(key)"
    case .finish: "the end of \(holder.name.quoted)"
    }
  }
  /// The procedure that holds the resource or is ahead in line for it, or the procedure that must finish before the waiting procedure can
  /// continue.
  public let holder: ProcedureIdentity
  /// Whether ``holder`` does not hold the resource yet, but is ahead of the waiting procedure in line for it.
  public let isAheadInLine: Bool
  private let subject: Subject

  /// Creates a wait for a resource that `holder` holds, or for which `holder` is ahead in line.
  init(
    procedure: ProcedureIdentity, key: any CustomStringConvertible & Sendable, holder: ProcedureIdentity,
    isAheadInLine: Bool = false
  ) {
    (self.procedure, subject, self.holder, self.isAheadInLine) = (procedure, .resource(key), holder, isAheadInLine)
  }

  /// Creates a wait for a procedure to finish. A procedure can be waiting for itself.
  init(procedure: ProcedureIdentity, finishOf holder: ProcedureIdentity) {
    (self.procedure, subject, self.holder, isAheadInLine) = (procedure, .finish, holder, false)
  }

  /// Whether the procedure is waiting for a resource, rather than for the holder itself.
  var isForResource: Bool {
    if case .resource = subject { true } else { false }
  }

  /// Returns whether all properties of two waits are equal.
  public static func == (one: ExclusionWait, other: ExclusionWait) -> Bool {
    one.procedure == other.procedure && one.resource == other.resource && one.holder == other.holder
      && one.isAheadInLine == other.isAheadInLine
  }

  /// Hashes all properties.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(procedure)
    hasher.combine(resource)
    hasher.combine(holder)
    hasher.combine(isAheadInLine)
  }

  /// A sentence that names the waiting procedure, the resource, and the holder.
  public var description: String { description { "\($0)" } }

  /// Returns a sentence that describes the wait, using the names that `name` returns.
  func description(naming name: (ProcedureIdentity) -> String) -> String {
    "\(name(procedure)) waits for \(object(naming: name))"
  }

  /// Returns a description of what the procedure is waiting for.
  func object(naming name: (ProcedureIdentity) -> String) -> String {
    switch subject {
    case .resource(let key) where isAheadInLine:
      "\("\(key)".quoted), for which \(name(holder)) is ahead of it in line"
    case .resource(let key): "\("\(key)".quoted), which \(name(holder)) holds"
    case .finish: "\(name(holder)) to finish"
    }
  }
}

extension ExclusionWait: Codable {
  private enum CodingKeys: CodingKey {
    case procedure, resource, holder, isAheadInLine
  }

  /// Encodes the procedures, the description of the resource, and whether the holder is only ahead in line.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(procedure, forKey: .procedure)
    try container.encode(resource, forKey: .resource)
    try container.encode(holder, forKey: .holder)
    if isAheadInLine { try container.encode(true, forKey: .isAheadInLine) }
  }

  /// Decodes a wait.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      procedure: try container.decode(ProcedureIdentity.self, forKey: .procedure),
      key: try container.decode(String.self, forKey: .resource),
      holder: try container.decode(ProcedureIdentity.self, forKey: .holder),
      isAheadInLine: try container.decodeIfPresent(Bool.self, forKey: .isAheadInLine) ?? false)
  }
}
