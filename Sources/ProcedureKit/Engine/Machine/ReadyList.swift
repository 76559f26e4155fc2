/// Internal. Who is next: higher priority first, then order of admission. Members are small integers, each at most once.
///
/// One doubly linked list for each priority in use, its links in one flat array that is indexed by member. Appending,
/// taking the first and removing from anywhere are O(1). A member whose order is older than the last one's is placed by
/// walking from the front; such members belong to work that was admitted earlier and is under way, so the walk passes
/// only others like it.
struct ReadyList {
  private struct Link {
    var next: Int32 = -1
    var previous: Int32 = -1
    /// The index of the band that the member stands in, -1 while it stands in none.
    var band: Int32 = -1
    var order: UInt64 = 0
  }

  private struct Band {
    let priority: UInt8
    var head: Int32 = -1
    var tail: Int32 = -1
  }

  private var links: ContiguousArray<Link> = []
  /// Highest priority first.
  private var bands: ContiguousArray<Band> = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  func contains(_ member: Int32) -> Bool {
    Int(member) < links.count && links[Int(member)].band >= 0
  }

  /// The member that is next, if any.
  var first: Int32? {
    guard count > 0 else { return nil }
    for band in bands where band.head >= 0 { return band.head }
    return nil
  }

  /// Whether some member comes before one of this priority and order.
  func hasMember(before priority: UInt8, _ order: UInt64) -> Bool {
    guard count > 0, let band = bands.first(where: { $0.head >= 0 }) else { return false }
    return band.priority > priority || (band.priority == priority && links[Int(band.head)].order < order)
  }

  /// Inserts a member; members of the same priority and order stand in the order in which they were inserted.
  mutating func insert(_ member: Int32, priority: UInt8, order: UInt64) {
    precondition(!contains(member), "ReadyList: a member was inserted twice")
    while links.count <= Int(member) { links.append(Link()) }
    let band = bandIndex(of: priority)
    var successor: Int32 = -1
    if bands[band].tail >= 0, links[Int(bands[band].tail)].order > order {
      successor = bands[band].head
      while successor >= 0, links[Int(successor)].order <= order { successor = links[Int(successor)].next }
    }
    let predecessor = successor >= 0 ? links[Int(successor)].previous : bands[band].tail
    links[Int(member)] = Link(next: successor, previous: predecessor, band: Int32(band), order: order)
    connect(predecessor, to: member, in: band)
    connect(member, to: successor, in: band)
    count += 1
  }

  mutating func remove(_ member: Int32) {
    precondition(contains(member), "ReadyList: a member was removed that is not there")
    let link = links[Int(member)]
    connect(link.previous, to: link.next, in: Int(link.band))
    links[Int(member)].band = -1
    count -= 1
  }

  mutating func popFirst() -> Int32? {
    guard let member = first else { return nil }
    remove(member)
    return member
  }

  /// Makes two neighbours know each other; -1 stands for the band's end on that side.
  private mutating func connect(_ left: Int32, to right: Int32, in band: Int) {
    if left >= 0 { links[Int(left)].next = right } else { bands[band].head = right }
    if right >= 0 { links[Int(right)].previous = left } else { bands[band].tail = left }
  }

  private mutating func bandIndex(of priority: UInt8) -> Int {
    if let known = bands.firstIndex(where: { $0.priority == priority }) { return known }
    let place = bands.firstIndex { $0.priority < priority } ?? bands.count
    bands.insert(Band(priority: priority), at: place)
    for index in links.indices where links[index].band >= place { links[index].band += 1 }
    return place
  }

  /// Gives the memory of an empty list back.
  mutating func releaseStorage() {
    precondition(isEmpty, "ReadyList: only an empty list can give its memory back")
    links = []
  }

  /// Traps where the links contradict each other; called by tests after each mutation.
  func checkInvariants() {
    var seen = 0
    for (index, band) in bands.enumerated() {
      precondition(index == 0 || bands[index - 1].priority > band.priority)
      var previous: Int32 = -1
      var member = band.head
      while member >= 0 {
        let link = links[Int(member)]
        precondition(link.band == index && link.previous == previous)
        precondition(previous < 0 || links[Int(previous)].order <= link.order)
        (previous, member, seen) = (member, link.next, seen + 1)
      }
      precondition(band.tail == previous)
    }
    precondition(seen == count)
  }
}
