import Testing

@testable import ProcedureKit

@Suite(.timeLimit(.minutes(10))) struct GraphCountdownTests {
  private func shape(
    _ count: Int, _ edges: [(Int32, Int32)], accepting: [(Int32, Int32)] = []
  ) -> GraphShape {
    GraphShape(
      count: count,
      edges: edges.map { (from: $0.0, to: $0.1, kind: GraphShape.Edge.requiresSuccess) }
        + accepting.map { (from: $0.0, to: $0.1, kind: .acceptsFailure) })
  }

  @Test("A node is released by the last that it depends on, and only once")
  func last() {
    let countdown = GraphCountdown(shape(3, [(0, 2), (1, 2)]))
    #expect(countdown.nodeSucceeded(1).first == -1)
    #expect(countdown.nodeSucceeded(0).first == 2)
  }

  @Test("A worker goes straight on only where one node is released, priorities do not differ and nothing has stopped")
  func straightOn() {
    let chain = GraphCountdown(shape(3, [(0, 1), (1, 2)]))
    #expect(chain.successor(among: chain.nodeSucceeded(0)) == 1)
    chain.values.stop()
    #expect(chain.successor(among: chain.nodeSucceeded(1)) == nil)
    let fork = GraphCountdown(shape(3, [(0, 1), (0, 2)]))
    #expect(fork.successor(among: fork.nodeSucceeded(0)) == nil)
    let uneven = GraphCountdown(
      GraphShape(count: 2, edges: [(from: 0, to: 1, kind: .requiresSuccess)], priorities: [1, 2]))
    #expect(uneven.successor(among: uneven.nodeSucceeded(0)) == nil)
  }

  @Test("What accepts a failure is not released before the errors of all that is skipped can be known")
  func errorsFirst() {
    // 2 requires 0; 3 accepts what 2 comes to, and requires 1.
    let countdown = GraphCountdown(shape(4, [(0, 2), (1, 3)], accepting: [(2, 3)]))
    let skipped = countdown.nodeStopped(0, .failed)
    #expect(skipped == [.init(node: 2, cause: 0, ending: .failed)])
    #expect(countdown.nodeSucceeded(1).first == -1)
    #expect(countdown.release(byStopping: 0, skipped).first == 3)
  }

  @Test("Of two failures that meet, one skips what requires both")
  func failuresMeet() {
    let countdown = GraphCountdown(shape(3, [(0, 2), (1, 2)]))
    #expect(countdown.nodeStopped(0, .ignored) == [.init(node: 2, cause: 0, ending: .ignored)])
    #expect(countdown.nodeStopped(1, .failed) == [])
  }

  @Test("However many end at once, one of them releases what waits for all, and sees what each has written")
  func race() async {
    let width = 8
    for _ in 0..<200 {
      let countdown = GraphCountdown(shape(width + 1, (0..<Int32(width)).map { ($0, Int32(width)) }))
      // Plain memory: only the countdown orders what is written to it before what is read.
      let written = UnsafeMutablePointer<Int>.allocate(capacity: width)
      written.initialize(repeating: 0, count: width)
      let address = Int(bitPattern: written)
      let sums = await withTaskGroup(of: Int?.self) { group in
        for node in 0..<width {
          group.addTask {
            guard let written = UnsafeMutablePointer<Int>(bitPattern: address) else { return nil }
            written[node] = node + 1
            guard countdown.nodeSucceeded(Int32(node)).first == Int32(width) else { return nil }
            return (0..<width).reduce(0) { $0 + written[$1] }
          }
        }
        return await group.reduce(into: []) { sums, sum in sum.map { sums.append($0) } }
      }
      #expect(sums == [width * (width + 1) / 2])
      written.deallocate()
    }
  }
}
