import Foundation
import ProcedureKit
import ProcedureKitFoundation
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) final class FileAccessTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "FileAccess-\(UUID().uuidString)").path
  private let isAdministrator = NSUserName() == "root"

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// Creates a file with the given permissions.
  private func file(_ name: String, _ mode: Int) -> String {
    let path = "\(folder)/\(name)"
    #expect(FileManager.default.createFile(atPath: path, contents: Data(), attributes: [.posixPermissions: mode]))
    return path
  }

  private func underlying<Output>(_ handle: ProcedureHandle<Output>) async -> CapabilityError? {
    await handle.outcome.procedureError?.underlying as? CapabilityError
  }

  @Test("The status shows which permissions are granted and which are missing, without a request")
  func status() async throws {
    let script = file("script", 0o500)
    let status = try #require(try await GetAuthorizationStatus(FileAccess(script, [.read, .execute])).execute())
    #expect(status.granted.isSuperset(of: [.read, .execute]) && status.missing.isEmpty && status.meets(()))
    let text = file("text", 0o600)
    let refused = try #require(try await GetAuthorizationStatus(FileAccess(text, [.read, .execute])).execute())
    #expect(refused.granted == [.read, .write] && refused.missing == .execute && !refused.meets(()))
    #expect("\(refused)" == "missing execute; granted read, write")
    #expect(try await GetAuthorizationStatus(FileAccess(folder + "/none", .read)).execute() == nil)
  }

  @Test("A folder can be listed, extended and entered, and a link represents its target")
  func foldersAndLinks() async throws {
    let all = try await Authorize(FileAccess(folder, [.read, .write, .execute])).execute()
    #expect(all.granted == [.read, .write, .execute])
    let link = "\(folder)/link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file("text", 0o600))
    #expect(await !FileAccess(link, .execute).authorizationStatus().meets(()))
    try FileManager.default.removeItem(atPath: "\(folder)/text")
    #expect(await !FileAccess(link, .read).isAvailable())
  }

  @Test("A condition is satisfied by a permitted access and fails immediately otherwise, silenced or not")
  func condition() async throws {
    let queue = ProcedureQueue("files", maxConcurrentProcedures: 1)
    let path = file("text", 0o600)
    let body = ProcedureTask("body") { 1 }
    #expect(try await queue.run(body.condition(.authorized(for: FileAccess(path, [.read, .write])))) == 1)
    let execute = Condition.authorized(for: FileAccess(path, .execute))
    for condition in [execute, execute.silenced()] {
      let error = await underlying(queue.add(body.condition(condition)))
      #expect(
        error?.description == "execute \(path) is not sufficiently authorized: missing execute; granted read, write")
    }
    #expect(try await queue.run(body.condition(!execute)) == 1)
    #expect(await queue.add(body.condition(execute.treatingErrorsAsUnsatisfied())).outcome.isIgnored)
    let missing = await underlying(queue.add(body.condition(.authorized(for: FileAccess(folder + "/none", .read)))))
    #expect(missing?.description == "read \(folder)/none is not available on this system")
  }

  @Test("Authorization for an access that is not permitted is refused, with the name of the procedure")
  func authorize() async {
    let path = file("text", 0o600)
    let handle = ProcedureQueue("files").add(Authorize(FileAccess(path, .execute)))
    let error = await handle.outcome.procedureError
    #expect(error?.kind == .capabilityUnauthorized && error?.procedure.id == handle.id)
    #expect(error?.procedure.name == "authorize execute \(path)")
    guard case .unauthorized(_, let status as FileAccess.Status)? = error?.underlying as? CapabilityError else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(status.missing == .execute)
  }

  @Test("A file without permissions is accessible only to an administrator")
  func nothing() async {
    let status = await FileAccess(file("locked", 0o000), [.read, .write]).authorizationStatus()
    #expect(status.granted == (isAdministrator ? [.read, .write] : []))
    #expect("\(FileAccess.Permissions([]))" == "nothing")
  }

  @Test("The next run sees changes to the file")
  func changes() async throws {
    let path = file("text", 0o600)
    let run = ProcedureTask("run") { 1 }.condition(.authorized(for: FileAccess(path, .execute)))
    await #expect(throws: ProcedureError.self) { try await run.execute() }
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
    #expect(try await run.execute() == 1)
  }

  @Test("The examples of the guide have the documented results")
  func guide() async throws {
    typealias Kitten = JSONTests.Kitten
    let roundTrip = EncodeJSON<Kitten>().then(DecodeJSON<Kitten>())
    let save = EncodeJSON<Kitten>().condition(.authorized(for: FileAccess(folder, [.write, .execute])))
    #expect(try await roundTrip.execute(Kitten(name: "Tom")).name == "Tom")
    #expect(try await !save.execute(Kitten(name: "Tom")).isEmpty)
  }

  @Test("A file is identified by the bytes of its path")
  func spellings() {
    let spellings = ["caf\u{e9}", "cafe\u{301}"]
    #expect(FileAccess(spellings[0], .read) != FileAccess(spellings[1], .read))
    #expect(FileAccess(spellings[0], .read) == FileAccess(spellings[0], .read))
  }
}
