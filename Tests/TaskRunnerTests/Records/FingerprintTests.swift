import Foundation
import ProcedureKit
import Testing

@testable import taskrunner

@Suite struct FingerprintTests {
  @Test("Texts that are joined differently have different fingerprints")
  func texts() {
    let fingerprint = { (texts: [String]) in
      var fingerprint = Fingerprint()
      for text in texts { fingerprint.add(text) }
      return fingerprint.finish()
    }
    #expect(Set([["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], ["1:a"], ["a"]].map(fingerprint)).count == 6)
  }

  @Test("A folder's fingerprint covers names, contents, links and the permission to execute, but not times")
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

  @Test("Pipes, sockets and other special files in a folder count by name and kind, and are not opened")
  func specialInFolder() throws {
    let sandbox = try Sandbox()
    let fingerprint = { try Fingerprint.ofPath("\(sandbox.path)/f") }
    try sandbox.write("1", to: "f/a")
    var seen = [try fingerprint()]
    #expect(mkfifo("\(sandbox.path)/f/special", 0o600) == 0)
    seen.append(try fingerprint())
    #expect(try fingerprint() == seen[1])
    try sandbox.remove("f/special")
    #expect(try fingerprint() == seen[0])
    #expect(mknod("\(sandbox.path)/f/special", S_IFSOCK | 0o600, 0) == 0)
    seen.append(try fingerprint())
    try sandbox.remove("f/special")
    try sandbox.write("", to: "f/special")
    seen.append(try fingerprint())
    try sandbox.remove("f/special")
    try FileManager.default.createSymbolicLink(atPath: "\(sandbox.path)/f/special", withDestinationPath: "/dev/null")
    seen.append(try fingerprint())
    #expect(Set(seen).count == 5)
  }

  @Test("A folder of records is recognized by the task file beside it, and by containing only a lock and records")
  func records() throws {
    let sandbox = try Sandbox()
    let fingerprint = { try Fingerprint.ofPath("\(sandbox.path)/f") }
    try sandbox.write("1", to: "f/a")
    let before = try fingerprint()
    try sandbox.write("", to: "f/.a.records/lock")
    try sandbox.write("", to: "f/.a.records/records")
    try sandbox.write("", to: "f/.a.records/records-1.partial")
    #expect(try fingerprint() == before)
    var seen = [before]
    // This is a user's folder that happens to have the name of a records folder.
    try sandbox.write("1", to: "f/.a.records/data")
    seen.append(try fingerprint())
    try sandbox.write("2", to: "f/.a.records/data")
    seen.append(try fingerprint())
    try sandbox.remove("f/.a.records/data")
    try sandbox.remove("f/.a.records/lock")
    seen.append(try fingerprint())
    try sandbox.remove("f/.a.records")
    try sandbox.write("", to: "f/.b.records/lock")
    seen.append(try fingerprint())
    #expect(Set(seen).count == 5)
  }

  @Test("A path that is neither a file nor a folder is an error, without waiting")
  func special() throws {
    let sandbox = try Sandbox()
    #expect(mkfifo("\(sandbox.path)/pipe", 0o600) == 0)
    #expect(throws: TaskProblem.unreadable("\(sandbox.path)/pipe", EINVAL)) {
      try Fingerprint.ofPath("\(sandbox.path)/pipe")
    }
  }
}
