import Foundation
import TestSupport
import Testing

/// Tests that suites have time limits, so that a wait that never ends is a failure that names the waiting test.
@Suite(.timeLimit(.minutes(10))) struct SuiteTests {
  /// Returns the suites of a file that have no time limit, if the file awaits something, or if one of its suites is among those that files
  /// with extensions make wait.
  static func unlimited(in file: TextFile, waiting: Set<String> = []) -> [String] {
    guard file.text.has("await") || waiting.contains(where: { file.text.has("struct \($0) {") }) else { return [] }
    return file.lines.enumerated().compactMap { index, line in
      guard line.has("@Suite") else { return nil }
      // The traits may be on the following lines.
      let declaration = file.lines[index...].prefix(3)
      return !line.has("\"@Suite") && !declaration.contains { $0.has(".timeLimit") }
        && !line.trimmed.hasPrefix("//")
        ? file.finding(index, "a suite that waits has a .timeLimit") : nil
    }
  }

  /// Returns the types that the files extend with code that awaits something.
  static func waitingExtensions(in files: [TextFile]) -> Set<String> {
    Set(
      files.filter { $0.text.has("await") }.flatMap(\.lines).compactMap { line in
        line.has("extension ") ? line.firstMatch(of: /^extension (\w+)/).map { String($0.1) } : nil
      })
  }

  @Test("Every suite that waits has a time limit")
  func limits() throws {
    let files = try Checkout.files(under: "Tests")
    let waiting = Self.waitingExtensions(in: files)
    #expect(files.flatMap { Self.unlimited(in: $0, waiting: waiting) } == [])
  }

  @Test("A suite that waits only in an extension in another file is found")
  func extensions() {
    let files = [TextFile("A.swift", "@" + "Suite struct A {}"), TextFile("B.swift", "extension A { await b() }")]
    let waiting = Self.waitingExtensions(in: files)
    #expect(waiting == ["A"] && Self.unlimited(in: files[0], waiting: waiting).count == 1)
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
