import Foundation

/// One output of a program, which is read in chunks.
struct OutputReader {
  let output: OutputPoller.Output
  private let poller: OutputPoller

  /// Takes ownership of a pipe. The end of the output, or `stop`, closes the pipe.
  init(_ pipe: PipeEnds, _ poller: OutputPoller) {
    self.poller = poller
    output = poller.open(pipe)
  }

  /// Reads the available bytes, up to a chunk. One call at a time.
  ///
  /// - Parameter receive: Called once, with the bytes, or with `nil` after the last ones.
  func readChunk(_ receive: @escaping @Sendable (Data?) -> Void) {
    poller.readChunk(of: output, receive)
  }

  /// Reports that the program has ended: its output ends when no other process holds it.
  func programEnded() {
    poller.programEnded(output)
  }

  /// Ends reading: a chunk that is being awaited is the last one.
  func stop() {
    poller.stop(output)
  }
}
