import Foundation
import Synchronization

/// A poller that reads the outputs of all programs, and waits for the programs to end, on the thread of the ``EventLoopExecutor``.
///
/// Dispatch sources and channels are not suitable. On Linux, Dispatch crashes if it receives an event for a descriptor that another thread
/// has just closed. With Swift 6.3.1, this happened about once in every few thousand programs. The poller reads and closes every descriptor
/// under one lock, without blocking.
final class OutputPoller: Sendable {
  /// The key of an output. A descriptor is not suitable as a key, because the system reuses its number after the descriptor is closed.
  struct Output: Hashable {
    fileprivate let number: Int
  }

  /// A process that the poller is waiting for.
  private struct End {
    /// The process descriptor, which becomes readable when the process has ended.
    let process: Int32
    let outputs: [Output]
    let call: @Sendable () -> Void
  }

  /// The maximum delay before the end of a process is reported. The delay gives the outputs time to end. While another process is being
  /// started, it briefly holds open the pipes of all other processes. An output may therefore end slightly later than its process.
  private static let patience: Duration = .milliseconds(5)

  private struct Contents {
    var count = 0
    var pipes: [Output: PipeEnds] = [:]
    /// The closures that receive the next chunk of each output.
    var receivers: [Output: @Sendable (Data?) -> Void] = [:]
    /// The processes that have not ended, keyed by a unique number.
    var ends: [Int: End] = [:]
    /// The processes that have ended but whose outputs are still being awaited, each with the instant at which the wait ends.
    var late: [(end: End, limit: ContinuousClock.Instant)] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)

    mutating func makeNumber() -> Int {
      count += 1
      return count
    }

    /// Removes and returns the ended processes whose outputs are no longer awaited.
    mutating func takeEnded() -> [End] {
      let candidates = late
      late = []
      var ended: [End] = []
      for candidate in candidates {
        if isWaitedFor(candidate.end.outputs), candidate.limit > .now {
          late.append(candidate)
        } else {
          ended.append(candidate.end)
        }
      }
      return ended
    }

    /// Returns whether a receiver is waiting for any of these outputs.
    func isWaitedFor(_ outputs: [Output]) -> Bool { outputs.contains { receivers[$0] != nil } }
  }

  private let contents = Mutex(Contents())
  private let waiting: any DescriptorSet

  init(_ waiting: any DescriptorSet) {
    self.waiting = waiting
  }

  /// Takes ownership of a pipe.
  ///
  /// The write end remains open until `programEnded` is called. Most outputs therefore end together with their program, and the thread is
  /// woken only once for both.
  func open(_ pipe: PipeEnds) -> Output {
    pipe.makeReadingNonblocking()
    return contents.withLock { contents in
      let output = Output(number: contents.makeNumber())
      contents.pipes[output] = pipe
      return output
    }
  }

  func readChunk(of output: Output, _ receive: @escaping @Sendable (Data?) -> Void) {
    let isWaiting = contents.withLock { contents in
      guard contents.pipes[output] != nil else { return false }
      contents.receivers[output] = receive
      return wait(for: output, &contents)
    }
    if !isWaiting { receive(nil) }
  }

  /// Starts waiting for the next chunk. If the system cannot wait for the descriptor, the output is considered to have ended.
  private func wait(for output: Output, _ contents: inout Contents) -> Bool {
    guard let pipe = contents.pipes[output] else { return false }
    if waiting.add(pipe.reading, key: output.number) { return true }
    _ = Self.close(output, &contents)
    return false
  }

  /// Takes ownership of a process descriptor and calls `ended` when the process and its outputs have ended.
  ///
  /// The poller waits only briefly for the outputs, because another process may be holding them open. If the system cannot wait for the
  /// descriptor, the function returns `false` without calling `ended`.
  func awaitEnd(of process: Int32, _ outputs: [Output], _ ended: @escaping @Sendable () -> Void) -> Bool {
    let number = contents.withLock { contents in
      let number = contents.makeNumber()
      contents.ends[number] = End(process: process, outputs: outputs, call: ended)
      return number
    }
    if waiting.add(process, key: number) { return true }
    contents.withLock { $0.ends[number] = nil }
    _ = Foundation.close(process)
    return false
  }

  /// Records that the program has exited. The output ends once no other process has the pipe open.
  func programEnded(_ output: Output) {
    contents.withLock { $0.pipes[output]?.closeWriting() }
    read(output)
  }

  func stop(_ output: Output) {
    let receive = contents.withLock { Self.close(output, &$0) }
    receive?(nil)
  }

  private static func close(_ output: Output, _ contents: inout Contents) -> (@Sendable (Data?) -> Void)? {
    contents.pipes.removeValue(forKey: output)?.close()
    return contents.receivers.removeValue(forKey: output)
  }

  // MARK: The thread

  /// Waits until output arrives, a program ends, or `wake` is called.
  ///
  /// - Parameter waits: Whether to wait if there are no events yet.
  /// - Returns: The events to handle.
  func next(waits: Bool) -> [Int] {
    guard waits else { return waiting.next(within: .zero) }
    return waiting.next(within: contents.withLock { $0.late.isEmpty } ? nil : Self.patience)
  }

  /// Ends the current wait, or the next one. This function can be called from any thread.
  func wake() {
    waiting.wake()
  }

  /// Handles output that has arrived and processes that have ended. An ended process is reported once its outputs have ended, or after a
  /// short delay.
  func handle(_ keys: [Int]) {
    for number in keys {
      guard let end = contents.withLock({ $0.ends.removeValue(forKey: number) }) else {
        read(Output(number: number))
        continue
      }
      _ = Foundation.close(end.process)
      for output in end.outputs { programEnded(output) }
      contents.withLock { $0.late.append((end, .now + Self.patience)) }
    }
    for end in contents.withLock({ $0.takeEnded() }) { end.call() }
  }

  /// Passes the available bytes to the receiver, if one is waiting for them.
  private func read(_ output: Output) {
    typealias Arrival = (receive: @Sendable (Data?) -> Void, part: Data?)
    let arrival = contents.withLock { contents -> Arrival? in
      guard let pipe = contents.pipes[output], let receive = contents.receivers[output] else { return nil }
      let count = Foundation.read(pipe.reading, &contents.chunk, contents.chunk.count)
      if count > 0 {
        contents.receivers[output] = nil
        return (receive, Data(contents.chunk[..<count]))
      }
      if count < 0, errno == EAGAIN || errno == EINTR, wait(for: output, &contents) { return nil }
      _ = Self.close(output, &contents)
      return (receive, nil)
    }
    arrival?.receive(arrival?.part)
  }
}
