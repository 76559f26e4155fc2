import Foundation

/// A position in a response at which the server waits until a test opens the gate.
///
/// Several responses can share a gate. Once a gate is open, it remains open.
public final class ServerGate: Sendable {
  private struct State {
    var arrivals = 0
    var isOpen = false
  }

  private let state = Watched(State())
  /// A descriptor that becomes readable when the gate opens. It is never read.
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

  /// Opens the gate. All responses that are waiting at the gate continue, and later ones do not wait.
  public func open() {
    let isFirst = state.update { state in
      defer { state.isOpen = true }
      return !state.isOpen
    }
    if isFirst { _ = write(writeDescriptor, [1], 1) }
  }

  /// Whether the gate is open.
  public var isOpen: Bool { state.value.isOpen }

  /// The number of responses that have reached the gate so far.
  public var arrivals: Int { state.value.arrivals }

  /// Waits until at least `count` responses have reached the gate, including those that have already passed it.
  ///
  /// When the function returns, all bytes before the gate have been passed to the system.
  ///
  /// - Throws: `CancellationError` if the task is cancelled.
  public func waitForArrivals(_ count: Int = 1) async throws {
    try await state.wait { $0.arrivals >= count ? .met : .notYet }
  }

  func arrive() {
    state.update { $0.arrivals += 1 }
  }
}
