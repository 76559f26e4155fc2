import Dispatch
import Foundation

/// Reads one output of a program, a chunk at a time, without a thread that waits. Closes its end of the pipe.
final class PipeReader: Sendable {
  private static let chunkSize = 64 << 10

  private let channel: DispatchIO
  private let queue: DispatchQueue

  /// Takes over a descriptor.
  init(_ descriptor: Int32) {
    let queue = DispatchQueue(label: "ProcedureKitProcess.PipeReader")
    self.queue = queue
    channel = DispatchIO(type: .stream, fileDescriptor: descriptor, queue: queue) { _ in
      _ = close(descriptor)
    }
    channel.setLimit(lowWater: 1)
  }

  /// Reads up to a chunk, and passes on each part as soon as it comes.
  ///
  /// - Parameters:
  ///   - part: Receives the bytes of a part.
  ///   - end: Called after the last part of the chunk. `isLast` tells that no bytes follow.
  func readChunk(part: @escaping @Sendable (Data) -> Void, end: @escaping @Sendable (_ isLast: Bool) -> Void) {
    channel.read(offset: 0, length: Self.chunkSize, queue: queue) { [channel] isDone, data, error in
      if let data, !data.isEmpty { part(Data(data)) }
      guard isDone else { return }
      let isLast = error != 0 || data?.isEmpty ?? true
      if isLast { channel.close() }
      end(isLast)
    }
  }

  /// Ends reading: a chunk that is being read ends, as the last one.
  func stop() {
    channel.close(flags: .stop)
  }
}
