import TestSupport
import Testing

@testable import TestingProcedureKit

/// The test whose failure the guide *Testing your procedures* shows.
@Suite(.timeLimit(.minutes(10))) struct WithdrawalTests {
  actor Account {
    private(set) var balance: Int

    init(balance: Int) { self.balance = balance }

    func withdraw(_ amount: Int) async -> Bool {
      guard balance >= amount else { return false }  // line 14
      await Task.yield()  // line 15: for example, waits for a receipt
      balance -= amount  // line 16
      return true
    }
  }

  static func overdraw() async {
    let account = Account(balance: 100)
    async let first = account.withdraw(70)  // line 23
    async let second = account.withdraw(70)  // line 24
    let results = await [first, second]  // line 25
    #expect(results.count { $0 } == 1)  // line 26
  }

  #if DEBUG
    @Test("The guide shows the report of a failure, line for line", .enabled(if: ResumePoint.isKnown))
    func withdrawals() async throws {
      let test = try #require(Test.current)
      let issues = Locked<[Issue]>([])
      let collector = IssueHandlingTrait.compactMapIssues { issue in
        issues { $0.append(issue) }
        return nil
      }
      try await collector.provideScope(for: test, testCase: Test.Case.current) {
        try await ExploredTrait.explored(1_000).provideScope(for: test, testCase: Test.Case.current) {
          await Self.overdraw()
        }
      }
      let report = try #require(issues.value.first?.comments.first).rawValue
      #expect(try GuideReportTests.report(in: "TestingYourProcedures.md") == report)
    }
  #endif
}
