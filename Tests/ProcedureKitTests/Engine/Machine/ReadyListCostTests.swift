import TestSupport
import Testing

@testable import ProcedureKit

/// Compares two sizes in one run: where the cost grows with the square, a member costs ten times as much in the larger.
@Suite(.enabled(if: TestDepth.isAtLeastGate)) struct ReadyListCostTests {
  /// Which place in the order of admission the members have that become ready one after another.
  enum Arrival: CaseIterable {
    case inOrder
    case reversed
    /// Two workers finish what was admitted in order: each second one overtakes the one before.
    case inSwappedPairs
    /// Every other one belongs to one body that was admitted first and is under way.
    case amongWorkUnderWay
    case shuffled

    func order(of position: Int32, among count: Int32) -> UInt64 {
      switch self {
      case .inOrder: UInt64(position)
      case .reversed: UInt64(count - position)
      case .inSwappedPairs: UInt64(position ^ 1)
      case .amongWorkUnderWay: position % 2 == 0 ? UInt64(position) + 1 : 0
      case .shuffled: UInt64(position) &* 7_919 % UInt64(count)
      }
    }
  }

  @Test("Members come and go at a linear cost: 100,000 cost each about what 10,000 do", arguments: Arrival.allCases)
  func insertionIsLinear(_ arrival: Arrival) {
    let few = (0..<5).map { _ in costOfEach(of: 10_000, arrival) }.min() ?? .zero
    let many = (0..<3).map { _ in costOfEach(of: 100_000, arrival) }.min() ?? .zero
    #expect(many < few * 5)
  }

  private func costOfEach(of count: Int32, _ arrival: Arrival) -> Duration {
    var list = ReadyList()
    let elapsed = ProcessorTime.measure {
      for position in 0..<count {
        list.insert(position, priority: UInt8(position / 2 % 3), order: arrival.order(of: position, among: count))
      }
      while list.popFirst() != nil {}
    }
    return elapsed / Int(count)
  }
}
