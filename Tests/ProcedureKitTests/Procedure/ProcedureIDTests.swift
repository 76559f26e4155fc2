import Testing

@testable import ProcedureKit

@Suite struct ProcedureIDTests {
  @Test("Identities are unique and increase, even across blocks")
  func identitiesGrow() {
    let first = ProcedureID.reserve()
    let block = ProcedureID.reserve(10)
    let last = ProcedureID.reserve()
    #expect(first < block)
    #expect(block.advanced(by: 9) < last)
    #expect("\(first)" == "#\(first.number)")
  }
}
