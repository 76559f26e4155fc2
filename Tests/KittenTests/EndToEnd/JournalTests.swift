import Foundation
import ProcedureKit
import ProcedureKitDurable
import Synchronization
import Testing

@testable import kitten

/// Tests `kitten --journal` as a user runs it.
@Suite(.timeLimit(.minutes(10))) final class JournalTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    try directory.write(Image.plain(width: 9, height: 9, red: 1, green: 2, blue: 3).ppm, to: "in/a.ppm")
  }

  private func kitten(
    _ more: [String] = [], onOutput: @escaping @Sendable (String, pid_t) -> Void = { _, _ in }
  ) async throws -> KittenProcess {
    try await KittenProcess(
      ["in", "--sizes=4", "--jobs=1", "--output=out", "--journal=j"] + more, in: directory.path, onOutput: onOutput)
  }

  @Test("A job that is killed partway can be continued, and its journal is removed when the job has finished")
  func killed() async throws {
    // For a debug build, this is several seconds of work, which begins when the first picture is done.
    let raster = [UInt8](repeating: 7, count: 3 * 4_000 * 4_000)
    try directory.write(Array("P6 4000 4000 255\n".utf8) + raster, to: "in/b.ppm")
    let wasSent = Atomic(false)
    let run = try await kitten { output, process in
      let isFirst = output.contains("write a-4.png\n") && wasSent.exchange(true, ordering: .relaxed) == false
      if isFirst { kill(process, SIGKILL) }
    }
    #expect(run.status == -SIGKILL)
    #expect(try directory.names(in: "out") == ["a-4.png"])
    // Another process is using the journal in the meantime.
    let lock = try FileJournal("\(directory.path)/j")
    let refused = try await kitten()
    #expect(refused.status == 1)
    #expect(refused.errors.hasPrefix("kitten: the journal j is in use by another process"), "\(refused.errors)")
    try await lock.close()
    try directory.write(Image.plain(width: 9, height: 9, red: 3, green: 2, blue: 1).ppm, to: "in/b.ppm")
    let next = try await kitten(["--report", "-"])
    #expect(next.status == 0 && next.errors == "", "\(next.errors)")
    #expect(next.output.contains("  write a-4.png: reused: j\n"), "\(next.output)")
    #expect(!next.output.contains("  write b-4.png: reused"))
    #expect(try directory.names(in: "out") == ["a-4.png", "b-4.png"])
    #expect(try directory.names() == ["in", "out"])
  }

  @Test("Entries of other programs in the journal are kept")
  func shared() async throws {
    let key = JournalKey(path: "another/graph", fingerprint: Fingerprint(of: [1]))
    let journal = try FileJournal("\(directory.path)/j")
    try await journal.append([1, 2, 3], for: key)
    try await journal.close()
    #expect(try await kitten().status == 0)
    let again = try FileJournal("\(directory.path)/j")
    #expect(await again.entryCount == 1)
    #expect(try await again.read(key) == [1, 2, 3])
  }

  @Test("A file that is not a journal, a folder and an unwritable path are errors that name them, and are not changed")
  func refused() async throws {
    try directory.write(Array("Dear diary".utf8), to: "diary")
    let reasons = [
      "diary": "is not a journal (unknown header)", "in": "Is a directory", "none/j": "No such file or directory",
    ]
    for (path, reason) in reasons {
      let run = try await kitten(["--journal", path])
      #expect(run.status == 1)
      #expect(run.errors.hasPrefix("kitten: the journal \(path) ") && run.errors.contains(reason), "\(run.errors)")
    }
    #expect(try directory.bytes(of: "diary") == Array("Dear diary".utf8))
    #expect(try directory.names() == ["diary", "in"])
  }
}
