extension RemoteCall.Key: LosslessStringConvertible {
  /// Reads a ``description``; `nil` for any other text.
  ///
  /// - Parameter description: The run, the node and the attempt, separated by slashes.
  public init?(_ description: String) {
    let parts = description.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, let attempt = Int(parts[2]), let run = Self.unescaped(parts[0]),
      let node = Self.unescaped(parts[1])
    else { return nil }
    self.init(run: run, node: node, attempt: attempt)
  }

  /// The run, the node and the attempt, separated by slashes.
  ///
  /// A slash and a percent sign within the run and the node are written as `%2F` and `%25`, so that different keys have different descriptions.
  public var description: String { "\(Self.escaped(run))/\(Self.escaped(node))/\(attempt)" }

  private static func escaped(_ part: String) -> String {
    part.replacingScalars { scalar in
      switch scalar {
      case "/": "%2F"
      case "%": "%25"
      default: nil
      }
    }
  }

  private static func unescaped(_ part: Substring) -> String? {
    let pieces = part.unicodeScalars.split(separator: "%", omittingEmptySubsequences: false)
    var text = String(pieces[0])
    for piece in pieces.dropFirst() {
      switch String(piece.prefix(2)) {
      case "2F": text += "/"
      case "25": text += "%"
      default: return nil
      }
      text += String(piece.dropFirst(2))
    }
    return text
  }
}
