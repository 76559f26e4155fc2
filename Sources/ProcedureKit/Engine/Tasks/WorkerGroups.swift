/// The task groups of a queue: a few hundred children each at most.
///
/// The runtime finds a child that ends by going through its group, so that one group of many thousand children would cost quadratic time.
struct WorkerGroups: Sendable {
  private static let mostMembers = 256

  private struct Group {
    let inbox: GroupInbox
    var members = 0
  }

  private var groups: [Group] = []

  /// The inboxes of all groups.
  var inboxes: [GroupInbox] { groups.map(\.inbox) }

  /// One more task joins a group. The owner of a new group has to be started.
  mutating func joined() -> (inbox: GroupInbox, isNew: Bool) {
    if let index = groups.lastIndex(where: { $0.members < Self.mostMembers }) {
      groups[index].members += 1
      return (groups[index].inbox, false)
    }
    groups.append(Group(inbox: GroupInbox(), members: 1))
    return (groups[groups.count - 1].inbox, true)
  }

  /// A task of a group has ended. Returns the inbox if it has to be closed: the last group stays.
  mutating func left(_ inbox: GroupInbox) -> GroupInbox? {
    guard let index = groups.firstIndex(where: { $0.inbox === inbox }) else { return nil }
    groups[index].members -= 1
    guard groups[index].members == 0, groups.count > 1 else { return nil }
    return groups.remove(at: index).inbox
  }
}
