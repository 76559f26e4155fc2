/// Internal. The nodes of a graph that are ready and that no worker has taken: higher priority first, then in the order in
/// which the nodes became ready.
struct ReadyNodes {
  /// The nodes of one priority, in their order, from `head` on.
  private struct Lane {
    let priority: UInt8
    var nodes: ContiguousArray<Int32> = []
    var head = 0

    mutating func putBack(_ node: Int32) {
      guard head > 0 else { return nodes.insert(node, at: 0) }
      head -= 1
      nodes[head] = node
    }

    mutating func popFirst() -> Int32? {
      guard head < nodes.count else { return nil }
      head += 1
      defer { forgetTaken() }
      return nodes[head - 1]
    }

    /// Reuses the memory of the taken nodes once they are more than half: O(1) for each node in the long run.
    private mutating func forgetTaken() {
      if head == nodes.count {
        nodes.removeAll(keepingCapacity: true)
        head = 0
      } else if head >= 64, head * 2 > nodes.count {
        nodes.removeSubrange(..<head)
        head = 0
      }
    }
  }

  /// The highest priority first.
  private var lanes: ContiguousArray<Lane>
  private var count = 0
  private let priorities: ContiguousArray<UInt8>

  /// - Parameter priorities: One for each node, or none at all.
  init(priorities: ContiguousArray<UInt8>) {
    self.priorities = priorities
    let distinct = priorities.isEmpty ? [0] : Set(priorities).sorted(by: >)
    lanes = ContiguousArray(distinct.map { Lane(priority: $0) })
  }

  var isEmpty: Bool { count == 0 }

  /// A node has become ready.
  mutating func insert(_ node: Int32) {
    count += 1
    lanes[lane(of: node)].nodes.append(node)
  }

  /// A node that was taken comes back, before all others of the same priority.
  mutating func putBack(_ node: Int32) {
    count += 1
    lanes[lane(of: node)].putBack(node)
  }

  mutating func popFirst() -> Int32? {
    for lane in lanes.indices {
      guard let node = lanes[lane].popFirst() else { continue }
      count -= 1
      return node
    }
    return nil
  }

  private func lane(of node: Int32) -> Int {
    priorities.isEmpty ? 0 : lanes.firstIndex { $0.priority == priorities[Int(node)] } ?? 0
  }
}
