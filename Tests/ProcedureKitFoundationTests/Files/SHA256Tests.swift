import ProcedureKitFoundation
import Testing

@Suite struct SHA256Tests {
  private func hash(_ bytes: [UInt8], pieces: Int = .max) -> String {
    var hash = SHA256()
    var rest = bytes[...]
    while !rest.isEmpty {
      hash.add(Array(rest.prefix(pieces)))
      rest = rest.dropFirst(pieces)
    }
    return hash.finished().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  @Test("The examples of FIPS 180-4 have the published SHA-256 hashes")
  func examples() {
    #expect(hash([]) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(hash(Array("abc".utf8)) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    let two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
    #expect(hash(Array(two.utf8)) == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
  }

  @Test("The pieces in which bytes are added do not affect the hash, at any length")
  func pieces() {
    for count in [0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 128, 1_000] {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }
      let hashes = Set([1, 3, 64, 100, .max].map { hash(bytes, pieces: $0) })
      #expect(hashes.count == 1)
    }
  }
}
