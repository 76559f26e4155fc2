import Synchronization

/// Internal. What has to be there before the body of one level of a procedure starts.
///
/// A level is what modifiers have wrapped without beginning a new one; see ``Procedure/condition(_:)``.
@usableFromInline
struct Admission: Sendable {
  private struct Needs: Sendable {
    var conditions: [Condition] = []
    var resources: ResourceRequest?
    var key: InternedKey?
  }

  /// Somewhere else, since most procedures need nothing: so they are small, and cheap to copy.
  private final class Storage: Sendable {
    let needs: Needs
    /// Whether it is nothing but what is to be held.
    let isOnlyResources: Bool
    /// What the last table has made of the resources: so that adding a procedure many times does not look for its keys each
    /// time.
    private let known = Mutex<ResourceDemands?>(nil)

    init(_ needs: Needs) {
      self.needs = needs
      isOnlyResources = needs.conditions.isEmpty && needs.key == nil
    }

    func demands(in table: ResourceTable) -> ResourceDemands? {
      if let demands = known.withLock(\.self), demands.table === table { return demands }
      guard let resources = needs.resources else { return nil }
      let demands = ResourceDemands(resources, in: table)
      // Let go of outside of the lock: it may be the last that refers to keys of the user's.
      let former = known.withLock { known in
        defer { known = demands }
        return known
      }
      _ = former
      return demands
    }
  }

  private var storage: Storage?

  /// Nothing has to be there.
  static let free = Admission()

  /// Whether nothing has to be there.
  var isFree: Bool { storage == nil }

  /// Nothing, where it is nothing but what is to be held.
  var withoutResources: Admission { storage?.isOnlyResources ?? true ? .free : self }

  /// Evaluated first, all at once, while nothing is held.
  var conditions: [Condition] {
    get { storage?.needs.conditions ?? [] }
    set { change { $0.conditions = newValue } }
  }

  /// Held while the body executes.
  var resources: ResourceRequest? {
    get { storage?.needs.resources }
    set { change { $0.resources = newValue } }
  }

  /// By which a full queue knows what it may replace.
  var key: InternedKey? {
    get { storage?.needs.key }
    set { change { $0.key = newValue } }
  }

  /// The resources, as a table knows them. May call what is the user's: not under any lock.
  func demands(in table: ResourceTable) -> ResourceDemands? { storage?.demands(in: table) }

  private mutating func change(_ change: (inout Needs) -> Void) {
    var needs = storage?.needs ?? Needs()
    change(&needs)
    storage = Storage(needs)
  }
}
