import Testing
import TestingProcedureKit

@Suite struct LinearizationTests {
  private typealias History = ProgramHistory<RegisterSpecification.Command, Int>

  private func isLinearizable(_ tasks: [[History.Call]]) -> Bool {
    RegisterSpecification(isCareless: false).isLinearizable(History(tasks))
  }

  @Test("Concurrent calls can have any order, and consecutive calls keep theirs")
  func order() {
    #expect(isLinearizable([[.init(.write(1), 1, during: 0...3)], [.init(.read, 0, during: 1...2)]]))
    #expect(isLinearizable([[.init(.write(1), 1, during: 0...3)], [.init(.read, 1, during: 1...2)]]))
    #expect(!isLinearizable([[.init(.write(1), 1, during: 0...1)], [.init(.read, 0, during: 2...3)]]))
    #expect(!isLinearizable([[.init(.write(1), 1, during: 0...3)], [.init(.read, 2, during: 1...2)]]))
  }

  @Test("Two tasks cannot see two writes in opposite orders")
  func opposite() {
    let writes: [[History.Call]] = [[.init(.write(1), 1, during: 0...9)], [.init(.write(2), 2, during: 0...9)]]
    func reads(_ first: Int, _ second: Int, from begin: Int) -> [History.Call] {
      [.init(.read, first, during: begin...begin + 1), .init(.read, second, during: begin + 2...begin + 3)]
    }
    #expect(isLinearizable(writes + [reads(1, 2, from: 1), reads(1, 2, from: 2)]))
    #expect(!isLinearizable(writes + [reads(1, 2, from: 1), reads(2, 1, from: 2)]))
  }

  @Test("An empty history, and a history of twenty overlapping calls, are decided quickly")
  func sizes() {
    #expect(isLinearizable([]))
    let calls = (1...20).map { [History.Call(.add(1), $0, during: 0...1)] }
    #expect(isLinearizable(calls.shuffled()))
  }
}
