import Foundation

/// The result of a download.
struct Page: Sendable {
  enum End: Sendable {
    case downloaded(byteCount: Int)
    case failed(String)
    case stopped
  }

  let address: URL
  let end: End
  let attempts: Int

  /// The line that is printed for the user.
  var line: String {
    let attempts = attempts == 1 ? "" : ", \(attempts) attempts"
    return switch end {
    case .downloaded(let count): "ok      \(address.shown)  \(count) bytes\(attempts)"
    case .failed(let reason): "failed  \(address.shown)  \(reason)"
    case .stopped: "stopped \(address.shown)"
    }
  }
}
