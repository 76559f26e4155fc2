import Foundation
import TestSupport

/// A namespace for the guides of `TestingProcedureKit`, in the working copy.
enum GuidePage {
  /// Returns the lines of the guide in a file, such as `ExploringSchedules.md`.
  static func lines(of file: String) throws -> [String] {
    try Checkout.text(of: "Sources/TestingProcedureKit/TestingProcedureKit.docc/\(file)").components(separatedBy: "\n")
  }
}
