import Foundation
import Synchronization

/// Reads the outputs of all programs, and awaits their ends, in one thread, which starts with the first program and stays.
///
/// A dispatch source or channel for each output does not serve here: on Linux, Dispatch can take up an event of a
/// descriptor that another thread has just closed, and crashes (seen with Swift 6.3.1, once in some thousand programs).
/// Here every descriptor is read and closed under one lock, and never blocks.
final class OutputPoller: Sendable {
  /// The key of an output. Descriptors do not serve as keys, since the system uses the number of a closed one again.
  struct Output: Hashable {
    fileprivate let number: Int
  }

  private struct Contents {
    var outputCount = 0
    var descriptors: [Output: Int32] = [:]
    /// Receives the next chunk of an output.
    var receivers: [Output: @Sendable (Data?) -> Void] = [:]
    /// Called when descriptors of processes become readable, which means that the processes have ended.
    var ends: [Int32: @Sendable () -> Void] = [:]
    /// Whether the thread is to look again, and has a byte for that.
    var isWoken = false
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
  }

  private let contents = Mutex(Contents())
  /// A byte in this pipe tells the thread to look at `contents` again.
  private let wakeup: PipeEnds

  /// Starts the thread.
  ///
  /// - Throws: `POSIXError` if the process can open no further descriptors.
  init() throws {
    wakeup = try PipeEnds()
    for end in [wakeup.reading, wakeup.writing] { Self.makeNonblocking(end) }
    let thread = Thread { self.poll() }
    thread.name = "ProcedureKitProcess.OutputPoller"
    thread.start()
  }

  private static func makeNonblocking(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
  }

  func open(_ descriptor: Int32) -> Output {
    Self.makeNonblocking(descriptor)
    return contents.withLock { contents in
      contents.outputCount += 1
      let output = Output(number: contents.outputCount)
      contents.descriptors[output] = descriptor
      return output
    }
  }

  func readChunk(of output: Output, _ receive: @escaping @Sendable (Data?) -> Void) {
    let isOpen = contents.withLock { contents in
      guard contents.descriptors[output] != nil else { return false }
      contents.receivers[output] = receive
      return true
    }
    if isOpen { wake() } else { receive(nil) }
  }

  /// Takes over the descriptor of a process, and calls a function when the process has ended.
  func awaitEnd(of process: Int32, _ ended: @escaping @Sendable () -> Void) {
    contents.withLock { $0.ends[process] = ended }
    wake()
  }

  /// Lets the thread look at `contents` again.
  private func wake() {
    let needsByte = contents.withLock { contents in
      defer { contents.isWoken = true }
      return !contents.isWoken
    }
    // Without the lock, which the woken thread takes at once.
    if needsByte { _ = withUnsafeBytes(of: UInt8(0)) { write(wakeup.writing, $0.baseAddress, 1) } }
  }

  func stop(_ output: Output) {
    let receive = contents.withLock { Self.close(output, &$0) }
    receive?(nil)
  }

  private static func close(_ output: Output, _ contents: inout Contents) -> (@Sendable (Data?) -> Void)? {
    if let descriptor = contents.descriptors.removeValue(forKey: output) { _ = Foundation.close(descriptor) }
    return contents.receivers.removeValue(forKey: output)
  }

  // MARK: The thread

  private func poll() {
    while true {
      let (wanted, processes) = contents.withLock { contents in
        let wanted = contents.receivers.keys.compactMap { output in contents.descriptors[output].map { (output, $0) } }
        return (wanted, Array(contents.ends.keys))
      }
      var polls = ([wakeup.reading] + wanted.map(\.1) + processes).map {
        pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
      }
      _ = Foundation.poll(&polls, numericCast(polls.count), -1)
      if polls[0].revents != 0 { emptyWakeup() }
      // Outputs first: what a program has written comes before its end.
      for (index, (output, _)) in wanted.enumerated() where polls[index + 1].revents != 0 { read(output) }
      for (index, process) in processes.enumerated() where polls[wanted.count + index + 1].revents != 0 {
        let ended = contents.withLock { contents in
          _ = Foundation.close(process)
          return contents.ends.removeValue(forKey: process)
        }
        ended?()
      }
    }
  }

  private func emptyWakeup() {
    var byte: UInt8 = 0
    _ = Foundation.read(wakeup.reading, &byte, 1)
    contents.withLock { $0.isWoken = false }
  }

  /// Passes on the bytes that are there. An output that was stopped meanwhile is left alone.
  private func read(_ output: Output) {
    typealias Arrival = (receive: @Sendable (Data?) -> Void, part: Data?)
    let arrival = contents.withLock { contents -> Arrival? in
      guard let descriptor = contents.descriptors[output] else { return nil }
      let count = Foundation.read(descriptor, &contents.chunk, contents.chunk.count)
      if count > 0 {
        return contents.receivers.removeValue(forKey: output).map { ($0, Data(contents.chunk[..<count])) }
      }
      guard count == 0 || (errno != EAGAIN && errno != EINTR) else { return nil }
      return Self.close(output, &contents).map { ($0, nil) }
    }
    arrival?.receive(arrival?.part)
  }
}
