import Foundation

/// A writer that sends a response and simulates the faults that the response specifies.
struct ResponseWriter {
  private static let pieceSize = 65_536

  let response: ServerResponse
  let socket: Socket
  /// A closure that is called before the last bytes are sent.
  let willEnd: () -> Void

  func write(hasBody: Bool) throws(Ending) {
    for fault in response.faults where fault.offset == nil { try perform(fault.kind) }
    let body = hasBody ? response.body : Data()
    if case .http = response.content {
      if body.isEmpty { willEnd() }
      try socket.send(Data(response.head.utf8))
    }
    guard hasBody else { return }
    try write(body)
    while response.isEndless { try socket.send(body) }
  }

  private func write(_ body: Data) throws(Ending) {
    var faults = response.faults.filter { $0.offset != nil }
      .map { (offset: min($0.offset ?? 0, body.count), kind: $0.kind) }
      .sorted { $0.offset < $1.offset }[...]
    var rest = body
    var offset = 0
    while true {
      while let fault = faults.first, fault.offset <= offset {
        faults.removeFirst()
        try perform(fault.kind)
      }
      guard !rest.isEmpty else { break }
      let piece = rest.prefix(min(pieceSize, faults.first.map { $0.offset - offset } ?? .max))
      rest = rest.dropFirst(piece.count)
      offset += piece.count
      if rest.isEmpty, faults.isEmpty { willEnd() }
      try socket.send(framed(piece))
      if let pace = response.pace, !rest.isEmpty { try perform(.pause(pace.pause)) }
    }
    if case .chunks = response.framing { try socket.send(Data("0\r\n\r\n".utf8)) }
  }

  private var pieceSize: Int {
    if case .chunks(let size) = response.framing { return min(size, response.pace?.size ?? .max) }
    return response.pace?.size ?? Self.pieceSize
  }

  private func framed(_ piece: Data) -> Data {
    guard case .chunks = response.framing else { return piece }
    return Data("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Data("\r\n".utf8)
  }

  private func perform(_ kind: Fault.Kind) throws(Ending) {
    switch kind {
    case .gate(let gate):
      gate.arrive()
      if socket.wait(for: gate) == .left { throw .left }
    case .pause(let pause):
      if socket.wait(for: nil, pause) == .left { throw .left }
    case .silence:
      _ = socket.wait(for: nil)
      throw .left
    case .close: throw .closed
    case .reset: throw .reset
    }
  }
}
