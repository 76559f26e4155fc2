import Foundation

/// The end of one download.
struct Page: Sendable {
  enum End: Sendable {
    case downloaded(byteCount: Int)
    case failed(String)
    case cancelled
  }

  let address: URL
  let end: End

  /// The line for the user.
  var line: String {
    switch end {
    case .downloaded(let count): "ok      \(address)  \(count) bytes"
    case .failed(let reason): "failed  \(address)  \(reason)"
    case .cancelled: "stopped \(address)"
    }
  }
}
