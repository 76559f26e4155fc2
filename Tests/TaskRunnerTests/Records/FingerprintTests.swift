import Foundation
import Testing

@testable import taskrunner

@Suite struct FingerprintTests {
  private func hash(_ bytes: [UInt8], pieces: Int = .max) -> String {
    var hash = SHA256()
    var rest = bytes[...]
    while !rest.isEmpty {
      hash.update(rest.prefix(pieces))
      rest = rest.dropFirst(pieces)
    }
    return hash.finish()
  }

  @Test("SHA-256 of the examples of FIPS 180-4")
  func examples() {
    #expect(hash([]) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(hash(Array("abc".utf8)) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    let two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
    #expect(hash(Array(two.utf8)) == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
  }

  @Test("The pieces in which bytes are added make no difference, at any length")
  func pieces() {
    for count in [0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 128, 1_000] {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }
      let hashes = Set([1, 3, 64, 100, .max].map { hash(bytes, pieces: $0) })
      #expect(hashes.count == 1)
    }
  }

  @Test("Texts that are joined otherwise have another fingerprint")
  func texts() {
    let fingerprint = { (texts: [String]) in
      var fingerprint = Fingerprint()
      for text in texts { fingerprint.add(text) }
      return fingerprint.finish()
    }
    #expect(Set([["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], ["1:a"], ["a"]].map(fingerprint)).count == 6)
  }

  @Test("A folder's fingerprint is that of names, contents, links and permission to execute, and not of times")
  func folders() throws {
    let sandbox = try Sandbox()
    let fingerprint = { try Fingerprint.ofPath("\(sandbox.path)/f") }
    #expect(try fingerprint() == nil)
    try sandbox.write("1", to: "f/a")
    try sandbox.write("2", to: "f/sub/b")
    var seen = [try fingerprint()]
    let manager = FileManager.default
    try manager.setAttributes([.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: "\(sandbox.path)/f/a")
    #expect(try fingerprint() == seen[0])
    try sandbox.write("3", to: "f/sub/b")
    seen.append(try fingerprint())
    try manager.moveItem(atPath: "\(sandbox.path)/f/a", toPath: "\(sandbox.path)/f/c")
    seen.append(try fingerprint())
    try manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: "\(sandbox.path)/f/c")
    seen.append(try fingerprint())
    try manager.createSymbolicLink(atPath: "\(sandbox.path)/f/loop", withDestinationPath: ".")
    seen.append(try fingerprint())
    #expect(Set(seen).count == 5)
  }

  @Test("A path that leads to neither a file nor a folder is an error, and is not waited for")
  func special() throws {
    let sandbox = try Sandbox()
    #expect(mkfifo("\(sandbox.path)/pipe", 0o600) == 0)
    #expect(throws: TaskProblem.unreadable("\(sandbox.path)/pipe", EINVAL)) {
      try Fingerprint.ofPath("\(sandbox.path)/pipe")
    }
  }
}
