import Synchronization

/// The status of a Swift task. A deadlock report uses it to determine whether the task is stuck.
///
/// The status is a word in the task object, after the job. The layout is undocumented, so it is checked at run time; see `isKnown`. The
/// status is read only when a schedule is run again for a report.
///
/// Invariant: A reference-counted task is retained for as long as its `TaskStatus` exists. The task of an `async let` is not
/// reference-counted, and is stored in the memory of its parent, so its status is read only immediately after one of its jobs has run.
final class TaskStatus: Sendable {
  private static let word = MemoryLayout<UInt>.size
  private static let offset = 12 * word
  private static let completed: UInt32 = 0x2000

  /// Whether the status of a task can be read in this process.
  static let isKnown: Bool = {
    guard UndocumentedParts.areAllowed, word == 8, Counting.retain != nil, Counting.release != nil, JobKind.isKnown,
      Platform.variable(named: "_swift_concurrency_debug_internal_layout_version", as: UInt32.self)?.pointee == 1
    else { return false }
    let probe = JobKind.Probe()
    KitSpawner.startProbe(on: probe)
    var ends: [Bool] = []
    var status: TaskStatus?
    while let job = probe.next() {
      status = status ?? TaskStatus(job)
      probe.run(job)
      ends.append(status?.hasEnded ?? false)
    }
    return status?.isCounted == true && ends == [false, false, true]
  }()

  private let address: UInt

  /// Whether the task is reference-counted.
  let isCounted: Bool

  /// Retains the task of `job`, if the task is reference-counted. `job` must be the job of a task.
  init(_ job: UnownedJob) {
    address = unsafeBitCast(job, to: UInt.self)
    let count = UnsafeRawPointer(bitPattern: address)?.load(fromByteOffset: Self.word, as: Int.self)
    isCounted = (count ?? -1) >= 0
    if isCounted { _ = Counting.retain?(address) }
  }

  deinit {
    if isCounted { Counting.release?(address) }
  }

  var hasEnded: Bool {
    let flags = UnsafeRawPointer(bitPattern: address)?.load(fromByteOffset: Self.offset, as: UInt32.self)
    return (flags ?? 0) & Self.completed != 0
  }

  /// The runtime's functions for reference counting, which are part of its binary interface.
  private enum Counting {
    static let retain = Platform.function(named: "swift_retain", as: (@convention(c) (UInt) -> UInt).self)
    static let release = Platform.function(named: "swift_release", as: (@convention(c) (UInt) -> Void).self)
  }
}
