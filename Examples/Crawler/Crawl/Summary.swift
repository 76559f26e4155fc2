import Foundation

/// The results of all downloads.
struct Summary: Sendable {
  let pages: [Page]
  let duration: Duration

  var isComplete: Bool { byteCounts.count == pages.count }

  private var byteCounts: [Int] {
    pages.compactMap { page in
      if case .downloaded(let count) = page.end { count } else { nil }
    }
  }

  private var stoppedCount: Int {
    pages.count { page in
      if case .stopped = page.end { true } else { false }
    }
  }

  /// The line that is printed for the user.
  var text: String {
    let failedCount = pages.count - byteCounts.count - stoppedCount
    let retryCount = pages.reduce(0) { $0 + $1.attempts - 1 }
    return "\(byteCounts.count) of \(pages.count) downloaded, \(byteCounts.reduce(0, +)) bytes; "
      + "\(failedCount) failed, \(stoppedCount) stopped; \(retryCount) retries, "
      + duration.inSeconds
  }
}

extension Duration {
  /// The duration as it is shown to the user, for example `0.4 s`.
  var inSeconds: String { String(format: "%.1f s", self / .seconds(1)) }
}
