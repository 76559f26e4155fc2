import Foundation
import TestSupport
import Testing

/// Tests that suites have time limits, so that a wait that never ends is a failure that names the waiting test.
@Suite(.timeLimit(.minutes(10))) struct SuiteTests {
  static func unlimited(in file: TextFile) -> [String] {
    guard file.text.has("await") else { return [] }
    return file.lines.enumerated().compactMap { index, line in
      guard line.has("@Suite") else { return nil }
      // The traits may be on the following lines.
      let declaration = file.lines[index...].prefix(3)
      return !line.has("\"@Suite") && !declaration.contains { $0.has(".timeLimit") }
        && !line.trimmed.hasPrefix("//")
        ? file.finding(index, "a suite that waits has a .timeLimit") : nil
    }
  }

  @Test("Every suite that waits has a time limit")
  func limits() throws {
    #expect(try Checkout.files(under: "Tests").flatMap(Self.unlimited) == [])
  }

  @Test(
    "A suite that awaits something without a time limit is found",
    arguments: [
      ("@" + "Suite struct A { await b() }", 1), ("@" + "Suite(.serialized) struct A { await b() }", 1),
      ("@" + "Suite(.timeLimit(.minutes(10))) struct A { await b() }", 0), ("@" + "Suite struct A {}", 0),
    ])
  func found(_ source: String, count: Int) {
    #expect(Self.unlimited(in: TextFile("A.swift", source)).count == count)
  }
}
