import Foundation
import Synchronization
import Testing

@testable import LoopbackServer

/// A daemon at a port of 127.0.0.1, which serves one client according to a script.
final class RecordedDaemon: Sendable {
  enum Step: Sendable {
    /// Sends a text in pieces that end in the middle of lines.
    case send(String)
    /// Waits for a line from the client.
    case request
    /// Waits until the client disconnects.
    case hold
  }

  /// The output of gpsd 3.22 for a walk of eight seconds, one second of which is without a fix.
  static let walk: String = {
    let place = Bundle.module.url(forResource: "gpsd-3.22", withExtension: "jsonl", subdirectory: "Recordings")
    return place.flatMap { try? String(contentsOf: $0, encoding: .utf8) } ?? ""
  }()

  /// The first line of gpsd, and the rest, which gpsd sends on request.
  static var walkSteps: [Step] {
    let end = walk.firstIndex(of: "\n").map { walk.index(after: $0) } ?? walk.endIndex
    return [.send(String(walk[..<end])), .request, .send(String(walk[end...]))]
  }

  let port: UInt16
  private let requests = Mutex("")
  private let ended: AsyncStream<Never>

  init(_ steps: [Step]) throws {
    let listener = try Socket.bound(isListening: true)
    port = UInt16(try listener.port)
    let (ended, end) = AsyncStream.makeStream(of: Never.self)
    self.ended = ended
    let thread = Thread { [self] in
      if let client = listener.accept() {
        for step in steps { perform(step, with: client) }
        client.close()
      }
      listener.close()
      end.finish()
    }
    thread.start()
  }

  private func perform(_ step: Step, with client: Socket) {
    switch step {
    case .send(let text):
      var bytes = Data(text.utf8)[...]
      while !bytes.isEmpty {
        try? client.send(Data(bytes.prefix(97)))
        bytes = bytes.dropFirst(97)
      }
    case .request:
      while !requests.withLock({ $0.hasSuffix("\n") }), let bytes = try? client.receive() {
        requests.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
      }
    case .hold: while (try? client.receive()) != nil {}
    }
  }

  /// The text that the client sent.
  var received: String { requests.withLock { $0 } }

  /// Waits until the script ends.
  func waitUntilEnded() async {
    for await _ in ended {}
  }
}
