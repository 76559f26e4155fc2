/// A wait that is part of a deadlock, as reported by ``ProcedureError/Kind/exclusionDeadlock``.
///
/// The value identifies the waiting procedure, the resource that it is waiting for, and the procedure that holds the resource.
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
  /// The procedure that holds the resource, or the procedure that must finish before the waiting procedure can continue.
  public let holder: ProcedureIdentity
  private let subject: Subject

  /// Creates a wait for a resource that `holder` holds.
  init(procedure: ProcedureIdentity, key: any CustomStringConvertible & Sendable, holder: ProcedureIdentity) {
    (self.procedure, subject, self.holder) = (procedure, .resource(key), holder)
  }

  /// Creates a wait for a procedure to finish. A procedure can be waiting for itself.
  init(procedure: ProcedureIdentity, finishOf holder: ProcedureIdentity) {
    (self.procedure, subject, self.holder) = (procedure, .finish, holder)
  }

  /// Whether the procedure is waiting for a resource, rather than for the holder itself.
  var isForResource: Bool {
    if case .resource = subject { true } else { false }
  }

  /// Returns whether two waits have equal procedures, resources, and holders.
  public static func == (one: ExclusionWait, other: ExclusionWait) -> Bool {
    one.procedure == other.procedure && one.resource == other.resource && one.holder == other.holder
  }

  /// Hashes the procedure, the resource, and the holder.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(procedure)
    hasher.combine(resource)
    hasher.combine(holder)
  }

  /// A sentence that names the waiting procedure, the resource, and the holder.
  public var description: String { description { "\($0)" } }

  /// Returns a sentence that describes the wait, using the names that `name` returns.
  func description(naming name: (ProcedureIdentity) -> String) -> String {
    switch subject {
    case .resource(let key): "\(name(procedure)) waits for \("\(key)".quoted), which \(name(holder)) holds"
    case .finish: "\(name(procedure)) waits for \(name(holder)) to finish"
    }
  }
}

extension ExclusionWait: Codable {
  private enum CodingKeys: CodingKey {
    case procedure, resource, holder
  }

  /// Encodes the procedures and the description of the resource.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(procedure, forKey: .procedure)
    try container.encode(resource, forKey: .resource)
    try container.encode(holder, forKey: .holder)
  }

  /// Decodes a wait.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      procedure: try container.decode(ProcedureIdentity.self, forKey: .procedure),
      key: try container.decode(String.self, forKey: .resource),
      holder: try container.decode(ProcedureIdentity.self, forKey: .holder))
  }
}
