import Foundation
import LoopbackServer

/// A faulty server, and a host that is down, both on 127.0.0.1.
struct DemoSite: Sendable {
  /// The pages with temporary faults, for which a retry succeeds.
  private static let passing = ["/moved", "/flaky", "/busy", "/cut", "/reset", "/stuck"]
  /// The pages with permanent faults.
  private static let lasting = ["/missing", "/loop", "/garbage", "/down"]
  private static let photograph = Data((0..<200_000).map { UInt8($0 % 251) })

  private let server: LoopbackServer
  private let downHost: RefusingPort

  init() throws {
    server = try LoopbackServer(handler: Self.respond)
    downHost = try RefusingPort()
  }

  private static func respond(to request: ServerRequest) -> ServerResponse {
    let isFirst = request.attempt == 1
    switch request.path {
    case "/moved": return .redirect(to: "/kitten/1")
    case "/flaky": return request.attempt < 3 ? .status(503) : .ok("a kitten, at last")
    case "/busy": return isFirst ? .status(429, headers: ["Retry-After": "1"]) : .ok("a kitten, now")
    case "/cut":
      let file = ServerResponse.file(photograph, tag: "\"1\"")
      return isFirst ? file.truncated(after: 150_000) : file
    case "/reset": return isFirst ? .ok(photograph).reset(after: 100_000) : .ok(photograph)
    case "/stuck": return isFirst ? .ok("a kitten").stalled(after: 3) : .ok("a kitten")
    case "/loop": return .redirect(to: "/loop")
    case "/garbage": return .garbage()
    case "/down": return .status(500)
    default: return request.path.hasPrefix("/kitten/") ? .ok("a kitten") : .status(404)
    }
  }

  /// The addresses of all pages. Good pages are listed first, so that the later failures do not open the server's circuit breaker.
  var addresses: [URL] {
    let paths = (1...10).map { "/kitten/\($0)" } + Self.passing + Self.lasting
    return paths.map { server.url($0) } + (1...8).map { downHost.url("/kitten/\($0)") }
  }

  /// Returns the differences between a summary and the expected result for this site. If there are none, the array is empty.
  func surprises(in summary: Summary) -> [String] {
    summary.pages.compactMap { page in
      let isLost = page.address.port == downHost.port || Self.lasting.contains(page.address.path)
      return switch page.end {
      case .downloaded: isLost ? "\(page.address) was downloaded, which should be impossible" : nil
      case .failed: isLost ? nil : "\(page.address) should have been downloaded"
      case .stopped: nil
      }
    }
  }

  func stop() {
    server.stop()
  }
}
