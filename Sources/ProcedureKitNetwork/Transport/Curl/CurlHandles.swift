import LoadedLibraries
import Synchronization

/// A pool of libcurl handles from finished transfers. Resetting a handle is faster than creating one, because each handle has a large
/// buffer.
///
/// A handle in the pool retains nothing from its last request.
final class CurlHandles: Sendable {
  /// The invariant that justifies `@unchecked Sendable`: a handle belongs either to the pool or to the transfer that has taken it.
  private struct Idle: @unchecked Sendable {
    let handle: OpaquePointer
  }

  /// The maximum number of handles in the pool. A handle takes up about 70 KB.
  private static let limit = 64

  private let idle = Mutex<[Idle]>([])

  /// Returns a handle that has no options set; `nil` if there is not enough memory.
  func take() -> OpaquePointer? {
    idle.withLock { $0.popLast() }?.handle ?? pk_curl_easy_init()
  }

  /// Puts a handle that libcurl no longer uses back into the pool, or releases it if the pool is full.
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

  /// Releases all handles in the pool.
  func removeAll() {
    let all = idle.withLock { idle in
      defer { idle = [] }
      return idle
    }
    for one in all { pk_curl_easy_cleanup(one.handle) }
  }

  deinit { removeAll() }
}
