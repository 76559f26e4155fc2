/// The ends of all downloads.
struct Summary: Sendable {
  let pages: [Page]

  var isComplete: Bool { downloaded.count == pages.count }

  private var downloaded: [Int] {
    pages.compactMap { page in
      if case .downloaded(let count) = page.end { count } else { nil }
    }
  }

  private var cancelledCount: Int {
    pages.count { page in
      if case .cancelled = page.end { true } else { false }
    }
  }

  /// The line for the user.
  var text: String {
    let failedCount = pages.count - downloaded.count - cancelledCount
    return "\(downloaded.count) of \(pages.count) downloaded, \(downloaded.reduce(0, +)) bytes; "
      + "\(failedCount) failed, \(cancelledCount) stopped"
  }
}
