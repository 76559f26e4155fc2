import Foundation
import Synchronization

/// Reads the outputs of all programs in one thread, which starts with the first program and stays.
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
    guard isOpen else { return receive(nil) }
    // A full pipe means that the thread is woken already.
    _ = withUnsafeBytes(of: UInt8(0)) { write(wakeup.writing, $0.baseAddress, 1) }
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
      let wanted = contents.withLock { contents in
        contents.receivers.keys.compactMap { output in contents.descriptors[output].map { (output, $0) } }
      }
      var polls = ([wakeup.reading] + wanted.map(\.1)).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      _ = Foundation.poll(&polls, numericCast(polls.count), -1)
      if polls[0].revents != 0 { emptyWakeup() }
      for (index, (output, _)) in wanted.enumerated() where polls[index + 1].revents != 0 { read(output) }
    }
  }

  private func emptyWakeup() {
    var bytes = [UInt8](repeating: 0, count: 256)
    while Foundation.read(wakeup.reading, &bytes, bytes.count) == bytes.count {}
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
