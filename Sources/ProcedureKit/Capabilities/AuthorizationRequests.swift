import Synchronization

/// Internal. Lets one request at a time be under way for the capabilities of one type, first come first served.
///
/// A request that had to wait looks at the status before it asks: if the one before it has brought about what it needs,
/// nobody is asked again. Types without a request use no memory.
enum AuthorizationRequests {
  /// For each type with a request under way, who waits.
  private static let lines = Mutex<[ObjectIdentifier: [Place]]>([:])

  /// Makes sure that a capability is authorized, and asks if it is not. No slot is held meanwhile.
  ///
  /// Cancelling the caller ends a wait for its turn at once, and is passed on to the request.
  ///
  /// - Returns: The status that meets the requirement.
  /// - Throws: ``CapabilityError``; what the capability throws; `CancellationError`.
  static func authorize<C: Capability>(_ capability: C, _ requirement: C.Status.Requirement) async throws -> C.Status {
    guard await capability.isAvailable() else { throw CapabilityError.unavailable(capability: capability.name) }
    try await enter(C.self)
    defer { leave(C.self) }
    let status = try await capability.authorizationStatus()
    if status.meets(requirement) { return status }
    try await capability.requestAuthorization(requirement)
    let answer = try await capability.authorizationStatus()
    guard answer.meets(requirement) else {
      throw CapabilityError.unauthorized(capability: capability.name, status: answer)
    }
    return answer
  }

  private static func enter(_ type: Any.Type) async throws {
    let key = ObjectIdentifier(type)
    let place = Place()
    let isFree = lines.withLock { lines in
      if lines[key] == nil {
        lines[key] = []
        return true
      }
      lines[key]?.append(place)
      return false
    }
    guard !isFree else { return }
    if await !place.wait() { throw CancellationError() }
  }

  private static func leave(_ type: Any.Type) {
    let key = ObjectIdentifier(type)
    while true {
      let next = lines.withLock { lines -> Place? in
        guard var line = lines[key], !line.isEmpty else {
          lines[key] = nil
          return nil
        }
        let next = line.removeFirst()
        lines[key] = line
        return next
      }
      guard let next, !next.call() else { return }
    }
  }
}
