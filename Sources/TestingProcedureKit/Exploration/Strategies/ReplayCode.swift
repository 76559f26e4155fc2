/// The data for replaying one schedule, as a short string that is easy to copy, such as `pk2:3k:02~5.1:3.2hc04x1q`.
///
/// The string contains the name of the format, the seed of the schedule's random numbers in base 36, the choices, and the trail of the
/// order (see `OrderTrail`), which can be omitted from a handwritten string. A choice is a digit or a letter (base 36), or, for 36 and
/// above, a number in parentheses. `2~5.` represents five twos. Trailing zeros are omitted, because a replay continues with zeros.
struct ReplayCode: Equatable, CustomStringConvertible {
  /// The error for a malformed replay string.
  struct FormatError: Error, CustomStringConvertible {
    var text: String
    var description: String {
      "\"\(text)\" is not a valid replay string. A valid string looks like this: pk2:3k:02~5.1:3.2hc04x1q"
    }
  }

  private static let name = "pk2"

  var seed: UInt64
  var choices: [Int]
  /// The fingerprint of the order that results from the choices.
  var trail: OrderTrail?

  init(seed: UInt64, choices: [Int], trail: OrderTrail? = nil) {
    self.seed = seed
    self.trail = trail
    self.choices = Array(choices[..<(choices.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0)])
  }

  var description: String {
    var text = "\(Self.name):\(String(seed, radix: 36)):"
    var rest = choices[...]
    while let choice = rest.first {
      let run = rest.prefix { $0 == choice }
      rest = rest.dropFirst(run.count)
      let symbol = Self.symbol(of: choice)
      text += run.count < 4 ? String(repeating: symbol, count: run.count) : "\(symbol)~\(run.count)."
    }
    return text + (trail.map { ":\($0)" } ?? "")
  }

  /// Returns the text for one choice.
  static func symbol(of choice: Int) -> String {
    choice < 36 ? String(choice, radix: 36) : "(\(choice))"
  }

  /// Returns eight digits that distinguish replay strings in file names.
  static func digest(of text: String) -> String {
    var fingerprint = Fingerprint()
    for byte in text.utf8 { fingerprint.add(Int(byte)) }
    let digits = String(fingerprint.value & 0xFFFF_FFFF, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }

  /// Parses a replay string.
  ///
  /// - Throws: `FormatError` if the string is malformed.
  init(_ text: String) throws(FormatError) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 3 || parts.count == 4, parts[0] == Self.name, let seed = UInt64(parts[1], radix: 36),
      let choices = Self.parse(parts[2])
    else { throw FormatError(text: text) }
    let trail = parts.count == 4 ? OrderTrail(parts[3]) : nil
    guard parts.count == 3 || trail != nil else { throw FormatError(text: text) }
    self.init(seed: seed, choices: choices, trail: trail)
  }

  private static func parse(_ text: Substring) -> [Int]? {
    var choices: [Int] = []
    var rest = text
    while let first = rest.popFirst() {
      let symbol = first == "(" ? takeNumber(&rest, until: ")") : Int(String(first), radix: 36)
      guard let choice = symbol, choice >= 0 else { return nil }
      var count = 1
      if rest.first == "~" {
        rest.removeFirst()
        guard let run = takeNumber(&rest, until: "."), (1...10_000_000).contains(run) else { return nil }
        count = run
      }
      choices.append(contentsOf: repeatElement(choice, count: count))
    }
    return choices
  }

  private static func takeNumber(_ rest: inout Substring, until end: Character) -> Int? {
    guard let index = rest.firstIndex(of: end) else { return nil }
    defer { rest = rest[index...].dropFirst() }
    return Int(rest[..<index])
  }
}

/// A fingerprint of a sequence of numbers (64-bit FNV-1a, with the high bits mixed into the low bits).
struct Fingerprint: Equatable {
  private var state: UInt64 = 0xCBF2_9CE4_8422_2325

  /// The fingerprint of the numbers so far.
  var value: UInt64 { state ^ (state >> 32) }

  mutating func add(_ number: Int) {
    state = (state ^ UInt64(truncatingIfNeeded: number)) &* 0x100_0000_01B3
  }
}

/// A fingerprint of an order of tasks. It contains marks that show where another order starts to differ from this one.
///
/// As text, it consists of the number of steps, a dot, at most 32 evenly spaced marks, and five digits of the whole order's fingerprint.
struct OrderTrail: Equatable, CustomStringConvertible {
  private static let marks = 32
  private static let digits = 5

  let steps: Int
  /// The marks and the fingerprint, as base-36 digits.
  private let code: String

  init(_ tasks: [Int]) {
    steps = tasks.count
    let stride = Self.stride(of: steps)
    var fingerprint = Fingerprint()
    var code = ""
    for (index, task) in tasks.enumerated() {
      fingerprint.add(task)
      if (index + 1) % stride == 0 { code += String(fingerprint.value % 36, radix: 36) }
    }
    let whole = String(fingerprint.value % 60_466_176, radix: 36)
    self.code = code + String(repeating: "0", count: Self.digits - whole.count) + whole
  }

  /// Parses a string. Returns `nil` if the string is malformed.
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

  /// Returns the number of the step at which `tasks` is found to differ from this order; `nil` if the orders are the same. Earlier steps
  /// may already differ, because this order contains only a limited number of marks.
  func divergence(of tasks: [Int]) -> Int? {
    let actual = OrderTrail(tasks)
    guard actual != self else { return nil }
    let stride = Self.stride(of: steps)
    var fingerprint = Fingerprint()
    let marks = Array(code.dropLast(Self.digits))
    for (index, task) in tasks.enumerated() {
      fingerprint.add(task)
      guard (index + 1) % stride == 0, (index + 1) / stride <= marks.count else { continue }
      let mark = String(fingerprint.value % 36, radix: 36)
      if String(marks[(index + 1) / stride - 1]) != mark { return index + 1 }
    }
    return min(steps, tasks.count)
  }

  private static func stride(of steps: Int) -> Int { max(1, (steps + marks - 1) / marks) }
}
