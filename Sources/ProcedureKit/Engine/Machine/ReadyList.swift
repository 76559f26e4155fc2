/// Internal. Who is next: higher priority first, then order of admission. Members are small integers, each at most once.
///
/// One doubly linked list for each priority in use, its links in one flat array that is indexed by member. A member that
/// comes in order, or before all others, is placed at an end of its list in O(1), as is the removal of any member there.
/// The others, which were overtaken by members that were admitted after them, stand in a binary heap, where they come and
/// go in O(log n): the dependents of two procedures that finish in the wrong order, or the hundred thousand runs that one
/// body starts and that inherit its order.
///
/// Invariant: a list never receives a member whose priority and order are those of one in the heap, so that of two equals
/// the one in the list came first.
struct ReadyList {
  private struct Link {
    var next: Int32 = -1
    var previous: Int32 = -1
    /// Order and band in one word, since there is a link for everything that waits: there are at most 256 priorities, and
    /// nobody lives to see 2^54 procedures.
    private var orderAndBand: UInt64 = 0

    static let noBand: Int32 = -1
    static let inHeap: Int32 = -2
    private static let bandBits: UInt64 = 10

    init(next: Int32 = -1, previous: Int32 = -1, band: Int32 = noBand, order: UInt64 = 0) {
      (self.next, self.previous) = (next, previous)
      orderAndBand = order << Self.bandBits | UInt64(band + 2)
    }

    var order: UInt64 { orderAndBand >> Self.bandBits }

    /// The index of the band that the member stands in, `noBand` or `inHeap`.
    var band: Int32 {
      get { Int32(orderAndBand & (1 << Self.bandBits - 1)) - 2 }
      set { orderAndBand = order << Self.bandBits | UInt64(newValue + 2) }
    }
  }

  private struct Band {
    let priority: UInt8
    var head: Int32 = -1
    var tail: Int32 = -1
    /// The order of the last member that was appended, also once it has gone.
    var lastOrder: UInt64 = 0
  }

  private var links: ContiguousArray<Link> = []
  /// Highest priority first.
  private var bands: ContiguousArray<Band> = []
  private var overtaken = OvertakenHeap()
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  func contains(_ member: Int32) -> Bool {
    Int(member) < links.count && links[Int(member)].band != Link.noBand
  }

  /// The member that is next, if any.
  var first: Int32? { next?.member }

  /// A priority below which no member's is; `nil` where there is none. No more is known where some were overtaken.
  var leastPriority: UInt8? {
    guard count > 0 else { return nil }
    return overtaken.isEmpty ? bands.last { $0.head >= 0 }?.priority : 0
  }

  /// Whether all members have this priority.
  func isOfOnePriority(_ priority: UInt8) -> Bool {
    guard count > 0 else { return true }
    return overtaken.isEmpty && bands.allSatisfy { $0.head < 0 || $0.priority == priority }
  }

  /// The members of one priority, in no particular order.
  func members(ofPriority priority: UInt8) -> [Int32] {
    guard let band = bands.first(where: { $0.priority == priority }) else { return [] }
    var members = overtaken.members(ofPriority: priority)
    var member = band.head
    while member >= 0 {
      members.append(member)
      member = links[Int(member)].next
    }
    return members
  }

  /// Whether some member comes before one of this priority and order.
  func hasMember(before priority: UInt8, _ order: UInt64) -> Bool {
    guard let next else { return false }
    return next.priority > priority || (next.priority == priority && next.order < order)
  }

  private var next: (member: Int32, priority: UInt8, order: UInt64)? {
    guard count > 0 else { return nil }
    let band = bands.first { $0.head >= 0 }
    guard let top = overtaken.first else {
      return band.map { ($0.head, $0.priority, links[Int($0.head)].order) }
    }
    if let band {
      let order = links[Int(band.head)].order
      let isBefore = band.priority != top.priority ? band.priority > top.priority : order <= top.order
      if isBefore { return (band.head, band.priority, order) }
    }
    return (top.member, top.priority, top.order)
  }

  /// Inserts a member; members of the same priority and order stand in the order in which they were inserted.
  mutating func insert(_ member: Int32, priority: UInt8, order: UInt64) {
    precondition(!contains(member), "ReadyList: a member was inserted twice")
    while links.count <= Int(member) { links.append(Link()) }
    let band = bandIndex(of: priority)
    let (head, tail) = (bands[band].head, bands[band].tail)
    if order >= bands[band].lastOrder || (head < 0 && overtaken.isEmpty) {
      bands[band].lastOrder = order
      links[Int(member)] = Link(next: -1, previous: tail, band: Int32(band), order: order)
      connect(tail, to: member, in: band)
      connect(member, to: -1, in: band)
    } else if overtaken.isEmpty, order < links[Int(head)].order {
      links[Int(member)] = Link(next: head, previous: -1, band: Int32(band), order: order)
      connect(-1, to: member, in: band)
      connect(member, to: head, in: band)
    } else {
      links[Int(member)] = Link(band: Link.inHeap, order: order)
      overtaken.insert(member, priority: priority, order: order)
    }
    count += 1
  }

  mutating func remove(_ member: Int32) {
    precondition(contains(member), "ReadyList: a member was removed that is not there")
    let link = links[Int(member)]
    if link.band == Link.inHeap {
      overtaken.remove(member)
    } else {
      connect(link.previous, to: link.next, in: Int(link.band))
    }
    links[Int(member)].band = Link.noBand
    count -= 1
  }

  /// Removes a member, if it is there.
  mutating func discard(_ member: Int32) {
    if contains(member) { remove(member) }
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
    overtaken = OvertakenHeap()
  }

  /// Traps where the links contradict each other; called by tests after each mutation.
  func checkInvariants() {
    var seen = overtaken.count
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
    overtaken.checkInvariants()
    precondition(seen == count)
  }
}
