import ProcedureKit
import Testing

@testable import kitten

@Suite(.timeLimit(.minutes(10))) struct ZlibTests {
  private func roundTrip(_ bytes: [UInt8]) throws -> (kinds: Set<Int>, count: Int) {
    let compressed = try Zlib.compress(bytes)
    let decoded = try Inflate.zlib(compressed)
    #expect(decoded.bytes == bytes)
    return (decoded.kinds, compressed.count)
  }

  @Test("The shortest inputs are decompressed unchanged", arguments: 0...5)
  func short(count: Int) throws {
    _ = try roundTrip([UInt8](repeating: 7, count: count))
    _ = try roundTrip((0..<UInt8(count)).map { $0 })
  }

  @Test("A long run of one byte takes almost no space")
  func run() throws {
    #expect(try roundTrip([UInt8](repeating: 0, count: 300_000)).count < 400)
  }

  @Test("Noise is stored, and grows by only a few bytes")
  func noise() throws {
    var generator = SplitMix64(seed: 1)
    let bytes = (0..<200_000).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    let (kinds, count) = try roundTrip(bytes)
    #expect(kinds == [0])
    #expect(count < bytes.count + 100)
  }

  @Test("Each of the three kinds of blocks is used where it is shortest")
  func kinds() throws {
    #expect(try roundTrip(Array("kitten".utf8)).kinds == [1])
    #expect(try roundTrip((0..<20_000).map { UInt8($0 * $0 % 251 / 16) }).kinds == [2])
  }

  @Test("Repetitions are found up to the edge of the window, and not beyond it", arguments: [32_767, 32_768, 32_769])
  func window(distance: Int) throws {
    var generator = SplitMix64(seed: 2)
    let noise = (0..<distance).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    let (_, count) = try roundTrip(noise + noise.prefix(258))
    #expect((count < distance + 100) == (distance <= 32_768))
  }

  @Test("Random mixtures of noise and repetitions are decompressed unchanged", arguments: 0..<60 as Range<UInt64>)
  func mixtures(seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    let alphabet = UInt8.random(in: 0...255, using: &generator)
    var bytes: [UInt8] = []
    for _ in 0..<Int.random(in: 0...60, using: &generator) {
      let count = Int.random(in: 1...600, using: &generator)
      if Bool.random(using: &generator), !bytes.isEmpty {
        let start = Int.random(in: 0..<bytes.count, using: &generator)
        for index in 0..<count { bytes.append(bytes[start + index]) }
      } else {
        for _ in 0..<count { bytes.append(UInt8.random(in: 0...alphabet, using: &generator)) }
      }
    }
    _ = try roundTrip(bytes)
  }

  @Test("A cancelled task stops compressing")
  func cancelled() async {
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try Zlib.compress([1, 2, 3])
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
