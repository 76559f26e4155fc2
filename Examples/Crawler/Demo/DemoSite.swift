import Foundation
import LoopbackServer

/// A server with faults, on 127.0.0.1.
struct DemoSite: Sendable {
  private let server: LoopbackServer

  init() throws {
    server = try LoopbackServer { request in
      switch request.path {
      case "/kitten": .ok("a kitten")
      case "/moved": .redirect(to: "/kitten")
      case "/flaky": request.attempt < 3 ? .status(503) : .ok("a kitten, at last")
      case "/cut": request.attempt < 2 ? .ok("a whole kitten").truncated(after: 7) : .ok("a whole kitten")
      default: .status(404)
      }
    }
  }

  var addresses: [URL] {
    ["/kitten", "/moved", "/flaky", "/cut", "/missing"].map { server.url($0) }
  }

  func stop() {
    server.stop()
  }
}
