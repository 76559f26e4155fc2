import Foundation

/// A place in a response where the server waits until a test lets the rest go on.
///
/// A gate can be in several responses. Once open, a gate stays open.
public final class ServerGate: Sendable {
  private struct State {
    var arrivals = 0
    var isOpen = false
  }

  private let state = Watched(State())
  /// Readable as soon as the gate is open; nobody reads.
  let descriptor: Int32
  private let writeDescriptor: Int32

  /// Creates a closed gate.
  public init() {
    (descriptor, writeDescriptor) = Platform.pipe()
  }

  deinit {
    Socket(descriptor: descriptor).close()
    Socket(descriptor: writeDescriptor).close()
  }

  /// Opens the gate: everybody at the gate, and everybody who comes later, goes on.
  public func open() {
    let isFirst = state.update { state in
      defer { state.isOpen = true }
      return !state.isOpen
    }
    if isFirst { _ = write(writeDescriptor, [1], 1) }
  }

  /// Whether the gate is open.
  public var isOpen: Bool { state.value.isOpen }

  /// The count of responses that have come to the gate so far.
  public var arrivals: Int { state.value.arrivals }

  /// Waits until so many responses have come to the gate, including those of the past.
  ///
  /// Everything that comes before the gate has been handed to the system by then.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  public func waitForArrivals(_ count: Int = 1) async throws {
    try await state.wait { $0.arrivals >= count ? .met : .notYet }
  }

  func arrive() {
    state.update { $0.arrivals += 1 }
  }
}
