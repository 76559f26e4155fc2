import Testing

@testable import ProcedureKit

/// Each of these takes hundredths of a second where the cost is linear, and many seconds where it is not.
@Suite struct ReadyListCostTests {
  static let count: Int32 = 100_000

  /// Which place in the order of admission the members have that become ready one after another.
  enum Arrival: CaseIterable {
    case inOrder
    case reversed
    /// Two workers finish what was admitted in order: each second one overtakes the one before.
    case inSwappedPairs
    /// Every other one belongs to one body that was admitted first and is under way.
    case amongWorkUnderWay
    case shuffled

    func order(of position: Int32) -> UInt64 {
      switch self {
      case .inOrder: UInt64(position)
      case .reversed: UInt64(ReadyListCostTests.count - position)
      case .inSwappedPairs: UInt64(position ^ 1)
      case .amongWorkUnderWay: position % 2 == 0 ? UInt64(position) + 1 : 0
      case .shuffled: UInt64(position) &* 7_919 % UInt64(ReadyListCostTests.count)
      }
    }
  }

  @Test("100,000 members come and go at a linear cost", arguments: Arrival.allCases)
  func insertionIsLinear(_ arrival: Arrival) {
    var list = ReadyList()
    let elapsed = ContinuousClock().measure {
      for position in 0..<Self.count {
        list.insert(position, priority: UInt8(position / 2 % 3), order: arrival.order(of: position))
      }
      while list.popFirst() != nil {}
    }
    #expect(elapsed < .seconds(2))
  }
}
