import Dispatch
import Foundation

/// The threads and sockets of a server. The core exists until its last thread has ended, even if the `LoopbackServer` has been released.
final class ServerCore: Sendable {
  let state = Watched(ServerState())
  let beforeBody: @Sendable (ServerRequest) -> ServerResponse?
  let handler: @Sendable (ServerRequest) -> ServerResponse
  let threads = DispatchGroup()
  /// Whether a connection can be used for several requests in sequence.
  let keepsConnections: Bool
  private let stopping = ServerGate()

  init(
    keepsConnections: Bool, beforeBody: @escaping @Sendable (ServerRequest) -> ServerResponse?,
    handler: @escaping @Sendable (ServerRequest) -> ServerResponse
  ) {
    self.keepsConnections = keepsConnections
    self.beforeBody = beforeBody
    self.handler = handler
  }

  func start(_ listener: Socket) {
    startThread { core in
      core.accept(from: listener)
      listener.close()
    }
  }

  /// Stops accepting connections, and ends all reads and writes on the open ones.
  func beginStop() {
    stopping.open()
    state.update { state in
      state.isStopped = true
      for descriptor in state.open { Socket(descriptor: descriptor).shutDown() }
    }
  }

  private func accept(from listener: Socket) {
    while listener.wait(for: stopping, isServing: false) == .readable {
      guard let socket = listener.accept() else {
        // The client has already disconnected, or the process has temporarily run out of descriptors.
        if listener.wait(for: stopping, .milliseconds(5), isServing: false) == .opened { return }
        continue
      }
      let isWelcome = state.update { state in
        if !state.isStopped { state.open.insert(socket.descriptor) }
        return !state.isStopped
      }
      guard isWelcome else { return socket.close() }
      startThread { Connection(socket: socket, core: $0).serve() }
    }
  }

  /// Closes a connection under the lock, so that ``beginStop()`` never shuts down a descriptor that has been reused.
  func close(_ socket: Socket) {
    state.update { state in
      state.open.remove(socket.descriptor)
      state.answering.remove(socket.descriptor)
      socket.close()
    }
  }

  private func startThread(_ body: @escaping @Sendable (ServerCore) -> Void) {
    threads.enter()
    let thread = Thread { [self] in
      body(self)
      threads.leave()
    }
    thread.name = "loopback"
    thread.start()
  }
}
