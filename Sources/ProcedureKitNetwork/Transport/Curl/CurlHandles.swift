import LoadedLibraries
import Synchronization

/// The handles of finished transfers, kept for later transfers: creating a handle, with its long buffer, takes longer than clearing one.
///
/// A handle keeps nothing from its last request.
final class CurlHandles: Sendable {
  /// Invariant of `@unchecked Sendable`: the handle belongs either to the list or to the one transfer that has taken it.
  private struct Idle: @unchecked Sendable {
    let handle: OpaquePointer
  }

  /// The largest number of handles that are kept, of some 70 KB each.
  private static let limit = 64

  private let idle = Mutex<[Idle]>([])

  /// Returns a handle without options; `nil` if there is no memory.
  func take() -> OpaquePointer? {
    idle.withLock { $0.popLast() }?.handle ?? pk_curl_easy_init()
  }

  /// Keeps a handle that libcurl no longer uses, or releases it if enough handles are kept.
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
