import Testing

@testable import ProcedureKit

@Suite struct SlotPoolTests {
  @Test("Q1: a pool gives as many slots as it is wide, and takes each back once")
  func givesItsWidth() {
    var pool = SlotPool(width: 3)
    for taken in 0..<3 {
      #expect(pool.taken == taken)
      #expect(pool.hasFree)
      pool.take()
    }
    #expect(!pool.hasFree)
    #expect(!pool.isOverdrawn)
    for taken in [2, 1, 0] {
      pool.giveBack()
      #expect(pool.hasFree)
      #expect(pool.taken == taken)
    }
    #expect(pool == SlotPool(width: 3))
  }

  @Test("Q1: a pool made narrower takes nothing away and gives nothing until enough has come back")
  func becomesNarrower() {
    var pool = SlotPool(width: 4)
    for _ in 0..<4 { pool.take() }
    pool.resize(to: 2)
    #expect(pool.taken == 4)
    #expect(pool.isOverdrawn)
    pool.giveBack()
    #expect(pool.isOverdrawn && !pool.hasFree)
    pool.giveBack()
    #expect(!pool.isOverdrawn && !pool.hasFree)
    pool.giveBack()
    #expect(pool.hasFree)
  }

  @Test("Q1: a pool made wider has free slots at once, however wide")
  func becomesWider() {
    var pool = SlotPool(width: 1)
    pool.take()
    pool.resize(to: .max)
    #expect(pool.hasFree)
    for _ in 0..<1_000 { pool.take() }
    #expect(pool.taken == 1_001)
    #expect(pool.hasFree && !pool.isOverdrawn)
  }

  @Test("A slot that is not there can neither be taken nor be given back")
  func trapsOnMisuse() async {
    await #expect(processExitsWith: .failure) {
      var pool = SlotPool(width: 1)
      pool.take()
      pool.take()
    }
    await #expect(processExitsWith: .failure) {
      var pool = SlotPool(width: 2)
      pool.take()
      pool.resize(to: 1)
      pool.take()
    }
    await #expect(processExitsWith: .failure) {
      var pool = SlotPool(width: 1)
      pool.giveBack()
    }
  }
}
