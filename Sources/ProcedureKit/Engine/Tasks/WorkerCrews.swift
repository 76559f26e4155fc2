/// The task groups of a queue: a few hundred children each at most.
///
/// The runtime finds a child that ends by going through its group, so that one group of many thousand children would cost quadratic time.
struct WorkerCrews: Sendable {
  private static let mostMembers = 256

  private struct Crew {
    let desk: CrewDesk
    var members = 0
  }

  private var crews: [Crew] = []

  /// The desks of all groups.
  var desks: [CrewDesk] { crews.map(\.desk) }

  /// One more task joins a group. The owner of a new group has to be started.
  mutating func joined() -> (desk: CrewDesk, isNew: Bool) {
    if let index = crews.lastIndex(where: { $0.members < Self.mostMembers }) {
      crews[index].members += 1
      return (crews[index].desk, false)
    }
    crews.append(Crew(desk: CrewDesk(), members: 1))
    return (crews[crews.count - 1].desk, true)
  }

  /// A task of a group has ended. Returns the desk if it has to be closed: the last group stays.
  mutating func left(_ desk: CrewDesk) -> CrewDesk? {
    guard let index = crews.firstIndex(where: { $0.desk === desk }) else { return nil }
    crews[index].members -= 1
    guard crews[index].members == 0, crews.count > 1 else { return nil }
    return crews.remove(at: index).desk
  }
}
