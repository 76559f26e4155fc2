import TestSupport
import Testing

@testable import ProcedureKit

/// Compares two sizes in one run. If the cost grew with the square, a timer would cost ten times as much in the larger one.
@Suite(.enabled(if: TestDepth.isAtLeastGate)) struct TimerHeapCostTests {
  enum Deadlines: CaseIterable {
    case ascending
    case descending
    case equal
    case shuffled

    func deadline(of number: Int) -> ProcedureInstant {
      switch self {
      case .ascending: ProcedureInstant(nanoseconds: Int64(number))
      case .descending: ProcedureInstant(nanoseconds: Int64(-number))
      case .equal: ProcedureInstant(nanoseconds: 0)
      case .shuffled: ProcedureInstant(nanoseconds: Int64(number &* 7_919 % 100_003))
      }
    }
  }

  @Test(
    "Each timer is set and removed at about the same cost, however many timers there are", arguments: Deadlines.allCases
  )
  func isLogarithmic(_ deadlines: Deadlines) {
    let few = (0..<5).map { _ in costOfEach(of: 2_000, deadlines) }.min() ?? .zero
    let many = (0..<3).map { _ in costOfEach(of: 20_000, deadlines) }.min() ?? .zero
    #expect(many < few * 5)
  }

  /// Returns the cost of timers, half of which are cancelled in an order that is unrelated to their deadlines, while half become due.
  private func costOfEach(of count: Int, _ deadlines: Deadlines) -> Duration {
    var heap = TimerHeap()
    let elapsed = ProcessorTime.measure {
      let ids = (0..<count).map { heap.insert(deadlines.deadline(of: $0)) }
      for number in 0..<count / 2 { _ = heap.cancel(ids[number * 7_919 % count]) }
      while heap.popDue(at: ProcedureInstant(nanoseconds: .max)) != nil {}
    }
    return elapsed / count
  }
}
