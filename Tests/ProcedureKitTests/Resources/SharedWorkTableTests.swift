import Testing

@testable import ProcedureKit

@Suite struct SharedWorkTableTests {
  @Test("What closes an execution late does not end the sharing of the next one")
  func lateClose() {
    let table = SharedWorkTable()
    let key = SharedWorkTable.Key(key: .of("key"), output: ObjectIdentifier(Int.self))
    let first: ResultBox<Int> = table.join(key)
    table.close(first, key)
    let second: ResultBox<Int> = table.join(key)
    table.close(first, key)
    table.leave(first, key)
    #expect(table.join(key) as ResultBox<Int> === second)
    table.close(second, key)
    #expect(table.count == 0)
  }
}
