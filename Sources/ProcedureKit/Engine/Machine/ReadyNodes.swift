/// Internal. The nodes of a graph that are ready and that no worker has taken: higher priority first, then in the order in
/// which they became ready.
///
/// Most graphs know one priority. Theirs wait in one array, which takes as much memory as nodes wait at once, where the links
/// of a ``ReadyList`` take some for every node.
struct ReadyNodes {
  /// In their order, from `head` on; while there is one priority.
  private var inOrder: ContiguousArray<Int32> = []
  private var head = 0
  private var byPriority = ReadyList()
  private var sequence: UInt64 = 0
  private let priorities: ContiguousArray<UInt8>
  #if DEBUG
    /// How many were moved to make room, for tests of what that costs.
    private(set) var moved = 0
  #endif

  /// - Parameter priorities: One for each node, or none at all.
  init(priorities: ContiguousArray<UInt8>) {
    self.priorities = priorities
  }

  var isEmpty: Bool { head == inOrder.count && byPriority.isEmpty }

  /// A node has become ready.
  mutating func insert(_ node: Int32) {
    if priorities.isEmpty { return inOrder.append(node) }
    sequence += 1
    byPriority.insert(node, priority: priorities[Int(node)], order: sequence)
  }

  /// A node that was taken comes back, before all others of its priority.
  mutating func putBack(_ node: Int32) {
    guard priorities.isEmpty else { return byPriority.insert(node, priority: priorities[Int(node)], order: 0) }
    if head > 0 {
      head -= 1
      inOrder[head] = node
    } else {
      inOrder.insert(node, at: 0)
    }
  }

  mutating func popFirst() -> Int32? {
    guard priorities.isEmpty else { return byPriority.popFirst() }
    guard head < inOrder.count else { return nil }
    head += 1
    defer { forgetTaken() }
    return inOrder[head - 1]
  }

  /// Gives the room of those that have been taken to those to come, once it is more than half: O(1) for each in the long run.
  private mutating func forgetTaken() {
    if head == inOrder.count {
      inOrder.removeAll(keepingCapacity: true)
      head = 0
    } else if head >= 64, head * 2 > inOrder.count {
      #if DEBUG
        moved += inOrder.count - head
      #endif
      inOrder.removeSubrange(..<head)
      head = 0
    }
  }
}
