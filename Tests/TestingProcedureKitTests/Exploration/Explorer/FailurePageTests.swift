import Foundation
import TestSupport
import Testing

@testable import TestingProcedureKit

@Suite("The page of a failure", .timeLimit(.minutes(10)))
struct FailurePageTests {
  private static let hostile = "</script><img src=x onerror=alert(1)> & \"quotes\" 'too'\u{7}"

  private static let failing: @Sendable (ExplorationEnvironment) async throws -> Void = { env in
    await withTaskGroup(of: Void.self) { group in
      group.addTask(name: hostile) { env.note("a child") }
      group.addTask { await Task.yield() }
    }
    env.check(false, hostile)
  }

  private func failure() async throws -> ExplorationFailure {
    try await requireError(ExplorationFailure.self) { try await exploreSchedules(10, Self.failing) }
  }

  @Test("The page has a line for each stretch, a column for each task, and buttons, and begins with the summary")
  func structure() async throws {
    let failure = try await failure()
    let (page, trace) = (failure.html, try #require(failure.trace))
    #expect(page.components(separatedBy: "<tr class=\"step\">").count - 1 == trace.stretches.count)
    #expect(page.components(separatedBy: "class=\"runs\"").count - 1 == trace.stretches.count)
    #expect(page.components(separatedBy: "<th scope=\"col\">task ").count - 1 == Set(trace.stretches.map(\.task)).count)
    #expect(page.contains("<h1>There is an order of your tasks in which this expectation fails, without a switch</h1>"))
    for button in ["First", "Back", "Forward", "Last"] {
      #expect(page.contains("<button id=\"\(button.lowercased())\">\(button)</button>"))
    }
    #expect(page.contains("aria-live=\"polite\"") && page.contains("prefers-color-scheme: dark"))
    let place = trace.stretches.lazy.compactMap(\.place).first
    #expect(place == nil || page.contains("FailurePageTests.swift:"), "\(trace)")
  }

  @Test("The page needs no other files and no network")
  func selfContained() async throws {
    let page = try await failure().html.lowercased()
    for part in ["http", "//cdn", "href=", "<link", "<iframe", "@import", "url(", "fetch(", "import("] {
      #expect(!page.contains(part), "\(part)")
    }
    #expect(page.components(separatedBy: "<script").count == 2 && page.components(separatedBy: "</script").count == 2)
  }

  @Test("Text from the test cannot become markup")
  func escaping() async throws {
    let page = try await failure().html
    #expect(!page.contains("<img") && !page.contains("\u{7}"))
    #expect(
      page.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt; &amp; &quot;quotes&quot; &#39;too&#39;\u{FFFD}"))
  }

  @Test("A long trace is abridged in the middle, and a failure without a trace has a page, too")
  func lengths() async throws {
    var failure = try await failure()
    var trace = ScheduleTrace()
    for step in 1...5_000 { trace.didRun(step % 2, step: step) }
    failure.trace = trace
    let page = failure.html
    #expect(page.components(separatedBy: "<tr class=\"step\">").count - 1 == 2_000)
    #expect(page.contains("… 3000 more lines"))
    failure.trace = nil
    #expect(failure.html.contains("The steps are unknown") && failure.html.contains(failure.replay))
  }

  // The bundle of the tests can be executed only on Linux.
  #if os(Linux)
    private static let isInnerProcess = ProcessInfo.processInfo.environment["PROCEDUREKIT_TEST_OF_ATTACHMENTS"] != nil

    @Test("A test with a failing exploration", .enabled(if: isInnerProcess))
    func attaching() async throws {
      let failure = try await failure()
      #expect(failure.attachment != nil)
    }

    @Test("The page is an attachment of the test, and the report names it", .enabled(if: !isInnerProcess))
    func attachment() async throws {
      let directory = FileManager.default.temporaryDirectory.appending(path: "pages-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: directory) }
      let process = Process()
      process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
      process.arguments = [
        "--testing-library", "swift-testing", "--filter", "FailurePageTests/attaching",
        "--attachments-path", directory.path(),
      ]
      process.environment = ProcessInfo.processInfo.environment.merging(["PROCEDUREKIT_TEST_OF_ATTACHMENTS": "1"]) {
        $1
      }
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        process.terminationHandler = { _ in continuation.resume() }
        do { try process.run() } catch { continuation.resume(throwing: error) }
      }
      #expect(process.terminationStatus == 0)
      let failure = try await failure()
      let name = try #require(failure.attachment)
      #expect("\(failure)".contains("\n  page: \(name), attached to the test"), "\(failure)")
      let written = try #require(try FileManager.default.contentsOfDirectory(atPath: directory.path()).first)
      // The same order fails in both tests, and the names of their pages differ.
      #expect(written != name && written.prefix(12) == name.prefix(12), "\(written), \(name)")
      let page = try String(contentsOf: directory.appending(path: written), encoding: .utf8)
      #expect(page.replacing(written, with: name) == failure.html)
    }
  #endif

  @Test("Outside of tests, nothing is attached")
  func outside() async throws {
    let found = await Task.detached { try? await self.failure() }.value
    #expect(found != nil && found?.attachment == nil)
  }
}
