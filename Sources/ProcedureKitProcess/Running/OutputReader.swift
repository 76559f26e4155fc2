import Foundation

/// One output of a program, which is read in chunks.
struct OutputReader {
  let output: OutputPoller.Output
  private let poller: OutputPoller

  /// Takes ownership of a pipe. The pipe is closed when the output ends, or by `stop`.
  init(_ pipe: PipeEnds, _ poller: OutputPoller) {
    self.poller = poller
    output = poller.open(pipe)
  }

  /// Reads the available bytes, up to one chunk. Only one call may be in progress at a time.
  ///
  /// - Parameter receive: Called once with the bytes, or with `nil` if there are no more.
  func readChunk(_ receive: @escaping @Sendable (Data?) -> Void) {
    poller.readChunk(of: output, receive)
  }

  /// Reports that the program has exited. The output ends once no other process has the pipe open.
  func programEnded() {
    poller.programEnded(output)
  }

  /// Ends reading: the chunk that is being awaited, if any, is the last one.
  func stop() {
    poller.stop(output)
  }
}
