/// A decoder of zlib streams. It is slow and strict, and was written only from RFC 1950 and 1951, so that it shares no mistake with the
/// compressor.
struct Inflate {
  enum Damage: Error {
    case header, blockKind, storedLength, badCode, distanceTooFar, checksum, trailingBytes, oversubscribed
  }

  private let input: [UInt8]
  private var bitPosition = 0
  private var output: [UInt8] = []

  /// The kinds of the blocks so far: 0 for stored, 1 for fixed, and 2 for dynamic.
  private(set) var kinds: Set<Int> = []

  private init(_ input: [UInt8]) {
    self.input = input
  }

  static func zlib(_ stream: [UInt8]) throws -> (bytes: [UInt8], kinds: Set<Int>) {
    guard stream.count > 6, stream[0] == 0x78, (Int(stream[0]) << 8 | Int(stream[1])) % 31 == 0 else {
      throw Damage.header
    }
    var inflate = Inflate(Array(stream.dropFirst(2)))
    try inflate.decode()
    let end = (inflate.bitPosition + 7) / 8
    guard end + 4 == inflate.input.count else { throw Damage.trailingBytes }
    let expected = inflate.input[end...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    var (low, high): (UInt32, UInt32) = (1, 0)
    for byte in inflate.output {
      low = (low + UInt32(byte)) % 65_521
      high = (high + low) % 65_521
    }
    guard expected == high << 16 | low else { throw Damage.checksum }
    return (inflate.output, inflate.kinds)
  }

  private mutating func bits(_ count: Int) -> Int {
    var value = 0
    for index in 0..<count {
      value |= Int(input[bitPosition / 8] >> UInt8(bitPosition % 8) & 1) << index
      bitPosition += 1
    }
    return value
  }

  private mutating func decode() throws {
    var isLast = false
    while !isLast {
      isLast = bits(1) == 1
      let kind = bits(2)
      kinds.insert(kind)
      switch kind {
      case 0: try stored()
      case 1:
        try block(
          Code((0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 }),
          Code([Int](repeating: 5, count: 30)))
      case 2: try dynamic()
      default: throw Damage.blockKind
      }
    }
  }

  private mutating func stored() throws {
    bitPosition = (bitPosition + 7) / 8 * 8
    let count = bits(16)
    guard bits(16) == count ^ 0xffff else { throw Damage.storedLength }
    for _ in 0..<count { output.append(UInt8(bits(8))) }
  }

  private mutating func dynamic() throws {
    let (literals, distances, count) = (bits(5) + 257, bits(5) + 1, bits(4) + 4)
    var runLengths = [Int](repeating: 0, count: 19)
    for symbol in [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15].prefix(count) {
      runLengths[symbol] = bits(3)
    }
    let runs = try Code(runLengths)
    var lengths: [Int] = []
    while lengths.count < literals + distances {
      let symbol = try next(runs)
      switch symbol {
      case 16: lengths += [Int](repeating: lengths[lengths.count - 1], count: 3 + bits(2))
      case 17: lengths += [Int](repeating: 0, count: 3 + bits(3))
      case 18: lengths += [Int](repeating: 0, count: 11 + bits(7))
      default: lengths.append(symbol)
      }
    }
    guard lengths.count == literals + distances else { throw Damage.badCode }
    try block(Code(Array(lengths.prefix(literals))), Code(Array(lengths.suffix(distances))))
  }

  private static let lengthBases = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
  ]
  private static let lengthExtras = [
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
  ]
  private static let distanceBases = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
    8193, 12289, 16385, 24577,
  ]
  private static let distanceExtras = [
    0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
  ]

  private mutating func block(_ literals: Code, _ distances: Code) throws {
    while true {
      let symbol = try next(literals)
      if symbol == 256 { return }
      if symbol < 256 {
        output.append(UInt8(symbol))
        continue
      }
      let length = Self.lengthBases[symbol - 257] + bits(Self.lengthExtras[symbol - 257])
      let code = try next(distances)
      let distance = Self.distanceBases[code] + bits(Self.distanceExtras[code])
      guard distance <= output.count else { throw Damage.distanceTooFar }
      for _ in 0..<length { output.append(output[output.count - distance]) }
    }
  }

  private mutating func next(_ code: Code) throws -> Int {
    var (value, first, index) = (0, 0, 0)
    for length in 1...15 {
      value |= bits(1)
      let count = code.counts[length]
      if value - count < first { return code.symbols[index + value - first] }
      index += count
      first = (first + count) << 1
      value <<= 1
    }
    throw Damage.badCode
  }

  /// A canonical code, with the number of symbols of each length, and the symbols in the order of their codes.
  private struct Code {
    var counts = [Int](repeating: 0, count: 16)
    var symbols: [Int] = []

    init(_ lengths: [Int]) throws {
      for length in lengths where length > 0 { counts[length] += 1 }
      var left = 1
      for length in 1...15 { left = left << 1 - counts[length] }
      guard left >= 0 else { throw Damage.oversubscribed }
      symbols = (1...15).flatMap { length in lengths.indices.filter { lengths[$0] == length } }
    }
  }
}
