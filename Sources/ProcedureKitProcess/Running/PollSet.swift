import Foundation
import Synchronization

/// A set of descriptors that uses `poll`, for systems without `epoll`. Adding a descriptor wakes the waiting thread.
final class PollSet: DescriptorSet {
  private struct Contents {
    var keys: [Int32: Int] = [:]
    /// Whether a wake-up is pending, which means that its byte is being written, is in the pipe `wakeup`, or is being read.
    var isWoken = false
  }

  private let contents = Mutex(Contents())
  /// The pipe that wakes the thread. A byte in the pipe makes the thread read `contents` again.
  private let wakeup: PipeEnds

  /// Creates a set that contains no descriptors.
  ///
  /// - Throws: `POSIXError` if the process cannot open any more descriptors.
  init() throws {
    wakeup = try PipeEnds()
  }

  deinit {
    wakeup.close()
  }

  func add(_ descriptor: Int32, key: Int) -> Bool {
    contents.withLock { $0.keys[descriptor] = key }
    wake()
    return true
  }

  func wake() {
    let needsByte = contents.withLock { contents in
      defer { contents.isWoken = true }
      return !contents.isWoken
    }
    // The lock is not held here because the woken thread takes it immediately.
    if needsByte { wakeup.writeByte() }
  }

  func next(within limit: Duration?) -> [Int] {
    let descriptors = contents.withLock { Array($0.keys.keys) }
    var polls = ([wakeup.reading] + descriptors).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    guard poll(&polls, numericCast(polls.count), Duration.milliseconds(of: limit)) > 0 else { return [] }
    if polls[0].revents != 0 {
      wakeup.readByte()
      contents.withLock { $0.isWoken = false }
    }
    let ready = polls.dropFirst().filter { $0.revents != 0 }
    return contents.withLock { contents in ready.compactMap { contents.keys.removeValue(forKey: $0.fd) } }
  }
}
