import ProcedureKit
import ProcedureKitFoundation
import ProcedureKitRemote
import Testing
import TestingProcedureKit

/// Two spellings of one text, which Swift's `==` takes for equal.
private let spellings = ["caf\u{e9}", "cafe\u{301}"]

@Suite(.timeLimit(.minutes(10))) struct SpellingTests {
  @Test("Two spellings are two names of procedures, and two keys of calls")
  func keys() {
    #expect(RemoteName(spellings[0], version: 1) != RemoteName(spellings[1], version: 1))
    let keys = spellings.flatMap { text in
      [RemoteCall.Key(run: text, node: "n"), RemoteCall.Key(run: "r", node: text)]
    }
    #expect(Set(keys).count == 4)
  }

REGISTRY
}
