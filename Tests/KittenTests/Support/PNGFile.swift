@testable import kitten

/// A PNG file that is parsed according to the specification, independently of the encoder, with its chunks, checksums and filters.
struct PNGFile {
  enum Damage: Error {
    case signature, chunk, checksum, header, rowLength, filter
  }

  let chunkNames: [String]
  let width: Int
  let height: Int
  let bitDepth: Int
  let image: Image

  /// The filters that occur in the file.
  let filters: Set<UInt8>

  init(_ file: [UInt8]) throws {
    guard file.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) else { throw Damage.signature }
    func number(at index: Int) throws -> Int {
      guard index + 4 <= file.count else { throw Damage.chunk }
      return file[index..<index + 4].reduce(0) { $0 << 8 | Int($1) }
    }
    var chunks: [(name: String, data: [UInt8])] = []
    var position = 8
    while position < file.count {
      let count = try number(at: position)
      let end = position + 8 + count
      let stored = try number(at: end)
      guard stored == Self.crc(file[(position + 4)..<end]) else { throw Damage.checksum }
      let name = String(decoding: file[(position + 4)..<(position + 8)], as: UTF8.self)
      chunks.append((name, Array(file[(position + 8)..<end])))
      position = end + 4
    }
    chunkNames = chunks.map(\.name)
    guard let header = chunks.first, header.name == "IHDR", header.data.count == 13 else { throw Damage.header }
    let size = header.data.prefix(8).map { Int($0) }
    let (width, height) = (size[0..<4].reduce(0) { $0 << 8 | $1 }, size[4..<8].reduce(0) { $0 << 8 | $1 })
    bitDepth = Int(header.data[8])
    guard header.data[9...] == [2, 0, 0, 0], let depth = Image.Depth(rawValue: bitDepth) else { throw Damage.header }
    let rows = try Inflate.zlib(chunks.filter { $0.name == "IDAT" }.flatMap(\.data)).bytes
    let (bytes, filters) = try Self.unfilter(rows, rowLength: 3 * width * bitDepth / 8, pixelLength: 3 * bitDepth / 8)
    guard bytes.count == 3 * width * height * bitDepth / 8 else { throw Damage.rowLength }
    let samples =
      depth == .eight
      ? bytes.map { UInt16($0) }
      : stride(from: 0, to: bytes.count, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
    self.width = width
    self.height = height
    self.filters = filters
    image = Image(width: width, height: height, depth: depth, samples: samples)
  }

  private static func unfilter(
    _ rows: [UInt8], rowLength: Int, pixelLength: Int
  ) throws -> (bytes: [UInt8], filters: Set<UInt8>) {
    guard rows.count % (rowLength + 1) == 0 else { throw Damage.rowLength }
    var result: [UInt8] = []
    var filters: Set<UInt8> = []
    for start in stride(from: 0, to: rows.count, by: rowLength + 1) {
      filters.insert(rows[start])
      for column in 0..<rowLength {
        let here = result.count
        let a = column >= pixelLength ? Int(result[here - pixelLength]) : 0
        let b = start > 0 ? Int(result[here - rowLength]) : 0
        let c = column >= pixelLength && start > 0 ? Int(result[here - rowLength - pixelLength]) : 0
        let prediction: Int
        switch rows[start] {
        case 0: prediction = 0
        case 1: prediction = a
        case 2: prediction = b
        case 3: prediction = (a + b) / 2
        case 4: prediction = [a, b, c].min { abs(a + b - c - $0) < abs(a + b - c - $1) } ?? 0
        default: throw Damage.filter
        }
        result.append(UInt8(truncatingIfNeeded: Int(rows[start + 1 + column]) + prediction))
      }
    }
    return (result, filters)
  }

  /// Returns the CRC, which is computed bit by bit, as in the specification.
  private static func crc(_ bytes: ArraySlice<UInt8>) -> Int {
    var register: UInt32 = 0xffff_ffff
    for byte in bytes {
      register ^= UInt32(byte)
      for _ in 0..<8 { register = register & 1 == 1 ? register >> 1 ^ 0xedb8_8320 : register >> 1 }
    }
    return Int(~register)
  }
}
