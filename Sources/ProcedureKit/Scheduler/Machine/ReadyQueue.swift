/// The runs that are waiting for a slot, or for the queue to be resumed, ordered by priority and then by admission (Q1).
///
/// A run in the machine is called a *member*.
///
/// The members of each priority form a linked list of indices. A separate heap contains the *overtaken* members, which became ready
/// after a member that was admitted later. Therefore, inserting a member takes O(1) if the members arrive in order, and O(log n) otherwise.
/// Removing a member takes as long as inserting it.
struct ReadyQueue: Sendable {
  struct Link: Sendable {
    var order: UInt64 = 0
    var before: Int32 = -1
    var after: Int32 = -1
    var priority: UInt8 = 0
    var position = Position.absent
  }

  enum Position: UInt8, Sendable {
    case absent
    case list
    case heap
  }

  /// The members of one priority.
  private struct Lane {
    let priority: UInt8
    var first: Int32 = -1
    var last: Int32 = -1
    var overtaken = IndexedHeap<Overtaken>()
  }

  private var lanes: ContiguousArray<Lane> = []
  private var links: ContiguousArray<Link> = []
  /// The positions of the overtaken members in the heaps of their lanes.
  private var positions: ContiguousArray<Int32> = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  func contains(_ member: Int32) -> Bool {
    Int(member) < links.count && links[Int(member)].position != .absent
  }

  mutating func insert(_ member: Int32, priority: UInt8, order: UInt64) {
    while links.count <= Int(member) { links.append(Link()) }
    let lane = lane(for: priority)
    count += 1
    let last = lanes[lane].last
    // A member that was admitted later is already in the list, so this member is inserted into the heap.
    if last >= 0, links[Int(last)].order > order {
      links[Int(member)] = Link(order: order, priority: priority, position: .heap)
      lanes[lane].overtaken.insert(Overtaken(order: order, index: member), &positions)
      return
    }
    links[Int(member)] = Link(order: order, before: last, priority: priority, position: .list)
    if last >= 0 { links[Int(last)].after = member } else { lanes[lane].first = member }
    lanes[lane].last = member
  }

  mutating func remove(_ member: Int32) {
    let link = links[Int(member)]
    guard link.position != .absent, let lane = lanes.firstIndex(where: { $0.priority == link.priority }) else {
      return
    }
    links[Int(member)].position = .absent
    count -= 1
    if link.position == .heap {
      lanes[lane].overtaken.remove(at: Int(positions[Int(member)]), &positions)
    } else {
      if link.before >= 0 { links[Int(link.before)].after = link.after } else { lanes[lane].first = link.after }
      if link.after >= 0 { links[Int(link.after)].before = link.before } else { lanes[lane].last = link.before }
    }
  }

  /// Returns the next member; `nil` if no member is waiting.
  func first() -> Int32? {
    guard count > 0 else { return nil }
    for index in lanes.indices {
      let first = lanes[index].first
      if !lanes[index].overtaken.isEmpty, let overtaken = lanes[index].overtaken.first,
        first < 0 || overtaken.order < links[Int(first)].order
      {
        return overtaken.index
      }
      if first >= 0 { return first }
    }
    return nil
  }

  /// The waiting members, in no particular order.
  ///
  /// - Complexity: O(n) for n members.
  var all: [Int32] {
    var all: [Int32] = []
    for lane in lanes {
      all += lane.overtaken.entries.map(\.index)
      var member = lane.first
      while member >= 0 {
        all.append(member)
        member = links[Int(member)].after
      }
    }
    return all
  }

  /// Releases the memory of an empty queue.
  mutating func releaseMemory() { (links, lanes, positions) = ([], [], []) }

  /// Returns the index of the lane for a priority, inserting the lane if necessary. Lanes are sorted, highest priority first.
  private mutating func lane(for priority: UInt8) -> Int {
    let index = lanes.firstIndex { $0.priority <= priority } ?? lanes.count
    if index == lanes.count || lanes[index].priority < priority { lanes.insert(Lane(priority: priority), at: index) }
    return index
  }
}

/// A member that became ready after a member that was admitted later.
private struct Overtaken: IndexedHeapEntry {
  let order: UInt64
  let index: Int32

  func comes(before other: Overtaken) -> Bool { order < other.order }
}
