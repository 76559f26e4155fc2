/// Internal. What has to be there before the body of one level of a procedure starts.
///
/// A level is what modifiers have wrapped without beginning a new one; see ``Procedure/condition(_:)``.
struct Admission: Sendable {
  /// Evaluated first, all at once, while nothing is held.
  var conditions: [Condition] = []
  /// Held while the body executes.
  var resources: ResourceRequest?

  /// By which a full queue knows what it may replace.
  var key: AnyKey?

  /// Nothing has to be there.
  static let free = Admission()
}
