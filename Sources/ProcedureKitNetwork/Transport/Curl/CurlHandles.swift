import LoadedLibraries
import Synchronization

/// The handles of transfers that have ended, for the next ones: making a handle, with its long buffer, takes longer than clearing one.
///
/// A handle keeps nothing of its last request.
final class CurlHandles: Sendable {
  /// Invariant of `@unchecked Sendable`: the handle belongs to the list, or to the one transfer that has taken the handle.
  private struct Idle: @unchecked Sendable {
    let handle: OpaquePointer
  }

  /// The most handles that are kept, with some 70 KB each.
  private static let limit = 64

  private let idle = Mutex<[Idle]>([])

  /// Returns a handle without options; `nil` without memory.
  func take() -> OpaquePointer? {
    idle.withLock { $0.popLast() }?.handle ?? pk_curl_easy_init()
  }

  /// Keeps a handle that libcurl has no more, or releases the handle if there are enough.
  func put(_ handle: OpaquePointer) {
    pk_curl_easy_reset(handle)
    let candidate = Idle(handle: handle)
    let isKept = idle.withLock { idle in
      guard idle.count < Self.limit else { return false }
      idle.append(candidate)
      return true
    }
    if !isKept { pk_curl_easy_cleanup(handle) }
  }

  /// Releases the handles that are kept.
  func removeAll() {
    let all = idle.withLock { idle in
      defer { idle = [] }
      return idle
    }
    for one in all { pk_curl_easy_cleanup(one.handle) }
  }

  deinit { removeAll() }
}
