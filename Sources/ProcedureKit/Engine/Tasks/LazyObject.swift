import Synchronization

/// Internal. An object that is made when it is first needed, and then stays: found without a lock, and nearly for nothing where there
/// is none. (`AtomicLazyReference` of the standard library looks metadata up at each look, which costs as much as a short body.)
///
/// Invariant: `reference` changes once at most, from `nil`; what it refers to is counted once for it, and let go of at its end. So whoever
/// finds the object may count a reference to it, as whoever asks keeps that which this is stored in.
struct LazyObject<Object: AnyObject & Sendable>: ~Copyable, Sendable {
  private let reference: Atomic<Unmanaged<Object>?>

  init(_ object: consuming Object? = nil) {
    reference = Atomic(object.map(Unmanaged.passRetained))
  }

  deinit {
    reference.load(ordering: .acquiring)?.release()
  }

  /// The object, if it has been made.
  @inline(__always)
  var value: Object? { reference.load(ordering: .acquiring)?.takeUnretainedValue() }

  /// The object, which is made if it has not been. Of several that are made at the same time one stays.
  func made(_ make: () -> Object) -> Object {
    if let value { return value }
    let new = Unmanaged.passRetained(make())
    let (isFirst, former) = reference.compareExchange(expected: nil, desired: new, ordering: .acquiringAndReleasing)
    guard !isFirst, let former else { return new.takeUnretainedValue() }
    new.release()
    return former.takeUnretainedValue()
  }
}
