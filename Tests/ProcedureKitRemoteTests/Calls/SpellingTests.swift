import ProcedureKit
import ProcedureKitFoundation
import ProcedureKitRemote
import Testing
import TestingProcedureKit

/// Tests two spellings of one text, which are equal according to Swift's `==`.
private let spellings = ["caf\u{e9}", "cafe\u{301}"]

@Suite(.timeLimit(.minutes(10))) struct SpellingTests {
  @Test("Two spellings are two procedure names, and two keys of calls")
  func keys() {
    #expect(RemoteName(spellings[0], version: 1) != RemoteName(spellings[1], version: 1))
    let keys = spellings.flatMap { text in
      [RemoteCall.Key(run: text, node: "n"), RemoteCall.Key(run: "r", node: text)]
    }
    #expect(Set(keys).count == 4)
  }

  @Test("A worker executes the procedure whose name has the same bytes as in the call, and names are sorted")
  func registry() async throws {
    var registry = ProcedureRegistry(coder: JSONProcedureCoder())
    for (index, name) in spellings.enumerated() {
      registry.register(ProcedureTask("p") { index }, as: RemoteSignature<Void, Int>(name))
    }
    let known = registry
    #expect(known.names.count == 2)
    let engine = LocalEngine()
    async let worker: Void = RemoteWorker(registry: known, queue: ProcedureQueue("w"), maxConcurrentCalls: 1).run(
      from: engine)
    for (index, name) in spellings.enumerated() {
      let key = RemoteCall.Key(run: "r", node: name)
      let bytes = try await engine.execute(RemoteCall(RemoteName(name), key: key, input: []))
      #expect(bytes == Array("\(index)".utf8))
    }
    engine.finish()
    try await worker
  }
}
