import Foundation
import TestSupport
import Testing

@testable import TestingProcedureKit

// The lines and the orders depend on the kind of the build.
#if DEBUG
  /// Tests that the guides show reports as they are.
  @Suite(.enabled(if: ResumePoint.isKnown), .timeLimit(.minutes(10))) struct GuideReportTests {
    /// Returns the report in a page of the guide that begins with `beginning`, as it is before Swift Testing indents it.
    static func report(in page: String, beginning: String = "There is an order of your tasks") throws -> String {
      let lines = try GuidePage.lines(of: page)
      let start = try #require(lines.firstIndex { $0.contains(beginning) && $0.hasSuffix(":") })
      let report = lines[start...].prefix { $0 != "```" }
      guard report.first?.hasPrefix("↳ ") == true else { return report.joined(separator: "\n") }
      return report.map { String($0.dropFirst(2)) }.joined(separator: "\n")
    }

    @Test("The numbers in the comments of the overdrawn account are those of their lines")
    func numbers() throws {
      let text = try Checkout.text(of: "Tests/TestingProcedureKitTests/Guide/WithdrawalTests.swift")
      let lines = text.components(separatedBy: "\n")
      let numbers = lines.map { $0.firstMatch(of: #/\/\/ line (\d+)/#)?.1 }
      #expect(numbers.count { $0 != nil } == 7)
      for (index, number) in numbers.enumerated() { #expect(number == nil || number == "\(index + 1)") }
    }

    @Test("The guide to reading failures shows the report of the cache line for line")
    func cache() async throws {
      let failure = try await requireError(ExplorationFailure.self) {
        try await exploreSchedules(1_000, TestingYourProcedures.readWhileWriting)
      }
      #expect(try Self.report(in: "ReadingFailures.md") == "\(failure)")
    }

    @Test("The guide to exploring schedules shows the report of the stack line for line")
    func stack() async throws {
      let failure = try await requireError(ProgramFailure<StackPrograms.Command>.self) {
        try await explorePrograms(of: StackPrograms())
      }
      let shown = try Self.report(in: "ExploringSchedules.md", beginning: "There is a program of")
      #expect(Self.withoutLinesOfTheKit(shown) == Self.withoutLinesOfTheKit("\(failure)"))
    }

    /// Returns the report without the line numbers in files of the library, which change whenever such a file does.
    private static func withoutLinesOfTheKit(_ report: String) -> String {
      report.replacing(#/(ProgramExplorer|ProgramSpecification)\.swift:\d+/#) { "\($0.1).swift" }
    }
  }
#endif
