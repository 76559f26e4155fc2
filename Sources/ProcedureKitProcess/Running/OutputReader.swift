import Foundation

/// A reader that reads one output of a program in chunks.
struct OutputReader {
  let output: OutputPoller.Output
  private let poller: OutputPoller

  /// Takes ownership of a pipe. The pipe is closed when the output ends or `stop` is called.
  init(_ pipe: PipeEnds, _ poller: OutputPoller) {
    self.poller = poller
    output = poller.open(pipe)
  }

  /// Reads the available bytes, up to one chunk. Only one call may be in progress at a time.
  ///
  /// - Parameter receive: A closure that is called once with the bytes, or with `nil` if there are no more.
  func readChunk(_ receive: @escaping @Sendable (Data?) -> Void) {
    poller.readChunk(of: output, receive)
  }

  /// Records that the program has exited. The output ends once no other process has the pipe open.
  func programEnded() {
    poller.programEnded(output)
  }

  /// Stops reading. If a chunk is being awaited, its receiver is called with `nil`.
  func stop() {
    poller.stop(output)
  }
}
