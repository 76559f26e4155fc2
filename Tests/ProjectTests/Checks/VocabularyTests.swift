import Testing

@Suite struct VocabularyTests {
  /// Nothing is left for later.
  static let unfinished = Vocabulary(
    patterns: [.comment("TODO"), .comment("FIXME")],
    complaint: "in a comment: do it, or say it in an issue",
    places: ["Package.swift", "Sources", "Tests", "Examples"])

  /// What starts a task decides its executor, its priority and its cancellation: one file does.
  static let tasks = Vocabulary(
    patterns: [
      .taskStart, .code("Task.detached"), .code("Task.immediate"), .code("Task.immediateDetached"), .code("Task.init"),
      .code("async let"), .code("addTask"), .code("addTaskUnlessCancelled"), .code("addImmediateTask"),
      .code("addImmediateTaskUnlessCancelled"),
    ],
    complaint: "starts a task; only the spawner does",
    places: ["Sources"],
    exceptions: ["Spawner.swift", "KitSpawner.swift"])

  /// Time is a parameter: a test that owns the clock has to own all of it.
  static let time = Vocabulary(
    patterns: [
      .code("clock.now"), .code("ContinuousClock.now"), .code("ContinuousClock().now"),
      .code("SuspendingClock.now"), .code("SuspendingClock().now"), .code(".sleep"), .call("sleep"), .call("usleep"),
      .call("nanosleep"),
    ],
    complaint: "reads a clock or sleeps; only the engine's timers do",
    places: ["Sources/ProcedureKit"],
    exceptions: ["QueueTime.swift", "Spawner.swift", "KitSpawner.swift", "Timers.swift"])

  /// Tests have virtual time, or an explicit signal.
  static let sleepingTests = Vocabulary(
    patterns: [
      .code("Task.sleep"), .code("Thread.sleep"), .code("ContinuousClock().sleep"), .code("SuspendingClock().sleep"),
      .code("asyncAfter"), .call("sleep"), .call("usleep"), .call("nanosleep"),
    ],
    complaint: "makes a test wait for the wall clock",
    places: ["Tests"])

  /// What the compiler no longer checks, a reader has to.
  static let unchecked = Vocabulary(
    patterns: [
      .code("@unchecked Sendable"), .code("nonisolated(unsafe)"), .code("unowned(unsafe)"), .code("UnsafeContinuation"),
      .code("UnsafeThrowingContinuation"), .code("withUnsafeContinuation"), .code("withUnsafeThrowingContinuation"),
      .code("UnsafeCurrentTask"),
    ],
    complaint: "needs a comment in the same file with the word \"Invariant\" that says why it is sound",
    places: ["Sources", "Tests", "Examples"],
    permittingComment: "Invariant")

  @Test(
    "Forbidden words do not occur, and dangerous ones are explained",
    arguments: [unfinished, tasks, time, sleepingTests, unchecked])
  func project(_ vocabulary: Vocabulary) {
    Finding.record(vocabulary.findings(in: Checkout.files))
  }

  @Test("An exception holds for the engine's file of that name only")
  func exceptions() {
    #expect(lines(Self.tasks, "Task {}", path: "Sources/ProcedureKit/Queue/Spawner.swift") == [1])
    #expect(lines(Self.tasks, "Task {}", path: "Sources/ProcedureKit/Engine/Spawners.swift") == [1])
  }

  private func lines(_ vocabulary: Vocabulary, _ source: String, path: String = "Sources/M/A.swift") -> [Int] {
    vocabulary.findings(in: [SourceFile(path, source)]).map(\.line)
  }

  @Test("Unfinished work is found in comments, and in code only as a name")
  func findsUnfinished() {
    #expect(
      lines(Self.unfinished, "/*\n TODO: a\n*/\n// FIXME\nlet todo = \"TODO\"\nenum TODOs { case TODO }") == [2, 4])
  }

  @Test(
    "The start of a task is found",
    arguments: [
      "Task { }", "Task(priority: .low) { }", "let t = Task<Int, Never> { 1 }", "f(with: Task { })",
      "_Concurrency.Task { }",
      "Task.detached { }", "group.addTask { }", "async let a = b()", "Task.immediate { }", "_ = \"\\(Task { })\"",
    ])
  func findsTasks(_ source: String) {
    #expect(lines(Self.tasks, source) == [1])
    #expect(lines(Self.tasks, source, path: "Sources/ProcedureKit/Engine/Runtime/Spawner.swift") == [])
  }

  @Test(
    "What mentions tasks without starting one is left alone",
    arguments: [
      "// Task { }", "let a = \"Task { }\"", "func f() -> Task<Int, Never> { a }", "var a: Task<Int, Never> { b }",
      "Task.isCancelled", "try Task.checkCancellation()", "extension Task { }", "ProcedureTask { }",
      "var task: Task<Int, Never>?",
    ])
  func toleratesTasks(_ source: String) {
    #expect(lines(Self.tasks, source) == [])
  }

  @Test("Reading and spending time is found in the core, outside of the timers")
  func findsTime() {
    let source = "let a = clock.now\ntry await clock.sleep(for: d)\nlet now = time.now\nfunc sleep() {}"
    #expect(lines(Self.time, source, path: "Sources/ProcedureKit/A.swift") == [1, 2])
    #expect(lines(Self.time, source, path: "Sources/ProcedureKit/Engine/Runtime/Spawner.swift") == [])
    #expect(lines(Self.time, source, path: "Sources/TestingProcedureKit/A.swift") == [])
  }

  @Test("Sleeping is found in tests, on the wall clock only")
  func findsSleep() {
    let source =
      "try await Task.sleep(for: d)\nusleep(3)\nsleep(1)\nThread.sleep(1)\ntry await clock.sleep(for: d)\nusleeper()"
    #expect(lines(Self.sleepingTests, source, path: "Tests/A.swift") == [1, 2, 3, 4])
    #expect(lines(Self.sleepingTests, source) == [])
  }

  @Test("Unchecked code is found, unless the file states the invariant")
  func findsUnchecked() {
    let source =
      "final class A: @unchecked Sendable {\n  nonisolated(unsafe) var b = 1\n  var c: UnsafeContinuation<Int, Never>\n}"
    #expect(lines(Self.unchecked, source) == [1, 2, 3])
    #expect(lines(Self.unchecked, "// Invariant: b is written once.\n" + source) == [])
    #expect(lines(Self.unchecked, "let a = \"Invariant\"\n" + source) == [2, 3, 4])
  }
}

extension Vocabulary: CustomTestStringConvertible {
  var testDescription: String { complaint }
}
