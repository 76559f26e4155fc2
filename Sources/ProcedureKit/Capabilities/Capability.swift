/// Something that a program may have to be allowed to use: a camera, a folder, an account.
///
/// A capability is a value that knows how to ask. ``GetAuthorizationStatus`` and ``Authorize`` are procedures that do, and
/// ``Condition/authorized(for:_:)`` makes it a condition.
public protocol Capability<Status>: Sendable {
  /// What the program is allowed to do.
  associatedtype Status: AuthorizationStatus

  /// What errors and prompts call it. Default: the name of the type.
  var name: String { get }

  /// Whether it exists here at all. A cancelled caller still gets an answer.
  func isAvailable() async -> Bool

  /// What the program is allowed at this moment; does not ask anybody. May throw if the caller is cancelled.
  ///
  /// - Returns: The status.
  /// - Throws: Why it cannot be told.
  func authorizationStatus() async throws -> Status

  /// Asks for authorization, usually a person. Requests for capabilities of one type never overlap, and whoever has
  /// the same question meanwhile gets its answer. Should end, by throwing, when the caller is cancelled.
  ///
  /// It may run procedures and require other authorizations itself; it holds no slot.
  ///
  /// - Parameter requirement: What is needed.
  /// - Throws: Why nobody could be asked. A refusal is no error; the status tells it.
  func requestAuthorization(_ requirement: Status.Requirement) async throws
}

extension Capability {
  /// The name of the type.
  public var name: String {
    String(describing: Self.self)
  }
}
