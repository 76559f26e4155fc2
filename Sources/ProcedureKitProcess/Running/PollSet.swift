import Foundation
import Synchronization

/// Descriptors that are waited for with `poll`, where there is no `epoll`: to add one wakes the thread that waits.
final class PollSet: DescriptorSet {
  private struct Contents {
    var keys: [Int32: Int] = [:]
    /// Whether the pipe has a byte.
    var isWoken = false
  }

  private let contents = Mutex(Contents())
  /// A byte in this pipe tells the waiting thread to look at `contents` again.
  private let wakeup: PipeEnds

  /// - Throws: `POSIXError` if the process can open no further descriptors.
  init() throws {
    wakeup = try PipeEnds()
  }

  deinit {
    wakeup.close()
  }

  func add(_ descriptor: Int32, key: Int) -> Bool {
    let needsByte = contents.withLock { contents in
      contents.keys[descriptor] = key
      defer { contents.isWoken = true }
      return !contents.isWoken
    }
    // Without the lock, which the woken thread takes at once.
    if needsByte { _ = withUnsafeBytes(of: UInt8(0)) { write(wakeup.writing, $0.baseAddress, 1) } }
    return true
  }

  func next(within limit: Duration?) -> [Int] {
    while true {
      let descriptors = contents.withLock { Array($0.keys.keys) }
      var polls = ([wakeup.reading] + descriptors).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      let count = poll(&polls, numericCast(polls.count), Duration.milliseconds(of: limit))
      if count == 0 { return [] }
      if polls[0].revents != 0 { emptyWakeup() }
      let ready = polls.dropFirst().filter { $0.revents != 0 }
      if ready.isEmpty { continue }
      return contents.withLock { contents in ready.compactMap { contents.keys.removeValue(forKey: $0.fd) } }
    }
  }

  private func emptyWakeup() {
    var byte: UInt8 = 0
    _ = read(wakeup.reading, &byte, 1)
    contents.withLock { $0.isWoken = false }
  }
}
