import Foundation
import TestSupport
import Testing

/// Tests that only one file of each module starts unstructured tasks, whose executor, priority and end it determines.
@Suite struct SpawnerTests {
  static let spawners: Set = [
    "Sources/ProcedureKit/Scheduler/Tasks/Spawner.swift", "Sources/ProcedureKitProcess/Running/LaunchedProcess.swift",
    "Sources/ProcedureKitFoundation/Progress/ProcedureHandle+Progress.swift",
    "Sources/ProcedureKitFoundation/Signals/ProcessSignals.swift",
    "Sources/ProcedureKitDiagnostics/Feeds/ReaderTask.swift",
    "Sources/TestingProcedureKit/Exploration/Scheduler/KitSpawner.swift",
  ]

  static func starts(in file: TextFile) -> [String] {
    file.findings { line in
      let pieces = line.components(separatedBy: "Task")
      return zip(pieces, pieces.dropFirst()).contains(where: isStart) ? "starts a task" : nil
    }
  }

  /// Returns whether `Task` between these pieces of a line is called, and is not part of a name or a declared type.
  private static func isStart(before: String, after: String) -> Bool {
    if let last = before.last, last.isLetter || last.isNumber || last == "_" { return false }
    if after.hasPrefix("<") { return !before.hasSuffix("-> ") && !before.hasSuffix(": ") && after.has("> {") }
    return ["(", "{", " {", ".detached", ".immediate", ".init"].contains { after.hasPrefix($0) }
  }

  @Test("Only the spawners start unstructured tasks")
  func sources() throws {
    let files = try Checkout.files(under: "Sources")
    #expect(files.filter { !Self.spawners.contains($0.path) }.flatMap(Self.starts) == [])
    #expect(Set(files.filter { !Self.starts(in: $0).isEmpty }.map(\.path)) == Self.spawners)
  }

  @Test(
    "The start of a task is found, and other uses of the name are ignored",
    arguments: [
      ("Task { }", 1), ("  Task(priority: .low) { }", 1), ("let t = Task<Int, Never> { 1 }", 1), ("f(Task { })", 1),
      ("_Concurrency.Task { }", 1), ("Task.detached { }", 1), ("Task.immediate { }", 1), ("_ = \"\\(Task { })\"", 1),
      ("// Task { }", 0), ("let a = \"Task { }\"", 0), ("func f() -> Task<Int, Never> { a }", 0),
      ("var a: Task<Int, Never> { b }", 0), ("Task.isCancelled", 0), ("ProcedureTask { }", 0), ("a  // Task { }", 0),
    ])
  func starts(_ source: String, count: Int) {
    #expect(Self.starts(in: TextFile("A.swift", source)).count == count)
  }
}
