/// A fingerprint of an order of strands, with marks that show where another order begins to differ.
///
/// As text: the number of steps, a dot, at most 32 evenly spaced marks, and five digits of the whole order's fingerprint.
struct OrderTrail: Equatable, CustomStringConvertible {
  private static let marks = 32
  private static let digits = 5

  let steps: Int
  /// The marks and the fingerprint, as digits of base 36.
  private let code: String

  init(_ strands: [Int]) {
    steps = strands.count
    let stride = Self.stride(of: steps)
    var fingerprint = Fingerprint()
    var code = ""
    for (index, strand) in strands.enumerated() {
      fingerprint.add(strand)
      if (index + 1) % stride == 0 { code += String(fingerprint.value % 36, radix: 36) }
    }
    let whole = String(fingerprint.value % 60_466_176, radix: 36)
    self.code = code + String(repeating: "0", count: Self.digits - whole.count) + whole
  }

  /// Parses a text; `nil` for a malformed text.
  init?(_ text: Substring) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let steps = Int(parts[0]), steps >= 0,
      parts[1].count == steps / Self.stride(of: steps) + Self.digits,
      parts[1].allSatisfy({ Int(String($0), radix: 36) != nil })
    else { return nil }
    self.steps = steps
    code = String(parts[1])
  }

  var description: String { "\(steps).\(code)" }

  /// Returns the number of steps after which `strands` certainly differs; `nil` for an equal order.
  func divergence(of strands: [Int]) -> Int? {
    let actual = OrderTrail(strands)
    guard actual != self else { return nil }
    let stride = Self.stride(of: steps)
    var fingerprint = Fingerprint()
    let marks = Array(code.dropLast(Self.digits))
    for (index, strand) in strands.enumerated() {
      fingerprint.add(strand)
      guard (index + 1) % stride == 0, (index + 1) / stride <= marks.count else { continue }
      let mark = String(fingerprint.value % 36, radix: 36)
      if String(marks[(index + 1) / stride - 1]) != mark { return index + 1 }
    }
    return min(steps, strands.count)
  }

  private static func stride(of steps: Int) -> Int { max(1, (steps + marks - 1) / marks) }
}
