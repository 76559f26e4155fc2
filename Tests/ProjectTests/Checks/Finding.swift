import Foundation
import Testing

/// What a check objects to, and where.
struct Finding: Equatable, Sendable, CustomStringConvertible {
  let path: String
  let line: Int
  let message: String

  var description: String { "\(path):\(line): \(message)" }
}

extension Finding {
  /// Fails the current test once for each finding, at the place in question.
  static func record(_ findings: [Finding]) {
    for finding in findings {
      let location = SourceLocation(
        fileID: "Project/\(finding.path)", filePath: Checkout.root.appending(path: finding.path).path,
        line: max(1, finding.line), column: 1)
      Issue.record("\(finding)", sourceLocation: location)
    }
  }
}
